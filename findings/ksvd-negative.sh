#!/usr/bin/env bash
# ksvd 0.0.3: ApproximateKSVD makes a dictionary worse as soon as it learns. To update an atom it
# takes the signals whose coefficient is above 0, where K-SVD (Aharon and others, 2006; the
# approximate form by Rubinstein and others, 2008) takes all whose coefficient isn't 0. Orthogonal
# matching pursuit, which it codes with, gives both signs. So an atom follows half of its signals
# and ignores the others, and one that is only subtracted is never updated. There is no error. Guess
# before, from the papers: an update never raises the squared error, so that the best dictionary
# stays. Here: signals (±3, 1, 0) and (0, 0, ±2), two atoms, and one atom for each signal. The
# dictionary starts from an SVD, which has the best two: (1, 0, 0) and (0, 0, 1). The same code with
# coefficients of both signs keeps them.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps ksvd==0.0.3 numpy==2.4.6 scipy==1.17.1 scikit-learn==1.8.0 joblib==1.5.2 \
  threadpoolctl==3.6.0
cat > learn.py <<'PY'
import inspect
import textwrap

import numpy
from ksvd import ApproximateKSVD

code = textwrap.dedent(inspect.getsource(ApproximateKSVD._update_dict))
assert code.count("> 0") == 1
scope = {"np": numpy}
exec(code.replace("> 0", "!= 0"), scope)


class BothSigns(ApproximateKSVD):
    _update_dict = scope["_update_dict"]


signals = numpy.array([[3.0, 1, 0], [-3, 1, 0], [0, 0, 2], [0, 0, -2]] * 10)
for kind in ApproximateKSVD, BothSigns:
    for updates in 0, 1, 10:
        model = kind(2, max_iter=updates, transform_n_nonzero_coefs=1).fit(signals)
        rest = signals - model.transform(signals) @ model.components_
        atoms = sorted(numpy.abs(model.components_).round(2).tolist(), reverse=True)
        print(f"{kind.__name__}, updates {updates}: error {(rest**2).sum():.1f}, atoms", *atoms)
PY
expect 'ApproximateKSVD, updates 0: error 20.0, atoms [1.0, 0.0, 0.0] [0.0, 0.0, 1.0]
ApproximateKSVD, updates 1: error 36.0, atoms [0.95, 0.32, 0.0] [0.0, 0.0, 1.0]
ApproximateKSVD, updates 10: error 36.0, atoms [0.95, 0.32, 0.0] [0.0, 0.0, 1.0]
BothSigns, updates 0: error 20.0, atoms [1.0, 0.0, 0.0] [0.0, 0.0, 1.0]
BothSigns, updates 1: error 20.0, atoms [1.0, 0.0, 0.0] [0.0, 0.0, 1.0]
BothSigns, updates 10: error 20.0, atoms [1.0, 0.0, 0.0] [0.0, 0.0, 1.0]' python3 learn.py
