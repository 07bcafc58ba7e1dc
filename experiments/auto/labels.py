"""Learning curves from no labels to all: `auto` with unlabelled items against the version before and simpler rules.

    python labels.py [--draws 10] [--before PROGRAM] [--auto PROGRAM] [SET ...]

Sets: the six of the paper, the panel of nine LLM judges, four of scikit-learn's with five base models (out of fold),
three simulated. Half of the items, at most 1500, are for testing; of the others, at most 1500, `labels` per class on
average are labelled: one of every class, the rest at random. All other training items are unlabelled, and only `auto`
uses them. Log-loss in nats: `natural` counts items alike, every method with its estimate of the class frequencies;
`balanced` counts classes alike under the uniform prior. PROGRAM is the command line of the version before.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from common import REAL, cs, log_losses, real_set, write
from scipy.optimize import minimize
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

LEVELS = [0, 1, 2, 3, 5, 10, 20, 50, 100, "all"]
TOO_BAD = 0.02
WITHOUT_LABELS = ("auto", "linear pool", "geometric pool")


def with_base_models(X, y, noise, seed=0):
    """Out-of-fold outputs of five models; noise on the features makes the task harder."""
    X = X + np.random.default_rng(seed).normal(size=X.shape) * X.std(0) * noise
    models = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        RandomForestClassifier(60, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=6, min_samples_leaf=5, random_state=0),
    ]
    cv = StratifiedKFold(5, shuffle=True, random_state=1)
    return np.stack([cross_val_predict(m, X, y, cv=cv, method="predict_proba") for m in models], 1), y


def simulated(K, J, n, correlation, quality, sharpness, seed):
    """Scores with a common part; a source's logits are its scores times its quality and sharpness."""
    rng = np.random.default_rng(seed)
    y = rng.choice(J, n, p=np.arange(J, 0, -1) / np.arange(J, 0, -1).sum())
    common, own = rng.normal(size=(n, 1, J)), rng.normal(size=(n, K, J))
    quality, sharpness = np.array(quality)[None, :, None], np.array(sharpness)[None, :, None]
    z = np.eye(J)[y][:, None, :] * quality + correlation**0.5 * common + (1 - correlation) ** 0.5 * own
    z = z * quality * sharpness
    P = np.exp(z - z.max(-1, keepdims=True))
    return P / P.sum(-1, keepdims=True), y


def contrary():
    """Six sources, one of them inverted and one random."""
    P, y = simulated(6, 4, 3000, 0.3, [1.5, 1, 1, 1, 0.7, 1], [1] * 6, 3)
    P[:, 4] = P[:, 4][:, ::-1]
    P[:, 5] = np.random.default_rng(5).dirichlet(np.ones(4), len(y))
    return P, y


def diabetes():
    X, y = datasets.load_diabetes(return_X_y=True)
    return with_base_models(X, (y > np.quantile(y, 0.6)).astype(int), 0)


SETS = {name: (lambda name=name: real_set(name)) for name in REAL} | {
    "judges": lambda: real_set("judges_rewardbench2"),
    "wine": lambda: with_base_models(*datasets.load_wine(return_X_y=True), 1.5),
    "breast_cancer": lambda: with_base_models(*datasets.load_breast_cancer(return_X_y=True), 1.5),
    "digits": lambda: with_base_models(*datasets.load_digits(return_X_y=True), 2),
    "diabetes": diabetes,
    "overconfident": lambda: simulated(5, 2, 3000, 0.5, [1, 1.2, 0.8, 1, 0.5], [4, 3, 5, 4, 8], 2),
    "contrary": contrary,
    "uneven": lambda: simulated(5, 2, 2000, 0.4, [1.6, 1.3, 0.6, 0.4, 0.2], [1, 2, 6, 10, 15], 4),
}


def floored_logs(P):
    P = np.maximum(P, 1e-3)
    return np.log(P / P.sum(-1, keepdims=True))


def filled(P):
    """Absent outputs are the mean of those present."""
    return np.where(np.isnan(P), np.nanmean(P, 1, keepdims=True), P)


def softmax(u):
    p = np.exp(u - u.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


# Rules: from outputs and labels (-1: none) to a function of new outputs and a class prior.


def auto(P, y):
    labels = [None if label < 0 else int(label) for label in y]
    model = cs.AutoFusion(classes=list(range(P.shape[2]))).fit(P, labels)
    return lambda new, prior: model.predict_proba(new, class_prior=prior)


def pool(mean):
    """A plain pool whose class prior, the mean output over all training items, is replaced."""
    return lambda P, y: lambda new, prior: softmax(mean(new) - np.log(np.nanmean(P, (0, 1))) + np.log(prior))


def non_negative(P, y):
    """softmax(b + Σ w ln x) with w ≥ 0, of maximal likelihood."""
    P, y = filled(P[y >= 0]), y[y >= 0]
    z, K, J, rows = floored_logs(P), P.shape[1], P.shape[2], np.arange(len(y))
    offset = np.log((np.bincount(y, minlength=J) + 0.5) / (len(y) + J / 2))
    predictor = lambda theta, z: np.einsum("k,nkj->nj", theta[:K], z) + theta[K:]

    def loss(theta):
        p = softmax(predictor(theta, z) + offset)
        residual = p - np.eye(J)[y]
        gradient = np.r_[np.einsum("nj,nkj->k", residual, z), residual.sum(0) + theta[K:]]
        return -np.log(p[rows, y] + 1e-300).sum() + 0.5 * (theta[K:] ** 2).sum(), gradient

    start = np.r_[np.full(K, 1 / K), np.zeros(J)]
    theta = minimize(loss, start, jac=True, bounds=[(0, 20)] * K + [(None, None)] * J).x
    return lambda new, prior: softmax(predictor(theta, floored_logs(filled(new))) + np.log(prior))


def stacking(P, y):
    model = cs.StackingFusion().fit(P[y >= 0], y[y >= 0])
    return lambda new, prior: model.predict_proba(new, class_prior=prior)


def scikit(P, y):
    """Logistic regression on probabilities, as scikit-learn's StackingClassifier; the prior is exchanged afterwards."""
    flat = lambda P: filled(P).reshape(len(P), -1)
    P, y = P[y >= 0], y[y >= 0]
    frequencies = np.bincount(y, minlength=P.shape[2]) / len(y)
    model = LogisticRegression(max_iter=2000).fit(flat(P), y)

    def predict(new, prior):
        p = model.predict_proba(flat(new)) * prior / frequencies
        return p / p.sum(1, keepdims=True)

    return predict


def command_line(program, unlabelled):
    """`auto` of another build."""

    def table(P, labels):
        header = ",".join(["label", *(f"s{k}_c{j}" for k in range(P.shape[1]) for j in range(P.shape[2]))])
        rows = (",".join([label, *("" if np.isnan(x) else repr(float(x)) for x in row.ravel())]) for label, row in zip(labels, P))
        return "\n".join([header, *rows])

    def rule(P, y):
        if not unlabelled:
            P, y = P[y >= 0], y[y >= 0]
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name)
        run = lambda *words: subprocess.run([program, *words], cwd=path, check=True, capture_output=True)
        (path / "train.csv").write_text(table(P, [f"c{j}" if j >= 0 else "" for j in y]))
        classes = ",".join(f"c{j}" for j in range(P.shape[2]))
        run("fit", "train.csv", "--method", "auto", "--classes", classes, "-o", "m.json")

        def predict(new, prior):
            (path / "test.csv").write_text(table(new, ["c0"] * len(new)))
            given = ",".join(f"c{j}={p!r}" for j, p in enumerate(map(float, prior)))
            run("fuse", "m.json", "test.csv", "--class-prior", given, "-o", "fused.csv")
            names, *rows = [line.split(",") for line in (path / "fused.csv").read_text().splitlines()]
            places = [names.index(f"fused_c{j}") for j in range(new.shape[2])]
            return np.array([[float(row[i]) for i in places] for row in rows])

        predict.folder = folder
        return predict

    return rule


def log_mean(P):
    return np.log(np.nanmean(np.exp(floored_logs(P)), 1))


def mean_log(P):
    return np.nanmean(floored_logs(P), 1)


def draw(y, level, seed):
    """Test items, training items, and the labels of the latter (-1: none)."""
    rng = np.random.default_rng([seed, 7])
    order = rng.permutation(len(y))
    n_test = min(len(y) // 2, 1500)
    test, train = order[:n_test], order[n_test : n_test + 1500]
    labels = np.full(len(train), -1)
    if level == "all":
        return test, train, y[train]
    J = y.max() + 1
    if level:
        if level * J > 0.8 * len(train):
            return None
        first = [int(np.flatnonzero(y[train] == j)[0]) for j in range(J)]
        rest = [i for i in range(len(train)) if i not in first]
        chosen = first + rest[: (level - 1) * J]
        labels[chosen] = y[train][chosen]
    return test, train, labels


def losses_of(P, y, level, drawn, rules):
    """The log-loss of every rule under both scores."""
    test, train, labels = drawn
    J = P.shape[2]
    counts = np.bincount(labels[labels >= 0], minlength=J)
    scores = {
        "natural": ((counts + J * np.nanmean(P[train], (0, 1))) / (counts.sum() + J), np.ones(len(test))),
        "balanced": (np.full(J, 1 / J), 1 / np.bincount(y[test], minlength=J)[y[test]]),
    }
    losses = {}

    def add(rule, predict, P):
        for score, (prior, weights) in scores.items():
            loss = np.average(log_losses(predict(P, prior), y[test]), weights=weights)
            losses[score, level, rule] = min(loss, losses.get((score, level, rule), np.inf))

    for rule, fit in rules.items():
        if level != 0 or rule in WITHOUT_LABELS:
            add(rule, fit(P[train], labels), P[test])
    if level in (20, "all"):
        for k in range(P.shape[1]):  # the best in hindsight, recalibrated
            add("best single", rules["auto"](P[train][:, [k]], labels), P[test][:, [k]])
    return losses


def measure(names, draws, rules):
    rows, cells = [], {}
    for name in names:
        P, y = SETS[name]()
        for level in LEVELS:
            for seed in range(draws):
                drawn = draw(y, level, seed)
                if drawn is None:
                    continue
                for key, loss in losses_of(P, y, level, drawn, rules).items():
                    cells.setdefault((name, *key), []).append(loss)
            print(name, level, flush=True)
    for (name, score, level, rule), losses in cells.items():
        se = np.std(losses, ddof=1) / len(losses) ** 0.5 if len(losses) > 1 else float("nan")
        rows.append([name, score, level, rule, len(losses), f"{np.mean(losses):.4f}", f"{se:.4f}"])
    write("labels.csv", ["set", "score", "labels_per_class", "method", "draws", "log_loss", "se"], rows)
    summary(cells, names, list(rules) + ["best single"])


def summary(cells, names, rules):
    """Means over the sets, and where `auto` is worse than the better plain pool."""
    mean = lambda *key: np.mean(cells[key]) if key in cells else np.nan
    for score in ("natural", "balanced"):
        print(f"\n{score}: mean over sets, rule minus auto")
        for rule in rules:
            gaps = [[mean(n, score, level, rule) - mean(n, score, level, "auto") for n in names] for level in LEVELS]
            print(f"{rule:16}" + "".join(f"{np.nanmean(g) if not np.all(np.isnan(g)) else np.nan:9.4f}" for g in gaps))
        print("auto worse than the better plain pool:")
        for name in names:
            for level in LEVELS:
                best = min(mean(name, score, level, "linear pool"), mean(name, score, level, "geometric pool"))
                excess = mean(name, score, level, "auto") - best
                if excess > TOO_BAD:
                    print(f"  {name}, {level} labels per class: {excess:+.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--before", metavar="PROGRAM")
    parser.add_argument("--auto", metavar="PROGRAM", help="`auto` of this build, not of the Python package")
    parser.add_argument("sets", nargs="*", metavar="SET")
    options = parser.parse_args()
    rules = {
        "auto": command_line(options.auto, True) if options.auto else auto,
        "linear pool": pool(log_mean),
        "geometric pool": pool(mean_log),
        "non-negative pool": non_negative,
        "stacking": stacking,
        "scikit-learn": scikit,
    }
    if options.before:
        rules["before"] = command_line(options.before, False)
    measure(options.sets or list(SETS), options.draws, rules)
