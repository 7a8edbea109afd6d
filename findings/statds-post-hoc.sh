#!/usr/bin/env bash
# statds 1.1.7 (StaTDS, a library that compares the results of algorithms), all without an error:
# 1. holm, as well as holland and finner, puts adjusted p-values beside the wrong comparisons: each
#    is a maximum over smaller ones, which takes along the comparison that it came from, and they
#    are sorted by that. So the clearest difference (p 0.0005) has the largest adjusted p, and a
#    comparison with p 0.23 has an adjusted p of 0.003, though an adjustment never makes p smaller.
# 2. hochberg exchanges the minimum and the maximum: most of its adjusted p-values are those of less
#    clear differences. Its decisions take the thresholds of Benjamini and Hochberg, which allow
#    more errors than Hochberg's, so that decisions and adjusted p-values contradict each other.
# 3. holland and finner decide by thresholds with the exponent upside down, of alpha or more:
#    for six comparisons, a p of 0.22 is a rejection at 0.05, which it isn't without adjustment.
# 4. contrast_estimation_based_on_medians takes a sum where García and others (2010) take a mean: of
#    k algorithms each difference is k times too large.
# Guess before, from the documentation and textbooks: adjusted p-values as they are defined (here
# computed beside them), and a rejection where they are at most alpha; the difference of columns
# that are apart by a constant. Here: mean ranks of four algorithms on ten data sets, then on three;
# then four columns that are 1 apart each.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps statds==1.1.7 numpy==2.4.6 pandas==3.1.1 matplotlib==3.11.2 \
  contourpy==1.3.3 cycler==0.12.1 fonttools==4.68.0 kiwisolver==1.5.1 packaging==26.4 \
  pillow==13.0.0 pyparsing==3.3.3 python-dateutil==2.9.0.post0 six==1.17.0 tzdata==2026.6
export MPLCONFIGDIR=$folder MPLBACKEND=agg
cat > compare.py <<'PY'
from itertools import accumulate

import pandas
from statds import no_parametrics

ranks = {"A": 1.5, "B": 2.2, "C": 2.8, "D": 3.5}


def show(title, numbers):
    print(f"  {title}:", *(f"{number:.2g}" for number in numbers))


def test(name, sets):
    table, _ = getattr(no_parametrics, name)(ranks, sets)
    rejected = table["Comparison"][table["Results"] == "Reject H0"]
    print(f"{name}, {sets} data sets: rejects", ", ".join(rejected))
    show("p", table["p-value"])
    return table, list(table["p-value"])


for name in "holm", "hochberg":
    table, p = test(name, 10)
    order = sorted(range(6), key=lambda i: p[i])
    steps = [(6 - i) * p[j] for i, j in enumerate(order)]
    if name == "holm":
        right = accumulate(steps, max)
    else:
        right = [*accumulate(reversed(steps), min)][::-1]
    show("adjusted", table["Adjusted p-value"])
    show("right", [min(q, 1) for _, q in sorted(zip(order, right))])
for name, power in ("holland", lambda i: 1 / (6 - i)), ("finner", lambda i: (i + 1) / 6):
    table, p = test(name, 3)
    show("thresholds", table["Adjusted alpha"])
    right = [1 - 0.95 ** power(i) for i in range(6)]
    show("right", [right[i] for i in pandas.Series(p).rank(method="first").astype(int) - 1])
results = pandas.DataFrame({"set": [7, 8, 9]})
for i, name in enumerate(ranks):
    results[name] = results["set"] + i
contrast = no_parametrics.contrast_estimation_based_on_medians(results, minimize=True)
print(f"A and D, 3 apart: contrast {contrast.at['D', 'A']}")
PY
expect 'holm, 10 data sets: rejects A vs D
  p: 0.23 0.024 0.00053 0.3 0.024 0.23
  adjusted: 0.68 0.68 0.68 0.12 0.12 0.0032
  right: 0.68 0.12 0.0032 0.68 0.12 0.68
hochberg, 10 data sets: rejects A vs D, B vs D
  p: 0.23 0.024 0.00053 0.3 0.024 0.23
  adjusted: 0.68 0.68 0.68 0.3 0.68 0.45
  right: 0.3 0.097 0.0032 0.3 0.097 0.3
holland, 3 data sets: rejects A vs C, A vs D
  p: 0.51 0.22 0.058 0.57 0.22 0.51
  thresholds: 0.14 0.23 0.26 0.05 0.19 0.098
  right: 0.017 0.01 0.0085 0.05 0.013 0.025
finner, 3 data sets: rejects A vs D
  p: 0.51 0.22 0.058 0.57 0.22 0.51
  thresholds: 0.074 0.14 0.26 0.05 0.098 0.06
  right: 0.034 0.017 0.0085 0.05 0.025 0.042
A and D, 3 apart: contrast 12.0' python3 compare.py
