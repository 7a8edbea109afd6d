"""Shared by the peers: reading the case, and the protocol by which they take turns.

A peer is started as `python FRAMEWORK_peer.py FOLDER PLATFORM NAME`, on the platform cpu or cuda. It reads the case from FOLDER,
computes the class scores of the batch with the initial variables, writes them to FOLDER/NAME.npy and prints "ready VERSION".
Then it reads lines "train N" or "inference N". For each it takes N steps and prints the mean seconds of a step, until its
input ends.
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
        self.labels = batch["labels"][:, 0]  # [N]


def unit(dims):
    """Root mean square of the entries of a unit-norm code of this shape: learning rates of what is added to it scale with it."""
    return float(np.prod(dims)) ** -0.5


def side_by_side(size, kernel, stride, padding):
    """Whether the windows tile an image of that size [H, W, …], one or many, so that a convolution is a matrix product."""
    one = size[0] == size[1] == kernel
    return padding == 0 and (one or stride == kernel) and size[0] % kernel == size[1] % kernel == 0


def serve(name, version, folder, scores, turns):
    """Speaks the protocol until the input ends. turns maps "train" and "inference" to functions of a number of steps."""
    np.save(os.path.join(folder, name + ".npy"), np.asarray(scores, dtype=np.float32))
    print("ready", version, flush=True)
    for line in sys.stdin:
        what, steps = line.split()
        began = time.perf_counter()
        turns[what](int(steps))
        print((time.perf_counter() - began) / int(steps), flush=True)
