"""Scores of predicted probabilities, and comparison of methods."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._base import ClassPrior, Values, given, seed_of
from ._compared import divided, predictions
from ._errors import ConsilienceError
from ._progress import Progress, listener
from ._scoring import Comparison
from ._tables import Floats, counted, quoted
from .estimators import OpinionPool

__all__ = ["compare", "scores"]


def scores(
    y: Any, probabilities: Any, *, classes: Any = None, class_prior: Any = None,
    per_class: bool = False,
) -> dict[str, Any]:
    """Log-loss, Brier score, accuracy, mean entropy and calibration error.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        The true classes.
    probabilities : array-like of shape (n_items, n_classes)
        Predicted probabilities, with columns in the order of `classes`. Sums may differ from 1 by up to
        0.02. A true class with the probability 0 costs 708 nats: raise such values first if they are
        not meant, for example with `np.maximum(probabilities, 1e-6)`.
    classes : array-like of shape (n_classes,), default=None
        The classes. If None, the sorted labels.
    class_prior : "uniform" or array-like of shape (n_classes,), default=None
        The items are weighted so that the classes have these shares. If None, every item has the same
        weight.
    per_class : bool, default=False
        Whether to score the items of every class as well.

    Returns
    -------
    dict
        `log_loss` (nats), `brier` (0 to 2), `accuracy`, `entropy` (nats) and `ece`, the expected
        calibration error. If `per_class` is True, `per_class` has such a dict for every class.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.scores(["a", "b"], [[0.8, 0.2], [0.4, 0.6]])["accuracy"]
    1.0
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise ConsilienceError(
            f"`y` must be one label per item, got an array of shape {y.shape}\n"
            "hint: the labels come first, then the probabilities: `scores(y, probabilities)`"
        )
    classes = np.unique(y) if classes is None else np.asarray(classes)
    places = {c: j for j, c in enumerate(classes.tolist())}
    try:
        labels = np.array([places[c] for c in y.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ConsilienceError(f"unknown label `{error.args[0]}`; the classes are "
                               f"{quoted([str(c) for c in classes])}") from None
    probabilities = np.ascontiguousarray(probabilities, dtype=float)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(classes):
        raise ConsilienceError(
            f"expected probabilities of {counted(len(classes), 'class', 'classes')}, got an array of shape "
            f"{probabilities.shape}\nhint: name every class with `classes`, in the order of the columns"
        )
    _check_probabilities(probabilities)
    if isinstance(class_prior, str):
        if class_prior != "uniform":
            raise ConsilienceError(f"`class_prior` must be uniform or numbers, got {class_prior}")
        class_prior = np.ones(len(classes))
    prior = None if class_prior is None else np.asarray(class_prior, dtype=float).tolist()
    overall, *each = json.loads(_core.score(probabilities, labels, prior))
    if per_class:
        overall["per_class"] = dict(zip(classes.tolist(), each, strict=True))
    return overall


def _check_probabilities(probabilities: Floats) -> None:
    """Refuses numbers that are no probabilities: their scores would mean nothing."""
    sums = probabilities.sum(axis=1)
    wrong = ~(np.isfinite(probabilities) & (probabilities >= 0)).all(axis=1) | ~(np.abs(sums - 1) <= 0.02)
    if wrong.any():
        i = int(wrong.argmax())
        found = ", ".join(f"{p:.4g}" for p in probabilities[i, :5]) + (", ..." if probabilities.shape[1] > 5 else "")
        raise ConsilienceError(f"item {i}: expected probabilities that add up to 1, got {found}")


def compare(
    X: Any, y: Any, methods: Any = None, *, class_prior: ClassPrior = "empirical", folds: int = 10,
    repeats: int = 1, splits: int | None = None, test_share: float = 0.2,
    inference: Literal["map", "posterior"] = "map", score_items: bool = False,
    values: Values = "probabilities", floor: float = 1e-6, sum_tolerance: float = 0.02,
    layout: Literal["wide", "positive"] = "wide", pos_label: Any = None, n_classifiers: int | None = None,
    classifiers: Sequence[str] | None = None, classes: Sequence[Any] | None = None,
    random_state: Any = None, progress: Progress = None,
) -> Comparison:
    """Compare methods by cross-validation on the same items.

    Parameters
    ----------
    X : array-like or data frame
        Outputs, as in `AutoFusion.fit`.
    y : array-like of shape (n_items,)
        The true classes. Items without a label, as in `AutoFusion.fit`, join every fit and are not
        scored.
    methods : str, estimator, list or dict of them, default=None
        Names of methods, such as "auto", "correlated" or "linear-pool", and estimators: fusion
        estimators with options of their own, or classifiers of scikit-learn, which are fitted to the
        outputs as features and whose probabilities are raised to `floor`. An estimator has the name of
        its class unless it is given as a tuple (name, estimator) or in a dict. If None, all methods
        that are applicable to the data.
    class_prior : {"empirical", "uniform"} or array-like of shape (n_classes,), default="empirical"
        The class prior of all methods but the classifiers of scikit-learn.
    folds : int, default=10
        Number of stratified folds.
    repeats : int, default=1
        Number of repetitions of the cross-validation.
    splits : int, default=None
        Number of random splits to use instead of folds.
    test_share : float, default=0.2
        Share of each class in the test part of a random split.
    inference : {"map", "posterior"}, default="map"
        Posterior modes, or full posteriors, which take longer.
    score_items : bool, default=False
        If True, every item has the same weight under any class prior. If False, the items are weighted
        so that the classes have the shares of a class prior that is uniform or given.
    values : {"probabilities", "log-probabilities", "logits", "odds", "odds-power", "odds-shin"}, default="probabilities"
        The kind of numbers in X.
    floor : float, default=1e-6
        Smaller probabilities are raised to this value, and the output is normalised.
    sum_tolerance : float, default=0.02
        Outputs whose sum differs from 1 by at most this much are normalised; others are an error.
    layout : {"wide", "positive"}, default="wide"
        Layout of X, as in `AutoFusion`.
    pos_label : object, default=None
        The class whose values the columns are with `layout="positive"`. If None, the second class.
    n_classifiers : int, default=None
        Number of classifiers in a two-dimensional array.
    classifiers : list of str, default=None
        Names of the classifiers.
    classes : list, default=None
        All classes, in the order of the columns of X.
    random_state : int, RandomState instance or None, default=None
        Seed; None is the same as 0.
    progress : callable, "tqdm" or None, default=None
        Progress of the computation, as in `AutoFusion`.

    Returns
    -------
    Comparison
        A table, the best method first; `to_frame()` makes a data frame of it. `methods` is a list of dicts
        with `method`, `log_loss`, `log_loss_se`, `brier`, `accuracy`, `entropy`, `ece`, times in seconds
        and more. The single classifiers are listed as `classifier:<name>`.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> found = cs.compare(P, y, ["auto", "independent", "opinion-pool"], folds=5)
    >>> [row["method"] for row in found["methods"]][-1]
    'classifier:c2'
    """
    if inference not in ("map", "posterior"):
        raise ConsilienceError(f"`inference` must be map or posterior, got {inference}")
    reader = OpinionPool(
        values=values, floor=floor, sum_tolerance=sum_tolerance, layout=layout, pos_label=pos_label,
        n_classifiers=n_classifiers, classifiers=classifiers, classes=classes,
    )
    block, labels = reader._read_labelled(X, y)
    seed, protocol = seed_of(random_state), ((folds, repeats), None if splits is None else (splits, test_share))
    names, estimators = divided(methods)
    given_predictions = predictions(
        estimators, reader, (block, labels), class_prior, protocol, seed, listener(progress)
    ) if estimators else []
    return Comparison(json.loads(_core.compare(
        block, labels, list(reader.classifiers_), [str(c) for c in reader.classes_],
        (values, sum_tolerance), floor, names, json.dumps(given(class_prior)), *protocol, inference == "map",
        score_items, seed, listener(progress), given_predictions,
    )))
