#!/usr/bin/env bash
# Measures training steps and inference of this program, of PyTorch, eager and compiled, and of JAX
# on this CPU, in turns, in float32 and, where the CPU has instructions for it, bfloat16:
#
#   internal/bench/run.sh [ROUNDS [avx2|avx512_bf16]]
#
# It writes results/bench/PROCESSOR.txt, says which, and compares each program at its best. A
# file that is there goes on where it ended, so that rounds can be measured in parts. Leave the
# machine idle otherwise. PyTorch and JAX (several GB) are installed once, in the virtual environment
# that $EBSSC_PEERS names. With avx2 or avx512_bf16 all programs are kept to those instructions, as on
# a CPU without AVX-512 or without AMX.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rounds=${1:-5}
seconds=2 # of each measurement
peers=internal/bench/peers
venv=${EBSSC_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/ebssc-peers}
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1 JAX_PLATFORMS=cpu GOMLX_BACKEND=${GOMLX_BACKEND:-cpu}

processor=$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)
family=$(sed -n 's/^cpu family[^:]*: //p;T;q' /proc/cpuinfo) # on some hosts a name covers several
features=$(sed -n 's/^flags[^:]*: //p;T;q' /proc/cpuinfo | tr ' ' '\n' | grep -E '^(fma|avx|amx)' | sort | xargs)
kept=${2:-}
case $kept in
  "") ;;
  avx2)
    export XLA_FLAGS=--xla_cpu_max_isa=AVX2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
    features="avx avx2 fma"
    ;;
  avx512_bf16)
    export XLA_FLAGS=--xla_cpu_max_isa=AVX512_BF16 ATEN_CPU_CAPABILITY=avx512 ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16
    features=$(xargs -n 1 <<< "$features" | grep -vE '^amx|fp16' | xargs)
    kept=
    ;;
  *)
    echo "run.sh: $kept: the second argument is avx2, avx512_bf16 or nothing" >&2
    exit 2
    ;;
esac

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# A cache of its own: PyTorch 2.13's does not tell instruction sets apart, and runs code compiled for
# one with the vectors of another.
export TORCHINDUCTOR_CACHE_DIR=$tmp/compiled
if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c 'import jax, torch' 2>/dev/null; then
  python3 -m venv "$venv"
  "$venv/bin/python" -E internal/cache/runpip.py install --quiet --disable-pip-version-check \
    -r "$peers/requirements.txt" >&2
fi
go test -c -o "$tmp/step" ./internal/bench
step() { (cd internal/bench && "$tmp/step" -test.run '^$' "$@"); }

file=results/bench/$(echo "$processor $family $kept $(grep -oE 'amx_bf16|avx512_bf16' <<< "$features" | head -n 1)" | tr -cs '[:alnum:]' - | sed 's/-$//').txt
programs=(ebssc torch torch-compiled jax)
if [[ $features == *_bf16* ]]; then
  programs=(ebssc ebssc-bf16 torch torch-bf16 torch-compiled torch-compiled-bf16 jax jax-bf16)
fi
echo "$file" >&2
commit=unknown
if [[ $(git rev-parse --show-toplevel 2>/dev/null) -ef . ]]; then # not that of a repository around this folder
  commit=$(git rev-parse --short HEAD)
fi
if [[ ! -e $file ]]; then
  printf '%s\n' "date: $(date -u +%FT%TZ)" "commit: $commit" "cpu: $processor, family $family, $(nproc) cores" "cpu-features: $features" \
    "peers: $(grep -E '^(jax|torch)=' $peers/requirements.txt | xargs)" '' > "$file"
elif ! grep -qx "commit: $commit" "$file"; then
  echo "run.sh: $file is of another $(grep ^commit: "$file"); go on there, or remove it" >&2
  exit 1
fi

measure() { # CASE PROGRAM: prints the results of one turn
  case $2 in
    ebssc) step -test.bench "^BenchmarkStep$/^${1/,/$/^}$" -test.benchtime "${seconds}s" ;;
    ebssc-bf16) step -test.bench "^BenchmarkStep$/^${1/,/$/^}$" -test.benchtime "${seconds}s" -precision bfloat16 ;;
    *) "$venv/bin/python" "$peers/${2%%-*}_peer.py" "$tmp/cases/$1" "$2" "$seconds" ;;
  esac
}

step -test.bench 'Step/.*/.*/inference' -test.benchtime 1x -cases "$tmp/cases" > /dev/null
for round in $(seq "$rounds"); do
  for case in "$tmp"/cases/*; do
    name=$(basename "$case")
    for program in "${programs[@]}"; do
      if (($(grep -cE "^BenchmarkStep/${name/,//}/.*program=$program(-[0-9]+)?[[:space:]]" "$file") < 2 * round)); then
        measure "$name" "$program" > "$tmp/turn"
        grep ^Benchmark "$tmp/turn" >> "$file"
      fi
    done
  done
done
"$venv/bin/python" "$peers/best.py" "$file"
