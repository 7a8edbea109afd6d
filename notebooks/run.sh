#!/usr/bin/env bash
# Executes notebooks in fresh kernels, all of them or those named, and keeps their outputs in place. It fails if one does. Flags are nbconvert's.
#   ./notebooks/run.sh                                               all of them, two at a time
#   ./notebooks/run.sh notebooks/01_coding.ipynb                     one of them
#   EBSSC_PROFILE=smoke ./notebooks/run.sh --output-dir=/tmp/smoke   copies of them at the smallest scale, as CI does
# Needs what start.sh needs.
set -euo pipefail
# shellcheck source=notebooks/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

flags=() notebooks=()
for argument; do
  if [[ $argument == *.ipynb ]]; then notebooks+=("$argument"); else flags+=("$argument"); fi
done
((${#notebooks[@]})) || notebooks=("$folder"/*.ipynb)
# Building a cell takes one core for the most part.
printf '%s\0' "${notebooks[@]}" | xargs -0 -n 1 -P 2 "$python" -m nbconvert --execute --to=notebook --NbConvertApp.use_output_suffix=False --log-level=WARN \
  --Exporter.preprocessors=nbconvert.preprocessors.CoalesceStreamsPreprocessor --ExecutePreprocessor.record_timing=False ${flags[@]+"${flags[@]}"}
