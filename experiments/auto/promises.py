"""Two promises on ten sets: never worse than the best single classifier, nor than the best rival, by more than a
standard error. "Best" is chosen in hindsight. Ten folds, uniform class prior, every class counting the same."""

import numpy as np
from common import FUSIONS, REAL, balanced, log_losses, out_of_fold, real_set, singles, write
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

CLASSIFIERS = [
    LinearDiscriminantAnalysis(),
    make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    RandomForestClassifier(200, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
    GaussianNB(),
]
BUNDLED = {
    "iris": (load_iris, 3),
    "wine": (load_wine, 3),
    "breast_cancer": (load_breast_cancer, 5),
    "digits": (load_digits, 5),
}


def bundled_set(load, n_classifiers):
    """Out-of-fold outputs of scikit-learn classifiers."""
    X, y = load(return_X_y=True)
    splits = StratifiedKFold(5, shuffle=True, random_state=0)
    P = [cross_val_predict(c, X, y, cv=splits, method="predict_proba") for c in CLASSIFIERS[:n_classifiers]]
    return np.stack(P, axis=1), y


def kept(gap, se):
    return "kept" if gap <= se else "BROKEN"


rows = []
for name in REAL + list(BUNDLED):
    P, y = real_set(name) if name in REAL else bundled_set(*BUNDLED[name])
    losses = {rule: log_losses(out_of_fold(f, P, y), y) for rule, f in (FUSIONS | singles(P.shape[1])).items()}
    mean = {rule: balanced(values, y)[0] for rule, values in losses.items()}
    best_single = min((rule for rule in mean if ":" in rule), key=mean.get)
    best_rival = min((rule for rule in mean if rule != "auto"), key=mean.get)
    row = [name, f"{mean['auto']:.4f}"]
    for rule in (best_single, best_rival):
        gap, se = balanced(losses["auto"] - losses[rule], y)
        row += [rule, f"{mean[rule]:.4f}", f"{gap:+.4f}", f"{se:.4f}", kept(gap, se)]
    rows.append(row + [f"{mean[rule]:.4f}" for rule in list(FUSIONS)[1:]])
write(
    "promises.csv",
    ["set", "auto", "best_single", "its_loss", "gap", "se", "promise"]
    + ["best_rival", "its_loss", "gap", "se", "promise"]
    + list(FUSIONS)[1:],
    rows,
)
