#!/usr/bin/env bash
# Opens JupyterLab on the notebooks, with Go cells that import this checkout. Flags are JupyterLab's, such as --no-browser.
# Needs Go, a C compiler and Python 3.11 with venv; the rest is fetched once into the user's cache folder and bin/.
set -euo pipefail

# JupyterLab refuses to serve root, after all that is built before. On this machine alone it may, as
# in a container.
allow=()
if ((EUID == 0)) && [[ "$*" != *--allow-root* ]]; then
  if [[ "$*" == *--ip* || "$*" == *.ip=* ]]; then
    echo "start.sh: JupyterLab does not serve root to other machines; add --allow-root" >&2
    exit 1
  fi
  allow=(--allow-root)
fi
# shellcheck source=notebooks/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

exec "$python" -m jupyterlab --notebook-dir="$root" --FileContentsManager.preferred_dir="$folder" \
  ${allow[@]+"${allow[@]}"} "$@"
