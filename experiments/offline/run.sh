#!/usr/bin/env bash
# Runs ebssc from the folder that this script is in, without network, for MINUTES (default 9) at most: run it again with the same
# arguments until its exit status is 0. It goes on where it was.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export EBSSC_CACHE=$PWD/cache
if [[ -d data ]]; then
  export EBSSC_DATA=$PWD/data
fi
if [[ -d python ]]; then # packages for the python3 of the other machine: the CUDA plugin
  export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
fi
exec timeout --preserve-status --signal=TERM --kill-after=60 "${MINUTES:-9}m" ./ebssc run "$@" --results results
