#!/usr/bin/env bash
# `ebssc run` with the data, the cache and the results of the folder that this script is in. With MINUTES set it stops after so
# many minutes with exit status 143; the same command goes on from there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export EBSSC_CACHE=$PWD/cache
if [[ -d data ]]; then
  export EBSSC_DATA=$PWD/data
fi
if [[ -d python ]]; then # packages for the python3 of the other machine: the CUDA plugin
  export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
fi
limit=()
if [[ -n ${MINUTES:-} ]]; then
  # In the foreground timeout sends one signal. Otherwise it sends two, and the second one ends the program before it has saved.
  limit=(timeout --foreground --preserve-status --signal=TERM --kill-after=60 "${MINUTES}m")
fi
exec ${limit[@]+"${limit[@]}"} "$PWD/ebssc" run "$@"
