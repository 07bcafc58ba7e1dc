"""Reading of votes and gold labels from data frames, dicts and lists, for the table of the core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from ._errors import ConsilienceError
from ._labels import is_missing, without_mask
from ._tables import Floats, quoted

LAYOUTS = ("auto", "long", "wide-labels")
_ITEM, _SOURCE, _GOLD, _LABEL = ("item", "task"), ("source", "worker"), "gold", "label"
_SHAPE = (
    "votes have the columns `item`, `source` and `label` (or `task`, `worker` and `label`), optionally "
    "`probability` and `gold`; for one column of labels per source use `layout=\"wide-labels\"`"
)


def name_of(value: Any) -> str:
    """The name of an item, a source or a label in the core; whole numbers have no fraction."""
    value = plain_value(value)
    return value if isinstance(value, str) else str(value)


def plain_value(value: Any) -> Any:
    """A value without the types of numpy. Data frames write whole numbers as floats if some are missing."""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Names:
    """Distinct values with their names in the core, by name."""

    values: dict[str, Any]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Names:
        found: dict[str, Any] = {}
        for value in values:
            found.setdefault(name_of(value), plain_value(value))
        return cls(found)

    def array(self, names: Iterable[str]) -> Any:
        """The values of some names as an array, with one type if they have one."""
        values = [self.values.get(name, name) for name in names]
        kinds = {type(value) for value in values}
        if len(kinds) == 1 and kinds <= {str, int, bool, float}:
            return np.array(values)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array


@dataclass(frozen=True)
class VoteTable:
    """Votes of the core, with the values behind its names."""

    votes: _core.Votes
    items: Any
    sources: Any
    classes: Any
    n_gold: int


@dataclass
class _Rows:
    """One row per vote. A label may be missing."""

    items: list[Any]
    sources: list[Any]
    labels: list[Any]
    #: Probabilities of the label, of shape (n_votes, 1), or of all classes.
    probabilities: Floats | None = None
    classes: list[str] | None = None
    gold: list[tuple[Any, Any]] = field(default_factory=list)
    #: The item of every row of the data, for gold labels in the same order.
    rows: list[Any] = field(default_factory=list)
    index: Any = None


def read_votes(
    votes: Any, gold: Any = None, *, layout: str = "auto", classes: Sequence[Any] | None = None,
    ignores_gold: bool = False,
) -> VoteTable:
    """Votes of any accepted kind as a checked table."""
    if layout not in LAYOUTS:
        raise ConsilienceError(f"`layout` must be auto, long or wide-labels, got {layout}")
    rows = _read(votes, layout, gold if isinstance(gold, str) else None)
    pairs = [] if ignores_gold else rows.gold
    if gold is not None and not isinstance(gold, str):
        pairs = pairs + pairs_of(gold, rows)
    pairs = [(item, label) for item, label in pairs if not _is_empty(label)]
    given = rows.classes if classes is None else [name_of(c) for c in classes]
    if rows.classes is not None and given is not None and rows.probabilities is not None:
        rows.probabilities = _in_order(rows.probabilities, rows.classes, given)
    item_codes, items = _coded(rows.items, "items")
    source_codes, sources = _coded(rows.sources, "sources")
    label_codes, labels = _coded(rows.labels, "labels")
    label_codes = _without_missing(label_codes, labels)
    _check_names(item_codes, items, "item")
    _check_names(source_codes, sources, "source")
    table = _core.Votes(
        [name_of(item) for item in items], [name_of(source) for source in sources],
        [name_of(label) for label in labels],
        np.ascontiguousarray(np.stack([item_codes, source_codes, label_codes], axis=1)),
        rows.probabilities, [(name_of(item), name_of(label)) for item, label in pairs], given,
    )
    kept = [label for label in labels if not _is_empty(label)]
    values = Names.of([*(classes if classes is not None else ()), *kept, *(label for _, label in pairs)])
    return VoteTable(
        table, Names.of(items).array(table.items), Names.of(sources).array(table.sources),
        values.array(table.classes), len(pairs),
    )


# Gold labels


def pairs_of(gold: Any, rows: _Rows | None = None) -> list[tuple[Any, Any]]:
    """Items and their labels, from a dict, a series, a frame, a list of pairs, or labels row by row."""
    if isinstance(gold, dict) and not _is_table(gold):
        return list(gold.items())
    if _is_table(gold):
        gold = _Table(gold)
        item, label = gold.one_of(_ITEM), gold.one_of((_LABEL, _GOLD))
        if item is None or label is None:
            raise ConsilienceError(
                "a table of gold labels has the columns `item` (or `task`) and `label`; the columns are "
                f"{quoted([str(name) for name in gold.names])}"
            )
        return list(zip(gold.column(item), gold.column(label), strict=True))
    if hasattr(gold, "index") and hasattr(gold, "iloc"):  # a series of pandas
        aligned = rows is not None and rows.index is not None and gold.index.equals(rows.index)
        names = rows.rows if aligned and rows is not None else gold.index.tolist()
        return list(zip(names, gold.tolist(), strict=True))
    values = _values(gold)
    if values and all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in values):
        return [(item, label) for item, label in values]
    if rows is not None and len(values) == len(rows.rows):
        return list(zip(rows.rows, values, strict=True))
    raise ConsilienceError(
        f"`gold` has {len(values)} labels, which cannot be assigned to items\n"
        "hint: give a dict or a series by item, a table with the columns `item` and `label`, pairs "
        "(item, label), the name of a column, or one label per row of the votes"
    )


# Tables


def _is_table(data: Any) -> bool:
    if isinstance(data, dict):
        return bool(data) and all(
            not isinstance(values, (str, bytes)) and hasattr(values, "__len__") for values in data.values()
        )
    kind = type(data)
    if hasattr(kind, "columns") or hasattr(kind, "column_names"):
        return True
    is_column = hasattr(kind, "to_list") or hasattr(kind, "to_pylist")
    return hasattr(kind, "__arrow_c_stream__") and not is_column


class _Table:
    """Columns of pandas, polars, pyarrow, other Arrow tables or a dict, as lists."""

    def __init__(self, data: Any) -> None:
        if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # a lazy frame of polars
            data = data.collect()
        if not isinstance(data, dict) and not hasattr(type(data), "columns"):
            import pyarrow as pa

            data = pa.table(data)
        self._data = data
        names = data if isinstance(data, dict) else getattr(data, "column_names", None) or data.columns
        self.names: list[Any] = list(names)
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if twice:
            raise ConsilienceError(f"column `{twice[0]}` occurs twice")

    def one_of(self, names: Sequence[str]) -> str | None:
        """The first of some names that is a column."""
        return next((name for name in names if name in self.names), None)

    def column(self, name: Any) -> list[Any]:
        if isinstance(self._data, dict) or hasattr(self._data, "iloc"):
            return _values(self._data[name])
        return _values(self._data.column(name) if hasattr(self._data, "column_names") else self._data[name])

    @property
    def index(self) -> Any:
        """The index of a frame of pandas."""
        return getattr(self._data, "index", None) if hasattr(self._data, "iloc") else None


def _values(column: Any) -> list[Any]:
    for method in ("to_pylist", "tolist", "to_list"):  # pyarrow; numpy and pandas; polars
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _read(votes: Any, layout: str, gold_column: str | None) -> _Rows:
    if not _is_table(votes):
        return _read_list(votes, layout, gold_column)
    table = _Table(votes)
    if gold_column is not None and gold_column not in table.names:
        raise ConsilienceError(f"there is no column `{gold_column}` of gold labels; the columns are "
                               f"{quoted([str(name) for name in table.names])}")
    is_long = table.one_of(_ITEM) is not None and table.one_of(_SOURCE) is not None
    if layout == "auto" and not is_long and _LABEL in table.names and gold_column != _LABEL:
        raise ConsilienceError(f"the columns are {quoted([str(name) for name in table.names])}\nhint: {_SHAPE}")
    if layout == "long" or (layout == "auto" and is_long):
        return _read_long(table, gold_column)
    return _read_wide(table, gold_column)


def _read_long(table: _Table, gold_column: str | None) -> _Rows:
    item, source = table.one_of(_ITEM), table.one_of(_SOURCE)
    classes = [name[len("probability_"):] for name in table.names if str(name).startswith("probability_")]
    label = table.one_of((_LABEL,))
    if item is None or source is None or (label is None and not classes):
        raise ConsilienceError(f"the columns are {quoted([str(name) for name in table.names])}\nhint: {_SHAPE}")
    items, sources = table.column(item), table.column(source)
    labels = table.column(label) if label is not None else [None] * len(items)
    numbers = [f"probability_{j}" for j in classes] or [name for name in ("probability",) if name in table.names]
    rows = _Rows(items, sources, labels, _numbers(table, numbers), classes or None, rows=items,
                 index=table.index)
    rows.gold = _gold_column(table, gold_column or table.one_of((_GOLD,)), items)
    return rows


def _read_wide(table: _Table, gold_column: str | None) -> _Rows:
    item = table.one_of(_ITEM)
    gold = gold_column or table.one_of((_GOLD, _LABEL))
    sources = [name for name in table.names if name not in (item, gold)]
    if not sources:
        raise ConsilienceError(
            f"there is no column of a source; the columns are {quoted([str(name) for name in table.names])}")
    columns = [table.column(name) for name in sources]
    n = len(columns[0])
    index = table.index
    items = table.column(item) if item is not None else list(range(n)) if index is None else index.tolist()
    labels = [column[i] for i in range(n) for column in columns]
    rows = _Rows([i for i in items for _ in sources], sources * n, labels, rows=items, index=index)
    rows.gold = _gold_column(table, gold, items)
    return rows


def _read_list(votes: Any, layout: str, gold_column: str | None) -> _Rows:
    """A list of (item, source, label) or (item, source, label, probability), or an array of labels."""
    votes = without_mask(votes)
    if gold_column is not None:
        raise ConsilienceError("`gold` names a column, but the votes are not a data frame")
    if layout == "wide-labels":
        array = np.asarray(votes, dtype=object)
        if array.ndim != 2:
            raise ConsilienceError(f"expected items × sources, got an array of shape {array.shape}")
        return _read_wide(_Table({f"s{w + 1}": array[:, w] for w in range(array.shape[1])}), None)
    try:
        rows = [tuple(row) for row in votes]
    except TypeError:
        rows = []
    if not rows or {len(row) for row in rows} not in ({3}, {4}):
        raise ConsilienceError(
            "votes are a data frame, or a list of (item, source, label) or (item, source, label, "
            f"probability)\nhint: {_SHAPE}"
        )
    items, sources, labels, *rest = (list(column) for column in zip(*rows, strict=True))
    if layout == "auto" and isinstance(votes, np.ndarray) and 2 * len(set(zip(items, sources, strict=True))) < len(rows):
        raise ConsilienceError(
            f"an array of {len(rows[0])} columns is read as votes (item, source, label), but most of these "
            "would be repeated votes of a source on an item\nhint: for one column of labels per source use "
            "`layout=\"wide-labels\"`, for one row per vote `layout=\"long\"`"
        )
    probabilities = _floats(rest[0], "probability")[:, None] if rest else None
    return _Rows(items, sources, labels, probabilities, rows=items)


def _gold_column(table: _Table, name: Any, items: list[Any]) -> list[tuple[Any, Any]]:
    return [] if name is None else list(zip(items, table.column(name), strict=True))


def _numbers(table: _Table, names: list[str]) -> Floats | None:
    if not names:
        return None
    return np.ascontiguousarray(np.stack([_floats(table.column(name), name) for name in names], axis=1))


def _floats(values: list[Any], name: str) -> Floats:
    try:
        return np.array([np.nan if is_missing(value) else value for value in values], dtype=float)
    except (TypeError, ValueError):
        bad = next(i for i, value in enumerate(values) if not isinstance(value, (int, float)))
        raise ConsilienceError(f"row {bad}, column `{name}`: {values[bad]!r} is not a number") from None


def _in_order(probabilities: Floats, own: list[str], given: list[str]) -> Floats:
    absent = [name for name in given if name not in own]
    if absent:
        raise ConsilienceError(f"there is no column `probability_{absent[0]}`\n"
                               "hint: give the probability of every class or of none")
    return np.ascontiguousarray(probabilities[:, [own.index(name) for name in given]])


# Names as numbers


def _coded(values: list[Any], what: str) -> tuple[Any, list[Any]]:
    """The number of every value, and the values by number, in the order in which they first occur."""
    numbers: dict[Any, int] = {}
    try:
        codes = [numbers.setdefault(value, len(numbers)) for value in values]
    except TypeError:
        bad = next(value for value in values if value.__hash__ is None)
        raise ConsilienceError(f"{what} must be text or numbers, got {bad!r}") from None
    return np.array(codes, dtype=np.int64), list(numbers)


def _is_empty(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and value == "")


def _without_missing(codes: Any, values: list[Any]) -> Any:
    """The codes with -1 for missing values."""
    empty = np.array([_is_empty(value) for value in values], dtype=bool)
    return np.where(empty[codes], -1, codes) if len(codes) else codes


def _check_names(codes: Any, values: list[Any], what: str) -> None:
    empty = np.array([_is_empty(value) for value in values], dtype=bool)
    if empty.any():
        row = int(empty[codes].argmax())
        raise ConsilienceError(f"row {row}: the name of the {what} is missing")


# Labels in the place of probabilities


def label_columns(X: Any, names: Sequence[str] | None) -> dict[str, list[Any]]:
    """Columns of labels by classifier: those of a data frame, some of them if named, or of an array."""
    if _is_table(X):
        table = _Table(X)
        absent = [name for name in names or () if name not in table.names]
        if absent:
            raise ConsilienceError(f"columns {quoted(absent)} are missing; the columns are "
                                   f"{quoted([str(name) for name in table.names])}")
        return {str(name): table.column(name) for name in (names or table.names)}
    array = np.asarray(without_mask(X), dtype=object)
    if array.ndim != 2 or (names is not None and len(names) != array.shape[1]):
        expected = "n" if names is None else len(names)
        raise ConsilienceError(f"expected labels of items × {expected} classifiers, got an array of shape "
                               f"{array.shape}")
    names = names or [f"c{k + 1}" for k in range(array.shape[1])]
    return {name: array[:, k].tolist() for k, name in enumerate(names)}


def classes_of(columns: dict[str, list[Any]], y: Any) -> Any:
    """The sorted labels of the classifiers and of y."""
    found = Names.of(value for values in [*columns.values(), _values(y)] for value in set(values)
                     if not _is_empty(value))
    return np.unique(found.array(found.values))


def one_hot(columns: dict[str, list[Any]], classes: Any) -> Floats:
    """Labels as outputs with probability 1, of shape (n_items, n_classifiers, n_classes); NaN if missing."""
    places = {name_of(c): j for j, c in enumerate(classes)}
    rows = np.eye(len(places) + 1)[:, :-1]
    rows[-1] = np.nan
    block = np.empty((len(next(iter(columns.values()))), len(columns), len(places)))
    for k, (name, values) in enumerate(columns.items()):
        codes, distinct = _coded(values, "labels")
        unknown = [value for value in distinct if not _is_empty(value) and name_of(value) not in places]
        if unknown:
            raise ConsilienceError(
                f"column `{name}`: unknown label `{unknown[0]}`; the classes are {quoted(list(places))}")
        numbers = np.array([-1 if _is_empty(value) else places[name_of(value)] for value in distinct], dtype=int)
        block[:, k] = rows[numbers[codes]]
    return block
