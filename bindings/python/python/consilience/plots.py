"""Plots, with matplotlib (`pip install consilience[plots]`). Every function gives back its axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import Fusion
from ._errors import ConsilienceError
from .distributions import CorrelatedDirichlet

__all__ = [
    "correlations",
    "fused_against_correlation",
    "influence",
    "pair",
    "reliability",
    "traces",
]

# Okabe and Ito's colours, told apart by everyone.
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]


def _axes(ax: Any, **layout: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", **layout)[1]


def fused_against_correlation(x: Any, alpha: Any = None, *, levels: Any = None, ax: Any = None) -> Any:
    """The fused probability of the first class against the correlation of two classifiers.

    The paper's Figure 2: the more two agreeing classifiers share, the less their agreement is worth.

    Parameters
    ----------
    x : array of shape (2, J)
        What the two say.
    alpha : array of shape (J, J), optional
        Their Dirichlet for every true class; 101 for the true class and 100 for the others if not given.
    levels : array, optional
        Shares of alpha that the two have in common.
    """
    x = np.asarray(x, dtype=float)
    J = x.shape[1]
    alpha = np.full((J, J), 100.0) + np.eye(J) if alpha is None else np.asarray(alpha, dtype=float)
    levels = np.linspace(0, 0.95, 20) if levels is None else np.asarray(levels, dtype=float)
    fused, correlation = [], []
    for level in levels:
        classes = [CorrelatedDirichlet([row, row], common=level * row) for row in alpha]
        logs = np.array([d.log_pdf(x) for d in classes])
        weights = np.exp(logs - logs.max())
        fused.append(weights[0] / weights.sum())
        correlation.append(classes[0].correlation()[0, 1].mean())
    ax = _axes(ax)
    ax.plot(correlation, fused, marker="o", markersize=3, color=_COLOURS[0], label="fused")
    for k, own in enumerate(x[:, 0]):
        ax.axhline(own, color=_COLOURS[k + 1], linestyle="--", linewidth=1, label=f"classifier {k + 1}")
    ax.set(xlabel="correlation", ylabel="probability of the first class")
    ax.legend(frameon=False)
    return ax


def pair(model: Fusion, X: Any, y: Any, *, between: tuple[int, int] = (0, 1), component: int = 0,
         ax: Any = None) -> Any:
    """What two classifiers say of one class, item by item, with their correlation given the truth."""
    block, labels = model._read_labelled(X, y, reset=False)
    a, b = between
    ax = _axes(ax)
    for j, c in enumerate(model.classes_):
        own = block[labels == j]
        told = own[~np.isnan(own[:, [a, b]]).any(axis=(1, 2))]
        observed = np.corrcoef(told[:, a, component], told[:, b, component])[0, 1] if len(told) > 2 else np.nan
        text = f"{c}: observed {observed:.2f}"
        if hasattr(model, "correlation_"):
            text += f", model {model.correlation_[a, b, j, component]:.2f}"
        ax.scatter(told[:, a, component], told[:, b, component], s=8, alpha=0.6,
                   color=_COLOURS[j % len(_COLOURS)], label=text)
    what = f"probability of {model.classes_[component]} said by"
    ax.set(xlabel=f"{what} {model.classifiers_[a]}", ylabel=f"{what} {model.classifiers_[b]}")
    ax.legend(frameon=False, title="correlation when the truth is")
    return ax


def correlations(model: Fusion, *, ax: Any = None) -> Any:
    """The correlation of every two classifiers, averaged over classes and components."""
    mean = model.correlation_.mean(axis=(2, 3))
    names = [str(name) for name in model.classifiers_]
    ax = _axes(ax)
    image = ax.imshow(mean, vmin=-1, vmax=1, cmap="RdBu_r")
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    for a in range(len(names)):
        for b in range(len(names)):
            ax.text(b, a, f"{mean[a, b]:.2f}", ha="center", va="center",
                    color="white" if abs(mean[a, b]) > 0.6 else "black")
    ax.figure.colorbar(image, ax=ax, label="correlation given the true class")
    return ax


def reliability(y: Any, probabilities: Any, *, classes: Any = None, bins: int = 10, ax: Any = None,
                label: str | None = None) -> Any:
    """How often the most probable class is right, against how probable it was said to be."""
    y, p = np.asarray(y), np.asarray(probabilities, dtype=float)
    classes = np.unique(y) if classes is None else np.asarray(classes)
    top, right = p.max(axis=1), classes[p.argmax(axis=1)] == y
    place = np.minimum((top * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    seen = counts > 0
    said = np.bincount(place, weights=top, minlength=bins)[seen] / counts[seen]
    found = np.bincount(place, weights=right, minlength=bins)[seen] / counts[seen]
    error = np.sqrt(found * (1 - found) / counts[seen])
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    ax.errorbar(said, found, yerr=error, marker="o", markersize=4, capsize=2, label=label)
    ax.set(xlabel="probability of the most probable class", ylabel="how often it is right",
           xlim=(1 / len(classes) - 0.05, 1.02), ylim=(-0.02, 1.02))
    if label is not None:
        ax.legend(frameon=False)
    return ax


def influence(model: Fusion, X: Any = None, *, ax: Any = None) -> Any:
    """How much each classifier moves the fused result.

    On items: the mean largest evidence that it adds given all others, in nats. Without items: its
    strength, the evidence that one output of it alone is expected to give.
    """
    if X is None:
        size, what = model.strengths_, "expected evidence of one output, in nats"
    else:
        size, what = np.abs(model.explain(X)).max(axis=2).mean(axis=0), "evidence added, in nats"
    names = [str(name) for name in model.classifiers_]
    ax = _axes(ax)
    ax.barh(names[::-1], size[::-1], color=_COLOURS[0])
    ax.set(xlabel=what)
    return ax


def traces(model: Fusion, *, classifier: int = 0, true_class: int = 0, ax: Any = None) -> Any:
    """Posterior draws kept in the model: of one classifier's Dirichlet, and of what pairs share."""
    draws = model._file.get("draws", [])
    if not draws:
        raise ConsilienceError("the model has no posterior draws; fit it with `keep_draws`")
    alpha = np.array([draw["alpha"] for draw in draws])[:, classifier, true_class]
    shared = "delta" in draws[0]
    axes = np.atleast_1d(_axes(ax, nrows=1 + shared, sharex=True))
    for j, c in enumerate(model.classes_):
        axes[0].plot(alpha[:, j], color=_COLOURS[j % len(_COLOURS)], linewidth=0.8, label=str(c))
    axes[0].set(ylabel=f"alpha of {model.classifiers_[classifier]}")
    axes[0].legend(frameon=False, title=f"component; the truth is {model.classes_[true_class]}")
    if shared and len(axes) > 1:
        delta = np.array([draw["delta"] for draw in draws])[:, 0, true_class]
        for j in range(delta.shape[1]):
            axes[1].plot(delta[:, j], color=_COLOURS[j % len(_COLOURS)], linewidth=0.8)
        axes[1].set(ylabel="delta of the first pair")
    axes[-1].set(xlabel="draw")
    return axes if shared else axes[0]
