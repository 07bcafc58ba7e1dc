"""Results as data frames of the library whose data came in."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np


def library_of(*data: Any) -> str:
    """"polars" if any of the data is of polars, else "pandas" if it is installed, else "arrays"."""
    if any(type(one).__module__.split(".")[0] == "polars" for one in data):
        return "polars"
    return "pandas" if importlib.util.find_spec("pandas") else "arrays"


def frame(library: str, names: dict[str, Any], columns: dict[Any, Any]) -> Any:
    """A data frame: `names` identify the rows, `columns` have their values.

    pandas has the names as its index. polars has them as columns, and "arrays" is a dict of arrays.
    """
    if library == "pandas":
        import pandas as pd

        parts = [pd.Index(values, name=name) for name, values in names.items()]
        index = parts[0] if len(parts) == 1 else pd.MultiIndex.from_arrays(parts, names=list(names))
        made = pd.DataFrame({i: np.asarray(values) for i, values in enumerate(columns.values())}, index=index)
        made.columns = pd.Index(list(columns))
        return made
    both = {_free(name, columns): values for name, values in names.items()}
    both |= {str(name): values for name, values in columns.items()}
    if library == "polars":
        import polars as pl

        return pl.DataFrame({name: _column(values) for name, values in both.items()})
    return {name: np.asarray(values) for name, values in both.items()}


def _free(name: str, columns: dict[Any, Any]) -> str:
    """A name that no column has: a class may be called like the column of items."""
    taken = {str(column) for column in columns}
    while name in taken:
        name += "_"
    return name


def _column(values: Any) -> Any:
    """Values for polars, which takes lists of Python for text and mixed types."""
    values = np.asarray(values)
    return values if values.dtype.kind in "biuf" else values.tolist()
