"""`predict_proba` of a million items for `independent` and `auto` against numpy, in alternating rounds on one thread.
Prints JSON: for each method our CPU seconds, numpy's, and the limit, which is the time of the memory traffic, the
logarithms and the exponentials alone, measured with numpy. `bench.py` runs it.

Both sides return a new array.
"""

import json
import statistics
import sys

import numpy as np

import consilience as cs
from auto_vs_numpy import NumpyAuto, cpu_seconds
from fuse_vs_numpy import BLOCK, CLASSES, CLASSIFIERS, ROWS, numpy_fuse
from python_overhead import again

ROUNDS = 9


def median(work):
    return statistics.median(cpu_seconds(work) for _ in range(ROUNDS))


def main():
    x = np.random.default_rng(1).dirichlet([12.0, 8.0, 8.0], size=(ROWS, CLASSIFIERS))
    data = cs.simulate("sim2", correlation=0.5, items_per_class=500, random_state=1)
    independent = cs.IndependentFusion(inference="map").fit(*data)
    auto = cs.AutoFusion(class_prior="uniform").fit(*data)
    parameters = json.loads(auto.model_.to_json())["parameters"]
    theirs, coefficients = NumpyAuto(parameters), np.hstack(list(np.array(independent.alpha_) - 1.0))

    def numpy_independent():
        numpy_fuse(x, coefficients, np.zeros(CLASSES), np.empty((ROWS, CLASSES)))

    def numpy_auto():
        fused = np.empty((ROWS, CLASSES))
        theirs.fuse(x, fused)
        return fused

    off = np.abs(numpy_auto() - auto.predict_proba(x)).max()
    assert off < 1e-9, f"the formulas differ by {off}"
    part, room = x[:BLOCK].copy(), np.empty((ROWS, CLASSES))
    memory = median(x.sum) + median(lambda: room.fill(0.5))
    ln = median(again(np.log, part)) / (CLASSIFIERS * CLASSES)  # of one number per item
    exp = median(again(np.exp, -part[:, 0])) / CLASSES
    pools = sum("linear-pool" in member["rule"] for member in parameters["members"])
    logs = {"independent": CLASSIFIERS * CLASSES, "auto": CLASSES * (CLASSIFIERS + pools)}
    exps = {"independent": CLASSES, "auto": CLASSES * (CLASSIFIERS + 1 + len(parameters["members"]))}
    found = {}
    for name, ours, peer in [("independent", independent, numpy_independent), ("auto", auto, numpy_auto)]:
        times = [(cpu_seconds(lambda: ours.predict_proba(x)), cpu_seconds(peer)) for _ in range(ROUNDS)]
        own, others = (statistics.median(each) for each in zip(*times, strict=True))
        found[name] = own, others, memory + logs[name] * ln + exps[name] * exp
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
