"""The networks of package ebssc in JAX: one compiled program a step, whose variables are donated; as program jax-bf16 with
convolutions in bfloat16.

Codes are [N, H, W, C] or, for each hypothesis, [N, Y, H, W, C]. A block below which nothing depends on the hypothesis
convolves once for all of them; the others convolve all hypotheses as one batch.
"""

import functools
import sys

import jax
import jax.numpy as jnp
from jax import lax

from peer import Case, unit


def flat(f, x):
    """f of [N, H, W, C] on x [..., H, W, C]."""
    y = f(x.reshape((-1,) + x.shape[-3:]))
    return y.reshape(x.shape[:-3] + y.shape[1:])


def convolve(x, dictionary, stride, padding):
    """d ⋆ x, in the dictionary's precision."""
    x = x.astype(dictionary.dtype)
    if dictionary.shape[0] == 1 and stride == 1:  # a matrix product; beyond the image there is nothing
        border = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
        return jnp.pad(x @ dictionary[0, 0], border)
    return flat(lambda x: lax.conv_general_dilated(
        x, dictionary, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")), x)


def pool(x, window, stride, padding):
    """Largest values of windows."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1),
                             ((0, 0), (padding, padding), (padding, padding), (0, 0)))


def normalize(z):
    """z/‖z‖ and ‖z‖ [N] or [N, Y]; 0 where z is 0, with gradient 0."""
    square = jnp.sum(jnp.square(z), (-3, -2, -1), keepdims=True)
    zero = square == 0
    root = jnp.sqrt(jnp.where(zero, 1, square))
    return z / root, jnp.where(zero, 0, root)[..., 0, 0, 0]


def hypotheses(x, like):
    """x with a hypothesis axis if `like` has one."""
    return x[:, None] if x.ndim < like.ndim else x


class Dropout:
    """A dropout mask for codes of a shape, which all hypotheses of an image share. Without a key nothing is dropped."""

    def __init__(self, rate, key, shape):
        self.rate, self.kept = rate, None
        if key is not None and rate > 0:
            self.kept = jax.random.bernoulli(key, 1 - rate, shape[:1] + (1,) * (len(shape) - 4) + shape[-3:])

    def __call__(self, x):
        return x if self.kept is None else jnp.where(hypotheses(self.kept, x), x / (1 - self.rate), 0)


def code(name, block, variables, below, dropout, precision):
    """The code of a block, and its norm if it is spherical; dropout is that of the code below. Its convolution has that precision."""
    dictionary = variables[f"{name}/dictionary"].astype(precision)
    u = convolve(dropout(below), dictionary, block["Stride"], block["Padding"]).astype(jnp.float32)
    u = u + variables[f"{name}/offset"]
    net = u if block["Coding"]["Rectified"] else jnp.concatenate([u, -u], -1)
    if block["Coding"]["Thresholds"] == "class" and net.ndim == 4:
        net = net[:, None]
    if f"{name}/thresholds" in variables:
        net = net - variables[f"{name}/thresholds"]
    z = jax.nn.relu(net)
    return normalize(z) if block["Coding"]["Spherical"] else (z, None)


def forward(case, precision, units, variables, x, key=None):
    """Scores [N, Y] of images [N, H, W, C]; with dropout if there is a key. Sets the units of the variables' steps."""
    step, first, energies = 1.0, True, []
    rate = case.hyper["dropout"]

    def dropout(x):
        nonlocal key
        if key is None:
            return Dropout(rate, None, x.shape)
        key, used = jax.random.split(key)
        return Dropout(rate, used, x.shape)

    for layer in case.layers:
        if layer.get("Pool"):
            p = layer["Pool"]
            x = flat(lambda x: pool(x, p["Window"], p["Stride"], p["Padding"]), x)
            step = 1.0 if step == 1 else unit(x.shape[-3:])
            continue
        name, block = layer["Name"], layer["Block"]
        if first and block["Coding"]["Spherical"]:
            x, _ = normalize(x)
            step = unit(x.shape[-3:])
        x, norm = code(name, block, variables, x, Dropout(rate, None, x.shape) if first else dropout(x), precision)
        first = False
        units[f"{name}/offset"] = step
        units[f"{name}/thresholds"] = step * case.threshold_step(block["Coding"]["Thresholds"])
        if block["Coding"]["Spherical"]:
            step = unit(x.shape[-3:])
        if x.ndim == 5:
            energies.append(norm)
    if case.linear:
        scale = case.hyper["classifier_scale"] / step
        return scale * dropout(x)(x).mean((1, 2)) @ variables["classifier/weights"]
    energy = sum(energies)
    return (energy - energy.mean(-1, keepdims=True)) * case.hyper["energy_scale"]


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


def main(folder, program, seconds):
    case = Case(folder)
    images, labels = jnp.asarray(case.images), jnp.asarray(case.labels)
    variables = {name: jnp.asarray(value) for name, value in case.variables.items()}
    units = {}
    precision = jnp.bfloat16 if program.endswith("-bf16") else jnp.float32
    scores = jax.jit(lambda variables, x: forward(case, precision, units, variables, x))

    def loss(variables, images, labels, key):
        logits = jax.nn.log_softmax(forward(case, precision, units, variables, images, key))
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(state, key, images, labels):
        key, used = jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(state[0], images, labels, used)
        return adam(case.hyper["learning_rate"], units, state, gradients), key, value

    zeros = jax.tree.map(jnp.zeros_like, variables)
    state = (variables, zeros, jax.tree.map(jnp.copy, zeros), jnp.float32(0))
    # XLA's own generator is faster than JAX's default one.
    key = jax.random.key(0, impl="rbg")

    def train():
        nonlocal state, key
        state, key, value = step(state, key, images, labels)
        jax.block_until_ready(state)

    def infer():
        jax.block_until_ready(scores(state[0], images))

    case.measure(program, seconds, scores(variables, images), {"inference": infer, "train": train})


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
