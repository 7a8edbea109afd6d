#!/usr/bin/env bash
# braintools 0.3.0 (optimizers and schedules for JAX), both without an error:
# 1. CyclicLR cycles right only if both halves are equally long. The position in a cycle is computed
#    from step_size_up alone, while the number of the cycle is computed from both. With a way down
#    that is three times as long, as in the documentation ("quick ramp up, slow ramp down"), the
#    rate goes down as quickly as up, and then stays at base_lr for ever. With a long way up it
#    jumps down to base_lr, and the next cycle is lower.
# 2. Adafactor takes clip_threshold and beta1 and ignores them: there is neither the clipping of the
#    update, which is on in the documentation and in the paper (Shazeer and Stern, 2018), nor
#    momentum. With lr=None the rate is said to depend on the step and the size of the weights; it
#    is 0.001 in each step and for any weights.
# Guess before, from the documentation: step_size_up steps up and step_size_down steps down in each
# cycle; the steps of optax's adafactor, from whose parts Adafactor is built. Here: two cycles from
# 1 to 2; then gradients of 1, 1, 100 and 0 for weights of 0, at the rate 1.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps braintools==0.3.0 brainstate==0.5.4 brainunit==0.5.2 saiunit==0.5.2 \
  brainevent==0.2.1 jax==0.10.2 jaxlib==0.10.2 optax==0.2.8 absl-py==2.5.1 msgpack==1.2.4 \
  ml-dtypes==0.6.0 opt-einsum==3.4.0 numpy==2.4.6 scipy==1.17.1 typing-extensions==4.16.0 \
  array-api-compat==1.16.0 matplotlib==3.11.2 contourpy==1.3.3 cycler==0.12.1 fonttools==4.68.0 \
  kiwisolver==1.5.1 packaging==26.4 pillow==13.0.0 pyparsing==3.3.3 python-dateutil==2.9.0.post0 \
  six==1.17.0
export JAX_PLATFORMS=cpu MPLCONFIGDIR=$folder
cat > steps.py <<'PY'
import brainstate
import jax.numpy as jnp
import numpy
import optax
from braintools.optim import Adafactor, CyclicLR


def show(title, numbers):
    print(f"{title}:", *(f"{number:.3g}" for number in numbers))


for up, down in (4, 4), (2, 6), (6, 2):
    schedule = CyclicLR(base_lr=1.0, max_lr=2.0, step_size_up=up, step_size_down=down)
    rates = []
    for _ in range(16):
        rates.append(float(schedule.get_lr()[0]))
        schedule.step()
    show(f"{up} up, {down} down", rates)
    show("  expected", numpy.interp(numpy.arange(16) % 8, [0, up, 8], [1, 2, 1]))


def braintools_steps(start=0.0, **options):
    weight = brainstate.ParamState(jnp.full(3, start))
    optimizer = Adafactor(**options)
    optimizer.register_trainable_weights({"weight": weight})
    for gradient in 1.0, 1.0, 100.0, 0.0:
        before = weight.value
        optimizer.step({"weight": jnp.full(3, gradient)})
        yield float((before - weight.value)[0])


def optax_steps(**options):
    optimizer = optax.adafactor(1.0, multiply_by_parameter_scale=False, **options)
    state = optimizer.init(jnp.zeros(3))
    for gradient in 1.0, 1.0, 100.0, 0.0:
        update, state = optimizer.update(jnp.full(3, gradient), state, jnp.zeros(3))
        yield -float(update[0])


for clip, beta in (1.0, None), (0.1, None), (1.0, 0.9):
    title = f"clip at {clip}, beta1 {beta}"
    show(f"Adafactor, {title}", braintools_steps(lr=1.0, clip_threshold=clip, beta1=beta))
    show("  optax", optax_steps(clipping_threshold=clip, momentum=beta))
for start in 0.0, 8.0:
    show(f"Adafactor, lr None, weights {start}", braintools_steps(start, lr=None))
PY
expect '4 up, 4 down: 1 1.25 1.5 1.75 2 1.75 1.5 1.25 1 1.25 1.5 1.75 2 1.75 1.5 1.25
  expected: 1 1.25 1.5 1.75 2 1.75 1.5 1.25 1 1.25 1.5 1.75 2 1.75 1.5 1.25
2 up, 6 down: 1 1.5 2 1.5 1 1 1 1 1 1 1 1 1 1 1 1
  expected: 1 1.5 2 1.83 1.67 1.5 1.33 1.17 1 1.5 2 1.83 1.67 1.5 1.33 1.17
6 up, 2 down: 1 1.17 1.33 1.5 1.67 1.83 2 1.83 1 1 1 1 1 1.17 1.33 1.5
  expected: 1 1.17 1.33 1.5 1.67 1.83 2 1.5 1 1.17 1.33 1.5 1.67 1.83 2 1.5
Adafactor, clip at 1.0, beta1 None: 1 1 1.55 0
  optax: 1 1 1 0
Adafactor, clip at 0.1, beta1 None: 1 1 1.55 0
  optax: 0.1 0.1 0.1 0
Adafactor, clip at 1.0, beta1 0.9: 1 1 1.55 0
  optax: 0.1 0.19 0.271 0.244
Adafactor, lr None, weights 0.0: 0.001 0.001 0.00155 0
Adafactor, lr None, weights 8.0: 0.001 0.001 0.00155 0' python3 steps.py
