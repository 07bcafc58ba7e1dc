"""Scores of probabilities, and methods beside each other."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._base import ClassPrior, given, seed_of
from ._errors import ConsilienceError
from ._progress import Progress, listener
from .estimators import OpinionPool

__all__ = ["compare", "scores"]


def scores(
    y: Any, probabilities: Any, *, classes: Any = None, class_prior: Any = None,
    per_class: bool = False,
) -> dict[str, Any]:
    """Log-loss, Brier score, accuracy, mean entropy and calibration error.

    Parameters
    ----------
    y : array of shape (n,)
        True classes.
    probabilities : array of shape (n, J)
        Predicted probabilities, columns in the order of `classes`.
    classes : array of shape (J,), optional
        The sorted labels if not given.
    class_prior : "uniform" or J numbers, optional
        Every class counts as it says, whatever its number of items; every item alike if not given.
    per_class : bool
        Also score the items of every class.

    Returns
    -------
    dict with `log_loss` (nats), `brier` (0 to 2), `accuracy`, `entropy` (nats) and `ece`;
    with `per_class`, also a dict of such dicts under that name.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.scores(["a", "b"], [[0.8, 0.2], [0.4, 0.6]])["accuracy"]
    1.0
    """
    y = np.asarray(y)
    classes = np.unique(y) if classes is None else np.asarray(classes)
    places = {c: j for j, c in enumerate(classes.tolist())}
    try:
        labels = np.array([places[c] for c in y.tolist()], dtype=np.int64)
    except KeyError as error:
        raise ConsilienceError(f"unknown label `{error.args[0]}`") from None
    probabilities = np.ascontiguousarray(probabilities, dtype=float)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(classes):
        raise ConsilienceError(
            f"expected probabilities of {len(classes)} classes, got an array of shape {probabilities.shape}"
        )
    if isinstance(class_prior, str):
        if class_prior != "uniform":
            raise ConsilienceError(f"`class_prior` must be uniform or numbers, got {class_prior}")
        class_prior = np.ones(len(classes))
    prior = None if class_prior is None else np.asarray(class_prior, dtype=float).tolist()
    overall, *each = json.loads(_core.score(probabilities, labels, prior))
    if per_class:
        overall["per_class"] = dict(zip(classes.tolist(), each, strict=True))
    return overall


def compare(
    X: Any, y: Any, methods: Any = None, *, class_prior: ClassPrior = "uniform", folds: int = 10,
    repeats: int = 1, splits: int | None = None, test_share: float = 0.2, inference: str = "map",
    score_items: bool = False, values: str = "probabilities", floor: float = 1e-6,
    random_state: Any = None, progress: Progress = None,
) -> dict[str, Any]:
    """Compares methods on the same items, scored on what they were not fitted to.

    Parameters
    ----------
    X, y
        Labelled outputs, as of `fit`.
    methods : list of names, optional
        As of `consilience fit --method`; all that suit the data if not given.
    folds, repeats : int
        Stratified cross-validation.
    splits : int, optional
        Random splits instead, with `test_share` of every class for testing.
    inference : "map" or "posterior"
        Modes, fast, or full posteriors.
    score_items : bool
        Count every item alike instead of every class as the class prior says.

    Returns
    -------
    dict
        `methods` has one row a method, the best first: `method`, `log_loss`, `log_loss_se`, `brier`, `accuracy`, `entropy`,
        `ece`, seconds and more; single classifiers, as they are, are among them.

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
    reader = OpinionPool(values=values, floor=floor)
    block, labels = reader._read_labelled(X, y)
    return json.loads(_core.compare(
        block, labels, list(reader.classifiers_), [str(c) for c in reader.classes_],
        values, floor, None if methods is None else list(methods), json.dumps(given(class_prior)),
        (folds, repeats), None if splits is None else (splits, test_share), inference == "map",
        score_items, seed_of(random_state), listener(progress),
    ))
