# shellcheck shell=bash
# Sourced by findings about a Go module. Needs Go.

# run_go runs a Go program, read from standard input, that needs a module. Its output must be the
# second argument.
run_go() {
  local folder
  folder=$(mktemp -d)
  # shellcheck disable=SC2064 # this folder, when the script ends
  trap "rm -rf '$folder'" EXIT
  cd "$folder" || exit
  cat > main.go
  export GOFLAGS=-mod=mod GOWORK=off
  go mod init finding 2> /dev/null
  go get "$1" 2> /dev/null
  go run . | tee seen
  diff seen - <<< "$2"
}
