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

want=go$(sed -n 's/^go //p' go.mod)
command -v go >/dev/null || die "go is not on the PATH; install $want or newer"
# Go 1.21 and newer fetch the version that go.mod asks for by themselves, and fail here if they cannot.
have=$(go env GOVERSION) || die "this project needs $want or newer"
[[ $(printf '%s\n' "$want" "$have" | sort -V | head -n 1) == "$want" ]] || die "found $have; install $want or newer"

read -r -a compiler <<<"$(go env CC)" # may carry flags: CC="gcc -m64"
command -v "${compiler[0]}" >/dev/null || die "no C compiler (${compiler[0]}), which cgo needs; install gcc or clang, or set CC"
command -v python3 >/dev/null || die "python3 is not on the PATH; install Python 3 with pip"
python3 -m pip --version >/dev/null 2>&1 || die "python3 has no pip; install it (on Debian and Ubuntu: apt-get install python3-pip)"

CGO_ENABLED=1 go build -buildvcs=auto -o bin/ebssc ./cmd/ebssc
exec bin/ebssc run all "$@"
