"""Learning curves on the six real sets: 10 to 200 training items per class, drawn anew each time; scored on 300 other
items of every class, or all there are. A table and a picture.

    python curves.py [draws [draws of the correlated model]]

Without draws (0) only the picture is made, from the table.
"""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from common import CORRELATED, FUSIONS, HERE, REAL, balanced, log_losses, real_set, singles, write

SIZES = [10, 20, 50, 100, 200]
DRAWS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
# The correlated model takes seconds per fit with three classifiers; fewer draws, the same ones.
CORRELATED_DRAWS = int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS
RULES = {name: FUSIONS[name] for name in ("auto", "stacking", "independent", "average")}
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#56B4E9", "#CC79A7", "#E69F00"]


def draw(y, size, seed):
    """Training and test items."""
    rng = np.random.default_rng([seed, size])
    train, test = [], []
    for j in np.unique(y):
        items = rng.permutation(np.flatnonzero(y == j))
        train.append(items[:size])
        test.append(items[size : size + 300])
    return np.concatenate(train), np.concatenate(test)


def losses_of(P, y, size, seed):
    train, test = draw(y, size, seed)
    rules = dict(RULES)
    if seed < CORRELATED_DRAWS:
        rules["correlated"] = CORRELATED
    score = lambda rule: balanced(log_losses(rule(P[train], y[train], P[test]), y[test]), y[test])[0]
    scores = {name: score(rule) for name, rule in rules.items()}
    alone = {name: score(rule) for name, rule in singles(P.shape[1]).items()}
    # Chosen in hindsight, which favours it.
    scores["best single"] = min(alone.values())
    return scores


METHODS = ["auto", "stacking", "independent", "correlated", "average", "best single"]


def measure():
    rows = []
    for name in REAL:
        P, y = real_set(name)
        for size in SIZES:
            drawn = [losses_of(P, y, size, seed) for seed in range(DRAWS)]
            for method in METHODS:
                values = np.array([scores[method] for scores in drawn if method in scores])
                mean, se = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
                rows.append([name, size, method, len(values), f"{mean:.4f}", f"{se:.4f}"])
            print(name, size, flush=True)
    write("curves.csv", ["set", "items_per_class", "method", "draws", "log_loss", "se"], rows)


def picture():
    with open(HERE / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(2, 3, figsize=(11, 7), sharex=True)
    for name, axis in zip(REAL, axes.flat):
        means = {}
        for method, colour in zip(METHODS, COLOURS):
            points = [row for row in rows if row["set"] == name and row["method"] == method]
            mean, se = ([float(row[column]) for row in points] for column in ("log_loss", "se"))
            axis.errorbar(SIZES, mean, se, color=colour, marker="o", ms=3, lw=1.3, capsize=2, label=method)
            means[method] = mean
        axis.set_title(name)
        axis.set_xscale("log")
        axis.set_xticks(SIZES, SIZES)
        axis.minorticks_off()
        # What is far worse may leave the picture; the table has it.
        low, high = min(mean[-1] for mean in means.values()), max(means["auto"] + means["best single"])
        axis.set_ylim(low - 0.1 * (high - low), high + 0.6 * (high - low))
    for axis in axes[1]:
        axis.set_xlabel("training items per class")
    for axis in axes[:, 0]:
        axis.set_ylabel("log-loss (nats)")
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=len(METHODS), frameon=False)
    figure.savefig(HERE / "curves.png", dpi=110)


if __name__ == "__main__":
    if DRAWS:
        measure()
    picture()
