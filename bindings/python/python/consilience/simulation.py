"""Items whose truth is known."""

from __future__ import annotations

from typing import Any

from . import _core
from ._base import Fusion, seed_of

__all__ = ["simulate"]


def simulate(
    source: str | Fusion, *, correlation: float = 0.5, items_per_class: int = 100,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Draws labelled outputs from a simulated set of the paper, or from a fitted model.

    Parameters
    ----------
    source : "sim1", "sim2", "sim3" or a fitted model with a density
        What to draw from; the sets have two classifiers and the classes "1", "2" and "3".
    correlation : float
        Of a set, 0 to 1.
    items_per_class : int
        Items of every class, which come class by class.

    Returns
    -------
    P : array of shape (n, K, J)
    y : array of shape (n,)

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim1", correlation=0.9, items_per_class=10)
    >>> P.shape
    (30, 2, 3)
    """
    import numpy as np

    seed = seed_of(random_state)
    if isinstance(source, str):
        P, labels = _core.simulate_preset(source, correlation, items_per_class, seed)
        return P, np.array(["1", "2", "3"])[labels]
    P, labels = source.model_.simulate(items_per_class, seed)
    return P, source.classes_[labels]
