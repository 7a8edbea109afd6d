"""Shared by the peers: reading a case, and printing measurements as Go's benchmarks do.

A peer is started as `python FRAMEWORK_peer.py FOLDER PROGRAM STEPS`, for a case that `go test ./internal/bench -bench Step -args -cases
CASES` wrote to CASES/FOLDER. It fails if its class scores are not this program's.
"""

import json
import math
import os
import time

import numpy as np


class Case:
    """A network, as package ebssc declares it, with its hyperparameters, initial variables and one batch."""

    def __init__(self, folder):
        self.name = os.path.basename(os.path.normpath(folder)).replace(",", "/")
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            case = json.load(file)
        network = case["Network"]
        self.layers = network["Layers"]
        self.linear = network["Classifier"] == "LC"
        self.hyper = case["Hyper"]
        self.variables = dict(np.load(os.path.join(folder, "variables.npz")))
        batch = np.load(os.path.join(folder, "batch.npz"))
        self.images = batch["images"]  # [N, H, W, C]
        self.labels = batch["labels"][:, 0]  # [N]
        self.scores = batch["scores"]  # [N, Y]

    def threshold_step(self, thresholds):
        """The factor on a block's steps of thresholds, beside the unit of its input."""
        return self.hyper["class_step" if thresholds == "class" else "beta_step"]

    def measure(self, program, seconds, scores, steps):
        """Checks the class scores, and times steps for that many seconds after two that warm up. steps maps "inference" and "train" to
        functions that take one."""
        # Relative to the largest score. bfloat16 has 8 bits, and scores of class-specific codes are differences of energies that start
        # nearly equal.
        tolerance = (0.05 if self.linear else 0.5) if program.endswith("-bf16") else 1e-3
        error = np.abs(np.asarray(scores, dtype=np.float32) - self.scores).max() / np.abs(self.scores).max()
        if not error <= tolerance:
            raise SystemExit(f"{program}, {self.name}: class scores differ by {error:.2g}")
        for what, step in steps.items():
            step()
            step()
            taken, began, elapsed = 0, time.perf_counter(), 0
            while elapsed < seconds:
                step()
                taken += 1
                elapsed = time.perf_counter() - began
            print(f"BenchmarkStep/{self.name}/what={what}/program={program}-{len(os.sched_getaffinity(0))}\t{taken}\t"
                  f"{1e9 * elapsed / taken:.0f} ns/op\t{taken * len(self.images) / elapsed:.1f} images/s", flush=True)


def unit(dims):
    """Root mean square of the entries of a unit-norm code of this shape: learning rates of what is added to it scale with it."""
    return math.prod(dims) ** -0.5
