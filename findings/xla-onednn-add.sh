#!/usr/bin/env bash
# lammps-jax-pjrt-cpu 0.11.2, an XLA plugin for the CPU, called by JAX 0.10.2: a program adds aᵀ·b,
# a product in bfloat16, to a total in float32. StableHLO states the addition for float32. With
# --xla_cpu_experimental_onednn_custom_call=true XLA rounds the total to bfloat16 and lets oneDNN add
# within the product (BINARY_ADD): 1000 and 0.5 is 1000. Without the flag it is 1000.5. oneDNN adds
# a product in float32, too (SUM), but in float32: 1000.5. jaxlib 0.10.2 takes the flag and calls no
# oneDNN here: 1000.5. Guess before: a float32 total stays float32.
# Needs Python 3.11 or later with pip on Linux, amd64, and a CPU with avx512_bf16.
set -euo pipefail
if ! grep -qw avx512_bf16 /proc/cpuinfo; then
  echo "${0##*/}: this finding needs a CPU with avx512_bf16" >&2
  exit 2
fi
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python jax==0.10.2 jaxlib==0.10.2 lammps-jax-pjrt-cpu==0.11.2
plugin=$PWD/python/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so
export JAX_LOGGING_LEVEL=ERROR PJRT_NAMES_AND_LIBRARY_PATHS=plugin:$plugin
cat > add.py <<'PY'
import re
import sys

import jax
import jax.numpy as jnp

total = jnp.full((256, 256), 1000, jnp.float32)
a = jnp.full((256, 256), 0.5 / 256, jnp.bfloat16)
b = jnp.ones((256, 256), jnp.bfloat16)
for kind in jnp.bfloat16, jnp.float32:

    def add(total, a, b):
        return total + jnp.dot(a.T, b, preferred_element_type=kind).astype(jnp.float32)

    program = jax.jit(add).lower(total, a, b).compile()
    fused = re.findall(r'"ops":\["(\w+)"\]', program.as_text())
    print(f"{sys.argv[1]}, product in {kind.__name__}:", program(total, a, b)[0, 0], *fused)
PY

add() {
  local flag
  for flag in false true; do
    export XLA_FLAGS=--xla_cpu_experimental_onednn_custom_call=$flag
    JAX_PLATFORMS=cpu python3 add.py "jaxlib, flag $flag"
    JAX_PLATFORMS=plugin python3 add.py "plugin, flag $flag"
  done
}

expect 'jaxlib, flag false, product in bfloat16: 1000.5
jaxlib, flag false, product in float32: 1000.5
plugin, flag false, product in bfloat16: 1000.5
plugin, flag false, product in float32: 1000.5
jaxlib, flag true, product in bfloat16: 1000.5
jaxlib, flag true, product in float32: 1000.5
plugin, flag true, product in bfloat16: 1000.0 BINARY_ADD
plugin, flag true, product in float32: 1000.5 SUM' add
