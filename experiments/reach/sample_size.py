"""Log-loss against the size of the sample that `consilience.spark.fit` draws, on a large simulated set.

    python experiments/reach/sample_size.py 3 > experiments/reach/sample_size.csv

draws three samples per size. Six sources, five classes with shares from 0.40 to 0.01, a million rows to draw from and
200,000 to score. Half of every source's noise is shared by all sources, and the sources are over- or underconfident to
different degrees. A sample is drawn by the quotas and weights of the package. All samples are scored on the same items.
"""

import csv
import sys
import time

import numpy as np
import pyarrow as pa

import consilience as cs
from consilience._spark_sample import Sample, quotas

SHARES = np.array([0.40, 0.30, 0.20, 0.09, 0.01])
SIZES = [1_000, 3_000, 10_000, 30_000, 100_000]
METHODS = {"auto": cs.AutoFusion, "stacking": cs.StackingFusion}
K, J = 6, len(SHARES)
NAMES = [f"s{k}_{j}" for k in range(K) for j in range(J)]


def simulated(n, rng):
    """Outputs (n × K × J) and labels."""
    y = rng.choice(J, n, p=SHARES)
    strength, temperature = np.linspace(1.0, 2.2, K), np.linspace(0.6, 1.8, K)
    shared = rng.normal(size=(n, 1, J))
    own = rng.normal(size=(n, K, J))
    logits = (np.sqrt(0.5) * (shared + own) + strength[:, None] * np.eye(J)[y][:, None]) * temperature[:, None]
    P = np.exp(logits - logits.max(axis=2, keepdims=True))
    return P / P.sum(axis=2, keepdims=True), y


def drawn(P, y, size, rng):
    """A sample, as the package has it in the driver."""
    found = {j: int(n) for j, n in enumerate(np.bincount(y, minlength=J))}
    rows = np.concatenate([rng.choice(np.flatnonzero(y == j), n, replace=False)
                           for j, n in quotas(found, size).items()])
    columns = dict(zip(NAMES, P[rows].reshape(len(rows), -1).T)) | {"label": y[rows]}
    return Sample(pa.table(columns), found)


def measured(make, sample, test, truth):
    """Mean log-loss on the test items, and CPU seconds of the fit."""
    start = time.process_time()
    model = sample.fitted(make(), NAMES, np.arange(J), "label", None)
    seconds = time.process_time() - start
    return -np.log(model.predict_proba(test)[np.arange(len(truth)), truth]).mean(), seconds


def main():
    rng = np.random.default_rng(1)
    P, y = simulated(1_000_000, rng)
    test, truth = simulated(200_000, rng)
    test = pa.table(dict(zip(NAMES, test.reshape(len(test), -1).T)))
    found = {}
    for replicate in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        for size in SIZES:
            sample = drawn(P, y, size, np.random.default_rng([2, size, replicate]))
            for method, make in METHODS.items():
                result = measured(make, sample, test, truth)
                found.setdefault((method, size), []).append(result)
                print(replicate, method, size, *result, file=sys.stderr, flush=True)
    write = csv.writer(sys.stdout)
    write.writerow(["method", "rows", "samples", "log_loss", "sd_over_samples", "fit_cpu_seconds"])
    for (method, size), results in sorted(found.items()):
        losses, seconds = np.array(results).T
        sd = losses.std(ddof=1) if len(losses) > 1 else np.nan
        write.writerow([method, size, len(losses), f"{losses.mean():.5f}", f"{sd:.5f}", f"{seconds.mean():.1f}"])


if __name__ == "__main__":
    main()
