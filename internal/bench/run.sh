#!/usr/bin/env bash
# Measures training steps and inference of this program, PyTorch (float32, and bfloat16 autocast) and JAX on this CPU, in turns, and prints
# what benchstat reads:
#
#   internal/bench/run.sh [ROUNDS] > steps.txt && benchstat -col /program steps.txt
#
# Leave the machine idle otherwise. PyTorch and JAX (several GB) are installed once, in the virtual environment that $EBSSC_PEERS names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rounds=${1:-5}
peers=internal/bench/peers
venv=${EBSSC_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/ebssc-peers}
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1 JAX_PLATFORMS=cpu GOMLX_BACKEND=${GOMLX_BACKEND:-xla:cpu}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c 'import jax, torch' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$peers/requirements.txt" >&2
fi
go test -c -o "$tmp/step" ./internal/bench
step() { (cd internal/bench && "$tmp/step" -test.run '^$' "$@"); }

step -test.bench Step -test.benchtime 1x -cases "$tmp/cases" > /dev/null
for _ in $(seq "$rounds"); do
  for case in "$tmp"/cases/*; do
    name=$(basename "$case")
    step -test.bench "^BenchmarkStep$/^${name/,/$/^}$" -test.benchtime 5x | grep -v -e '^PASS$'
    for program in torch torch-bf16 jax; do
      "$venv/bin/python" "$peers/${program%-bf16}_peer.py" "$case" "$program" 5
    done
  done
done
