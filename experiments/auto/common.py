"""What the experiments on `auto` share: data sets, methods, scores."""

import csv
import os
import warnings
from pathlib import Path

import consilience as cs
import numpy as np

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("CONSILIENCE_DATA", HERE.parents[2] / "shared/data"))
REAL = ["bookies_a", "bookies_b", "bookies_c", "dna_a", "dna_b", "dna_c"]

# Warnings about single fits (few items, alike sources) are not what is measured here.
warnings.filterwarnings("ignore", category=UserWarning)


def real_set(name):
    """Outputs (n, K, J) and labels 0..J-1 of a set in the data folder."""
    with open(DATA / f"{name}.csv", newline="") as file:
        header, *rows = csv.reader(file)
    label = header.index("label")
    columns = [i for i, name in enumerate(header) if name not in ("label", "item", "subset")]
    classes = list(dict.fromkeys(header[i].rpartition("_")[2] for i in columns))
    P = np.array([[float(row[i] or "nan") for i in columns] for row in rows])
    y = np.array([classes.index(row[label]) for row in rows])
    return P.reshape(len(rows), -1, len(classes)), y


def log_losses(p, y):
    """The loss of every item; a probability of 0 counts as 1e-15."""
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-15))


def balanced(losses, y):
    """Mean with every class counting the same, and its standard error."""
    J = y.max() + 1
    groups = [losses[y == j] for j in range(J)]
    se = np.sqrt(sum(g.var(ddof=1) / len(g) for g in groups if len(g) > 1)) / J
    return np.mean([g.mean() for g in groups]), se


def fitted(make, **options):
    """A rule that learns an estimator and predicts with it, under a uniform class prior."""
    return lambda P, y, new: make(class_prior="uniform", **options).fit(P, y).predict_proba(new)


def meta(k):
    rule = fitted(cs.IndependentFusion, inference="map")
    return lambda P, y, new: rule(P[:, [k]], y, new[:, [k]])


def single(k):
    def rule(P, y, new):
        p = new[:, k]
        return np.where(np.isnan(p), 1 / p.shape[1], p)

    return rule


def average(P, y, new):
    with np.errstate(invalid="ignore"):
        mean = np.nanmean(new, axis=1)
    return np.where(np.isnan(mean), 1 / new.shape[2], mean)


FUSIONS = {
    "auto": fitted(cs.AutoFusion),
    "stacking": fitted(cs.StackingFusion),
    "independent": fitted(cs.IndependentFusion, inference="map"),
    "opinion-pool": fitted(cs.OpinionPool),
    "log-pool": fitted(cs.LogPool),
    "linear-pool": fitted(cs.LinearPool),
    "discounted": fitted(cs.DiscountedFusion, inference="map"),
    "average": average,
}
CORRELATED = fitted(cs.CorrelatedFusion, inference="map")


def singles(K):
    """Every classifier as it is and recalibrated."""
    return {f"classifier:{k}": single(k) for k in range(K)} | {f"meta:{k}": meta(k) for k in range(K)}


def folds(y, n, seed):
    """The fold of every item, the same number of every class in each."""
    rng, fold = np.random.default_rng(seed), np.empty(len(y), int)
    for j in np.unique(y):
        items = rng.permutation(np.flatnonzero(y == j))
        fold[items] = np.arange(len(items)) % n
    return fold


def out_of_fold(rule, P, y, n=10, seed=0, train_on=None):
    """Predictions for every item by a fit to the other folds, or to those that `train_on` keeps of them."""
    fold, p = folds(y, n, seed), np.empty((len(y), P.shape[2]))
    for f in range(n):
        inside, train = fold == f, np.flatnonzero(fold != f)
        if train_on is not None:
            train = train_on(train)
        p[inside] = rule(P[train], y[train], P[inside])
    return p


def write(name, header, rows):
    with open(HERE / name, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    print(f"\n{name}")
    for row in [header, *rows]:
        print("  ".join(f"{str(cell):>14}" for cell in row), flush=True)
