# shellcheck shell=bash
# Sourced by findings about Go modules. Needs Go.

# in_folder goes to a temporary folder, which is removed when the script ends.
in_folder() {
  local folder
  folder=$(mktemp -d)
  # shellcheck disable=SC2064 # this folder, when the script ends
  trap "rm -rf '$folder'" EXIT
  cd "$folder" || exit
}

# in_module goes to a temporary folder and makes a Go module there that needs the modules that are
# named.
in_module() {
  in_folder
  export GOFLAGS=-mod=mod GOWORK=off
  go mod init finding 2> /dev/null
  go get "$@" 2> /dev/null
}

# expect runs a command, whose output must be the first argument.
expect() {
  "${@:2}" | tee seen
  diff seen - <<< "$1"
}

# run_go runs a Go program, read from standard input, that needs a module. Its output must be the
# second argument.
run_go() {
  in_module "$1"
  cat > main.go
  expect "$2" go run .
}
