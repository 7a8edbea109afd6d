"""The networks of package ebssc in PyTorch on the CPU: program torch is eager, torch-compiled is compiled. With -bf16 at its end a
program computes in bfloat16 autocast.

Codes are [N, H, W, C] or, for each hypothesis, [N, Y, H, W, C], contiguous: seen as [N, C, H, W] that is channels_last,
the layout in which PyTorch's convolutions and pools are fast, and no step between them copies. A block below which nothing
depends on the hypothesis convolves once for all of them; the others convolve all hypotheses as one batch.
"""

import math
import os
import sys

import torch
import torch.nn.functional as F

from peer import Case, unit


def channels_first(x):
    """[..., H, W, C] as [N, C, H, W] in channels_last: a view."""
    return x.flatten(0, -4).permute(0, 3, 1, 2)


def channels_last(x, like):
    """[N, C, H, W] in channels_last as [..., H, W, C] with the leading axes of `like`: a view."""
    x = x.permute(0, 2, 3, 1)
    return x.unflatten(0, like.shape[:-3])


def convolve(x, dictionary, offset, stride, padding):
    """d ⋆ x + b."""
    if dictionary.shape[-1] == 1 and stride == 1:  # a matrix product; beyond the image there is the offset alone
        return F.pad(F.linear(x, dictionary.flatten(1)), (0, 0) + (padding,) * 4) + offset
    return channels_last(F.conv2d(channels_first(x), dictionary, offset, stride, padding), x)


def normalize(z):
    """z/‖z‖ and ‖z‖ [N] or [N, Y]; 0 where z is 0."""
    norm = torch.linalg.vector_norm(z, dim=(-3, -2, -1), keepdim=True)
    # The gradient of a quotient has two divisions of the code's size; this takes three quarters of the time.
    return z * norm.clamp_min(1e-30).reciprocal(), norm[..., 0, 0, 0]


def mask(shape, rate):
    """Zeros at this rate, to within 2⁻¹⁶, and 1/(1 − rate) elsewhere.

    F.dropout draws its numbers one after the other, which takes a third of a narrow network's step; here four entries
    share a number of 64 bits.
    """
    count = math.prod(shape)
    numbers = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-2**63, None).view(torch.int16)[:count]
    return (numbers >= round(rate * 2**16) - 2**15).view(shape).float().mul_(1 / (1 - rate))


def hypotheses(x, like):
    """x with a hypothesis axis if `like` has one."""
    return x.unsqueeze(1) if x.dim() < like.dim() else x


def drop(x, mask):
    """Dropout of a code."""
    return x if mask is None else x * hypotheses(mask, x)


def code(name, block, variables, below, mask):
    """The code of a block, and its norm if it is spherical; mask is the dropout of the code below."""
    u = convolve(drop(below, mask), variables[f"{name}/dictionary"], variables[f"{name}/offset"], block["Stride"], block["Padding"])
    net = u if block["Coding"]["Rectified"] else torch.cat([u, -u], -1)
    if block["Coding"]["Thresholds"] == "class" and net.dim() == 4:
        net = net.unsqueeze(1)
    if f"{name}/thresholds" in variables:
        net = net - variables[f"{name}/thresholds"]
    z = F.relu(net)
    return normalize(z) if block["Coding"]["Spherical"] else (z, None)


class Network(torch.nn.Module):
    """A case's network. Its first pass sets the units of the variables' steps."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        self.units = {}
        self.variables = {}
        for name, value in case.variables.items():
            value = torch.from_numpy(value)
            if name.endswith("/dictionary"):  # [k, k, C, K]
                value = value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            self.variables[name] = torch.nn.Parameter(value)

    def mask(self, x):
        """A dropout mask for codes like x, which all hypotheses of an image share; None where nothing is dropped."""
        rate = self.case.hyper["dropout"]
        if not self.training or rate == 0:
            return None
        return mask(x.shape if x.dim() == 4 else x[:, :1].shape, rate)

    def forward(self, x):
        """Scores [N, Y] of images [N, H, W, C]."""
        step, first, energies = 1.0, True, []
        for layer in self.case.layers:
            if pool := layer.get("Pool"):
                x = channels_last(F.max_pool2d(channels_first(x), pool["Window"], pool["Stride"], pool["Padding"]), x)
                step = 1.0 if step == 1 else unit(x.shape[-3:])
                continue
            name, coding = layer["Name"], layer["Block"]["Coding"]
            if first and coding["Spherical"]:
                x, _ = normalize(x)
                step = unit(x.shape[-3:])
            x, norm = code(name, layer["Block"], self.variables, x, None if first else self.mask(x))
            self.units[f"{name}/offset"] = step
            self.units[f"{name}/thresholds"] = step * self.case.threshold_step(coding["Thresholds"])
            first = False
            if coding["Spherical"]:
                step = unit(x.shape[-3:])
            if x.dim() == 5:
                energies.append(norm)
        if self.case.linear:
            scale = self.case.hyper["classifier_scale"] / step
            return scale * drop(x, self.mask(x)).mean((1, 2)) @ self.variables["classifier/weights"]
        energy = sum(energies)
        return (energy - energy.mean(-1, keepdim=True)) * self.case.hyper["energy_scale"]

    def optimizer(self):
        """Adam, in groups of variables whose steps have the same unit."""
        groups = {}
        for name, variable in self.variables.items():
            groups.setdefault(self.units.get(name, 1.0), []).append(variable)
        rate = self.case.hyper["learning_rate"]
        return torch.optim.Adam([{"params": group, "lr": rate * step} for step, group in groups.items()], eps=1e-7, fused=True)


def main(folder, program, seconds):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    case = Case(folder)
    images, labels = torch.from_numpy(case.images), torch.from_numpy(case.labels).long()
    network = Network(case)
    bfloat16 = program.endswith("-bf16")
    scores_of = torch.compile(network.forward, dynamic=False) if "-compiled" in program else network

    def forward():
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            return scores_of(images).float()

    @torch.inference_mode()
    def infer():
        network.eval()
        return forward()

    scores = infer()
    optimizer = network.optimizer()
    thresholds = [variable for name, variable in network.variables.items() if name.endswith("/thresholds")]

    def train():
        network.train()
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(forward(), labels).backward()
        optimizer.step()
        with torch.no_grad():
            for threshold in thresholds:
                threshold.clamp_(min=0)

    case.measure(program, seconds, scores, {"inference": infer, "train": train})


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
