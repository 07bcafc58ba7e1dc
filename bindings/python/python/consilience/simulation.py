"""Simulated outputs whose true classes are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._base import Fusion, seed_of

__all__ = ["simulate"]


def simulate(
    source: str | Fusion, *, correlation: float = 0.5, items_per_class: int = 100,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Draw labelled outputs from a simulated set of the paper, or from a fitted model.

    Parameters
    ----------
    source : {"sim1", "sim2", "sim3"} or fusion estimator
        A set of the paper, with two classifiers and the classes "1", "2" and "3", or a fitted model with
        a density.
    correlation : float, default=0.5
        Correlation of the two classifiers of a set, from 0 to 1. Not used for a model.
    items_per_class : int, default=100
        Number of items per class.
    random_state : int, RandomState instance or None, default=None
        Seed; None is the same as 0.

    Returns
    -------
    P : ndarray of shape (n_items, n_classifiers, n_classes)
        The outputs.
    y : ndarray of shape (n_items,)
        The true classes, in order.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim1", correlation=0.9, items_per_class=10)
    >>> P.shape
    (30, 2, 3)
    """
    seed = seed_of(random_state)
    if isinstance(source, str):
        P, labels = _core.simulate_preset(source, correlation, items_per_class, seed)
        return P, np.array(["1", "2", "3"])[labels]
    P, labels = source.model_.simulate(items_per_class, seed)
    return P, source.classes_[labels]
