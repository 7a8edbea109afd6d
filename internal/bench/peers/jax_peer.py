"""The networks of package ebssc in JAX: one compiled program a step, whose variables are donated.

Codes are [N, H, W, C] or, for each hypothesis, [N, Y, H, W, C]. A block below which nothing depends on the hypothesis
convolves once for all of them; the others convolve all hypotheses as one batch.
"""

import functools
import sys

import jax
import jax.numpy as jnp
from jax import lax

from peer import Case, side_by_side, unit


def flat(f, x):
    """f of [N, H, W, C] on x [..., H, W, C]."""
    y = f(x.reshape((-1,) + x.shape[-3:]))
    return y.reshape(x.shape[:-3] + y.shape[1:])


def convolve(x, dictionary, stride, padding):
    """d ⋆ x."""
    kernel, filters = dictionary.shape[0], dictionary.shape[3]
    if kernel == 1 and stride == 1:  # a matrix product; beyond the image there is nothing
        border = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
        return jnp.pad(x @ dictionary[0, 0], border)
    if side_by_side(x.shape[-3:], kernel, stride, padding):
        rows, columns = x.shape[-3] // kernel, x.shape[-2] // kernel
        windows = x.reshape(x.shape[:-3] + (rows, kernel, columns, kernel, -1)).swapaxes(-4, -3)
        return windows.reshape(windows.shape[:-3] + (-1,)) @ dictionary.reshape(-1, filters)
    return flat(lambda x: lax.conv_general_dilated(
        x, dictionary, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")), x)


def adjoint(z, dictionary, stride, padding, size):
    """d * z, the transposed convolution to images of that size [H, W, C]."""
    images = jax.ShapeDtypeStruct(z.shape[:-3] + size, z.dtype)
    return jax.linear_transpose(lambda x: convolve(x, dictionary, stride, padding), images)(z)[0]


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


class Level:
    """A block with its current code, and the dropout of the code below: for reading it and for top-down input to it."""

    def __init__(self, name, block, variables, dropout):
        self.block, self.coding, self.dropout = block, block["Coding"], dropout
        self.dictionary, self.offset = variables[f"{name}/dictionary"], variables[f"{name}/offset"]
        self.thresholds = variables.get(f"{name}/thresholds")

    def compute_drive(self, below):
        """Computes the drive minus the thresholds from the current code below."""
        self.size = below.shape[-3:]
        u = convolve(self.dropout(below), self.dictionary, self.block["Stride"], self.block["Padding"]) + self.offset
        self.net = u if self.coding["Rectified"] else jnp.concatenate([u, -u], -1)
        if self.coding["Thresholds"] == "class":
            self.net = self.net if self.net.ndim == 5 else self.net[:, None]
        if self.thresholds is not None:
            self.net = self.net - self.thresholds

    def update(self, r=None):
        """Computes the code from the drive, shifted by r from the block above, and its norm if it is spherical."""
        self.code = jax.nn.relu(self.net if r is None else hypotheses(self.net, r) + r)
        if self.coding["Spherical"]:
            self.code, self.norm = normalize(self.code)

    def top_down(self):
        """Top-down input r to the block below."""
        filters = self.block["Filters"]
        signed = self.code[..., :filters] - self.code[..., filters:]
        return self.dropout(adjoint(signed, self.dictionary, self.block["Stride"], self.block["Padding"], self.size))

    def energy(self):
        """The energy [N] or [N, Y] of the current code and drive."""
        return jnp.sum(hypotheses(self.net, self.code) * self.code, (-3, -2, -1))


def sweep(levels):
    """Updates every code once, from the bottom to the top."""
    for i, level in enumerate(levels):
        if i > 0:
            level.compute_drive(levels[i - 1].code)
        level.update(levels[i + 1].top_down() if i + 1 < len(levels) else None)


def forward(case, units, variables, x, key=None):
    """Scores [N, Y] of images [N, H, W, C]; with dropout if there is a key. Sets the units of the variables' steps."""
    step, levels = 1.0, []
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
            x = flat(lambda x: pool(x, p["Window"], p["Stride"], p["Padding"], p["Average"]), x)
            step = 1.0 if step == 1 else unit(x.shape[-3:])
            continue
        name, block = layer["Name"], layer["Block"]
        if not levels and block["Coding"]["Spherical"]:
            x, _ = normalize(x)
            step = unit(x.shape[-3:])
        level = Level(name, block, variables, dropout(x) if levels else Dropout(rate, None, x.shape))
        level.compute_drive(x)
        level.update()
        levels.append(level)
        units[f"{name}/offset"] = step
        units[f"{name}/thresholds"] = step * case.threshold_step(block["Coding"]["Thresholds"])
        x = level.code
        if block["Coding"]["Spherical"]:
            step = unit(x.shape[-3:])
    if case.linear:
        scale = case.hyper["classifier_scale"] / step
        return scale * dropout(x)(x).mean((1, 2)) @ variables["classifier/weights"]
    for _ in range(case.sweeps):
        sweep(levels)
    energies = [level.energy() if case.sweeps else level.norm for level in levels if level.code.ndim == 5]
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


def main(folder, program, steps):
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
        return adam(case.hyper["learning_rate"], units, state, gradients), key, value

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

    case.measure(program, steps, scores(variables, images), {"inference": infer, "train": train})


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
