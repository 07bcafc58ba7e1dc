"""`IndependentFusion.predict_proba` of a million items, two classifiers, three classes: from Python against the same
work in Rust (checking and fusing raw numbers), against Rust's fusing of checked ones, and against blocked numpy.
Alternating rounds, medians, twice: CPU time on one thread, and time on the clock with the default number of threads,
where numpy stays on one. Every side's CPU time is read from the same kind of clock, the system's of its process.

    python benches/python_overhead.py PROGRAM [rounds]

PROGRAM is the example `fuse_million` of the library, built with the profile of the wheel. Set `NPY_DISABLE_CPU_FEATURES`
to see numpy without AVX-512 (the list is `WITHOUT_AVX512` of `fuse_vs_numpy.py`).

The floor printed is what numpy takes for logarithms, exponentials (both in the cache), reading 48 MB and writing 24 MB,
one after the other.
"""

import os
import statistics
import subprocess
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (the thread limits must come first)

import consilience as cs  # noqa: E402
from fuse_vs_numpy import BLOCK, CLASSES, CLASSIFIERS, ROWS, numpy_fuse  # noqa: E402

THREADS = "RAYON_NUM_THREADS"


def on_the_clock(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_clock(process):
    """The clock of another process's CPU time, as Linux numbers it (`clock_getcpuclockid`)."""
    return (~process << 3) | 2


def cpu_time(work, process):
    start = time.clock_gettime(cpu_clock(process))
    work()
    return time.clock_gettime(cpu_clock(process)) - start


def rust(program, mode):
    process = subprocess.Popen([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"

    def one():
        process.stdin.write("go\n")
        process.stdin.flush()
        process.stdout.readline()

    return one, process


def contenders(program):
    """What is measured, and in which process it runs."""
    generator = np.random.default_rng(1)
    alpha = np.full((CLASSES, CLASSES), 8.0) + 4.0 * np.eye(CLASSES)
    x = generator.dirichlet(alpha[0], size=(ROWS, CLASSIFIERS))
    P, y = cs.simulate("sim2", items_per_class=200)
    model = cs.IndependentFusion(inference="map").fit(P, y)
    room = np.empty((ROWS, CLASSES))
    arguments = x, np.hstack([alpha - 1.0] * CLASSIFIERS), np.zeros(CLASSES), room
    (checked, first), (fused, second) = rust(program, "check"), rust(program, "fuse")
    part, powers = x[:BLOCK].copy(), -x[:BLOCK, 0]
    return {
        "python": (lambda: model.predict_proba(x), os.getpid()),
        "rust, checking and fusing": (checked, first.pid),
        "rust, fusing alone": (fused, second.pid),
        "numpy, blocked": (lambda: numpy_fuse(*arguments), os.getpid()),
        "floor: logarithms": (again(np.log, part), os.getpid()),
        "floor: exponentials": (again(np.exp, powers), os.getpid()),
        "floor: reading 48 MB": (x.sum, os.getpid()),
        "floor: writing 24 MB": (lambda: room.fill(0.5), os.getpid()),
    }


def again(function, block):
    """A function of a block that stays in the cache, as often as there are blocks."""
    results = np.empty_like(block)

    def work():
        for _ in range(ROWS // BLOCK):
            function(block, out=results)

    return work


def measure(program, rounds, threads):
    measured = contenders(program)
    times = {name: [] for name in measured}
    for _ in range(rounds + 1):  # the first warms up
        for name, (work, process) in measured.items():
            times[name].append(cpu_time(work, process) if threads == 1 else on_the_clock(work))
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    own, what = medians["python"], "CPU, one thread" if threads == 1 else f"on the clock, {threads} threads"
    for name, median in medians.items():
        print(f"{name:26} {1e3 * median:7.1f} ms {what} (best {1e3 * min(times[name][1:]):6.1f})")
    floor = sum(median for name, median in medians.items() if name.startswith("floor"))
    print(f"floor: the four together  {1e3 * floor:7.1f} ms, {floor / medians['numpy, blocked']:.2f} of numpy's time")
    print(f"python takes {own / medians['rust, checking and fusing']:.2f} of Rust's time", end="; ")
    print(f"it is {medians['numpy, blocked'] / own:.2f} times as fast as numpy\n", flush=True)


if __name__ == "__main__":
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    if os.environ.get(THREADS) == "1":
        measure(sys.argv[1], rounds, 1)
    else:
        arguments = [sys.executable, __file__, sys.argv[1], str(rounds)]
        subprocess.run(arguments, env={**os.environ, THREADS: "1"}, check=True)
        measure(sys.argv[1], rounds, int(os.environ.get(THREADS, os.cpu_count())))
