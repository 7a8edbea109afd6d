# shellcheck shell=bash
# Sourced by findings about Java libraries. Needs a JDK, 17 or later, with Maven.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# run_java runs a Java program, read from standard input, in a temporary folder, which is removed
# when the script ends. It needs the libraries that are named after the first argument, each as
# group:artifact:version. Its output must be the first argument.
run_java() {
  local library parts
  in_folder
  cat > Main.java
  {
    printf '<project><modelVersion>4.0.0</modelVersion><groupId>finding</groupId>'
    printf '<artifactId>finding</artifactId><version>0</version><dependencies>'
    for library in "${@:2}"; do
      IFS=: read -ra parts <<< "$library"
      printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId>' "${parts[@]:0:2}"
      printf '<version>%s</version></dependency>' "${parts[2]}"
    done
    printf '</dependencies></project>'
  } > pom.xml
  mvn --quiet --batch-mode -Dstyle.color=never \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2
  expect "$1" java -cp 'target/dependency/*' Main.java
}
