"""What the peers share: the case they are given and the protocol by which they take turns.

A peer is started as `python NAME_peer.py FOLDER PLATFORM`, on the platform cpu or cuda. It reads the case from FOLDER, computes the class scores of the batch
with the initial variables, writes them to FOLDER/NAME.npy and prints "ready VERSION". Then, for each line "train N" or
"inference N" of its input, it takes N steps and prints the seconds of one and the process's peak resident memory
meanwhile in MiB (0 where the system does not tell), until its input ends.
"""

import json
import os
import sys
import time

import numpy as np


class Case:
    """A network, as package ebssc declares it, with its settings, initial variables and one batch."""

    def __init__(self, folder):
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            case = json.load(file)
        network = case["Network"]
        self.layers = network["Layers"]
        self.classes = network["Classes"]
        self.linear = network["Classifier"] == "LC"
        self.sweeps = network.get("Sweeps", 0)
        if self.sweeps and any(layer.get("Pool") for layer in self.layers):
            raise NotImplementedError("the peers have no sweeps through pools")
        self.settings = case["Settings"]
        self.variables = dict(np.load(os.path.join(folder, "variables.npz")))
        batch = np.load(os.path.join(folder, "batch.npz"))
        self.images = batch["images"]  # [N, H, W, C]
        self.labels = batch["labels"]  # [N]


def unit(dims):
    """The size of one entry of a code of unit norm and this shape: steps of what meets it are proportioned to it."""
    return float(np.prod(dims)) ** -0.5


def side_by_side(size, kernel, stride, padding):
    """Whether the windows tile an image of that size [H, W, …], one or many, so that a convolution is a matrix product."""
    one = size[0] == size[1] == kernel
    return padding == 0 and (one or stride == kernel) and size[0] % kernel == size[1] % kernel == 0


def forget_peak():
    """Peak memory counts from here."""
    if sys.platform == "linux":
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")


def peak():
    """Peak resident memory of this process in MiB; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))


def serve(name, version, folder, scores, turns):
    """Answers on standard output until the input ends. turns: "train" and "inference" to functions of a number of steps."""
    np.save(os.path.join(folder, name + ".npy"), np.asarray(scores, dtype=np.float32))
    print("ready", version, flush=True)
    for line in sys.stdin:
        what, steps = line.split()
        forget_peak()
        began = time.perf_counter()
        turns[what](int(steps))
        seconds = (time.perf_counter() - began) / int(steps)
        print(seconds, peak(), flush=True)
