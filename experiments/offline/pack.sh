#!/usr/bin/env bash
# Packs what a machine without network needs to run ebssc into a folder: the program, the XLA plugin for the CPU, the data
# sets, and run.sh. See README.md beside this script.
set -euo pipefail

die() {
  echo "pack.sh: $*" >&2
  exit 1
}

[[ $# -eq 1 || ($# -eq 3 && $2 == --data) ]] || die "usage: pack.sh FOLDER [--data FOLDER]"
[[ ! -e $1 ]] || die "$1 is there already: remove it, or name another folder"
data=${3:+$(realpath -e "$3")}
mkdir -p "$1"
pack=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

CGO_ENABLED=1 go build -o "$pack/ebssc" ./cmd/ebssc
cp experiments/offline/run.sh "$pack/run.sh"
if [[ -n $data ]]; then
  cp -rL "$data" "$pack/data"
  export EBSSC_DATA="$pack/data"
fi
# A plan needs the plugin and the data, so it brings what is missing into the pack's cache. No plugin of this user's is taken
# in its place: the other machine has none.
PJRT_PLUGIN_LIBRARY_PATH=$pack/cache EBSSC_CACHE=$pack/cache "$pack/ebssc" plan table unroll --profile smoke --backend cpu >/dev/null
du -sh "$pack"
