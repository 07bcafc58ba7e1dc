"""Estimators in a comparison: fitted here, scored by the core."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from . import _core
from ._base import ClassPrior, Fusion
from ._errors import ConsilienceError
from ._tables import Floats

#: Name, predictions of every split or the message of an error, seconds of the first fit and prediction.
Predictions = tuple[str, list["Floats | str"], float, float]


def divided(methods: Any) -> tuple[list[str] | None, dict[str, Any]]:
    """Names of methods for the core (None: all), and estimators by name."""
    if methods is None:
        return None, {}
    if isinstance(methods, dict):
        pairs = list(methods.items())
    else:
        listed = [methods] if isinstance(methods, (str, tuple)) or hasattr(methods, "fit") else list(methods)
        pairs = [one if isinstance(one, tuple) else (None, one) for one in listed]
    names, estimators = [], {}
    for name, one in pairs:
        if isinstance(one, str):
            names.append(one)
        elif isinstance(one, type) or not hasattr(one, "fit"):
            hint = f"\nhint: use an estimator, `{one.__name__}()`" if isinstance(one, type) else ""
            raise ConsilienceError(f"`methods` must be names and estimators, got {one!r}{hint}")
        else:
            estimators[_free(str(name or type(one).__name__), estimators)] = one
    return names, estimators


def _free(name: str, taken: dict[str, Any]) -> str:
    """The name itself, or with a number if it is taken."""
    candidates = [name, *(f"{name} {i}" for i in range(2, len(taken) + 3))]
    return next(own for own in candidates if own not in taken)


def predictions(
    estimators: dict[str, Any], reader: Fusion, items: tuple[Floats, Any], class_prior: ClassPrior,
    protocol: tuple[tuple[int, int], tuple[int, float] | None], seed: int,
    progress: Callable[[str, int, int], Any] | None,
) -> list[Predictions]:
    """Fits every estimator to the training items of every split."""
    block, labels = items
    splits = _core.compare_splits(labels, len(reader.classes_), *protocol, seed)
    prior = _shares(class_prior, labels, len(reader.classes_))
    found = []
    for i, (name, estimator) in enumerate(estimators.items()):
        task = f"comparing {i + 1} of {len(estimators)} estimators: {name}"
        rows: list[Floats | str] = []
        seconds: list[tuple[float, float]] = []
        for done, (train, test) in enumerate(splits):
            if progress is not None:
                progress(task, done, len(splits))
            row, took = _attempt(estimator, reader, items, (train, test), prior)
            rows.append(row)
            seconds.append(took)
        if progress is not None:
            progress(task, len(splits), len(splits))
        found.append((name, rows, *seconds[0]))
    return found


def _shares(class_prior: Any, labels: Any, n_classes: int) -> Floats:
    if isinstance(class_prior, str):
        counts = np.bincount(labels[labels >= 0], minlength=n_classes).astype(float)
        shares = counts if class_prior == "empirical" else np.ones(n_classes)
    else:
        shares = np.asarray(class_prior, dtype=float)
    return np.asarray(shares / shares.sum())


def _attempt(
    estimator: Any, reader: Fusion, items: tuple[Floats, Any], split: tuple[Sequence[int], Sequence[int]],
    prior: Floats,
) -> tuple[Floats | str, tuple[float, float]]:
    """The predictions of one split, or why there are none, and the seconds of fit and prediction."""
    block, labels = items
    labelled, unlabelled = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    train, test = labelled[list(split[0])], labelled[list(split[1])]
    started = time.perf_counter()
    try:
        if isinstance(estimator, Fusion):
            both = np.concatenate([train, unlabelled])
            y = [None if label < 0 else int(label) for label in labels[both]]
            model = clone(estimator).set_params(
                values=reader.values, floor=reader.floor, sum_tolerance=reader.sum_tolerance, layout="wide",
                pos_label=None, n_classifiers=None, classifiers=list(reader.classifiers_),
                classes=list(range(len(reader.classes_))), progress=None,
            ).fit(block[both], y)
            fitted = time.perf_counter()
            found = model.predict_proba(block[test], class_prior=prior)
        else:
            flat = block.reshape(len(block), -1)
            model = clone(estimator).fit(flat[train], labels[train])
            fitted = time.perf_counter()
            found = np.zeros((len(test), len(reader.classes_)))
            found[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(flat[test])
            found = np.maximum(found, reader.floor)  # as the outputs of the sources
            found /= found.sum(axis=1, keepdims=True)
    except Exception as error:  # a row of its own in the table, as for methods of the core
        return f"{type(error).__name__}: {error}", (float("nan"), float("nan"))
    return np.ascontiguousarray(found), (fitted - started, time.perf_counter() - fitted)
