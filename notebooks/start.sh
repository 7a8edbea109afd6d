#!/usr/bin/env bash
# Opens JupyterLab on the notebooks, with Go cells that import this checkout. Flags are JupyterLab's, such as --no-browser.
#   ./notebooks/start.sh --register     makes the kernel, "Go (ebsscgo)", known to your own Jupyter and VS Code
#   ./notebooks/start.sh --unregister   takes it away
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
users=${JUPYTER_DATA_DIR-}
# shellcheck source=notebooks/environment.sh
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

case ${1-} in
  --register | --unregister)
    if [[ -n $users ]]; then JUPYTER_DATA_DIR=$users; else unset JUPYTER_DATA_DIR; fi
    if [[ $1 == --register ]]; then
      register && echo "your Jupyter and VS Code have the kernel \"Go (ebsscgo)\" now"
      exit
    fi
    exec "$python" -m jupyter kernelspec remove -f "$kernel"
    ;;
esac
exec "$python" -m jupyterlab --notebook-dir="$root" --FileContentsManager.preferred_dir="$folder" \
  ${allow[@]+"${allow[@]}"} "$@"
