#!/usr/bin/env bash
# proxop 1.0.6 (the Python package of the Proximity Operator Repository): many of its proximity
# operators don't return the minimum that defines them, of gamma·f(y) + (y − x)²/2, and say nothing.
# Power(3) does not divide by 6·gamma, and Power(1.5) takes 2·gamma for gamma². SquaredHinge keeps
# the flat piece that only HingeLoss has. FairPotential lacks a term under its root, so that small
# numbers change their sign. LogisticLoss subtracts from x/gamma in place of x, which is right for
# gamma = 1 only. Newton's method, which is not checked after its last step, goes back and forth in
# Hyperbolic, and in Inverse is still on its way back from 1e20. Some results have a larger cost
# than x itself. Examples in the documentation show such numbers, too. Guess before, from the
# definition: the minimum, as for Huber and AbsValue. Here: the result beside the minimum of the
# package's own f on a fine grid, and the cost of both.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps proxop==1.0.6 numpy==2.4.6 scipy==1.17.1
cat > minima.py <<'PY'
import numpy
import proxop

grid = numpy.linspace(-8, 8, 16001)
for title, f, gamma, x in (
    ("Huber(1)", proxop.Huber(1), 0.5, 2.0),
    ("AbsValue()", proxop.AbsValue(), 0.5, 2.0),
    ("Power(3)", proxop.Power(3), 1.0, 2.0),
    ("Power(1.5)", proxop.Power(1.5), 1.0, 2.0),
    ("SquaredHinge()", proxop.SquaredHinge(), 1.0, 0.1),
    ("FairPotential()", proxop.FairPotential(), 1.0, 0.1),
    ("Inverse()", proxop.Inverse(), 1.0, 2.0),
    ("Hyperbolic(1)", proxop.Hyperbolic(1), 1.0, 5.0),
    ("LogisticLoss()", proxop.LogisticLoss(), 1.0, 2.0),
    ("LogisticLoss()", proxop.LogisticLoss(), 0.5, 2.0),
):

    def cost(y):
        return gamma * float(f(numpy.array([y]))) + (y - x) ** 2 / 2

    # A second number, as some operators take a single one for a scalar.
    result = float(f.prox(numpy.array([x, x]), gamma)[0])
    best = float(min(grid, key=cost))
    print(f"{title}, gamma {gamma}, x {x}: {result:.2f}, minimum at {best:.2f};", end=" ")
    print(f"cost {cost(result):.2f}, there {cost(best):.2f}")
PY
expect 'Huber(1), gamma 0.5, x 2.0: 1.50, minimum at 1.50; cost 0.62, there 0.62
AbsValue(), gamma 0.5, x 2.0: 1.50, minimum at 1.50; cost 0.88, there 0.88
Power(3), gamma 1.0, x 2.0: 4.00, minimum at 0.67; cost 66.00, there 1.19
Power(1.5), gamma 1.0, x 2.0: -0.55, minimum at 0.72; cost 3.67, there 1.43
SquaredHinge(), gamma 1.0, x 0.1: 1.00, minimum at 0.70; cost 0.41, there 0.27
FairPotential(), gamma 1.0, x 0.1: -0.40, minimum at 0.05; cost 0.19, there 0.00
Inverse(), gamma 1.0, x 2.0: 554.09, minimum at 2.21; cost 152401.44, there 0.47
Hyperbolic(1), gamma 1.0, x 5.0: 2.50, minimum at 4.03; cost 5.82, there 4.62
LogisticLoss(), gamma 1.0, x 2.0: 1.23, minimum at 1.23; cost 1.78, there 1.78
LogisticLoss(), gamma 0.5, x 2.0: 3.59, minimum at 1.59; cost 3.06, there 0.97' python3 minima.py
