#!/usr/bin/env bash
# Packs what a machine without network needs to run ebssc into a folder: the program, the XLA plugin for the CPU, the data
# sets, and run.sh. See README.md beside this script.
set -euo pipefail

die() {
  echo "pack.sh: $*" >&2
  exit 1
}

[[ $# -eq 1 || ($# -eq 3 && $2 == --data) ]] || die "usage: pack.sh FOLDER [--data FOLDER]"
[[ ! -e $1 ]] || die "$1 exists: remove it, or name another folder"
data=${3:+$(realpath -e "$3")}
mkdir -p "$1"
pack=$(realpath "$1")
trap 'rm -rf "$pack"' EXIT # half a pack would be in the way of the next try
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.."

./build.sh -o "$pack/ebssc" ./cmd/ebssc
cp experiments/offline/run.sh "$pack/run.sh"
if [[ -n $data ]]; then
  cp -rL "$data" "$pack/data"
fi
# A shard without runs trains nothing, but installs the plugin and finds or downloads the data, into the pack's cache.
env -u EBSSC_DATA -u EBSSC_CACHE "$pack/run.sh" all --profile smoke --backend cpu --shard 9999/9999
trap - EXIT
du -sh "$pack"
