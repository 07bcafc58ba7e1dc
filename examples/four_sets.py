"""Fusion compared with voting and stacking on the four classification sets of scikit-learn.

    python examples/four_sets.py [--correlated] [SET ...]   # writes four_sets.csv, .md and .svg beside it

Ten folds. In every fold, four base models are trained on nine tenths of the items. Their outputs for held-out items of
five inner folds, the folds of `StackingClassifier` and `FusionClassifier`, train all combiners. The combiners are then
scored on the tenth that is left out. The numbers are those of `VotingClassifier(voting="soft")`, `StackingClassifier()`
and `FusionClassifier()`, but the base models are trained once for all of them. The first fold of iris checks this.

Scores are means over all items, each predicted once. Probabilities below 1e-6 are raised to 1e-6. Differences are
paired by item and have a standard error.

`--correlated` adds `FusionClassifier(fusion=CorrelatedFusion(inference="map"))`, which fits six pairs of classifiers: 3 CPU
seconds per fold for two and three classes, 79 CPU seconds per fold for the ten classes of digits.
"""

import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs

FOLDER = Path(__file__).parent
SETS = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
FLOOR = 1e-6
OURS = "FusionClassifier"
NOTE = """# scikit-learn's four bundled sets

Four base models, ten folds. Scores are means over all items, each predicted once. The columns "difference" show the score minus
that of `FusionClassifier`, which fuses with `AutoFusion`; ± is one standard error of the paired difference. "Correlated" fuses with
`CorrelatedFusion(inference="map")`. Made by `four_sets.py --correlated`.

"""


def base_models():
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))),
        ("bayes", GaussianNB()),
        ("knn", make_pipeline(StandardScaler(), KNeighborsClassifier())),
        ("forest", RandomForestClassifier(random_state=0)),
    ]


def stacking_columns(P):
    """The columns of `StackingClassifier`: one column per model if there are two classes."""
    return P[:, :, 1] if P.shape[2] == 2 else P.reshape(len(P), -1)


def combine(P, y, P_new, correlated):
    """The probabilities of every combiner for the new items, and the CPU seconds of fusing."""
    logs = lambda P: np.log(np.maximum(stacking_columns(P), FLOOR))  # noqa: E731
    stack = LogisticRegression(max_iter=5000).fit(stacking_columns(P), y)
    stack_logs = LogisticRegression(max_iter=5000).fit(logs(P), y)
    found = {
        "VotingClassifier(soft)": P_new.mean(axis=1),
        "StackingClassifier": stack.predict_proba(stacking_columns(P_new)),
        "StackingClassifier, logs": stack_logs.predict_proba(logs(P_new)),
    }
    seconds = {}
    fusions = {OURS: cs.AutoFusion(class_prior="empirical")}
    if correlated:
        fusions[f"{OURS}, correlated"] = cs.CorrelatedFusion(class_prior="empirical", inference="map")
    for name, fusion in fusions.items():
        start = time.process_time()
        found[name] = fusion.fit(P, y).predict_proba(P_new)
        seconds[name] = time.process_time() - start
    return found, seconds


def check_first_fold(X, y, train, test, found):
    """Checks that the combiners give the results of the classes of scikit-learn and Consilience."""
    models = base_models()
    for name, whole in [
        ("VotingClassifier(soft)", VotingClassifier(models, voting="soft")),
        ("StackingClassifier", StackingClassifier(models, LogisticRegression(max_iter=5000))),
        (OURS, cs.FusionClassifier(models)),
    ]:
        p = clone(whole).fit(X[train], y[train]).predict_proba(X[test])
        np.testing.assert_allclose(p, found[name], atol=1e-9, err_msg=name)


def run(load, correlated):
    X, y = load(return_X_y=True)
    predicted, seconds = {}, {}
    for fold, (train, test) in enumerate(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y)):
        models = [clone(model) for _, model in base_models()]
        P = np.stack([cross_val_predict(m, X[train], y[train], cv=5, method="predict_proba") for m in models], axis=1)
        P_new = np.stack([m.fit(X[train], y[train]).predict_proba(X[test]) for m in models], axis=1)
        found, spent = combine(P, y[train], P_new, correlated)
        if fold == 0 and load is load_iris:
            check_first_fold(X, y, train, test, found)
        found |= {f"single: {name}": P_new[:, k] for k, (name, _) in enumerate(base_models())}
        for name, p in found.items():
            predicted.setdefault(name, np.zeros((len(y), p.shape[1])))[test] = p
        for name, s in spent.items():
            seconds[name] = seconds.get(name, 0.0) + s / 10
    return y, predicted, seconds


def item_scores(y, p):
    p = np.maximum(p, FLOOR)
    p = p / p.sum(axis=1, keepdims=True)
    truth = np.eye(p.shape[1])[y]
    return {
        "log_loss": -np.log(p[np.arange(len(y)), y]),
        "brier": ((p - truth) ** 2).sum(axis=1),
        "accuracy": (p.argmax(axis=1) == y).astype(float),
    }


def rows_of(name, y, predicted, seconds):
    scores = {method: item_scores(y, p) for method, p in predicted.items()}
    single = min((m for m in scores if m.startswith("single")), key=lambda m: scores[m]["log_loss"].mean())
    for method, own in scores.items():
        if method.startswith("single") and method != single:
            continue
        row = {"set": name, "method": f"best {method}" if method == single else method, "items": len(y)}
        for score, values in own.items():
            difference = values - scores[OURS][score]
            row[score] = f"{values.mean():.4f}"
            row[f"{score}_minus_ours"] = f"{difference.mean():.4f}"
            row[f"{score}_se"] = f"{difference.std(ddof=1) / np.sqrt(len(y)):.4f}"
        row["fusing_cpu_seconds"] = f"{seconds[method]:.2f}" if method in seconds else ""
        yield row


def markdown(rows):
    lines = ["| set | method | log-loss | difference | Brier | difference | accuracy | difference |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["set"], row["method"]]
        for score in ("log_loss", "brier", "accuracy"):
            cells.append(row[score])
            cells.append("" if row["method"] == OURS else f"{float(row[f'{score}_minus_ours']):+.4f} ± {row[f'{score}_se']}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def line_of(row):
    """The line of the plot for a row of the table; the best single model differs from set to set."""
    return "best single" if row["method"].startswith("best") else row["method"].replace("FusionClassifier, ", "")


def plot(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = list(dict.fromkeys(line_of(row) for row in rows if row["method"] != OURS))
    figure, axes = plt.subplots(1, len(SETS), figsize=(13, 3.2), layout="constrained")
    for ax, name in zip(axes, SETS, strict=True):
        own = [row for row in rows if row["set"] == name and row["method"] != OURS]
        places = [lines.index(line_of(row)) for row in own]
        ax.axvline(0, color="#0072B2")
        ax.errorbar([float(r["log_loss_minus_ours"]) for r in own], places,
                    xerr=[2 * float(r["log_loss_se"]) for r in own], fmt="o", color="black", markersize=4, capsize=2)
        names = lines if ax is axes[0] else [""] * len(lines)
        ax.set_yticks(range(len(lines)), [*names[:-1], own[-1]["method"]], fontsize=8)
        ax.set_ylim(len(lines) - 0.5, -0.5)
        ax.set(title=name)
        ax.set_xlabel("log-loss − FusionClassifier's", fontsize=8)
    figure.suptitle("right of the line is worse than FusionClassifier; bars are two standard errors", fontsize=9)
    figure.savefig(path, metadata={"Date": None})


def main(sets, correlated):
    table = FOLDER / "four_sets.csv"
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.DataWarning)
        for name in sets:
            rows += rows_of(name, *run(SETS[name], correlated))
            print(markdown([row for row in rows if row["set"] == name]), flush=True)
    if table.exists():
        with table.open(newline="") as file:
            rows += [row for row in csv.DictReader(file) if row["set"] not in sets]
    rows.sort(key=lambda row: list(SETS).index(row["set"]))
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (FOLDER / "four_sets.md").write_text(NOTE + markdown(rows))
    if {row["set"] for row in rows} == set(SETS):
        plot(rows, FOLDER / "four_sets.svg")


if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if name != "--correlated"]
    main(wanted or list(SETS), "--correlated" in sys.argv)
