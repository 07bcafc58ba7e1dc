"""Temperatures of the plain pools from the agreement of the sources: `auto` with 0 to 10 labels per class.

    python agreement.py [--draws 4] VERSION [SET ...]

The 14 sets of `labels.py`, and 17 more panels: bookmakers' odds, parts of the panel of judges, base models on generated
tables, near twins, simulations. Splits and scores as in `labels.py`. Rows of VERSION in `agreement.csv` are replaced.
"""

import argparse
import csv

import numpy as np
from common import DATA, HERE, real_set, write
from labels import SETS, auto, draw, log_mean, losses_of, mean_log, pool, simulated, with_base_models
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

LEVELS = [0, 1, 2, 3, 5, 10]
RULES = {"auto": auto, "linear pool": pool(log_mean), "geometric pool": pool(mean_log)}


def odds(name, bookmakers):
    """Inverse odds, normalised, of all matches with the odds of these bookmakers."""
    P, y = [], []
    for row in csv.DictReader(open(DATA / f"{name}.csv", newline="")):
        cells = [row[f"{b}_{result}"] for b in bookmakers for result in "HDA"]
        if all(cells):
            inverse = 1 / np.array(cells, float).reshape(-1, 3)
            P.append(inverse / inverse.sum(1, keepdims=True))
            y.append("HDA".index(row["result"]))
    return np.array(P), np.array(y)


def judges(places):
    P, y = real_set("judges_rewardbench2")
    return P[:, places], y


def table(seed, classes, n=2500, separation=0.8, flipped=0.05):
    return make_classification(
        n, 20, n_informative=8, n_classes=classes, class_sep=separation, flip_y=flipped, random_state=seed
    )


def eleven():
    return [
        LogisticRegression(max_iter=500), GaussianNB(), KNeighborsClassifier(3), KNeighborsClassifier(25),
        DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(max_depth=4),
        RandomForestClassifier(40, random_state=0), ExtraTreesClassifier(40, random_state=0),
        GradientBoostingClassifier(n_estimators=30), AdaBoostClassifier(n_estimators=30),
        DecisionTreeClassifier(max_depth=8, max_features=0.5, random_state=3),
    ]  # fmt: skip


def out_of_fold(Xy, models):
    X, y = Xy
    return np.stack([cross_val_predict(m, X, y, cv=5, method="predict_proba") for m in models], 1), y


def forests():
    return [RandomForestClassifier(15, max_depth=6, max_features=0.4, random_state=s) for s in range(8)]


def trees():
    return [DecisionTreeClassifier(max_depth=7, max_features=0.6, random_state=s) for s in range(8)]


MORE = {
    "epl6": lambda: odds("bookies_epl_odds", ["B365", "BW", "IW", "LB", "WH", "VC"]),
    "bun5": lambda: odds("bookies_bundesliga_odds", ["B365", "BW", "IW", "LB", "WH"]),
    "judges3": lambda: judges([0, 3, 6]),
    "judges5": lambda: judges([0, 2, 4, 6, 8]),
    "judges4w": lambda: judges([1, 3, 5, 7]),
    "mk2_11": lambda: out_of_fold(table(1, 2), eleven()),
    "mk4_11": lambda: out_of_fold(table(2, 4), eleven()),
    "mk3_hard": lambda: out_of_fold(table(3, 3, separation=0.35, flipped=0.2), eleven()[:7]),
    "mk2_hard_5": lambda: with_base_models(*table(4, 2, 800, 0.4, 0.25), 0),
    "twins_rf8": lambda: out_of_fold(table(5, 3, 1500), forests()),
    "twins_tree8": lambda: out_of_fold(table(6, 2, 1500, 0.6, 0.1), trees()),
    "sim_indep9": lambda: simulated(9, 3, 2500, 0.0, [1] * 9, [1] * 9, 21),
    "sim_corr7": lambda: simulated(7, 2, 2500, 0.7, [1, 1.2, 0.8, 1, 0.5, 1.4, 0.9], [1] * 7, 22),
    "sim_under7": lambda: simulated(7, 4, 2500, 0.5, [1.3] * 7, [0.4] * 7, 23),
    "sim_over7": lambda: simulated(7, 4, 2500, 0.5, [0.8] * 7, [3] * 7, 24),
    "uneven3c": lambda: simulated(5, 3, 2500, 0.5, [1.5, 0.8, 0.6, 0.5, 0.4], [1, 1, 6, 8, 10], 11),
    "sim_hardshared": lambda: simulated(9, 2, 2500, 0.9, [0.6] * 9, [1.5] * 9, 25),
}
HEADER = ["version", "set", "score", "labels_per_class", "auto", "linear_pool", "geometric_pool"]


def measure(version, draws, names):
    path, panels = HERE / "agreement.csv", SETS | MORE
    rows = list(csv.reader(open(path, newline="")))[1:] if path.exists() else []
    rows = [row for row in rows if row[0] != version or row[1] not in names]
    for name in names:
        P, y = panels[name]()
        for level in LEVELS:
            found = [losses_of(P, y, level, drawn, RULES) for s in range(draws) if (drawn := draw(y, level, s))]
            for score in ("natural", "balanced") if found else ():
                means = [np.mean([losses[score, level, rule] for losses in found]) for rule in RULES]
                rows.append([version, name, score, level, *(f"{mean:.4f}" for mean in means)])
    write("agreement.csv", HEADER, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("sets", nargs="*", metavar="SET")
    options = parser.parse_args()
    measure(options.version, options.draws, options.sets or [*SETS, *MORE])
