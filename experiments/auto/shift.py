"""Another class prior than that of the training items, without refitting: is `auto` still calibrated?

Trained on natural frequencies, scored with every class the same and with two classes thinned by 6 and 36 (items weighted
accordingly, which is thinning without its noise). `exponent` is the power of the fused probabilities that predicts best:
1 where they are neither too sure nor too timid. The last columns train on the thinned classes and score balanced: there
a class has some 20 to 40 items left, and a prior that shrinks makes any method timid."""

import numpy as np
from common import FUSIONS, REAL, folds, log_losses, real_set, write

import consilience as cs

THIN = np.array([1, 1 / 6, 1 / 36])


def exponent(p, y, prior):
    weights = prior[y] / np.bincount(y)[y]

    def loss(beta):
        q = p**beta
        return np.average(log_losses(q / q.sum(axis=1, keepdims=True), y), weights=weights)

    grid = np.arange(0.5, 2.0, 0.01)
    return grid[np.argmin([loss(beta) for beta in grid])]


def predictions(P, y, prior, make=cs.AutoFusion, keep=None):
    fold, p = folds(y, 10, 0), np.empty((len(y), 3))
    for f in range(10):
        inside, train = fold == f, np.flatnonzero(fold != f)
        if keep is not None:
            train = train[keep(train, f)]
        p[inside] = make().fit(P[train], y[train]).predict_proba(P[inside], class_prior=list(prior))
    return p


rows = []
for name in REAL:
    P, y = real_set(name)
    uniform, thinned = np.full(3, 1 / 3), np.bincount(y) * THIN / (np.bincount(y) * THIN).sum()

    def keep(train, f):
        return np.random.default_rng([7, f]).random(len(train)) < THIN[y[train]]

    row = [name]
    row.append(f"{exponent(predictions(P, y, uniform), y, uniform):.2f}")
    row.append(f"{exponent(predictions(P, y, thinned), y, thinned):.2f}")
    for make in (cs.AutoFusion, cs.StackingFusion):
        row.append(f"{exponent(predictions(P, y, uniform, make, keep), y, uniform):.2f}")
    rows.append(row)
write(
    "shift.csv",
    ["set", "balanced", "thinned", "trained_thinned", "stacking_trained_thinned"],
    rows,
)
