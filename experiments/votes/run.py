"""Scores methods for votes on ten crowds with known truth, without gold labels and with 10, 50 and 10 % of them.

    python run.py ours PROGRAM DATA OUTPUT [SET ...]    PROGRAM: the binary `consilience`; DATA: folder of the sets
    python run.py crowd-kit METHOD DATA OUTPUT [SET ...]    METHOD: MajorityVote, DawidSkene, GLAD or MACE

Needs numpy and pandas, for the second form crowd-kit. Rows are appended to OUTPUT. Every gold draw is scored on all
other items with known truth; probabilities are raised to 1e-6 and ties of the most probable class count in part.
crowd-kit's methods use no gold labels and are scored on the same items.
"""

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

SETS = "rte dog weather music sentiment_sp zencrowd_us product sentiment face adult".split()
DRAWS = 10
FLOOR, BINS = 1e-6, 15
# Name, arguments, and whether gold labels are given to it; None: scored without gold labels only.
OURS = [
    ("auto", ["--method", "auto"], True),
    ("ibcc", ["--method", "ibcc"], True),
    ("ibcc vb", ["--method", "ibcc", "--inference", "vb"], True),
    ("ibcc gibbs", ["--method", "ibcc", "--inference", "gibbs"], None),
    ("ebcc", ["--method", "ebcc"], True),
    ("ueda", ["--method", "ueda"], True),
    ("dbcc", ["--method", "dbcc"], True),
    ("dawid-skene", ["--method", "dawid-skene"], True),
    ("majority", ["--method", "majority"], False),
]


def scores(p, truth):
    """Accuracy, log-loss, Brier score and calibration error."""
    p = np.maximum(p, FLOOR)
    p /= p.sum(1, keepdims=True)
    rows, top = np.arange(len(truth)), p.max(1)
    tied = p >= top[:, None] - 1e-9
    hit = tied[rows, truth] / tied.sum(1)
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    ece = sum(abs((hit - top)[bins == b].sum()) for b in range(BINS)) / len(truth)
    brier = ((p - np.eye(p.shape[1])[truth]) ** 2).sum(1).mean()
    return hit.mean(), -np.log(p[rows, truth]).mean(), brier, ece


def ours(program, votes, classes, arguments, gold, folder):
    """Probabilities by item of one run of the program; none if the method needs more gold labels."""
    out = Path(folder) / "labels.csv"
    words = [program, "aggregate", votes, "-o", out, "--quiet", "--classes", ",".join(classes), *arguments]
    if gold is not None:
        table = Path(folder) / "gold.csv"
        gold.to_csv(table, index=False)
        words += ["--gold", table]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode:
        assert "gold labels" in done.stderr, done.stderr
        return None
    table = pd.read_csv(out, dtype={"item": str}).set_index("item")
    return table[[f"p_{c}" for c in classes]]


def theirs(method, votes, classes):
    """Probabilities by item of a method of crowd-kit."""
    from crowdkit import aggregation

    settings = {"DawidSkene": {"n_iter": 100}, "MACE": {"random_state": 0}}.get(method, {})
    table = votes.rename(columns={"item": "task", "source": "worker"})
    p = getattr(aggregation, method)(**settings).fit_predict_proba(table)
    p.columns = p.columns.astype(str)
    return p.reindex(columns=classes, fill_value=0.0).fillna(0.0)


def draws_of(truth, rng):
    """Gold labels of every draw, by name of the case."""
    yield "0", [None]
    tenth = round(0.1 * len(truth))
    for case, n in (("10", 10), ("50", 50), ("10 %", tenth)):
        yield case, [truth.iloc[np.sort(rng.permutation(len(truth))[:n])] for _ in range(DRAWS)]


def load(data, name):
    votes = pd.read_csv(data / f"{name}.csv", dtype=str)
    truth = pd.read_csv(data / f"{name}_truth.csv", dtype=str)
    truth = truth[truth["item"].isin(set(votes["item"]))]
    return votes, truth, sorted(set(votes["label"]) | set(truth["label"]), key=float)


def one_set(data, name, methods, write):
    """Scores of methods, each a name, whether it uses gold labels, and a function of them."""
    votes, truth, classes = load(data, name)
    code = {c: i for i, c in enumerate(classes)}
    fixed = {}
    for case, golds in draws_of(truth, np.random.default_rng(0)):
        for method, uses_gold, probabilities in methods(votes, classes):
            if uses_gold is None and case != "0":
                continue
            rows = []
            for gold in golds:
                rest = truth if gold is None else truth[~truth["item"].isin(set(gold["item"]))]
                if uses_gold:
                    p = probabilities(gold)
                else:
                    if method not in fixed:
                        fixed[method] = probabilities(None)
                    p = fixed[method]
                if p is not None:
                    rows.append(scores(p.loc[rest["item"]].to_numpy(float), rest["label"].map(code).to_numpy()))
            if rows:
                write([name, case, method, len(rows), *(f"{v:.4f}" for v in np.mean(rows, 0))])


def main(kind, program, data, output, names):
    new = not output.exists()
    with open(output, "a", newline="") as file, tempfile.TemporaryDirectory() as folder:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow("set,gold,method,draws,accuracy,log_loss,brier,ece".split(","))
        for name in names:
            start = time.time()
            path = data / f"{name}.csv"

            def methods(votes, classes):
                if kind == "crowd-kit":
                    yield f"crowd-kit {program}", False, lambda _: theirs(program, votes, classes)
                    return
                for method, arguments, uses_gold in OURS:
                    run = lambda gold, a=arguments: ours(program, path, classes, a, gold, folder)
                    yield method, uses_gold, run

            one_set(data, name, methods, writer.writerow)
            file.flush()
            print(name, f"{time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    kind, program, data, output = sys.argv[1:5]
    main(kind, program, Path(data), Path(output), sys.argv[5:] or SETS)
