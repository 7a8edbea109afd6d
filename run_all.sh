#!/usr/bin/env bash
# Trains what the paper reports and writes its tables and figures to results/<profile>: `ebssc run all` with the flags given
# here (try --help), in the project's folder: relative paths count from there. Needs Go, a C compiler (GoMLX reaches XLA
# through cgo) and Python 3 with pip (which downloads XLA); the rest is fetched once into the user's cache folder.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")"

die() {
  echo "run_all.sh: $*" >&2
  exit 1
}

command -v python3 >/dev/null || die "python3 is not on the PATH; install Python 3 with pip"
env -u PYTHONHOME python3 -m pip --version >/dev/null 2>&1 ||
  die "python3 has no pip; install it (on Debian and Ubuntu: apt-get install python3-pip)"

./build.sh
exec bin/ebssc run all "$@"
