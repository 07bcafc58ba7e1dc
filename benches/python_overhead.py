"""`IndependentFusion.predict_proba` of a million items, two classifiers, three classes, one thread: from
Python against the same work in Rust, against Rust's fusing alone, and against blocked numpy. Alternating
rounds, CPU time; ratios of medians.

    RAYON_NUM_THREADS=1 python benches/python_overhead.py PROGRAM [rounds]

PROGRAM is the example `fuse_million` of the library, built with the profile of the wheel.
"""

import os
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (the thread limits must come first)

import consilience as cs  # noqa: E402
from fuse_vs_numpy import CLASSES, CLASSIFIERS, ROWS, numpy_fuse  # noqa: E402


def seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def rust(program, mode):
    process = subprocess.Popen([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"

    def one():
        process.stdin.write("go\n")
        process.stdin.flush()
        return ROWS / float(process.stdout.readline())

    return one


def main(program, rounds):
    generator = np.random.default_rng(1)
    alpha = np.full((CLASSES, CLASSES), 8.0) + 4.0 * np.eye(CLASSES)
    x = generator.dirichlet(alpha[0], size=(ROWS, CLASSIFIERS))
    P, y = cs.simulate("sim2", items_per_class=200)
    model = cs.IndependentFusion(inference="map").fit(P, y)
    arguments = x, np.hstack([alpha - 1.0] * CLASSIFIERS), np.zeros(CLASSES), np.empty((ROWS, CLASSES))
    checked, fused = rust(program, "check"), rust(program, "fuse")
    times = {"python": [], "rust, checking and fusing": [], "rust, fusing alone": [], "numpy, blocked": []}
    for _ in range(rounds):
        times["python"].append(seconds(lambda: model.predict_proba(x)))
        times["rust, checking and fusing"].append(checked())
        times["rust, fusing alone"].append(fused())
        times["numpy, blocked"].append(seconds(lambda: numpy_fuse(*arguments)))
    own = statistics.median(times["python"])
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:26} {1e3 * median:7.1f} ms CPU (best {1e3 * min(found):6.1f}), {median / own:5.2f} of python's")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15)
