"""Arrays and data frames of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import ConsilienceError

Floats = npt.NDArray[np.float64]

#: What to do with one row per item, classifier and class.
LONG_HINT = (
    "for one row per probability make a table with one row per item, and give y in its order: in pandas "
    "`X.pivot(index=\"item\", columns=[\"classifier\", \"class\"], values=\"probability\")`, in polars "
    "`X.with_columns(output=pl.concat_str(\"classifier\", \"class\", separator=\"_\"))"
    ".pivot(\"output\", index=\"item\", values=\"probability\")`"
)


def column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame; None for other data, or if a name is not a string."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow tables; pandas
    if names is None or callable(names):
        return None
    names = list(names)
    return names if names and all(isinstance(name, str) for name in names) else None


class SourceArray(np.ndarray[Any, Any]):
    """An array of shape (n_items, n_classifiers, n_classes) with the names of the classifiers."""

    names: list[str] | None = None


def unmasked(X: Any) -> Any:
    """A masked array with NaN where it is masked; other data unchanged."""
    return np.ma.filled(X.astype(float), np.nan) if isinstance(X, np.ma.MaskedArray) else X


def _from_sources(X: Any) -> Any:
    """A dict or list of one table per source as one table; other data unchanged.

    The sources are arrays of shape (n_items, n_classes), as `predict_proba` gives them, data frames with
    one column per class, or None for a source that has no output for any item.
    """
    if isinstance(X, dict):
        names, parts = [str(name) for name in X], list(X.values())
    elif isinstance(X, (list, tuple)):
        names, parts = None, list(X)
    else:
        return X
    if not parts:
        raise ConsilienceError("X is empty: there are no items and no sources")
    present = [part for part in parts if part is not None]
    if not present:
        raise ConsilienceError("X has no output of any source: all are `None`")
    parts = [_without_outputs(present[0]) if part is None else part for part in parts]
    if not all(getattr(part, "ndim", len(getattr(part, "shape", ()))) == 2 for part in parts):
        return X
    parts = [unmasked(part) for part in parts]
    shapes = list(dict.fromkeys(tuple(part.shape) for part in parts))
    if len(shapes) > 1:
        raise ConsilienceError(
            "the sources in X must have the same items and classes, got arrays of shapes "
            f"{' and '.join(map(str, shapes))}"
        )
    if all(column_names(part) is not None for part in parts):
        columns: dict[str, Any] = {}
        for name, part in zip(names or [f"c{k + 1}" for k in range(len(parts))], parts, strict=True):
            columns |= {f"{name}_{own}": np.asarray(part[own], float) for own in column_names(part) or []}
        return _frame(columns)
    stacked = np.stack([np.asarray(part, float) for part in parts], axis=1).view(SourceArray)
    stacked.names = names
    return stacked


def _without_outputs(other: Any) -> Any:
    """The table of a source whose outputs are all missing, in the form of another source's."""
    if (names := column_names(other)) is not None:
        return _frame({name: np.full(len(other), np.nan) for name in names})
    return np.full(np.shape(other), np.nan)


def _frame(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _flat(X: Any) -> Any:
    """A frame of pandas whose columns have two levels, with the names of both joined by `_`."""
    columns = getattr(X, "columns", None)
    if columns is None and getattr(getattr(X, "index", None), "nlevels", 1) == 3:
        raise ConsilienceError("X is a series with an index of three levels\nhint: if they are item, classifier and "
                               "class, use `X.unstack([1, 2])`, and y in the order of its index")
    if getattr(columns, "nlevels", 1) != 2:
        return X
    return X.set_axis([f"{classifier}_{name}" for classifier, name in columns], axis=1)


def as_frame(X: Any) -> Any:
    """Data with the Arrow stream interface as a table of the core, and sources one by one as one table.

    Masked entries become NaN. A frame of pandas with the columns (classifier, class) gets the columns
    `<classifier>_<class>`. Other data, and other frames of pandas, are unchanged.
    """
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):  # a lazy frame of polars
        X = X.collect()
    X = _flat(_from_sources(unmasked(X)))
    _check_columns(X)
    return _core.Table(X) if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc") else X


def _check_columns(X: Any) -> None:
    """Refuses frames of pandas without columns, or with two columns of one name."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "iloc"):
        return
    if len(columns) == 0:
        raise ConsilienceError("X is empty: the data frame has no columns")
    if not columns.is_unique:
        raise ConsilienceError(f"column `{columns[columns.duplicated()][0]}` occurs twice\n"
                               "hint: rename or remove one of the two")


def select(X: Any, names: Sequence[str]) -> Any:
    """Some columns of a data frame in the given order; those of a table of the core as an array."""
    known = set(column_names(X) or ())
    if absent := [name for name in names if name not in known]:
        raise ConsilienceError(
            f"columns {quoted(absent)} are missing; the columns are {quoted(column_names(X) or [])}"
        )
    return X.rows(list(names)) if isinstance(X, _core.Table) else X[list(names)]


def classifiers_in(columns: Sequence[str], classes: Sequence[str]) -> list[str]:
    """The classifiers with a column `<classifier>_<class>` for every class.

    The rules are those of the command line. Names may contain `_`. It is an error if a column can
    belong to two classifiers, if a classifier has columns for some classes only, or if the class of a
    column is not a label. Other columns are ignored.
    """
    known = set(columns)
    prefixes = [c[: -len(j) - 1] for c in columns for j in classes if c.endswith(f"_{j}")]
    prefixes = [prefix for prefix in dict.fromkeys(prefixes) if prefix]
    found = [k for k in prefixes if all(f"{k}_{j}" in known for j in classes)]
    owners: dict[str, str] = {}
    for k in found:
        for column in (f"{k}_{j}" for j in classes):
            if column in owners:
                raise ConsilienceError(
                    f"column `{column}` can belong to classifier `{owners[column]}` or `{k}`; "
                    f"the classes are {quoted(classes)}"
                )
            owners[column] = k
    for column in columns:
        if column not in owners:
            _check_unused(column, found, classes, known)
    if not found:
        raise ConsilienceError(
            f"no column is named `<classifier>_<class>` with one of the classes {quoted(classes)}; "
            f"the columns are {quoted(columns)}\nhint: {_hint(columns, classes)}"
        )
    places = {column: place for place, column in enumerate(columns)}
    return sorted(found, key=lambda k: min(places[f"{k}_{j}"] for j in classes))


def _hint(columns: Sequence[str], classes: Sequence[str]) -> str:
    """What to do with a table that has no column `<classifier>_<class>`."""
    if {"classifier", "class", "probability"} <= set(columns):
        return LONG_HINT
    if "label" in columns and {"item", "task"} & set(columns) and {"source", "worker"} & set(columns):
        return "a table with one row per vote is for `VoteFusion`"
    if any(column.startswith(f"{name}_") for column in columns for name in classes):
        return ("the columns seem to be named `<class>_<classifier>`: exchange the two parts, with two levels "
                "of columns by `X.swaplevel(axis=1)`")
    if any(name.endswith(".0") and any(c.endswith(f"_{name[:-2]}") for c in columns) for name in classes):
        return "the labels are numbers with a fraction and the classes of the columns are not: use `y.astype(int)`"
    labels = "for one column of labels per classifier use `BccFusion(layout=\"labels\")` or `VoteFusion`"
    if len(classes) != 2:
        return labels
    return f"for one column of probabilities of `{classes[1]}` per classifier use `layout=\"positive\"`; {labels}"


def _check_unused(
    column: str, found: Sequence[str], classes: Sequence[str], known: set[str]
) -> None:
    """Refuses a column that looks like one of a classifier but belongs to none."""
    owners = [column[: -len(j) - 1] for j in classes if column.endswith(f"_{j}")]
    if owners := [owner for owner in owners if owner]:
        owner = min(owners, key=len)
        absent = [j for j in classes if f"{owner}_{j}" not in known]
        raise ConsilienceError(
            f"classifier `{owner}` has columns for "
            f"{quoted([j for j in classes if j not in absent])} but none for {quoted(absent)}"
        )
    if owners := [k for k in found if column.startswith(f"{k}_")]:
        owner = max(owners, key=len)
        raise ConsilienceError(
            f"column `{column}` of classifier `{owner}`: class `{column[len(owner) + 1 :]}` never "
            f"occurs as a label; the classes found are {quoted(classes)}\n"
            "hint: add items with this label, or leave the column out of the table"
        )


#: Most places at which a name is divided, and all names together but for one each: limits on work and memory.
_MOST_CUTS, _MOST_ALL_CUTS = 64, 1 << 21


def shared_suffixes(columns: Sequence[str]) -> list[str]:
    """The classes of a header, if neither classes nor labels are known: suffixes that sources share.

    As in the command line, the set of suffixes is used that covers most columns and, among those, has
    most sources. If two remain, or none exists, the classes must be given.
    """
    most = max(1, min(_MOST_CUTS, _MOST_ALL_CUTS // max(1, len(columns))))
    suffixes: dict[str, set[str]] = {}
    for column in columns:
        for at in [i for i, c in enumerate(column) if c == "_"][-most:]:
            if 0 < at < len(column) - 1:
                suffixes.setdefault(column[:at], set()).add(column[at + 1 :])
    sets = {frozenset(own) for own in suffixes.values() if len(own) > 1}
    with_suffix: dict[str, list[set[str]]] = {}
    for own in suffixes.values():
        for suffix in own:
            with_suffix.setdefault(suffix, []).append(own)
    ranks = {}
    for classes in sets:
        # Every prefix with all these suffixes has the rarest of them.
        n = sum(classes <= own for own in min((with_suffix[suffix] for suffix in classes), key=len))
        ranks[classes] = (n * len(classes), n)
    highest = max(ranks.values(), default=None)
    best = [classes for classes in sets if ranks[classes] == highest]
    if len(best) != 1:
        raise ConsilienceError(
            f"the classes cannot be found in the columns {quoted(columns)}\n"
            "hint: name every class with `classes`"
        )
    first = next(prefix for prefix, own in suffixes.items() if best[0] <= own)
    return [c[len(first) + 1 :] for c in columns if c.startswith(f"{first}_") and c[len(first) + 1 :] in best[0]]


def counted(n: int, one: str, several: str | None = None) -> str:
    """A number and its noun, such as "1 class" or "2 classes"."""
    return f"{n} {one if n == 1 else several or one + 's'}"


def quoted(names: Sequence[str]) -> str:
    """`a`, `b` and `c`."""
    marked = [f"`{name}`" for name in names]
    return " and ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]])) or "none"


def both_classes(positive: Floats, kind: str, place: int = 1) -> Floats:
    """The values of both classes from those of one, of shape (n_items, n_classifiers, 2); `place` is its index."""
    if kind == "probabilities":
        other = 1.0 - positive
    elif kind == "logits":
        other = np.where(np.isnan(positive), np.nan, 0.0)
    elif kind == "log-probabilities":
        with np.errstate(divide="ignore", invalid="ignore"):
            other = np.log1p(-np.exp(positive))
    else:
        raise ConsilienceError("`values` must be probabilities, log-probabilities or logits with "
                               f"`layout=\"positive\"`, got {kind}")
    return np.stack([other, positive] if place == 1 else [positive, other], axis=2)
