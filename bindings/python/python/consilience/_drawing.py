"""What several plots use: colours, legends, intervals, and the models that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import Fusion
from ._errors import ConsilienceError
from .classifier import FusionClassifier

# The colours of Okabe and Ito, which are safe for colour-blind readers.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]

# Further classes have another marker as well, so that no two look alike.
_MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]


def _style(j: int) -> dict[str, Any]:
    """Colour and marker of class j: eight colours, then the same with another marker."""
    rounds = j // len(_COLOURS)
    return {"color": _COLOURS[j % len(_COLOURS)], "marker": _MARKERS[rounds % len(_MARKERS)]}


def _line(j: int) -> dict[str, Any]:
    """Colour and dashes of line j."""
    return {"color": _COLOURS[j % len(_COLOURS)], "linestyle": ["-", "--", ":", "-."][j // len(_COLOURS) % 4]}


def _fusion(model: Any) -> Any:
    """The fusion estimator of a `FusionClassifier`; other fitted models unchanged."""
    if not isinstance(model, (Fusion, FusionClassifier)):
        raise ConsilienceError(f"`model` must be a fusion estimator or a `FusionClassifier`, got {type(model).__name__}")
    check_is_fitted(model)
    return model.fusion_ if isinstance(model, FusionClassifier) else model


def _with_outputs(model: Any, X: Any) -> tuple[Any, Any]:
    """The fusion estimator, and the outputs for X, which are features if the model is a `FusionClassifier`."""
    return _fusion(model), model.outputs(X) if isinstance(model, FusionClassifier) else X


def _place(one: Any, names: Any, what: str) -> int:
    """The place of a classifier or class that is given by its name or its place."""
    names = list(names)
    if one in names:
        return names.index(one)
    texts = [str(name) for name in names]
    if isinstance(one, str) and one in texts:
        return texts.index(one)
    if isinstance(one, (int, np.integer)) and -len(names) <= one < len(names):
        return int(one) % len(names)
    raise ConsilienceError(f"unknown {what} {one!r}; there are {', '.join(texts)}")


def _wilson(right: Any, n: Any, z: float = 1.959964) -> tuple[Any, Any]:
    """Wilson's 95 % interval of shares, which has a length at 0 and 1, too."""
    share, a = right / n, z * z / n
    centre, half = (share + a / 2) / (1 + a), np.sqrt(share * (1 - share) * a + a * a / 4) / (1 + a)
    return np.minimum(centre - half, share), np.maximum(centre + half, share)


def _beside(ax: Any, n: int, **options: Any) -> None:
    """A legend in the plot, or beside it if it is long."""
    if n > 6:
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "fontsize": "small", "ncols": 1 + n // 25}
    ax.legend(frameon=False, **options)


def _axes(ax: Any, **layout: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **layout)[1]


def _intervals(model: Fusion) -> dict[str, Any]:
    """The model's intervals; empty if it has none."""
    return getattr(model, "intervals_", {})


def _bar_axes(ax: Any, n: int) -> Any:
    """Axes for so many horizontal bars."""
    return _axes(ax, figsize=(6.4, 1.4 + 0.4 * n))


def _bars(ax: Any, names: list[str], values: Any, ends: Any) -> None:
    """Horizontal bars, the first one on top, with intervals where there are any."""
    error = None if ends is None else np.abs(np.asarray(ends).T - values)[:, ::-1]
    ax.barh(names[::-1], values[::-1], color=_COLOURS[0], xerr=error, capsize=3,
            error_kw={"linewidth": 1})
