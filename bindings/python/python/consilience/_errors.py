"""Exceptions and warnings."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning as _ConvergenceWarning

from ._core import ConsilienceError, hint_text

__all__ = ["ConsilienceError", "ConvergenceWarning", "DataWarning"]

_PACKAGE = str(Path(__file__).parent)


class ConvergenceWarning(_ConvergenceWarning):
    """Warning that a fit has not converged: more draws may change its result."""


class DataWarning(UserWarning):
    """Warning about the training items, for example that there are few of them."""


def warn_all(found: list[dict[str, Any]]) -> None:
    """Issues the warnings of a fit."""
    for warning in found:
        warn(message_of(warning), ConvergenceWarning if warning["kind"] == "convergence" else DataWarning)


def warn(message: str, category: type[Warning]) -> None:
    """Issues a warning for the line that called the package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def message_of(warning: dict[str, Any]) -> str:
    """The message of a warning, with its hint on a line of its own."""
    hint = warning.get("hint")
    return warning["message"] + (f"\nhint: {hint_text(hint)}" if hint else "")
