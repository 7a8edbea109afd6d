"""Class scores of a trained network in NumPy alone, to read the model in another language, or to check the program.

    python3 docs/scores.py results/quick/networks/ID.npz t10k-images-idx3-ubyte.gz

A network's file holds its variables by name and the run's description in JSON. This script computes the classes of the first
test digits, for a network of digits without sweeps of inference, and compares them with those in the run's record. Codes are
[images, hypotheses, height, width, channels].
"""
import gzip
import json
import pathlib
import sys

import numpy as np


def windows(x, size, stride, padding, border):
    """Windows [..., H', W', channels, size, size] of codes with that border."""
    pad = [(0, 0)] * (x.ndim - 3) + [(padding, padding)] * 2 + [(0, 0)]
    x = np.pad(x, pad, constant_values=border)
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (-3, -2))[..., ::stride, ::stride, :, :, :]


def normalize(x):
    """Codes on the unit sphere and their norms, Eq. (ebm_projection)."""
    norm = np.sqrt((x * x).sum((-3, -2, -1), keepdims=True))
    return x / np.where(norm == 0, 1, norm), norm


def root_mean_square(x):
    """Root mean square of the entries of codes x of unit norm."""
    return 1 / np.sqrt(x[0, 0].size)


def scores(run, variables, images):
    """Class scores [images, classes] of preprocessed images [images, height, width, channels]."""
    network, hyper = run["Network"], run["Hyper"]
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
                rms = root_mean_square(x)
            continue
        block, name = layer["Block"], layer["Name"]
        coding = block["Coding"]
        taken = windows(x, block["Kernel"], block["Stride"], block["Padding"], 0)
        u = np.einsum("...cij,ijck->...k", taken, variables[name + "/dictionary"], optimize=True) + variables[name + "/offset"]
        if not coding["Rectified"]:
            u = np.concatenate([u, -u], -1)
        threshold = variables.get(name + "/thresholds", np.float32(0))
        x = np.maximum(u - threshold, 0)  # asymmetric shrinkage, Eq. (asym_shrink)
        if coding["Spherical"]:
            x, norm = normalize(x)
            if coding["Thresholds"] == "class":
                energy = norm.sum((-3, -2, -1))  # Appendix B: the energy of an optimal code is its norm
                energies = energy if network["Classifier"] == "EBC-top" else energies + energy
        if coding["Spherical"]:
            rms = root_mean_square(x)
    if network["Classifier"] == "LC":
        return x.mean((-3, -2))[:, 0] @ variables["classifier/weights"] * hyper["classifier_scale"] / rms
    return (energies - energies.mean(1, keepdims=True)) * hyper["energy_scale"]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python3 docs/scores.py network.npz t10k-images-idx3-ubyte.gz")
    path = pathlib.Path(sys.argv[1])
    arrays = {name: array.astype(np.float32) if name != "run" else array for name, array in np.load(path).items()}
    run = json.loads(arrays.pop("run").tobytes())
    if run["Network"].get("Sweeps") or run["Hyper"]["preprocessing"] != "raw":
        sys.exit(f"{path} has sweeps of inference or whitened images, which are left out here")
    recorded = json.loads((path.parent.parent / "runs" / (path.stem + ".json")).read_text())["Predictions"][:200]
    digits = np.frombuffer(gzip.open(sys.argv[2]).read(), np.uint8, offset=16).reshape(-1, 28, 28, 1)[: len(recorded)]
    own = "".join(str(c) for c in scores(run, arrays, digits.astype(np.float32) / 255).argmax(-1))
    differ = sum(a != b for a, b in zip(own, recorded))
    print(f"{differ} of the first {len(recorded)} digits have another class than in the record")
    sys.exit(int(differ > 2))
