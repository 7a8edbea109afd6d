"""Class scores of a trained network in NumPy alone, to read the model in another language, or to check the program.

    bin/ebssc export --run ID --out model.npz
    python3 docs/scores.py model.npz

A network's file holds its variables by name and the run's description in JSON. `ebssc export` adds preprocessed test images and
the scores that the program computes for them; this script prints the largest difference from its own. Codes are
[images, hypotheses, height, width, channels]. Networks with sweeps are left out.
"""
import json
import sys

import numpy as np


def windows(x, size, stride, padding, border):
    """Windows [..., H', W', channels, size, size] of codes with that border."""
    pad = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
    x = np.pad(x, pad, constant_values=border)
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (-3, -2))[..., ::stride, ::stride, :, :, :]


def normalize(x, axes=(-3, -2, -1)):
    """Codes on the unit sphere and their norms, Eq. (ebm_projection)."""
    norm = np.sqrt((x * x).sum(axes, keepdims=True))
    return x / np.where(norm == 0, 1, norm), norm


def root_mean_square(x, coding):
    """Root mean square of the entries of codes x of unit norm."""
    return 1 / np.sqrt(x.shape[-1] if coding.get("Local") else x[0, 0].size)


def scores(run, variables, images):
    """Class scores [images, classes] of preprocessed images [images, height, width, channels]."""
    network, settings = run["Network"], run["Settings"]
    x, rms, energies = images[:, None], 1.0, 0.0
    coding = next(layer["Block"]["Coding"] for layer in network["Layers"] if "Block" in layer)
    if coding["Spherical"]:
        x, _ = normalize(x)
    for layer in network["Layers"]:
        if pool := layer.get("Pool"):
            border = np.nan if pool["Average"] else -np.inf
            taken = windows(x, pool["Window"], pool["Stride"], pool["Padding"], border)
            x = np.nanmean(taken, (-2, -1)) if pool["Average"] else taken.max((-2, -1))
            if rms != 1:
                rms = root_mean_square(x, coding)
            continue
        block, name = layer["Block"], layer["Name"]
        coding = block["Coding"]
        taken = windows(x, block["Kernel"], block["Stride"], block["Padding"], 0)
        u = np.einsum("...cij,ijck->...k", taken, variables[name + "/dictionary"], optimize=True) + variables[name + "/offset"]
        if not coding["Rectified"]:
            u = np.concatenate([u, -u], -1)
        threshold = variables.get(name + "/thresholds", np.float32(0))
        if coding["Thresholds"] == "beta-filter":
            threshold = np.concatenate([threshold, threshold])
        x = np.maximum(u - threshold, 0)  # asymmetric shrinkage, Eq. (asym_shrink)
        if coding["Spherical"]:
            x, norm = normalize(x, (-1,) if coding.get("Local") else (-3, -2, -1))
            if coding["Thresholds"] == "class":
                energy = norm.sum((-3, -2, -1))  # Appendix B: the energy of an optimal code is its norm
                energies = energy if network["Classifier"] == "EBC-top" else energies + energy
        if coding.get("Signed"):  # z⁺ − z⁻
            x = x[..., : block["Filters"]] - x[..., block["Filters"] :]
        if coding["Spherical"]:
            rms = root_mean_square(x, coding)
    if network["Classifier"] == "LC":
        return x.mean((-3, -2))[:, 0] @ variables["classifier/weights"] * settings["classifier_scale"] / rms
    return (energies - energies.mean(1, keepdims=True)) * settings["energy_scale"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 docs/scores.py model.npz")
    arrays = dict(np.load(sys.argv[1]))
    if "logits" not in arrays:
        sys.exit(f"{sys.argv[1]} has no images and scores: make it with ebssc export")
    run = json.loads(arrays.pop("run").tobytes())
    if run["Network"].get("Sweeps"):
        sys.exit(f"{sys.argv[1]} is of a network with sweeps of inference, which are left out here")
    own = scores(run, arrays, arrays["images"])
    difference, largest = abs(own - arrays["logits"]).max(), abs(own).max()
    print(f"largest difference {difference:.2g}, largest score {largest:.2g}")
    sys.exit(int(difference > 0.05 * largest))
