#!/usr/bin/env bash
# Builds bin/ebssc, as `go build -o bin/ebssc ./cmd/ebssc` does, and says in a line what is missing
# for that. Arguments are those of another `go build`. The program names its commit in records: that
# of this folder, or "unknown". Built without this script it says "unknown".
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")"

die() {
  echo "build.sh: $*" >&2
  exit 1
}

# A go.work above this folder is another project's.
export GOWORK=off CGO_ENABLED=1
want=go$(sed -n 's/^go //p' go.mod)
command -v go >/dev/null || die "go is not on the PATH; install $want or newer"
# Go 1.21 and newer fetch the version that go.mod asks for, and fail here if they cannot.
have=$(go env GOVERSION) || die "this project needs $want or newer"
[[ $(printf '%s\n' "$want" "$have" | sort -V | head -n 1) == "$want" ]] ||
  die "found $have; install $want or newer"
read -r -a compiler <<<"$(go env CC)" # may carry flags: CC="gcc -m64"
command -v "${compiler[0]}" >/dev/null ||
  die "no C compiler (${compiler[0]}), which cgo needs; install gcc or clang, or set CC"
# Without the C library's headers cgo prints a page.
read -r -a flags <<<"$(go env CGO_CPPFLAGS CGO_CFLAGS | tr '\n' ' ')"
said=$("${compiler[@]}" ${flags[@]+"${flags[@]}"} -E -x c - <<<'#include <stdlib.h>' 2>&1 >/dev/null) ||
  die "${compiler[0]} cannot read stdlib.h (${said%%$'\n'*}); if it is missing, install the C library's headers (Debian, Ubuntu: apt-get install libc6-dev)"
if (($# == 0)); then
  mkdir -p bin 2>/dev/null && [[ -w bin ]] ||
    die "$PWD/bin cannot be written to; clone the project into a folder of your own"
fi

# commit prints the commit of this folder, with +changes if a file differs, or fails with the
# reason. Go would take a repository that this folder only lies in, passes over git worktrees, and
# ends where git refuses another user's checkout.
commit() {
  local root revision changes
  command -v git >/dev/null || { echo "git is not on the PATH" && return 1; }
  # A hook of another repository names that one in the environment.
  # shellcheck disable=SC2046 # names of variables
  unset $(git rev-parse --local-env-vars)
  root=$(git rev-parse --show-toplevel 2>&1) || { head -n 1 <<<"$root" && return 1; }
  [[ $root -ef . ]] || { echo "the git repository $root is not this folder's" && return 1; }
  revision=$(git rev-parse --verify HEAD 2>&1) || { head -n 1 <<<"$revision" && return 1; }
  changes=$(git status --porcelain 2>&1) || { head -n 1 <<<"$changes" && return 1; }
  echo "${revision:0:12}${changes:++changes}"
}
if ! commit=$(commit); then
  echo "build.sh: records will name the commit \"unknown\": $commit" >&2
  commit=unknown
fi

[[ -e bin/ebssc ]] || echo "build.sh: building; the first time takes minutes" >&2
(($#)) || set -- -o bin/ebssc ./cmd/ebssc
exec go build -buildvcs=false -ldflags "-X ebsscgo/internal/record.built=$commit" "$@"
