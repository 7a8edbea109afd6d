"""What the peers share: the case they are given and the protocol by which they take turns.

A peer is started as `python NAME_peer.py FOLDER`. It reads the case from FOLDER, computes the class scores of the batch
with the initial variables, writes them to FOLDER/NAME.npy and prints "ready VERSION". Then, for each line "train N" or
"inference N" of its input, it takes N steps and prints the seconds of one, until its input ends.
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
        self.layers = case["network"]["Layers"]
        self.classes = case["network"]["Classes"]
        self.linear = case["network"]["Classifier"] == "LC"
        self.settings = case["settings"]
        self.variables = dict(np.load(os.path.join(folder, "variables.npz")))
        batch = np.load(os.path.join(folder, "batch.npz"))
        self.images = batch["images"]  # [N, H, W, C]
        self.labels = batch["labels"]  # [N]


def unit(dims):
    """The size of one entry of a code of unit norm and this shape: steps of what meets it are proportioned to it."""
    return float(np.prod(dims)) ** -0.5


def serve(name, version, folder, scores, turns):
    """Answers on standard output until the input ends. turns: "train" and "inference" to functions of a number of steps."""
    np.save(os.path.join(folder, name + ".npy"), np.asarray(scores, dtype=np.float32))
    print("ready", version, flush=True)
    for line in sys.stdin:
        what, steps = line.split()
        began = time.perf_counter()
        turns[what](int(steps))
        print((time.perf_counter() - began) / int(steps), flush=True)
