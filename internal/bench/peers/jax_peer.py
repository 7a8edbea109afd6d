"""The networks of package ebssc in JAX on the CPU: one compiled program a step, whose variables are donated.

Codes are [N, H, W, C] or, for each hypothesis, [N, Y, H, W, C]. Block 6 of EBC convolves once for all hypotheses, block
7 all hypotheses as one batch.
"""

import functools
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax import lax

from peer import Case, serve, unit


def flat(f, x):
    """f of [N, H, W, C] on x [..., H, W, C]."""
    y = f(x.reshape((-1,) + x.shape[-3:]))
    return y.reshape(x.shape[:-3] + y.shape[1:])


def convolve(x, dictionary, offset, stride, padding):
    """d ⋆ x + b."""
    if dictionary.shape[:2] == (1, 1) and stride == 1:  # a matrix product; beyond the image there is the offset alone
        border = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
        return jnp.pad(x @ dictionary[0, 0], border) + offset
    return flat(lambda x: lax.conv_general_dilated(
        x, dictionary, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")), x) + offset


def pool(x, window, stride, padding, average):
    """Largest values of windows, or means of what lies in the image."""
    def reduce(x, start, operation):
        return lax.reduce_window(x, start, operation, (1, window, window, 1), (1, stride, stride, 1),
                                 ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    if average:
        return reduce(x, 0.0, lax.add) / reduce(jnp.ones_like(x[:1]), 0.0, lax.add)
    return reduce(x, -jnp.inf, lax.max)


def normalize(z):
    """z/‖z‖ and ‖z‖ [N] or [N, Y]; 0 where z is 0, with gradient 0."""
    square = jnp.sum(jnp.square(z), (-3, -2, -1), keepdims=True)
    zero = square == 0
    root = jnp.sqrt(jnp.where(zero, 1, square))
    return z / root, jnp.where(zero, 0, root)[..., 0, 0, 0]


def drop(x, rate, key):
    """Dropout; all hypotheses of an image share one mask."""
    if key is None or rate == 0:
        return x
    kept = jax.random.bernoulli(key, 1 - rate, x.shape[:1] + (1,) * (x.ndim - 4) + x.shape[-3:])
    return jnp.where(kept, x / (1 - rate), 0)


def forward(case, units, variables, x, key=None):
    """Scores [N, Y] of images [N, H, W, C]; with dropout if there is a key. Finds the units of the variables' steps."""
    step, energies = 1.0, []
    rate = case.settings["dropout_rate"]

    def next_key():
        nonlocal key
        if key is None:
            return None
        key, used = jax.random.split(key)
        return used

    for number, layer in enumerate(case.layers):
        if layer.get("Pool"):
            p = layer["Pool"]
            x = flat(lambda x: pool(x, p["Window"], p["Stride"], p["Padding"], p["Average"]), x)
            step = 1.0 if step == 1 else unit(x.shape[-3:])
            continue
        name, block = layer["Name"], layer["Block"]
        coding = block["Coding"]
        if number > 0:
            x = drop(x, rate, next_key())
        elif coding["Spherical"]:
            x, _ = normalize(x)
            step = unit(x.shape[-3:])
        u = convolve(x, variables[f"{name}/dictionary"], variables[f"{name}/offset"], block["Stride"], block["Padding"])
        units[f"{name}/offset"] = step
        if coding["Rectified"]:
            x = jax.nn.relu(u)
        else:
            u = jnp.concatenate([u, -u], -1)
            if coding["Thresholds"] != "zero":
                units[f"{name}/thresholds"] = step
                if coding["Thresholds"] == "class":
                    units[f"{name}/thresholds"] *= case.settings["class_step"]
                    u = u if u.ndim == 5 else u[:, None]
                u = u - variables[f"{name}/thresholds"]
            x = jax.nn.relu(u)
        if coding["Spherical"]:
            x, energy = normalize(x)
            step = unit(x.shape[-3:])
            if x.ndim == 5:
                energies.append(energy)
    if not case.linear:
        return sum(energies) * case.settings["energy_scale"]
    units["classifier/weights"] = case.settings["classifier_scale"] / step
    return drop(x, rate, next_key()).mean((1, 2)) @ variables["classifier/weights"]


def adam(rate, units, state, gradients):
    """One step of Adam and the projection of thresholds. state: variables, first and second moments, steps so far."""
    variables, first, second, count = state
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    bias = 1 - 0.9 ** count, 1 - 0.999 ** count
    updated = {}
    for name, value in variables.items():
        move = first[name] / bias[0] / (jnp.sqrt(second[name] / bias[1]) + 1e-7)
        value = value - rate * units.get(name, 1.0) * move
        updated[name] = jnp.maximum(value, 0) if name.endswith("/thresholds") else value
    return updated, first, second, count


def main(folder):
    case = Case(folder)
    images, labels = jnp.asarray(case.images), jnp.asarray(case.labels)
    variables = {name: jnp.asarray(value) for name, value in case.variables.items()}
    units = {}
    scores = jax.jit(lambda variables, x: forward(case, units, variables, x))

    def loss(variables, images, labels, key):
        logits = jax.nn.log_softmax(forward(case, units, variables, images, key))
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(state, key, images, labels):
        key, used = jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(state[0], images, labels, used)
        return adam(case.settings["learning_rate"], units, state, gradients), key, value

    zeros = jax.tree.map(jnp.zeros_like, variables)
    state = (variables, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0))
    # XLA's own generator is faster than JAX's default one.
    key = jax.random.key(0, impl="rbg")

    def train(steps):
        nonlocal state, key
        for _ in range(steps):
            state, key, value = step(state, key, images, labels)
        jax.block_until_ready(state)

    def infer(steps):
        for _ in range(steps):
            jax.block_until_ready(scores(state[0], images))

    serve("jax", jax.__version__, folder, scores(variables, images), {"train": train, "inference": infer})


main(sys.argv[1])
