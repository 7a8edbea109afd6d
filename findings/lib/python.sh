# shellcheck shell=bash
# Sourced by findings that need Go and Python packages. Needs Go, and Python 3 with pip.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# with_python installs Python packages in the current folder, where python3 then finds them.
with_python() {
  python3 -m pip install --quiet --target python "$@"
  export PYTHONPATH=$PWD/python
}

# expect_in_python runs the Go program main.go, which writes files, and then a Python program, read
# from standard input, that reads them. Their output must be the argument.
expect_in_python() {
  cat > read.py
  # shellcheck disable=SC2016 # sh expands it
  expect "$1" sh -c 'go run . && python3 read.py'
}
