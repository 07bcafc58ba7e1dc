"""Results of evaluations: dicts with their entries as attributes, shown as tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Entry(dict[str, Any]):
    """A dict whose entries are attributes as well; so are those of the dicts in it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({key: _entries(value) for key, value in values.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no entry `{name}`; it has {list(self)}") from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


class Result(Entry):
    """A result with a text and a table.

    It is a dict, the same as the JSON that the command line prints, with its entries as attributes.
    Printed, it is a table of text; in a notebook, a table of HTML.
    """

    def __init__(self, values: Mapping[str, Any], text: str = "") -> None:
        super().__init__(values)
        self._text = text.rstrip("\n")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_text":
            raise AttributeError(f"results cannot be changed: `{name}`")
        super().__setattr__(name, value)

    def _rows(self) -> list[dict[str, Any]]:
        """The rows of the table, with names of columns."""
        raise NotImplementedError

    def _note(self) -> str:
        """A sentence below the table."""
        return ""

    def to_frame(self) -> Any:
        """The table as a data frame of pandas.

        Returns
        -------
        DataFrame
            One row per line of the table, with numbers that are not rounded.
        """
        import pandas as pd

        return pd.DataFrame(self._rows())

    def __repr__(self) -> str:
        return self._text or "\n".join(filter(None, [text_table(self._rows()), self._note()]))

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        return html_table(self._rows(), self._note())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self._text)


def text_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of text, with columns of numbers aligned to the right."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [[name.replace("_", " ") for name in names]]
    lines += [[_text(row.get(name)) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    is_number = [all(not isinstance(row.get(name), str) for row in rows) for name in names]

    def aligned(line: list[str]) -> str:
        cells = zip(line, widths, is_number, strict=True)
        return "  ".join(cell.rjust(n) if right else cell.ljust(n) for cell, n, right in cells).rstrip()

    return "\n".join(map(aligned, lines))


def html_table(rows: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """A table of HTML with a note below it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(row.get(name)) for name in names) + "</tr>" for row in rows)
    below = "".join(f"<p>{html.escape(line)}</p>" for line in note.split("\n") if line)
    return f"<table class='consilience'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _text(value: Any) -> str:
    """A value in a table: four decimals, or four significant digits of small numbers."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if 0 < abs(value) < 1e-3 else f"{value:.4f}"
    return str(value)


def _cell(value: Any) -> str:
    side = "left" if isinstance(value, str) else "right"
    return f"<td style='text-align:{side}'>{html.escape(_text(value))}</td>"


def _entries(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value if isinstance(value, Entry) else Entry(value)
    return [_entries(one) for one in value] if isinstance(value, list) else value
