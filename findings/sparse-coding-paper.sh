#!/usr/bin/env bash
# sparse-coding 2.4.0: the mode "paper", which is said to reproduce Olshausen and Field (1996)
# exactly, rewards large coefficients. The paper's cost is the squared error plus λ times the sum of
# log(1 + (a/σ)²). energy_paper and grad_paper subtract the sum, as does a formula in the README:
# "sparseness" has a minus sign in the paper, but it is itself minus that sum. So each coefficient
# is larger than that of least squares, where the paper's is smaller. With more atoms than pixels
# there is no minimum at all: coefficients grow against each other for as long as the solver may
# run. There is no error, and the mode "l1" is right. Guess before, from the paper: coefficients
# drawn towards 0. Here: four orthogonal atoms, for which the paper's cost is solved one coefficient
# at a time; then the signal (2, 0.5) in the atoms (1, 0), (0, 1) and (0.7, 0.7).
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps sparse-coding==2.4.0 numpy==2.4.6
cat > encode.py <<'PY'
import numpy
from sparse_coding import SparseCoder


def encode(atoms, signal, **options):
    coder = SparseCoder(n_atoms=atoms.shape[1], rel_tol=0, tol=0, **options)
    coder.D = atoms
    return coder.encode(numpy.array([signal]).T).T[0]


def paper(x, weight, sigma):
    """paper finds the zero of the cost's slope between 0 and x, by halving."""
    low, high = 0.0, x
    for _ in range(60):
        a = (low + high) / 2
        if a - x + weight * 2 * a / (sigma**2 + a**2) > 0:
            high = a
        else:
            low = a
    return a


def show(title, coefficients):
    print(f"{title}:", *(f"{a:.2f}" for a in coefficients))


signal = [3.0, 1.0, 0.3, 0.1]
sigma = numpy.std(signal)  # as the package takes it
show("least squares", signal)
show("paper", [paper(x, 0.5, sigma) for x in signal])
show("sparse-coding", encode(numpy.eye(4), signal, mode="paper", lam=0.5))
atoms = numpy.array([[1, 0, 0.5**0.5], [0, 1, 0.5**0.5]])
for mode in "l1", "paper":
    for steps, bound in (50, 2), (500, 10), (5000, 30):
        largest = abs(encode(atoms, [2.0, 0.5], mode=mode, lam=0.1, max_iter=steps)).max()
        print(f"{mode}, {steps} iterations: a coefficient above {bound}: {largest > bound}")
PY
expect 'least squares: 3.00 1.00 0.30 0.10
paper: 2.69 0.63 0.17 0.06
sparse-coding: 3.27 1.43 0.68 0.33
l1, 50 iterations: a coefficient above 2: False
l1, 500 iterations: a coefficient above 10: False
l1, 5000 iterations: a coefficient above 30: False
paper, 50 iterations: a coefficient above 2: True
paper, 500 iterations: a coefficient above 10: True
paper, 5000 iterations: a coefficient above 30: True' python3 encode.py
