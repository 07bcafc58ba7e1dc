"""Parts `fits` and `scaling` of the benchmark page: the cost of learning."""

from math import log

from measure import Tables, cpu_seconds, instructions, row

MODE = ("--method", "correlated", "--inference", "map")
POSTERIOR = ("--method", "correlated")


def digits(tables):
    """The table of a fold of examples/four_sets.py: outputs of four models for the ten classes of digits, for held-out
    items."""
    import sys

    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from measure import ROOT

    sys.path.insert(0, str(ROOT / "examples"))
    from four_sets import base_models

    X, y = load_digits(return_X_y=True)
    train, _ = next(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    outputs = [cross_val_predict(model, X[train], y[train], cv=5, method="predict_proba") for _, model in base_models()]
    return tables.write("digits.csv", y[train], np.stack(outputs, axis=1))


def fits():
    """Fits of `correlated` that the documentation or its targets name, and of `auto` and `stacking`."""
    found = []
    with Tables() as tables:
        def fit(what, table, *options, target=None, repeat=3, count=False):
            arguments = "fit", table, "-o", tables.path / "fitted.json", *options
            found.append(row(f"fit: {what}", unit="CPU s", target=target, **cpu_seconds(*arguments, repeat=repeat),
                             instructions=instructions(*arguments) if count else None))

        sim2 = tables.simulated("sim2.csv", 3000)
        fit("`correlated`, mode, 2 sources, 3 classes, 3 × 1000 items", sim2, *MODE, target=0.3, count=True)
        fit("`correlated`, posterior, 2 sources, 3 classes, 3 × 1000 items", sim2, *POSTERIOR, target=2)
        small = tables.simulated("small.csv", 120)
        fit("`correlated`, posterior, 2 sources, 3 classes, 120 items", small, *POSTERIOR, target=3)
        for n_sources, target in (3, None), (5, None), (8, 4):
            table = tables.correlated(n_sources, 3, 300)
            fit(f"`correlated`, mode, {n_sources} sources, 3 classes, 3 × 300 items", table, *MODE, target=target)
        fit("`correlated`, mode, 2 sources, 20 classes, 400 items", tables.correlated(2, 20, 20), *MODE, target=50, repeat=1)
        fit("`correlated`, mode, digits, 4 sources, 10 classes, one fold", digits(tables), *MODE, target=20, repeat=1)
        for method in ("independent", "stacking", "auto"):
            fit(f"`{method}`, 2 sources, 3 classes, 3 × 1000 items", sim2, "--method", method, count=True)
        fit("`auto`, 2 sources, 200 classes, 2000 items", tables.correlated(2, 200, 10), repeat=1)
    return found


#: What is varied, its values, and the largest exponent that counts as linear or, for K, quadratic.
AXES = {"n": ((300, 600, 1200, 2400, 4800), 1.1), "K": ((2, 3, 4, 6, 8), 2.0), "J": ((2, 3, 4, 6, 8, 12), 1.25)}
FIXED = {"n": 600, "K": 3, "J": 3}


def scaling():
    """CPU seconds of the mode of `correlated` against items (n), sources (K) and classes (J), the other two as in
    `FIXED`; for each the exponent of a power law by least squares."""
    found = []
    with Tables() as tables:
        for axis, (values, target) in AXES.items():
            times = []
            for value in values:
                n, n_sources, n_classes = (FIXED | {axis: value}).values()
                table = tables.correlated(n_sources, n_classes, n // n_classes)
                times.append(cpu_seconds("fit", table, "-o", tables.path / "fitted.json", *MODE, repeat=1))
                found.append(row(f"mode of `correlated`, {axis} = {value}", unit="CPU s", **times[-1]))
            exponents = {key: None if times[0][key] is None else exponent(values, [time[key] for time in times])
                         for key in ("ours", "before")}
            found.append(row(f"exponent of the cost of `correlated` in {axis}", unit="", target=target, **exponents))
    return found


def exponent(values, times):
    """The slope of log time against log value by least squares."""
    x, y = [log(value) for value in values], [log(time) for time in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
            / sum((a - mean_x) ** 2 for a in x))
