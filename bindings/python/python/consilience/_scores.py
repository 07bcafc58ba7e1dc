"""Scores as sums over items, so that those of many parts can be merged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._base import _prior

#: Bins of the calibration error, as in the command line.
_BINS = 15
_NAMES = ("log_loss", "brier", "accuracy", "entropy")
# A probability that underflowed to 0 counts as the smallest normal double.
_SMALLEST = np.finfo(float).tiny


@dataclass
class Sums:
    """Sums of the scores of a model and of its single classifiers, by true class."""

    methods: list[str]
    n_classes: int
    n_unlabelled: int = 0
    counts: Any = None
    #: Scores and their squares: methods × true classes × 2 × scores.
    scores: Any = None
    #: Indicator − probability of the most probable class: methods × true classes × bins.
    top: Any = None
    #: Indicator − probability of every class: methods × true classes × classes × bins.
    by_class: Any = None
    _fields: tuple[str, ...] = field(default=("counts", "scores", "top", "by_class"), repr=False)

    def __post_init__(self) -> None:
        M, J = len(self.methods), self.n_classes
        shapes = {"counts": (J,), "scores": (M, J, 2, 4), "top": (M, J, _BINS), "by_class": (M, J, J, _BINS)}
        for name, shape in shapes.items():
            given = getattr(self, name)
            setattr(self, name, np.zeros(shape) if given is None else np.reshape(given, shape).astype(float))

    @classmethod
    def of(cls, estimator: Any) -> Sums:
        """No items yet."""
        names = [f"classifier:{name}" for name in estimator.classifiers_]
        return cls([estimator._file["method"], *names], len(estimator.classes_))

    def add(self, estimator: Any, X: Any, y: Any, class_prior: Any, predictive: bool) -> None:
        """Adds items; those without a label are counted only."""
        block, labels = estimator._read_labelled(X, y, reset=False)
        known = labels >= 0
        self.n_unlabelled += int((~known).sum())
        block, labels = np.ascontiguousarray(block[known]), labels[known]
        if not len(labels):
            return
        self.counts += np.bincount(labels, minlength=self.n_classes)
        predicted = [estimator.model_.fuse(block, estimator._kind, _prior(class_prior), predictive, errors=False)[0]]
        predicted += _single(estimator, block, class_prior)
        for m, p in enumerate(predicted):
            self._add(m, p, labels)

    def _add(self, m: int, p: Any, labels: Any) -> None:
        n, J = p.shape
        indicator = np.zeros((n, J))
        indicator[np.arange(n), labels] = 1.0
        best = np.argmax(p, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = 0.0 - np.where(p > 0.0, p * np.log(p), 0.0).sum(axis=1)
        each = np.stack([
            -np.log(np.maximum(p[np.arange(n), labels], _SMALLEST)),
            ((p - indicator) ** 2).sum(axis=1),
            (best == labels).astype(float),
            entropy,
        ], axis=1)
        gaps, bins = indicator - p, np.minimum((p * _BINS).astype(int), _BINS - 1)
        for j in np.unique(labels):
            own = labels == j
            self.scores[m, j, 0] += each[own].sum(axis=0)
            self.scores[m, j, 1] += (each[own] ** 2).sum(axis=0)
            rows = np.flatnonzero(own)
            self.top[m, j] += np.bincount(bins[rows, best[rows]], gaps[rows, best[rows]], _BINS)
            for c in range(J):
                self.by_class[m, j, c] += np.bincount(bins[own, c], gaps[own, c], _BINS)

    def merge(self, other: Sums) -> Sums:
        """Adds the sums of other items."""
        self.n_unlabelled += other.n_unlabelled
        for name in self._fields:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self

    def to_json(self) -> str:
        arrays = {name: getattr(self, name).ravel().tolist() for name in self._fields}
        return json.dumps({"methods": self.methods, "n_classes": self.n_classes,
                           "n_unlabelled": self.n_unlabelled, **arrays})

    @classmethod
    def from_json(cls, text: str) -> Sums:
        return cls(**json.loads(text))

    # Results

    def report(self, class_weights: Any = None) -> list[dict[str, Any]]:
        """Every method's scores with standard errors, overall and per class, in the form of `evaluate`.

        `class_weights` are the weights of the classes; if None, every item has the same weight.
        """
        weights = self.counts if class_weights is None else np.where(self.counts > 0, class_weights, 0.0)
        return [
            {"method": name, "overall": self._overall(m, weights, class_weights is None),
             "per_class": [self._of_class(m, j, weights) for j in range(self.n_classes)]}
            for m, name in enumerate(self.methods)
        ]

    def _overall(self, m: int, weights: Any, by_item: bool) -> dict[str, Any]:
        share = weights / weights.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(self.counts[:, None] > 0, self.scores[m, :, 0] / self.counts[:, None], 0.0)
        value = share @ means
        if by_item:
            error = _error(self.scores[m, :, 0].sum(axis=0), self.scores[m, :, 1].sum(axis=0), self.counts.sum())
        else:
            each = np.stack([_error(*self.scores[m, j], self.counts[j]) for j in range(self.n_classes)])
            error = np.sqrt((share**2) @ np.where(share[:, None] > 0, each, 0.0) ** 2)
        return _named(value, error, self._calibration(self.top[m], share))

    def _of_class(self, m: int, j: int, weights: Any) -> dict[str, Any]:
        n = self.counts[j]
        if n == 0:
            return _named([np.nan] * 4, [np.nan] * 4, np.nan)
        share = weights / weights.sum()
        ece = self._calibration(self.by_class[m, :, j], share)
        return _named(self.scores[m, j, 0] / n, _error(*self.scores[m, j], n), ece)

    def _calibration(self, gaps: Any, share: Any) -> float:
        """Sum over the bins of the absolute weighted mean gap; `gaps` are true classes × bins."""
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(self.counts > 0, share / self.counts, 0.0)
        return float(np.abs(each @ gaps).sum())


def _single(estimator: Any, block: Any, class_prior: Any) -> list[Any]:
    """The outputs of every classifier as predictions; the class prior where an output is missing."""
    prior = np.array(estimator._file["class_prior"] if class_prior is None else class_prior)
    alone = _core.Model.from_json(json.dumps({
        "format": "consilience", "version": 1, "method": "opinion-pool", "classifiers": ["c"],
        "classes": [str(c) for c in estimator.classes_],
        "class_prior": [1.0 / len(estimator.classes_)] * len(estimator.classes_),
        **_settings(estimator._file),
    }))
    predictions = []
    for k in range(block.shape[1]):
        own = np.ascontiguousarray(block[:, k:k + 1])
        p = alone.fuse(own, estimator._kind, None, False, errors=False)[0]
        predictions.append(np.where(np.isnan(own[:, 0]).all(axis=1)[:, None], prior, p))
    return predictions


def _settings(file: dict[str, Any]) -> dict[str, Any]:
    """The settings of a model file, of which the floor matters, for a pool."""
    return {"settings": file["settings"] | {"fit": {"method": "opinion-pool"}}} if "settings" in file else {}


def _error(total: Any, squares: Any, n: float) -> Any:
    """Standard error of a mean from the sum and the sum of squares; NaN for fewer than two items."""
    if n < 2:
        return np.full(np.shape(total), np.nan)
    return np.sqrt(np.maximum(squares - total**2 / n, 0.0) / (n - 1) / n)


def _named(value: Any, error: Any, ece: float) -> dict[str, Any]:
    scores = {name: {"value": _number(v), "se": _number(e)} for name, v, e in zip(_NAMES, value, error)}
    return scores | {"ece": {"value": _number(ece), "se": None}}


def _number(x: Any) -> float | None:
    return None if np.isnan(x) else float(x)
