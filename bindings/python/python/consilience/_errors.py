"""Exceptions and warnings."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning as _ConvergenceWarning

from ._core import ConsilienceError, hint_text

__all__ = ["ConsilienceError", "ConvergenceWarning", "DataWarning"]


class ConvergenceWarning(_ConvergenceWarning):
    """A fit has not converged: its result may change with more draws."""


class DataWarning(UserWarning):
    """The training items say little, or something odd."""


def warn_all(found: list[dict[str, Any]]) -> None:
    """Tells what a fit wants its user to know."""
    for warning in found:
        kind = ConvergenceWarning if warning["kind"] == "convergence" else DataWarning
        warnings.warn(message_of(warning), kind, stacklevel=5)


def message_of(warning: dict[str, Any]) -> str:
    """The message of a warning, with its hint on a line of its own."""
    hint = warning.get("hint")
    return warning["message"] + (f"\nhint: {hint_text(hint)}" if hint else "")
