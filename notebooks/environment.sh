# shellcheck shell=bash
# Sourced by start.sh and run.sh. Makes what notebooks need and is not there yet, and sets $python to its interpreter:
# - a virtual environment with JupyterLab in the user's cache folder, named by its requirements;
# - in bin/ of this checkout, the kernel (GoNB, a tool of this module) and its Jupyter folder, in which the kernel is
#   registered with this checkout in its workspace, so that cells import its packages.
# The user's own Python packages, kernels and Jupyter settings are neither used nor changed, unless start.sh --register is asked to.

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" >/dev/null && pwd)
root=$(dirname "$folder")
export PYTHONSAFEPATH=1 # Python takes no file of the current folder for a module.

[[ ${HOME:-}${EBSSC_CACHE:-}${XDG_CACHE_HOME:-} ]] || die "there is no home folder; set HOME to a folder of your own"
case $(uname) in
  Darwin) cache=${EBSSC_CACHE:-$HOME/Library/Caches/ebssc} ;;
  *) cache=${EBSSC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebssc} ;;
esac
[[ $cache == /* ]] || die "the cache folder $cache is a relative path; set EBSSC_CACHE to the absolute path of a folder of your own"
environment=$cache/notebooks-$(cksum "$folder/requirements.txt" | cut -d ' ' -f 1)
python=$environment/bin/python

# own makes a folder that this user alone may enter, for programs. Where another user could put some into it or replace it, it ends.
own() {
  local parent
  (umask 077 && mkdir -p "$1" 2>/dev/null) || die "$1 cannot be made: set EBSSC_CACHE to a folder elsewhere"
  parent=$(cd "$1" && pwd -P) && [[ -O $parent ]] ||
    die "$1 is not a folder of this user: set EBSSC_CACHE to another one"
  chmod 700 "$parent" 2>/dev/null || die "$parent cannot be written to: set EBSSC_CACHE to a folder elsewhere"
  until [[ $parent == / ]]; do
    parent=$(dirname "$parent")
    [[ -z $(find "$parent" -prune -perm -002 ! -perm -1000) ]] ||
      die "every user may write to $parent: run chmod o-w on it, or set EBSSC_CACHE to a folder elsewhere"
  done
}
own "$environment"

# runs ends unless a program in a folder, which a variable moves, can be executed.
runs() {
  local program disk
  program=$(mktemp "$1/runs.XXXXXX") || die "no file can be made in $1; set $2 to another folder"
  printf '#!/bin/sh\n' >"$program"
  chmod 700 "$program"
  if ! "$program" 2>/dev/null; then
    rm -f "$program"
    disk=$(df -P "$1" | awk 'END { print $NF }')
    die "no program runs in $1: is its disk ($disk) mounted noexec? Set $2 to one on another disk"
  fi
  rm -f "$program"
}
runs "$environment" EBSSC_CACHE
runs "${TMPDIR:-/tmp}" TMPDIR # of cells

# PYTHONHOME may be that of another Python.
unset PYTHONPATH PYTHONHOME JUPYTER_PATH JUPYTER_CONFIG_PATH
export GOWORK=auto # `go env -w` may have another value
command -v python3 >/dev/null || die "python3 is not on the PATH; install Python 3.11 or newer, with pip and venv"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "found $(python3 --version); install Python 3.11 or newer"
python3 -c 'import ensurepip, venv' 2>/dev/null || die "python3 has no venv; install it (on Debian and Ubuntu: apt-get install python3-venv)"

export PYTHONNOUSERSITE=1 CGO_ENABLED=1
export JUPYTER_DATA_DIR=$root/bin/jupyter JUPYTER_CONFIG_DIR=$root/bin/jupyter/config JUPYTER_RUNTIME_DIR=$root/bin/jupyter/runtime
export IPYTHONDIR=$root/bin/jupyter/ipython PATH=$root/bin:$PATH

mkdir -p "$cache/locks"
[[ -O $cache && -z $(find "$cache" -maxdepth 0 -perm -o+w) ]] || die "another user can change $cache; set EBSSC_CACHE to a folder of your own"
exec 9>"$cache/locks/notebooks.lock"
if command -v flock >/dev/null; then flock 9; fi
echo "building the kernel (the first time takes a minute) …"
"$root/build.sh" -o bin/ github.com/janpfeifer/gonb golang.org/x/tools/cmd/goimports ./cmd/ebssc ||
  die "the kernel could not be built; see above"
(cd "$root" && GOWORK=off go build ./notebooks/nb) || # so that cells start quickly
  die "the cells' package could not be built; see above"
if [[ ! -O $environment/complete ]] || ! "$python" -c "import jupyterlab" 2>/dev/null; then # it breaks when its Python is upgraded
  echo "installing $(paste -s -d ' ' "$folder/requirements.txt") in $environment, once …"
  python3 -m venv --clear "$environment" || # What is there was interrupted, or is broken.
    die "no virtual environment could be made in $environment"
  "$python" -E "$root/internal/cache/runpip.py" install --quiet --no-input \
    --disable-pip-version-check --no-cache-dir -r "$folder/requirements.txt" ||
    die "pip could not install JupyterLab; see above"
  touch "$environment/complete"
fi

# Here rather than in cells, which then do not print where downloads come from.
status=0
"$root/bin/ebssc" data fetch || status=$?
((status < 128)) || exit "$status" # interrupted
((status == 0)) || echo "going on with what is here; MNIST replaces CIFAR-10 if that is missing"
# The kernel takes a name of its own, so that it does not take the place of another GoNB. Errors are
# text, which all editors show alike. Without --force_deps it would not do without gopls, which only
# completes names as you type.
kernel=ebsscgo spec=$root/bin/kernel/kernels/gonb
JUPYTER_DATA_DIR=$root/bin/kernel "$root/bin/gonb" --install --force_deps --go_work="$root" --raw_error \
  --logtostderr=false --stderrthreshold=FATAL --log_file=/dev/null ||
  die "the kernel could not be made in $root/bin"
# What the kernel says on standard error is none of it about the notebook: its sockets (zmq4 0.17, with no flag to silence them)
# complain of each program that connects and leaves without a greeting, as editors do that look for open ports, and it panics if
# Jupyter stops it twice. It goes to bin/kernel.log. An editor that was not started in a terminal may not know where go is.
: >"$root/bin/kernel.log"
"$python" - "$spec/kernel.json" "$root/bin:$(dirname "$(command -v go)")" "$root/bin/kernel.log" <<'PYTHON'
import json, pathlib, sys
path, programs, log = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
kernel = json.loads(path.read_text())
kernel["display_name"] = "Go (ebsscgo)"
# Cells are linked in half the time without tables for debuggers. The user's own flags come last.
script = """export PATH="$1:$PATH" CGO_ENABLED=1 GOWORK=auto
GOFLAGS="-ldflags=-w $(go env GOFLAGS)" && export GOFLAGS
log=$2; shift 2; exec "$@" 2>>"$log"
"""
kernel["argv"] = ["sh", "-c", script, "sh", programs, log, *kernel["argv"]]
path.write_text(json.dumps(kernel))
PYTHON
# register makes the kernel known to Jupyter, in the folder that $JUPYTER_DATA_DIR names or the user's.
register() {
  "$python" -m jupyter kernelspec install --log-level=ERROR --user --name "$kernel" "$spec" ||
    die "the kernel could not be registered"
}
register
exec 9>&-
