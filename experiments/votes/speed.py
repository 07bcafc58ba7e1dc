"""Time and memory of `consilience aggregate` on a million votes, beside crowd-kit's Dawid–Skene.

    python speed.py PROGRAM     PROGRAM: the binary `consilience`

5000 sources of accuracy 0.7 or so, five votes per item, one thread.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

VOTES, SOURCES, PER_ITEM = 1_000_000, 5000, 5


def table(k):
    rng = np.random.default_rng(k)
    n = VOTES // PER_ITEM
    truth = np.repeat(rng.integers(k, size=n), PER_ITEM)
    source = (np.repeat(rng.integers(SOURCES, size=n), PER_ITEM) + 997 * np.tile(np.arange(PER_ITEM), n)) % SOURCES
    skill = rng.uniform(0.45, 0.95, SOURCES)
    label = np.where(rng.random(VOTES) < skill[source], truth, rng.integers(k, size=VOTES))
    return pd.DataFrame(dict(item=np.repeat(np.arange(n), PER_ITEM), source=source, label=label))


# The largest memory of a child starts at that of its parent, so a small process measures it.
MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
assert status == 0
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
"""


def timed(words):
    """Processor time in seconds, and largest resident memory in MB."""
    command = [sys.executable, "-c", MEASURE, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return map(float, done.stdout.split())


def main(program):
    from crowdkit.aggregation import DawidSkene

    with tempfile.TemporaryDirectory() as folder:
        for k in (2, 5):
            votes, out = Path(folder) / "votes.csv", Path(folder) / "labels.csv"
            data = table(k)
            data.to_csv(votes, index=False)
            for method in ("auto", "dawid-skene"):
                words = [program, "aggregate", votes, "-o", out, "--threads", 1, "--quiet", "--method", method]
                seconds, memory = timed(words)
                print(f"{k} classes, {method}: {seconds:.2f} s of processor time, {memory:.0f} MB", flush=True)
            start = time.process_time()
            frame = pd.read_csv(votes).rename(columns={"item": "task", "source": "worker"})
            DawidSkene(n_iter=100).fit_predict_proba(frame)
            print(f"{k} classes, crowd-kit DawidSkene: {time.process_time() - start:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
