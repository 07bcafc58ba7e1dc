"""The description of a fitted model in the representation of an estimator."""

from __future__ import annotations

import html
from typing import Any


class Summary:
    """Adds a table that describes the fitted model to what `print` and notebooks show of an estimator."""

    def _summary_rows(self) -> dict[str, str]:
        """The rows of the table; none before the fit."""
        raise NotImplementedError

    def __str__(self) -> str:
        rows = self._summary_rows()
        width = max(map(len, rows), default=0)
        return "\n".join([repr(self), *(f"  {key:{width}}  {value}" for key, value in rows.items())])

    def _summary_html(self) -> str:
        rows = self._summary_rows()
        body = "".join(
            f"<tr><th style='text-align:left'>{key}</th><td>{html.escape(value)}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table class='consilience-summary'>{body}</table>" if rows else ""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary_html()  # type: ignore[misc, no-any-return]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle
