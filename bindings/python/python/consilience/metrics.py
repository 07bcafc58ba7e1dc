"""Scores of probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._errors import ConsilienceError

__all__ = ["scores"]


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
