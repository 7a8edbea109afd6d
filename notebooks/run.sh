#!/usr/bin/env bash
# Executes notebooks in fresh kernels, all of them or those named, and keeps their outputs in place. It fails at the first error. Flags are nbconvert's.
#   ./notebooks/run.sh                                               all of them, in some ten minutes
#   ./notebooks/run.sh notebooks/01_coding.ipynb                     one of them
#   EBSSC_PROFILE=smoke ./notebooks/run.sh --output-dir=/tmp/smoke   copies of them at the smallest scale, as CI does
# Needs what start.sh needs.
set -euo pipefail
for argument; do
  if [[ $* != *.ipynb* && $argument != -* ]]; then
    echo "run.sh: $argument is no notebook: name one such as notebooks/01_coding.ipynb, and write flags as --name=value" >&2
    exit 2
  fi
done
# shellcheck source=notebooks/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

[[ $* == *.ipynb* ]] || set -- "$@" "$folder"/*.ipynb
exec "$python" -m nbconvert --execute --to=notebook --NbConvertApp.use_output_suffix=False --log-level=WARN \
  --Exporter.preprocessors=nbconvert.preprocessors.CoalesceStreamsPreprocessor --ExecutePreprocessor.record_timing=False "$@"
