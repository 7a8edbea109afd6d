"""The networks of package ebssc in PyTorch, eager, on the CPU.

Codes are [N, H, W, C] or, for each hypothesis, [N, Y, H, W, C], contiguous: seen as [N, C, H, W] that is channels_last,
the layout in which PyTorch's convolutions and pools are fast, and no step between them copies. Block 6 of EBC convolves
once for all hypotheses, block 7 all hypotheses as one batch.
"""

import math
import os
import sys

import torch
import torch.nn.functional as F

from peer import Case, serve, unit


def channels_first(x):
    """[..., H, W, C] as [N, C, H, W] in channels_last: a view."""
    return x.flatten(0, -4).permute(0, 3, 1, 2)


def channels_last(x, like):
    """[N, C, H, W] in channels_last as [..., H, W, C] with the leading axes of `like`: a view."""
    x = x.permute(0, 2, 3, 1)
    return x.unflatten(0, like.shape[:-3])


def convolve(x, dictionary, offset, stride, padding):
    """d ⋆ x + b."""
    if dictionary.shape[2:] == (1, 1) and stride == 1:  # a matrix product; beyond the image there is the offset alone
        u = F.linear(x, dictionary.flatten(1))
        return F.pad(u, (0, 0) + (padding,) * 4) + offset
    return channels_last(F.conv2d(channels_first(x), dictionary, offset, stride, padding), x)


def normalize(z):
    """z/‖z‖ and ‖z‖ [N] or [N, Y]; 0 where z is 0."""
    norm = torch.linalg.vector_norm(z, dim=(-3, -2, -1), keepdim=True)
    return z / norm.clamp_min(1e-30), norm[..., 0, 0, 0]


def mask(shape, rate):
    """Zeros at this rate, to within 2⁻¹⁶, and 1/(1 − rate) elsewhere.

    F.dropout draws its numbers one after the other, which takes a third of a narrow network's step; here four entries
    share a number of 64 bits.
    """
    count = math.prod(shape)
    numbers = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-2**63, None).view(torch.int16)[:count]
    return (numbers >= round(rate * 2**16) - 2**15).view(shape).float().mul_(1 / (1 - rate))


class Network(torch.nn.Module):
    """A case's network. Its first pass finds the units of the variables' steps."""

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

    def drop(self, x):
        """Dropout; all hypotheses of an image share one mask."""
        rate = self.case.settings["dropout_rate"]
        if not self.training or rate == 0:
            return x
        return x * mask(x.shape if x.dim() == 4 else x[:, :1].shape, rate)

    def code(self, name, block, x, step):
        """The block's code of x, its energy if it is spherical, and the unit of its entries. step is x's unit."""
        variable = {key: self.variables.get(f"{name}/{key}") for key in ("dictionary", "offset", "thresholds")}
        coding = block["Coding"]
        u = convolve(x, variable["dictionary"], variable["offset"], block["Stride"], block["Padding"])
        self.units[f"{name}/offset"] = step
        if coding["Rectified"]:
            z = F.relu(u)
        else:
            z = torch.cat([u, -u], -1)
            if coding["Thresholds"] != "zero":
                self.units[f"{name}/thresholds"] = step
                if coding["Thresholds"] == "class":
                    self.units[f"{name}/thresholds"] *= self.case.settings["class_step"]
                    z = z if z.dim() == 5 else z.unsqueeze(1)
                z = z - variable["thresholds"]
            z = F.relu(z)
        if not coding["Spherical"]:
            return z, None, step
        z, energy = normalize(z)
        return z, energy, unit(z.shape[-3:])

    def forward(self, x):
        """Scores [N, Y] of images [N, H, W, C]."""
        step, energies = 1.0, []
        for number, layer in enumerate(self.case.layers):
            if pool := layer.get("Pool"):
                if pool["Average"]:
                    z = F.avg_pool2d(channels_first(x), pool["Window"], pool["Stride"], pool["Padding"], count_include_pad=False)
                else:
                    z = F.max_pool2d(channels_first(x), pool["Window"], pool["Stride"], pool["Padding"])
                x = channels_last(z, x)
                step = 1.0 if step == 1 else unit(x.shape[-3:])
                continue
            block = layer["Block"]
            if number > 0:
                x = self.drop(x)
            elif block["Coding"]["Spherical"]:
                x, _ = normalize(x)
                step = unit(x.shape[-3:])
            x, energy, step = self.code(layer["Name"], block, x, step)
            if energy is not None and x.dim() == 5:
                energies.append(energy)
        if not self.case.linear:
            return sum(energies) * self.case.settings["energy_scale"]
        self.units["classifier/weights"] = self.case.settings["classifier_scale"] / step
        return self.drop(x).mean((1, 2)) @ self.variables["classifier/weights"]

    def optimizer(self):
        """Adam, in groups of variables whose steps have the same unit."""
        groups = {}
        for name, variable in self.variables.items():
            groups.setdefault(self.units.get(name, 1.0), []).append(variable)
        rate = self.case.settings["learning_rate"]
        return torch.optim.Adam([{"params": group, "lr": rate * step} for step, group in groups.items()], eps=1e-7, fused=True)


def main(folder):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(0)
    case = Case(folder)
    images, labels = torch.from_numpy(case.images), torch.from_numpy(case.labels).long()
    network = Network(case)

    @torch.inference_mode()
    def infer(steps):
        network.eval()
        for _ in range(steps):
            scores = network(images)
        return scores

    scores = infer(1)
    optimizer = network.optimizer()
    thresholds = [variable for name, variable in network.variables.items() if name.endswith("/thresholds")]

    def train(steps):
        network.train()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(network(images), labels).backward()
            optimizer.step()
            with torch.no_grad():
                for threshold in thresholds:
                    threshold.clamp_(min=0)

    serve("torch", torch.__version__, folder, scores, {"train": train, "inference": infer})


main(sys.argv[1])
