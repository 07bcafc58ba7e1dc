"""Labels of items, some of which may be unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d


@dataclass(frozen=True)
class Labels:
    """The labels of some items, and which items have one."""

    #: The labels of the labelled items, in order.
    known: Any
    #: Whether each item has a label, of shape (n_items,).
    has_label: Any

    def __len__(self) -> int:
        return len(self.has_label)

    @property
    def any_missing(self) -> bool:
        """Whether any item has no label; true for `NO_LABELS`, whatever the number of items."""
        return len(self) == 0 or not bool(self.has_label.all())

    def of(self, n_items: int) -> Labels:
        """The same labels; if there are none at all, for so many items."""
        return self if len(self) else Labels(self.known, np.zeros(n_items, dtype=bool))

    def without(self, value: Any) -> Labels:
        """The same labels, of which those that equal a value are unknown."""
        has_label = self.has_label.copy()
        has_label[self.has_label] = self.known != value
        return Labels(self.known[self.known != value], has_label)

    def indices(self, places: dict[Any, int]) -> Any:
        """The index of each item's class; -1 without a label. Raises `KeyError` for other labels."""
        indices = np.full(len(self), -1, dtype=np.int64)
        indices[self.has_label] = [places[label] for label in self.known.tolist()]
        return indices


#: No item has a label.
NO_LABELS = Labels(np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))


def read_labels(y: Any) -> Labels:
    """Labels from a sequence, an array or a series. None, NaN, NA and masked entries are unknown."""
    if y is None:
        return NO_LABELS
    if isinstance(y, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(y).ravel()
        y = column_or_1d(np.asarray(y.data), warn=True)
    else:
        y, hidden = _column(y), None
    has_label = np.array([not is_missing(value) for value in y.tolist()], dtype=bool)
    if hidden is not None:
        has_label &= ~hidden
    known = y[has_label]
    if known.dtype == object:
        known = np.array(known.tolist()) if len(known) else np.empty(0, dtype=np.int64)
    # Data frames store integers with missing values as floats.
    if not has_label.all() and known.dtype.kind == "f" and (known == np.floor(known)).all():
        known = known.astype(np.int64)
    if len(known):
        check_classification_targets(known)
    return Labels(known, has_label)


def _column(y: Any) -> Any:
    """A one-dimensional array. Lists are not converted by numpy, which turns ["a", nan] into text."""
    if hasattr(y, "to_pylist"):  # pyarrow
        y = y.to_pylist()
    elif hasattr(y, "null_count") and hasattr(y, "to_list"):  # polars
        y = y.to_list()
    if isinstance(y, (list, tuple)) and any(is_missing(value) for value in y):
        column = np.empty(len(y), dtype=object)
        column[:] = y
        return column
    array = np.asarray(y, dtype=object) if _is_nullable(y) else np.asarray(y)
    return column_or_1d(array, warn=True)


def _is_nullable(y: Any) -> bool:
    """Whether a pandas series may have NA where numpy would change the type of the others."""
    return hasattr(y, "isna") and bool(np.any(y.isna()))


def is_missing(value: Any) -> bool:
    """Whether a value stands for an unknown label."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def without_mask(values: Any) -> Any:
    """The same values; those of a masked array with None in the place of masked entries."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    return np.where(np.ma.getmaskarray(values), None, values.data.astype(object))


def has_unlabelled_mark(labels: Labels, classes: Sequence[Any] | None) -> bool:
    """Whether -1 occurs among integer labels and is none of the given classes."""
    if labels.known.dtype.kind not in "iu" or not (labels.known == -1).any():
        return False
    return classes is None or -1 not in list(classes)
