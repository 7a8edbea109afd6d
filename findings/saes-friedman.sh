#!/usr/bin/env bash
# saes 1.5.0 (SAES, a suite that compares stochastic algorithms), all without an error:
# 1. friedman finds a difference between any algorithms: of equal ones the statistic is 864 and p is
#    0. It squares mean ranks, multiplies the squares by the number of rows and multiplies by it
#    again in front of the bracket, while the expected value that it subtracts stays that of mean
#    ranks. So the statistic is at least 3n(n-1)(k+1), for n rows and k algorithms: 24 even for two
#    runs of three.
# 2. anova takes a row for a group, though its documentation says that algorithms are columns. So it
#    compares runs: algorithms that are ten points apart are the same (p is 1), and equal ones on
#    instances of different difficulty are not. The package's own table calls it with rows of runs.
# 3. NemenyiCD takes the studentized range with n - 1 degrees of freedom. Demšar (2006), whose
#    formula it states, takes infinitely many, and 1.25 for four classifiers on 14 data sets.
# Guess before: the numbers of SciPy beside them. Here: three algorithms, each of which is first,
# second and third in three of nine runs; two of these runs; then algorithms at about 70, 80 and 90
# in six runs; then three that differ by 1 at most, on instances at 70, 80 and 90.
# Needs Python 3.11 or 3.12 with pip on Linux, amd64.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps saes==1.5.0 numpy==1.26.4 scipy==1.13.1 pandas==2.2.3 statsmodels==0.14.4 \
  patsy==1.0.1 packaging==24.2 python-dateutil==2.9.0.post0 pytz==2025.2 six==1.17.0 tzdata==2025.2
cat > compare.py <<'PY'
import numpy
import pandas
from SAES.statistical_tests.non_parametrical import NemenyiCD, friedman
from SAES.statistical_tests.parametrical import anova
from scipy import stats


def compare(title, result, reference):
    ours = result["Results"]
    print(f"{title}: SAES {ours.iloc[0]:.2f}, p {ours['p-value']:.2g};", end=" ")
    print(f"SciPy {reference.statistic:.2f}, p {reference.pvalue:.2g}")


def table(rows):
    return pandas.DataFrame(rows, columns=["A", "B", "C"], dtype=float)


latin = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
equal = table(latin * 3)
compare("Friedman, equal", friedman(equal, maximize=True), stats.friedmanchisquare(*equal.values.T))
two = equal[:2]
compare("Friedman, two runs", friedman(two, maximize=True), stats.friedmanchisquare(*two.values.T))
apart = table(latin * 2) + [70, 80, 90]
compare("ANOVA, 10 apart", anova(apart), stats.f_oneway(*apart.values.T))
instances = (table(latin).T + [70, 80, 90]).T - [0, 0, 1]
compare("ANOVA, equal", anova(instances), stats.f_oneway(*instances.values.T))
range_ = stats.studentized_range.ppf(0.95, 4, numpy.inf)
difference = range_ / 2**0.5 * (4 * 5 / (6 * 14)) ** 0.5
print(f"critical difference of 4 on 14: SAES {NemenyiCD(0.05, 4, 14):.2f}, SciPy {difference:.2f}")
PY
expect 'Friedman, equal: SAES 864.00, p 0; SciPy 0.00, p 1
Friedman, two runs: SAES 26.00, p 2.3e-06; SciPy 1.00, p 0.61
ANOVA, 10 apart: SAES 0.00, p 1; SciPy 750.00, p 9.3e-16
ANOVA, equal: SAES 225.00, p 2.3e-06; SciPy 0.01, p 0.99
critical difference of 4 on 14: SAES 1.43, SciPy 1.25' python3 compare.py
