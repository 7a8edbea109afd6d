#!/usr/bin/env bash
# `ebssc run` with the data, the cache and the results of the folder that this script is in. With
# MINUTES set it stops after so many minutes with exit status 143; the same command goes on from
# there. With EBSSC_CACHE set the cache is copied there, once.
set -euo pipefail
pack=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
if [[ ${EBSSC_CACHE:-} == /* && ! $EBSSC_CACHE -ef $pack/cache ]]; then
  # The program takes no cache that another user can change, as a pack that a colleague made.
  mkdir -p "$EBSSC_CACHE/locks"
  exec 9>"$EBSSC_CACHE/locks/pack.lock"
  flock 9
  cp -Ru "$pack/cache/." "$EBSSC_CACHE"
  exec 9>&-
else
  export EBSSC_CACHE=$pack/cache
fi
if [[ -d $pack/data ]]; then
  export EBSSC_DATA=$pack/data
fi
if [[ -d $pack/python ]]; then # packages for the python3 of the other machine: the CUDA plugin
  export PYTHONPATH=$pack/python${PYTHONPATH:+:$PYTHONPATH}
fi
limit=()
if [[ -n ${MINUTES:-} ]]; then
  # In the foreground timeout sends one signal. Otherwise it sends two, and the second one ends the program before it has saved.
  limit=(timeout --foreground --preserve-status --signal=TERM --kill-after=60 "${MINUTES}m")
fi
if [[ $# -gt 0 && $1 != -* ]]; then # behind the study, and before a --results of one's own
  set -- "$1" --results "$pack/results" "${@:2}"
fi
exec ${limit[@]+"${limit[@]}"} "$pack/ebssc" run "$@"
