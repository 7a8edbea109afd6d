#!/usr/bin/env bash
# Executes notebooks in fresh kernels, all of them or those named (01_coding …), and fails if one has a problem: see execute.py.
#   EBSSC_PROFILE=smoke ./notebooks/run.sh     at the smallest scale, as CI does
#   ./notebooks/run.sh --write 01_coding       replaces the notebook with the executed one
# Needs what start.sh needs.
set -euo pipefail
# shellcheck source=notebooks/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

exec "$python" "$folder/execute.py" "$@"
