"""Reading of outputs and labels: from arrays and data frames to the numbers of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from . import _core
from ._errors import ConsilienceError
from ._tables import Floats, as_frame, both_classes, classifiers_in, column_names, quoted, select


@dataclass(frozen=True)
class Selection:
    """The two-dimensional values of X, and what its header or its shape reveals about them."""

    values: Any
    #: The columns that were read from an Arrow table.
    columns: list[str] | None = None
    #: The classifiers that were found in the header of a data frame, while fitting.
    classifiers: list[str] | None = None
    #: The size of the last dimension of a three-dimensional array.
    n_classes: int | None = None


class OutputReader:
    """Reads X and y as the parameters `layout`, `classes` and `classifiers` describe them.

    Nothing but `_read_labelled` with `reset=True`, that is `fit`, changes the estimator.
    """

    # Parameters of the estimator
    values: str
    layout: str
    n_classifiers: int | None
    classifiers: Sequence[str] | None
    classes: Sequence[Any] | None
    # Set while fitting
    classes_: Any
    classifiers_: Any

    def _read(self, X: Any) -> Floats:
        """The outputs of items to fuse, of shape (n_items, n_classifiers, n_classes)."""
        check_is_fitted(self)
        selection = self._select(X, [str(c) for c in self.classes_], reset=False)
        if selection.columns is not None:
            return self._block(selection.values)
        X = validate_data(self, selection.values, reset=False, dtype=np.float64, order="C",
                          ensure_all_finite=False)
        return self._block(X)

    def _read_labelled(self, X: Any, y: Any, reset: bool = True) -> tuple[Floats, Any]:
        """The outputs of labelled items, and the index of every item's class.

        With `reset`, the names of classes and classifiers are learned from X and y.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if not reset:
            classes = self.classes_
        else:
            classes = np.unique(np.asarray(y)) if self.classes is None else self.classes
        selection = self._select(X, [str(c) for c in classes], reset)
        if selection.columns is not None and not reset:  # selected by name: nothing is left to check
            X, y = selection.values, column_or_1d(y)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, selection.values, y, reset=reset, dtype=np.float64, order="C",
                                 ensure_all_finite=False, ensure_min_samples=1)
        check_classification_targets(y)
        if reset:
            if selection.columns is not None:
                self.feature_names_in_ = np.array(selection.columns, dtype=object)
            self._set_names(X.shape[1], y, selection)
        return self._block(X), self._class_indices(y)

    def _select(self, X: Any, classes: list[str], reset: bool) -> Selection:
        """The values of X with one row per item; of a data frame, the columns that are outputs."""
        X = as_frame(X)
        if isinstance(X, _core.Table):
            return self._select_from_table(X, classes, reset)
        columns = column_names(X)
        if columns is None:
            return self._select_from_array(X, reset)
        if not self._reads_header():
            return Selection(X)
        if reset:
            found = classifiers_in(columns, classes)
            return Selection(select(X, output_columns(found, classes)), classifiers=found)
        own = output_columns(self.classifiers_, classes)
        if hasattr(self, "feature_names_in_"):
            return Selection(select(X, own))
        return Selection(np.asarray(select(X, own)) if set(own) <= set(columns) else X)

    def _select_from_array(self, X: Any, reset: bool) -> Selection:
        if getattr(X, "ndim", 2) != 3:
            return Selection(X)
        if self.layout != "wide":
            raise ConsilienceError('`layout="positive"` takes one column per classifier')
        if not reset and X.shape[1:] != (len(self.classifiers_), len(self.classes_)):
            raise ConsilienceError(
                f"X has {X.shape[1]} classifiers and {X.shape[2]} classes, but "
                f"{type(self).__name__} was fitted with {len(self.classifiers_)} and {len(self.classes_)}"
            )
        return Selection(np.asarray(X).reshape(X.shape[0], -1), n_classes=X.shape[2])

    def _select_from_table(self, table: _core.Table, classes: list[str], reset: bool) -> Selection:
        """Selects from an Arrow table by the names of its header, or those of the fit."""
        columns, found = table.column_names, None
        if reset:
            if self._reads_header():
                found = classifiers_in(columns, classes)
                columns = output_columns(found, classes)
        elif hasattr(self, "feature_names_in_"):
            columns = list(self.feature_names_in_)
        else:  # fitted on an array
            own = output_columns(self.classifiers_, classes)
            if not set(own) <= set(columns):
                return Selection(select(table, columns))
            columns = own
        return Selection(select(table, columns), columns=columns, classifiers=found)

    def _reads_header(self) -> bool:
        return self.layout == "wide" and self.n_classifiers is None

    def _set_names(self, n_columns: int, y: Any, selection: Selection) -> None:
        """Learns `classes_` and `classifiers_`."""
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        if self.layout == "positive":
            n_classifiers, names = self._one_column_each(n_columns)
        elif self.layout == "wide":
            n_classifiers, names = self._one_column_per_class(n_columns, selection)
        else:
            raise ConsilienceError(f"`layout` must be wide or positive, got {self.layout!r}")
        if self.classifiers is not None:
            names = list(self.classifiers)
            if len(names) != n_classifiers:
                raise ConsilienceError(f"{len(names)} names were given for {n_classifiers} classifiers")
        self.classifiers_ = np.array(names or [f"c{k + 1}" for k in range(n_classifiers)], dtype=object)

    def _one_column_each(self, n_columns: int) -> tuple[int, list[str]]:
        if len(self.classes_) > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        return n_columns, list(getattr(self, "feature_names_in_", ()))

    def _one_column_per_class(self, n_columns: int, selection: Selection) -> tuple[int, list[str]]:
        J = len(self.classes_)
        K = self.n_classifiers or n_columns // max(J, 1)
        depth = J if selection.n_classes is None else selection.n_classes
        if depth != J or K * J != n_columns:
            raise ConsilienceError(
                f"{n_columns} columns are not those of {K} classifiers for the {J} classes "
                f"{quoted([str(c) for c in self.classes_])}"
                + (f" (the last dimension is {depth})" if depth != J else "")
                + "\nhint: X needs one column per classifier and class, or one column per classifier "
                "with `layout=\"positive\"`"
            )
        return K, selection.classifiers or []

    def _class_indices(self, y: Any) -> Any:
        indices = {c: j for j, c in enumerate(self.classes_.tolist())}
        try:
            return np.array([indices[c] for c in np.asarray(y).tolist()], dtype=np.int64)
        except KeyError as error:
            known = quoted([str(c) for c in self.classes_])
            raise ConsilienceError(f"unknown label `{error.args[0]}`; the classes are {known}") from None

    def _block(self, X: Floats) -> Floats:
        """Rows as a contiguous array of shape (n_items, n_classifiers, n_classes)."""
        if self.layout == "positive":
            return np.ascontiguousarray(both_classes(X, self.values))
        return np.ascontiguousarray(X).reshape(len(X), len(self.classifiers_), len(self.classes_))


def output_columns(classifiers: Iterable[Any], classes: Iterable[Any]) -> list[str]:
    """The columns `<classifier>_<class>`, classifier by classifier."""
    return [f"{k}_{j}" for k in classifiers for j in classes]
