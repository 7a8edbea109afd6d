"""Prints, for each case of a file that run.sh wrote, the best median of each program in milliseconds, and ours over the others'."""

import collections
import re
import statistics
import sys


def main(path):
    turns = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for line in file:
            if found := re.match(r"BenchmarkStep/(\S+)/program=(\S+?)(?:-\d+)?\s+\d+\s+(\d+) ns/op", line):
                case, program, time = found.groups()
                turns[case, program].append(int(time) / 1e6)
    best = collections.defaultdict(dict)
    for (case, program), times in turns.items():
        maker = program.split("-")[0]
        best[case][maker] = min(statistics.median(times), best[case].get(maker, float("inf")))
    for case, times in sorted(best.items()):
        ours = times.pop("ebssc")
        others = "  ".join(f"{maker} {time:.0f} ({ours / time:.2f})" for maker, time in sorted(times.items()))
        print(f"{case}: ebssc {ours:.0f}  {others}")


main(sys.argv[1])
