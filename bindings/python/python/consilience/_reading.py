"""Reading of outputs and labels: from arrays and data frames to the numbers of the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from . import _core
from ._errors import ConsilienceError, DataWarning, warn
from ._labels import NO_LABELS, Labels, has_unlabelled_mark, read_labels
from ._tables import (
    LONG_HINT, Floats, as_frame, both_classes, classifiers_in, column_names, counted, quoted, select, shared_suffixes,
)


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

    _layouts: ClassVar[tuple[str, ...]] = ("wide", "positive")

    # Parameters of the estimator
    values: str
    floor: float
    sum_tolerance: float
    layout: str
    pos_label: Any
    n_classifiers: int | None
    classifiers: Sequence[str] | None
    classes: Sequence[Any] | None
    # Set while fitting
    classes_: Any
    classifiers_: Any

    def _read(self, X: Any) -> Floats:
        """The outputs of items to fuse, of shape (n_items, n_classifiers, n_classes)."""
        if (rows := self._doubles(X)) is not None:
            return self._block(rows)
        check_is_fitted(self)
        selection = self._select(X, [str(c) for c in self.classes_], reset=False)
        if selection.columns is not None:
            return self._block(selection.values)
        X = validate_data(self, selection.values, reset=False, dtype=np.float64, order="C",
                          ensure_all_finite=False)
        return self._block(X)

    def _doubles(self, X: Any) -> Floats | None:
        """X if it is an array of doubles of the right shape, or the outputs in a data frame of pandas that are doubles.

        None for everything else, and for all that may need a message: the checks of scikit-learn take longer than a
        small number of items.
        """
        fitted = self.__dict__
        if "model_" not in fitted:
            return None
        if type(X) is np.ndarray:
            rows = None if "feature_names_in_" in fitted else X
        else:
            rows = self._columns_of_pandas(X)
        if rows is None or rows.dtype != np.float64 or not len(rows):
            return None
        n_classifiers, n_classes = len(self._input_classifiers), len(self.classes_)
        if self.layout == "positive":
            shapes = [(n_classifiers,)]
        else:
            shapes = [(n_classifiers, n_classes), (n_classifiers * n_classes,)]
        return rows if rows.shape[1:] in shapes else None

    def _columns_of_pandas(self, X: Any) -> Any:
        """The outputs in a data frame of pandas; None for other data, and if a column is missing."""
        if not hasattr(X, "iloc") or not self._reads_header():
            return None
        names, own = X.columns.tolist(), output_columns(self._input_classifiers, self.classes_.tolist())
        if names == own:
            return X.to_numpy()
        places = {name: place for place, name in enumerate(names)}
        if len(places) < len(names) or any(name not in places for name in own):
            return None
        return X.take([places[name] for name in own], axis=1).to_numpy()

    def _read_labelled(
        self, X: Any, y: Any, reset: bool = True, classes: Any = None
    ) -> tuple[Floats, Any]:
        """The outputs of items, and the index of every item's class, -1 where it is not known.

        With `reset`, the names of classes and classifiers are learned from X and y; `classes` are all
        classes, if the parameter `classes` does not name them.
        """
        if reset:
            self._check_parameters()
        X = as_frame(X)
        labels = read_labels(y)
        if not reset:
            classes = self.classes_
            if has_unlabelled_mark(labels, classes.tolist()):
                labels = labels.without(-1)
        else:
            self._forget_left_out()
            if y is None and self.layout == "wide" and "label" in (column_names(X) or ()):
                warn("the column `label` of X is not read\nhint: give the labels as y", DataWarning)
            given = np.unique(classes) if self.classes is None and classes is not None else self.classes
            labels, classes = self._find_classes(X, labels, given)
        selection = self._select(X, [str(c) for c in classes], reset)
        if selection.columns is not None and not reset:  # selected by name: nothing is left to check
            X = selection.values
        else:
            X = self._validated(selection.values, reset)
        labels = labels.of(len(X) if y is None else 0)
        check_consistent_length(X, labels.has_label)
        if reset:
            if selection.columns is not None:
                self.feature_names_in_ = np.array(selection.columns, dtype=object)
            self.classes_ = np.asarray(classes)
            self._set_names(X.shape[1], selection)
        return self._block(X), self._class_indices(labels)

    def _check_parameters(self) -> None:
        """Refuses parameters of reading that would otherwise fail with a message about something else."""
        if self.layout not in self._layouts:
            labels = "labels are read by `BccFusion` and `VoteFusion`"
            hint = {"long": LONG_HINT, "labels": labels, "wide-labels": labels}.get(self.layout)
            names = " or ".join(filter(None, [", ".join(self._layouts[:-1]), self._layouts[-1]]))
            raise ConsilienceError(f"`layout` must be {names}, got {self.layout!r}" + (f"\nhint: {hint}" if hint else ""))
        if self.pos_label is not None and self.layout != "positive":
            raise ConsilienceError(f"`pos_label` is for `layout=\"positive\"`, got `layout={self.layout!r}`")
        kinds = {"values": (str, "a string"), "floor": (Real, "a number"), "sum_tolerance": (Real, "a number")}
        for name, (kind, what) in kinds.items():
            if not isinstance(value := getattr(self, name), kind):
                raise ConsilienceError(f"`{name}` must be {what}, got {value!r}")

    def _validated(self, values: Any, reset: bool) -> Any:
        """Values as doubles, after the checks of scikit-learn."""
        try:
            return validate_data(self, values, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False,
                                 ensure_min_samples=int(reset))
        except ValueError as error:
            if "could not convert string to float" not in str(error):
                raise
            raise ConsilienceError(self._not_numbers(values, error)) from None

    def _not_numbers(self, values: Any, error: ValueError) -> str:
        """The message for values of X that are not numbers."""
        hint = "for one column of labels per classifier use `BccFusion(layout=\"labels\")` or `VoteFusion`"
        if self.layout == "positive" and self.classifiers is None and (names := column_names(values)) is not None:
            texts = [name for name in names if getattr(values[name].dtype, "kind", "O") not in "biuf"]
            return (f"X has columns that are not numbers: {quoted(texts)}\nhint: `classifiers` names the columns to "
                    f"use; {hint}")
        return f"X has values that are not numbers: {error}\nhint: {hint}"

    @contextmanager
    def _layout_hint(self, X: Any) -> Iterator[None]:
        """Adds a hint on layouts with one column per classifier if the rows of a plain matrix do not add up to 1."""
        try:
            yield
        except ConsilienceError as error:
            if "the probabilities add up to" in str(error) and self.layout == "wide" and _is_plain_matrix(X):
                positive = f"`layout=\"positive\"` (probabilities of `{self.classes_[-1]}`) or "
                error.args = (f"{error}\nhint: if X has one column per classifier, use "
                              f"{positive if len(self.classes_) == 2 else ''}`BccFusion(layout=\"labels\")` (labels)",)
            raise

    def _find_classes(self, X: Any, labels: Labels, given: Any) -> tuple[Labels, Any]:
        """The classes of a fit, and the labels, of which -1 may be none.

        The classes are those given, else the labels, else (if items without a label may have others)
        those of the columns.
        """
        if has_unlabelled_mark(labels, given):
            if given is not None or not self._is_class_minus_one(X, labels):
                labels = labels.without(-1)
        if given is not None:
            return labels, given
        found = np.unique(labels.known)
        if not labels.any_missing or (len(labels) == 0 and labels is not NO_LABELS):
            return labels, found
        columns = self._classes_of_columns(X)
        covers = columns is not None and {str(c) for c in found} < {str(c) for c in columns}
        if columns is not None and (covers or len(found) == 0):
            return labels, _typed(columns, found)
        if len(found) == 0:
            raise ConsilienceError(
                "no item has a label, and the classes cannot be found in the columns of X\n"
                "hint: name every class with `classes`"
            )
        return labels, found

    def _is_class_minus_one(self, X: Any, labels: Labels) -> bool:
        """Whether -1 is a class although no classes are given: X has as many classes as labels with it."""
        n_classes = len(np.unique(labels.known))
        if n_classes <= 2:  # -1 and 1, say
            return True
        columns = column_names(X)
        if columns is not None and self._reads_header():
            return any(column.endswith("_-1") for column in columns)
        if getattr(X, "ndim", 2) == 3:
            return int(X.shape[2]) == n_classes
        return False

    def _classes_of_columns(self, X: Any) -> list[Any] | None:
        """The classes that X alone reveals, if it does."""
        columns = column_names(X)
        if self.layout == "positive":
            return [0, 1]
        if columns is not None and self._reads_header():
            return list(shared_suffixes(columns))
        if getattr(X, "ndim", 2) == 3:
            return list(range(X.shape[2]))
        if self.n_classifiers and getattr(X, "ndim", 0) == 2 and X.shape[1] % self.n_classifiers == 0:
            return list(range(X.shape[1] // self.n_classifiers))
        return None

    def _select(self, X: Any, classes: list[str], reset: bool) -> Selection:
        """The values of X with one row per item; of a data frame, the columns that are outputs."""
        X = as_frame(X)
        if isinstance(X, _core.Table):
            return self._select_from_table(X, classes, reset)
        columns = column_names(X)
        if columns is None:
            return self._select_from_array(X, reset)
        if self.layout == "positive":
            return Selection(select(X, self._positive_columns(columns, reset)))
        if not self._reads_header():
            return Selection(X)
        if reset:
            found = classifiers_in(columns, classes)
            return Selection(select(X, output_columns(found, classes)), classifiers=found)
        own = output_columns(self._input_classifiers, classes)
        if hasattr(self, "feature_names_in_"):
            return Selection(select(X, own))
        return Selection(np.asarray(select(X, own)) if set(own) <= set(columns) else X)

    def _select_from_array(self, X: Any, reset: bool) -> Selection:
        if getattr(X, "ndim", 2) != 3:
            if not reset and self.layout == "wide":
                self._check_several_items(X)
            return Selection(X)
        if self.layout == "positive":
            raise ConsilienceError('`layout="positive"` takes one column per classifier')
        names = getattr(X, "names", None)
        if names is not None and not reset and set(names) < set(self._input_classifiers):
            absent = [str(name) for name in self._input_classifiers if name not in names]
            raise ConsilienceError(f"X has no output of {quoted(absent)}\n"
                                   "hint: a source without outputs for these items is `None`")
        if not reset and X.shape[1:] != (len(self._input_classifiers), len(self.classes_)):
            raise ConsilienceError(
                f"X has {counted(X.shape[1], 'classifier')} and {counted(X.shape[2], 'class', 'classes')}, but "
                f"{type(self).__name__} was fitted with {len(self._input_classifiers)} and {len(self.classes_)}"
            )
        if names is not None and not reset:
            own = list(self._input_classifiers)
            if set(names) == set(own):
                X = X[:, [names.index(name) for name in own]]
            elif self.classifiers is None and own != [f"c{k + 1}" for k in range(len(own))]:
                raise ConsilienceError(f"X has the classifiers {quoted(names)}, but {type(self).__name__} was "
                                       f"fitted with {quoted(own)}")
        values = np.asarray(X).reshape(X.shape[0], X.shape[1] * X.shape[2])
        return Selection(values, classifiers=names, n_classes=X.shape[2])

    def _check_several_items(self, X: Any) -> None:
        """Refuses the outputs of a single item without the dimension of items."""
        K, J = len(self._input_classifiers), len(self.classes_)
        if K > 1 and getattr(X, "shape", ()) == (K, J):
            raise ConsilienceError(f"X has the shape {X.shape} of a single item, but the first dimension is that of "
                                   "items\nhint: for one item use `X[np.newaxis]`")

    def _select_from_table(self, table: _core.Table, classes: list[str], reset: bool) -> Selection:
        """Selects from an Arrow table by the names of its header, or those of the fit."""
        columns, found = table.column_names, None
        if reset:
            if self._reads_header():
                found = classifiers_in(columns, classes)
                columns = output_columns(found, classes)
            elif self.layout == "positive":
                columns = self._positive_columns(columns, reset)
        elif hasattr(self, "feature_names_in_"):
            columns = list(self.feature_names_in_)
        else:  # fitted on an array
            own = output_columns(self._input_classifiers, classes)
            if not set(own) <= set(columns):
                return Selection(select(table, columns))
            columns = own
        return Selection(select(table, columns), columns=columns, classifiers=found)

    def _positive_columns(self, columns: list[str], reset: bool) -> list[str]:
        """The columns of a data frame that are sources, one column each.

        They are the columns named by `classifiers`, if there are such columns, or all but `label`. Names that are
        no columns rename all of them.
        """
        if not reset:
            own = [str(name) for name in getattr(self, "feature_names_in_", columns)]
            return own if set(own) <= set(columns) else columns  # whose names are then checked
        if self.classifiers is not None:
            given = [str(name) for name in self.classifiers]
            renames = len(given) == len(columns) and not set(given) <= set(columns)
            return columns if renames else given
        if "label" in columns:
            warn("the column `label` is not taken for a classifier\nhint: `classifiers` names the columns to use",
                 DataWarning)
        return [name for name in columns if name != "label"]

    def _reads_header(self) -> bool:
        return self.layout == "wide" and self.n_classifiers is None

    def _set_names(self, n_columns: int, selection: Selection) -> None:
        """Learns `classifiers_`."""
        if self.layout == "positive":
            n_classifiers, names = self._one_column_each(n_columns)
        else:
            n_classifiers, names = self._one_column_per_class(n_columns, selection)
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
        names = quoted([str(c) for c in self.classes_])
        if depth != J:
            raise ConsilienceError(
                f"the last dimension is {depth}, but there {'is one class' if J == 1 else f'are {J} classes'}: {names}\n"
                "hint: name every class with `classes`, in the order of X"
            )
        if K * J != n_columns:
            number = f"{K} classifiers" if self.n_classifiers else "any number of classifiers"
            positive = "`layout=\"positive\"` (probabilities) or " if J == 2 else ""
            raise ConsilienceError(
                f"X has {n_columns} columns, which are not those of {number} for the {J} classes {names}\n"
                "hint: X needs one column per classifier and class, or one column per classifier with "
                f"{positive}`BccFusion(layout=\"labels\")` (labels)"
            )
        return K, selection.classifiers or []

    def _class_indices(self, labels: Labels) -> Any:
        try:
            return labels.indices({c: j for j, c in enumerate(self.classes_.tolist())})
        except KeyError as error:
            known = quoted([str(c) for c in self.classes_])
            raise ConsilienceError(f"unknown label `{error.args[0]}`; the classes are {known}") from None

    def _block(self, X: Floats) -> Floats:
        """Rows as a contiguous array of shape (n_items, n_classifiers, n_classes)."""
        if self.layout == "positive":
            block = both_classes(X, self.values, self._positive_class())
        else:
            block = np.asarray(X).reshape(len(X), len(self._input_classifiers), len(self.classes_))
        return np.require(block if self._used is None else block[:, self._used], requirements=["C", "A"])

    def _positive_class(self) -> int:
        """The index of the class whose values `layout="positive"` has."""
        if self.pos_label is None:
            return 1
        classes = self.classes_.tolist()
        if self.pos_label not in classes:
            raise ConsilienceError(f"`pos_label` is {self.pos_label!r}, which is none of the classes "
                                   f"{quoted([str(c) for c in classes])}")
        return int(classes.index(self.pos_label))

    # Classifiers that a fit has left out

    @property
    def _input_classifiers(self) -> Any:
        """The classifiers that X has, of which the model may use some."""
        return getattr(self, "_all_classifiers", self.classifiers_)

    @property
    def _used(self) -> list[int] | None:
        """The places of the classifiers that the model uses; None if it uses all."""
        if not hasattr(self, "_all_classifiers"):
            return None
        places = {name: k for k, name in enumerate(self._all_classifiers)}
        return [places[name] for name in self.classifiers_]

    def _use(self, names: list[str]) -> None:
        """Notes which classifiers a fitted model uses."""
        if len(names) < len(self.classifiers_):
            self._all_classifiers = self.classifiers_
            self.classifiers_ = np.array(names, dtype=object)

    def _forget_left_out(self) -> None:
        self.__dict__.pop("_all_classifiers", None)


def _is_plain_matrix(X: Any) -> bool:
    """Whether X is an array or list of rows: without a header or sources of its own."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and np.ndim(X[0]) == 1
    return column_names(X) is None and getattr(X, "ndim", 0) == 2


def _typed(columns: list[Any], found: Any) -> Any:
    """The classes of the columns with the type of the labels: numbers if all of them are."""
    texts = [str(c) for c in columns]
    if found.dtype.kind in "iu" and all(text.lstrip("-").isdigit() for text in texts):
        return np.array([int(text) for text in texts])
    return np.array(texts if found.dtype.kind in "OUST" else columns)


def output_columns(classifiers: Iterable[Any], classes: Iterable[Any]) -> list[str]:
    """The columns `<classifier>_<class>`, classifier by classifier."""
    return [f"{k}_{j}" for k in classifiers for j in classes]
