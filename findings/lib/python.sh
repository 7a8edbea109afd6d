# shellcheck shell=bash
# Sourced by findings that need Python packages. Needs Python 3 with pip.

# with_python installs Python packages in the current folder, where python3 then finds them.
with_python() {
  python3 -m pip install --quiet --target python "$@"
  export PYTHONPATH=$PWD/python
}
