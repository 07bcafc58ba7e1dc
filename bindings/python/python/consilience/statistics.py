"""Statistics of training items that can be computed in parts, on many machines, and merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from . import _core
from ._errors import ConsilienceError
from ._files import array_of, plain, typed_list
from ._progress import listener
from ._reading import OutputReader
from ._tables import quoted

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._base import Fusion

__all__ = ["Statistics"]

#: How X is read: parameters of `Statistics` with the names that they have in the estimators.
INPUT_FORMAT = ("values", "floor", "sum_tolerance", "layout", "pos_label")


class _Reader(OutputReader, BaseEstimator):  # type: ignore[misc]
    """Reads outputs whose classifiers and classes are known before the first item."""

    n_classifiers = None

    def __init__(self, classifiers: list[str], classes: Any, values: str, layout: str, pos_label: Any) -> None:
        self.values, self.layout, self.pos_label = values, layout, pos_label
        self.classifiers_, self.classes_ = np.array(classifiers, dtype=object), classes
        self.n_features_in_ = len(classifiers) * (1 if layout == "positive" else len(classes))


_Reader.__name__ = "Statistics"  # which scikit-learn names in its messages


class Statistics:
    """Statistics of training items: all that `IndependentFusion` and `BccFusion` need of them.

    Add the items of a partition where it is, merge the statistics of all partitions, and fit from
    the result with `fit_statistics`. All sums are exact, so the fitted model is identical, to the
    last bit, to a fit on all items at once, for any order and partition. A partition may lack items,
    classes or the outputs of a classifier. The size does not depend on the number of items.

    Parameters
    ----------
    classifiers : sequence of str
        Names of the classifiers.
    classes : sequence
        All classes, as they occur in y. The outputs in an array follow this order.
    values : {"probabilities", "log-probabilities", "logits", "odds", "odds-power", "odds-shin"}, default="probabilities"
        What the numbers in X are. It must be `values` of the estimator that is fitted.
    floor : float, default=1e-6
        Probabilities below this value are raised to it. It must be the `floor` of the estimator
        that is fitted.
    sum_tolerance : float, default=0.02
        Largest accepted deviation from 1 of the sum of the probabilities of an output.
    layout : {"wide", "positive"}, default="wide"
        "wide": one column per classifier and class. "positive": one column per classifier, with the
        values of one of two classes.
    pos_label : object, default=None
        The class whose values the columns are with `layout="positive"`. If None, the second class.

    Attributes
    ----------
    classifiers : list of str
        Names of the classifiers.
    classes : ndarray of shape (n_classes,)
        The classes.
    n_items : int
        Number of items that were added.
    n_unlabelled : int
        Number of these without a label.
    class_counts : ndarray of shape (n_classes,)
        Number of labelled items of each class.

    See Also
    --------
    IndependentFusion.fit_statistics : Fit from merged statistics.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim1", correlation=0.0, items_per_class=100, random_state=1)
    >>> parts = [cs.Statistics(["c1", "c2"], ["1", "2", "3"]).add(P[i::4], y[i::4]) for i in range(4)]
    >>> statistics = parts[0] + parts[1] + parts[2] + parts[3]
    >>> merged = cs.IndependentFusion(inference="map").fit_statistics(statistics)
    >>> whole = cs.IndependentFusion(inference="map").fit(P, y)
    >>> bool((merged.alpha_ == whole.alpha_).all())
    True
    """

    def __init__(
        self, classifiers: Sequence[str], classes: Sequence[Any], *, values: str = "probabilities",
        floor: float = 1e-6, sum_tolerance: float = 0.02, layout: str = "wide",
        pos_label: Any = None,
    ) -> None:
        if layout not in ("wide", "positive"):
            raise ConsilienceError(f"`layout` must be wide or positive, got {layout!r}")
        self.values, self.floor, self.sum_tolerance = values, floor, sum_tolerance
        self.layout, self.pos_label = layout, plain(pos_label)
        self.classifiers = [str(name) for name in classifiers]
        self.classes = np.asarray(classes)
        if layout == "positive" and len(self.classes) != 2:
            raise ConsilienceError(f'`layout="positive"` needs two classes, got {len(self.classes)}')
        self._sums = _core.Statistics(self.classifiers, [str(c) for c in self.classes])

    def add(self, X: Any, y: Any = None, sample_weight: Any = None) -> Statistics:
        """Add the items of a partition; all or none.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_classifiers, n_classes) or (n_items, n_features), or data frame
            Outputs, as in `fit` of the estimators. A data frame has columns `<classifier>_<class>` in
            any order; other columns are ignored. It may have no rows.
        y : array-like of shape (n_items,), default=None
            The true classes; None, NaN and NA where unknown, and -1 if no class has this name.
        sample_weight : array-like of shape (n_items,), default=None
            The items' weights; 1 if not given.

        Returns
        -------
        self : object
            The statistics.
        """
        reader = _Reader(self.classifiers, self.classes, self.values, self.layout, self.pos_label)
        block, labels = reader._read_labelled(X, y, reset=False)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=float)
        if weights is not None and weights.shape != (len(block),):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(len(block),)}!")
        self._sums.add(block, labels, (self.values, self.sum_tolerance), self.floor, weights)
        return self

    def merge(self, other: Statistics) -> Statistics:
        """Add the statistics of other items.

        Parameters
        ----------
        other : Statistics
            Statistics with the same classifiers, classes and floor.

        Returns
        -------
        self : object
            The statistics of both.
        """
        if not isinstance(other, Statistics):
            raise TypeError(f"expected Statistics, got {type(other).__name__}")
        if self.floor != other.floor:
            raise ConsilienceError(
                f"statistics with the floors {self.floor} and {other.floor} cannot be merged"
            )
        self._sums.merge(other._sums)
        return self

    def __add__(self, other: Any) -> Statistics:
        if not isinstance(other, Statistics):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: Any) -> Statistics:
        """So that `sum` of statistics, which starts at 0, works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def copy(self) -> Statistics:
        """A copy, to which items can be added independently.

        Returns
        -------
        Statistics
            The copy.
        """
        return Statistics._of(self._sums.copy(), self.classes, self._format)

    @property
    def n_items(self) -> int:
        """Number of items that were added."""
        return self._sums.n_items

    @property
    def n_unlabelled(self) -> int:
        """Number of items without a label."""
        return self._sums.n_unlabelled

    @property
    def class_counts(self) -> Any:
        """Number of labelled items of each class, of shape (n_classes,)."""
        return np.array(self._sums.class_counts, dtype=np.int64)

    @property
    def _format(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in INPUT_FORMAT}

    def to_json(self) -> str:
        """The statistics as JSON.

        Returns
        -------
        str
            The text, from which `from_json` makes equal statistics. Classes that are neither numbers
            nor strings become strings.
        """
        return json.dumps({
            "statistics": json.loads(self._sums.to_json()),
            "classes": typed_list(self.classes),
            "format": self._format,
        })

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Read statistics from JSON.

        Parameters
        ----------
        text : str
            What `to_json` has returned.

        Returns
        -------
        Statistics
            The statistics.
        """
        try:
            parts = json.loads(text)
            sums, classes, format = (parts[name] for name in ("statistics", "classes", "format"))
            core = _core.Statistics.from_json(json.dumps(sums))
            return cls._of(core, array_of(classes, len(sums["classes"])), format)
        except ConsilienceError:
            raise
        except (ValueError, KeyError, TypeError, OverflowError):
            raise ConsilienceError("not usable statistics: the text is not that of `to_json`") from None

    @classmethod
    def _of(cls, sums: _core.Statistics, classes: Any, format: dict[str, Any]) -> Statistics:
        names = json.loads(sums.to_json())["classifiers"]
        made = cls(names, classes, **format)
        made._sums = sums
        return made

    def __reduce__(self) -> Any:
        return Statistics.from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statistics):
            return NotImplemented
        return (self._format == other._format and self.classes.tolist() == other.classes.tolist()
                and self._sums == other._sums)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ", ".join(f"{c}: {n}" for c, n in zip(self.classes, self.class_counts))
        rest = f", {self.n_unlabelled} without a label" if self.n_unlabelled else ""
        return f"<Statistics of {self.n_items} items ({counts}{rest}), {len(self.classifiers)} classifiers>"


class FromStatistics:
    """Estimators that can be fitted from statistics alone."""

    def fit_statistics(self, statistics: Statistics) -> Self:
        """Fit from statistics of items, which may have been merged from many parts.

        The model is identical, to the last bit, to that of `fit` on all items.

        Parameters
        ----------
        statistics : Statistics
            The statistics of the training items.

        Returns
        -------
        self : object
            The fitted estimator. Its classes and classifiers are those of the statistics.
        """
        from ._base import Fusion, given

        assert isinstance(self, Fusion)
        _check_same(self, statistics)
        model = statistics._sums.fit(
            self._method, json.dumps(self._options()), json.dumps(given(self.class_prior)),
            self.floor, (self.values, self.sum_tolerance), listener(self.progress),
        )
        self._forget_left_out()
        self.__dict__.pop("feature_names_in_", None)
        self.classes_ = statistics.classes
        self.classifiers_ = np.array(statistics.classifiers, dtype=object)
        self.n_features_in_ = len(self.classifiers_) * (
            1 if self.layout == "positive" else len(self.classes_))
        self._learned(model)
        return self


def _check_same(estimator: Fusion, statistics: Statistics) -> None:
    """Refuses statistics whose names, floor or kind of values are not those of the estimator's parameters."""
    if estimator.floor != statistics.floor:
        raise ConsilienceError(
            f"`floor` is {estimator.floor}, but that of the statistics is {statistics.floor}"
        )
    if estimator.values != statistics.values:
        raise ConsilienceError(
            f"`values` is {estimator.values}, but the statistics are of {statistics.values}"
        )
    for name in ("classes", "classifiers"):
        wanted, found = getattr(estimator, name), getattr(statistics, name)
        if wanted is not None and list(wanted) != list(found):
            texts = quoted([str(c) for c in wanted]), quoted([str(c) for c in found])
            raise ConsilienceError(f"`{name}` are {texts[0]}, but those of the statistics are {texts[1]}")
