"""The description of a fitted model in the representation of an estimator."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

#: Longer lists of classifiers or classes are cut.
_MOST_NAMES = 20


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
        bundle["text/plain"] = str(self)  # what IPython prints in a terminal
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle


def fit_rows(estimator: Any) -> dict[str, str]:
    """What a fusion estimator was fitted to and what it has learned, as the command line prints it."""
    file, classes = estimator._file, [str(c) for c in estimator.classes_]
    rows = {
        "method": file["method"],
        "classifiers": _listed(map(str, estimator.classifiers_)),
        "classes": _listed(classes),
        "class prior": _listed(f"{c}: {p:.3g}" for c, p in zip(classes, file["class_prior"], strict=True)),
    }
    if "training" in file:
        rows["items"] = _items(file["training"], classes)
    found = estimator._insight.found
    if found["effective_number"] is not None:
        rows |= _effective(found["effective_number"], found["intervals"] or {}, len(estimator.classifiers_))
    if posterior := file.get("diagnostics"):
        rows["posterior"] = (f"{posterior['chains']} chains of {posterior['draws']} draws, "
                             f"R-hat at most {posterior['worst']['r_hat']:.3f}")
    return rows


def _listed(texts: Iterable[str]) -> str:
    """The texts, of which a long list is cut."""
    found = list(texts)
    rest = len(found) - _MOST_NAMES
    return ", ".join(found if rest <= 0 else [*found[:_MOST_NAMES], f"and {rest} more"])


def _items(training: dict[str, Any], classes: list[str]) -> str:
    """The number of items, those of each class, and those without a label."""
    counts = training.get("statistics", {}).get("items", [0] * len(classes))
    unlabelled = (training.get("unlabelled") or {}).get("items", 0)
    if sum(counts) == 0:
        return f"{unlabelled} without a label"
    text = f"{sum(counts)} ({_listed(f'{c}: {n}' for c, n in zip(classes, counts, strict=True))})"
    return text + (f" and {unlabelled} without a label" if unlabelled else "")


def _effective(number: float, intervals: dict[str, Any], n_classifiers: int) -> dict[str, str]:
    """The effective number with its interval, and that of independent classifiers."""
    def of(name: str) -> str:
        low, high = intervals[name]
        return f"{low:.2f}–{high:.2f}"

    interval = f" ({of('effective_number')})" if "effective_number" in intervals else ""
    rows = {"effective number": f"{number:.2f}{interval} of {n_classifiers} classifier{'s' * (n_classifiers != 1)}"}
    return rows | ({"if independent": of("independent")} if "independent" in intervals and n_classifiers > 1 else {})
