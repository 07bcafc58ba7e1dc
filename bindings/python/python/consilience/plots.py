"""Plots with matplotlib (`pip install consilience[plots]`). Every function returns its axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import Fusion
from ._drawing import (
    _COLOURS, _axes, _bar_axes, _bars, _beside, _fusion, _intervals, _line, _place, _style, _wilson, _with_outputs,
)
from ._errors import ConsilienceError
from .classifier import FusionClassifier
from .distributions import CorrelatedDirichlet
from .votes import VoteFusion

__all__ = [
    "comparison",
    "correlations",
    "fused_against_correlation",
    "influence",
    "pair",
    "reliability",
    "shares",
    "sources",
    "traces",
]

# Classifiers in a heat map that has intervals, and numbers, in its cells.
_MOST_INTERVALS, _MOST_NUMBERS = 6, 20

# Points per class in a scatter plot: more of them only overlap.
_MOST_POINTS = 1000


def fused_against_correlation(x: Any, alpha: Any = None, *, levels: Any = None, ax: Any = None) -> Any:
    """Plot the fused probability of the first class against the correlation of two classifiers.

    Figure 2 of the paper: the more two classifiers that agree are correlated, the less evidence their
    agreement is.

    Parameters
    ----------
    x : array-like of shape (2, n_classes)
        The outputs of the two classifiers.
    alpha : array-like of shape (n_classes, n_classes), default=None
        Concentrations of both classifiers for every true class. If None, 101 for the true class and 100 for
        the others.
    levels : array-like, default=None
        Shared shapes as fractions of alpha. If None, 20 values from 0 to 0.95.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> ax = cs.plots.fused_against_correlation([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]], levels=[0, 0.5])
    >>> ax.lines[0].get_ydata().round(3)
    array([0.818, 0.674])
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
    alone = {float(own): f"output of classifier {k + 1}" for k, own in enumerate(x[:, 0])}
    alone = {own: "output of each classifier" for own in alone} if len(alone) == 1 else alone
    for k, (own, name) in enumerate(alone.items()):
        ax.axhline(own, color=_COLOURS[k + 1], linestyle="--", linewidth=1, label=name)
    ax.set(xlabel="correlation", ylabel="probability of the first class",
           title="Fused probability against the correlation of two classifiers")
    ax.legend(frameon=False)
    return ax


def pair(model: Fusion | FusionClassifier, X: Any, y: Any, *, between: tuple[Any, Any] = (0, 1), component: Any = 0,
         ax: Any = None) -> Any:
    """Plot the probabilities that two classifiers give one class, with their correlations.

    Parameters
    ----------
    model : fusion estimator or FusionClassifier
        A fitted model.
    X : array-like or data frame
        Outputs, as in `AutoFusion.fit`; features for a `FusionClassifier`.
    y : array-like of shape (n_items,)
        The true classes.
    between : (str or int, str or int), default=(0, 1)
        The two classifiers, by name or place.
    component : class or int, default=0
        The class whose probabilities are drawn, by name or place. A class that is a number is meant by
        its name.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> model = cs.CorrelatedFusion(inference="map").fit(P, y)
    >>> cs.plots.pair(model, P, y).get_xlabel()
    'probability of 1, c1'
    """
    model, X = _with_outputs(model, X)
    block, labels = model._read_labelled(X, y, reset=False)
    a, b = (_place(own, model.classifiers_, "classifier") for own in between)
    component = _place(component, model.classes_, "class")
    ax = _axes(ax)
    ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    for j, c in enumerate(model.classes_):
        own = block[labels == j]
        both = own[~np.isnan(own[:, [a, b]]).any(axis=(1, 2))]
        observed = np.corrcoef(both[:, a, component], both[:, b, component])[0, 1] if len(both) > 2 else np.nan
        text = f"{c}: " + ("too few items" if np.isnan(observed) else f"observed {observed:.2f}")
        if hasattr(model, "correlation_"):
            text += f", model {model.correlation_[a, b, j, component]:.2f}"
        drawn = both[:: -(-len(both) // _MOST_POINTS) or 1]
        ax.scatter(drawn[:, a, component], drawn[:, b, component], s=8, alpha=0.6, label=text, **_style(j))
    what = f"probability of {model.classes_[component]}"
    ax.set(xlabel=f"{what}, {model.classifiers_[a]}", ylabel=f"{what}, {model.classifiers_[b]}",
           title=f"{model.classifiers_[a]} against {model.classifiers_[b]}, {int((labels >= 0).sum())} items")
    _beside(ax, len(model.classes_), title="correlation by true class", markerscale=2)
    return ax


def correlations(model: Fusion | FusionClassifier, *, ax: Any = None) -> Any:
    """Plot the correlation of every pair of classifiers given the true class.

    For a model that implies correlations of the outputs, these are drawn, averaged over classes and
    components. For other models, the correlations of evidence are drawn, for up to six classifiers with
    their 90 % intervals. From 21 classifiers on, colours alone show the numbers.

    Parameters
    ----------
    model : CorrelatedFusion, AutoFusion, DiscountedFusion or FusionClassifier
        A fitted model.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> model = cs.CorrelatedFusion(inference="map").fit(P, y)
    >>> len(cs.plots.correlations(model).texts)
    4
    """
    model = _fusion(model)
    implied = hasattr(model, "correlation_")
    mean = model.correlation_.mean(axis=(2, 3)) if implied else model.evidence_correlation_
    names = [str(name) for name in model.classifiers_]
    n = len(names)
    ends = None if implied or n > _MOST_INTERVALS else _intervals(model).get("evidence_correlation")
    ax = _axes(ax, figsize=(max(6.4, 2.5 + 0.55 * n), max(4.8, 1.5 + 0.55 * n)))
    image = ax.imshow(mean, vmin=-1, vmax=1, cmap="RdBu_r")
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(names)), names)
    for a, b in np.ndindex(n, n) if n <= _MOST_NUMBERS else ():
        text = f"{mean[a, b]:.2f}"
        if ends is not None and a != b:
            text += f"\n{ends[a, b, 0]:.2f}–{ends[a, b, 1]:.2f}"
        ax.text(b, a, text, ha="center", va="center", fontsize=10 if n <= 4 else 8,
                color="white" if abs(mean[a, b]) > 0.6 else "black")
    what = "correlation given the true class" if implied else "correlation of evidence"
    ax.figure.colorbar(image, ax=ax, label=what)
    ax.set_title("Correlations of the classifiers" + ("" if ends is None else ", with 90 % intervals"))
    return ax


def reliability(y: Any, probabilities: Any, *, classes: Any = None, bins: int = 10, ax: Any = None,
                label: str | None = None) -> Any:
    """Plot how often the most probable class is right against its predicted probability.

    Larger dots have more items, whose number is written above the axis for the first curve. The bars
    are 95 % intervals (Wilson). Call it again with the same axes for another curve.

    Parameters
    ----------
    y : array-like of shape (n_items,)
        The true classes.
    probabilities : array-like of shape (n_items, n_classes)
        Predicted probabilities, with columns in the order of `classes`.
    classes : array-like of shape (n_classes,), default=None
        The classes. If None, the sorted labels.
    bins : int, default=10
        Number of bins of equal width.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.
    label : str, default=None
        Label in the legend.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> ax = cs.plots.reliability(y, P[:, 0], label="first classifier")
    """
    y, p = np.asarray(y), np.asarray(probabilities, dtype=float)
    if y.ndim != 1 or p.ndim != 2 or len(y) != len(p):
        raise ConsilienceError(f"expected labels of n items and probabilities of n items × classes, got arrays of "
                               f"shapes {y.shape} and {p.shape}")
    classes = np.unique(y) if classes is None else np.asarray(classes)
    if p.shape[1] != len(classes):
        raise ConsilienceError(f"expected probabilities of {len(classes)} classes, got {p.shape[1]}\n"
                               "hint: name every class with `classes`, in the order of the columns")
    top, right = p.max(axis=1), classes[p.argmax(axis=1)] == y
    place = np.minimum((top * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    seen = counts > 0
    predicted = np.bincount(place, weights=top, minlength=bins)[seen] / counts[seen]
    found = np.bincount(place, weights=right, minlength=bins)[seen] / counts[seen]
    low, high = _wilson(found * counts[seen], counts[seen])
    ax = _axes(ax)
    place = len(ax.containers)
    if place == 0:
        ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
        for x, n in zip(predicted, counts[seen], strict=True):
            ax.annotate(str(n), (x, 0), xycoords=("data", "axes fraction"), xytext=(0, 3),
                        textcoords="offset points", ha="center", fontsize="x-small", color="grey")
    colour = _COLOURS[place % len(_COLOURS)]
    ax.errorbar(predicted, found, yerr=[found - low, high - found], color=colour, capsize=2, label=label)
    ax.scatter(predicted, found, s=12 + 150 * counts[seen] / counts.sum(), color=colour, zorder=3)
    ax.set(xlabel="probability of the most probable class", ylabel="share of items with that true class",
           xlim=(1 / len(classes) - 0.05, 1.02), ylim=(-0.02, 1.02),
           title=f"Reliability, {len(y)} items (larger dots: more items)")
    if label is not None:
        ax.legend(frameon=False)
    return ax


def comparison(found: Any, *, score: str = "log_loss", most: int = 25, ax: Any = None) -> Any:
    """Plot the methods of a comparison as bars with standard errors, the best on top.

    Parameters
    ----------
    found : Comparison
        The result of `compare`.
    score : {"log_loss", "brier", "accuracy", "entropy", "ece"}, default="log_loss"
        The score to draw.
    most : int, default=25
        Largest number of bars. The methods with the smallest log-losses are drawn.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> ax = cs.plots.comparison(cs.compare(P, y, ["auto", "linear-pool"], folds=3))
    >>> len(ax.patches)
    6
    """
    if score not in (names := ("log_loss", "brier", "accuracy", "entropy", "ece")):
        raise ConsilienceError(f"`score` must be one of {', '.join(names)}, got {score!r}")
    if not isinstance(found, Mapping) or "methods" not in found:
        raise ConsilienceError(f"`found` must be the result of `compare`, got {type(found).__name__}")
    methods = [own for own in found["methods"] if not own["failures"]][:most][::-1]
    kinds = {"classifier": ("single classifier", _COLOURS[5]), "meta": ("recalibrated classifier", _COLOURS[4])}
    kind = [kinds.get(own["method"].split(":")[0], ("combination", _COLOURS[0])) for own in methods]
    ax = _axes(ax, figsize=(7, 1.5 + 0.25 * len(methods)))
    errors = [own[f"{score}_se"] for own in methods]
    ax.barh([own["method"] for own in methods], [own[score] for own in methods], color=[own[1] for own in kind],
            xerr=[0 if error is None else error for error in errors], capsize=2, error_kw={"linewidth": 1})
    for name, colour in dict.fromkeys(reversed(kind)):
        ax.plot([], [], color=colour, linewidth=6, label=name)
    unit = " in nats" if score in ("log_loss", "entropy") else ""
    ax.set(xlabel=f"{score.replace('_', '-')}{unit}, ± one standard error", title=f"Methods on {found['n_items']} items")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return ax


def shares(model: Fusion | FusionClassifier, *, ax: Any = None) -> Any:
    """Plot the independent share of each classifier with its 90 % interval.

    The title has the effective number of classifiers, its interval, and the range that independent
    classifiers would show on as many items.

    Parameters
    ----------
    model : AutoFusion, CorrelatedFusion, DiscountedFusion or FusionClassifier
        A fitted model.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> ax = cs.plots.shares(cs.AutoFusion().fit(P, y))
    >>> len(ax.patches)
    2
    """
    model = _fusion(model)
    intervals = _intervals(model)
    ax = _bar_axes(ax, len(model.classifiers_))
    _bars(ax, [str(name) for name in model.classifiers_], model.shares_, intervals.get("shares"))
    title = f"Independent shares\neffective number {model.n_effective_:.2f}"
    if intervals:
        low, high = intervals["n_effective"]
        title += f" ({low:.2f}–{high:.2f}); "
        low, high = intervals["n_effective_independent"]
        title += f"if independent {low:.2f}–{high:.2f}"
    ax.set(xlabel="independent share, 90 % interval" if intervals else "independent share", title=title)
    return ax


def influence(model: Fusion | FusionClassifier, X: Any = None, *, ax: Any = None) -> Any:
    """Plot the influence of each classifier on the fused result.

    Parameters
    ----------
    model : fusion estimator or FusionClassifier
        A fitted model.
    X : array-like or data frame, default=None
        Outputs, as in `AutoFusion.fit`; features for a `FusionClassifier`. For these items, the
        influence is the mean over the items of the largest absolute evidence that the classifier adds
        given all others. If None, `influences_` are drawn with 90 % intervals or, for methods without
        them, such as `AutoFusion`, `strengths_`: the expected evidence of one output alone.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> model = cs.CorrelatedFusion(inference="map").fit(P, y)
    >>> len(cs.plots.influence(model, P).patches)
    2
    """
    ends, title = None, "Influence of the classifiers"
    model, X = (_fusion(model), None) if X is None else _with_outputs(model, X)
    if X is not None:
        size, what = np.abs(model.explain(X)).max(axis=2).mean(axis=0), "evidence added, in nats"
    elif hasattr(model, "influences_"):
        size, ends = model.influences_, _intervals(model).get("influences")
        what = "influence in nats" if ends is None else "influence in nats, 90 % interval"
    else:
        size, what = model.strengths_, "expected evidence of one output, in nats"
        title = "Strength of the classifiers, each alone"
    ax = _bar_axes(ax, len(model.classifiers_))
    _bars(ax, [str(name) for name in model.classifiers_], size, ends)
    ax.set(xlabel=what, title=title)
    return ax


def sources(model: VoteFusion, *, ax: Any = None) -> Any:
    """Plot the accuracy of each source of votes with its 90 % interval, the best on top.

    Sources whose interval contains the accuracy of guessing, the dashed line, are grey.

    Parameters
    ----------
    model : VoteFusion
        A fitted model.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the plot.

    Examples
    --------
    >>> import consilience as cs
    >>> votes = [(item, worker, item % 2) for item in range(20) for worker in ("ann", "bob", "eve")]
    >>> ax = cs.plots.sources(cs.VoteFusion().fit(votes))
    >>> len(ax.get_yticklabels())
    3
    """
    if not isinstance(model, VoteFusion):
        raise ConsilienceError(f"`model` must be a `VoteFusion`, got {type(model).__name__}")
    check_is_fitted(model)
    table = model.sources_
    names = table["source"] if "source" in getattr(table, "columns", table) else table.index
    accuracy, low, high, votes = (np.asarray(table[c]) for c in ("accuracy", "accuracy_low", "accuracy_high", "votes"))
    order, guess = np.argsort(accuracy, kind="stable"), 1 / len(model.classes_)
    ax = _bar_axes(ax, len(order))
    for place, k in enumerate(order):
        colour = "#777777" if low[k] <= guess <= high[k] else _COLOURS[0]
        ax.errorbar(accuracy[k], place, xerr=[[accuracy[k] - low[k]], [high[k] - accuracy[k]]], fmt="o", capsize=3,
                    color=colour)
    ax.axvline(guess, color="grey", linestyle="--", linewidth=1, label="guessing")
    ax.set_yticks(range(len(order)), [f"{list(names)[k]} ({_grouped(votes[k])})" for k in order])
    ax.set(xlabel="probability that a vote is right, 90 % interval", xlim=(0, 1.02), title="Sources (number of votes)")
    ax.legend(frameon=False)
    return ax


def _grouped(count: int) -> str:
    """A count with spaces between groups of three digits."""
    return f"{count:,}".replace(",", " ")


def traces(model: Fusion | FusionClassifier, *, classifier: Any = 0, true_class: Any = 0, ax: Any = None) -> Any:
    """Plot the posterior draws stored in the model (`keep_draws`).

    Parameters
    ----------
    model : IndependentFusion, CorrelatedFusion or FusionClassifier
        A fitted model with posterior draws.
    classifier : str or int, default=0
        The classifier whose concentrations are drawn, by name or place.
    true_class : class or int, default=0
        The true class whose parameters are drawn, by name or place.
    ax : matplotlib Axes, default=None
        Axes to draw on. If None, a new figure.

    Returns
    -------
    matplotlib Axes or ndarray of two Axes
        The axes of the concentrations and, for `CorrelatedFusion`, of the shared shapes of the first pair.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> model = cs.IndependentFusion(keep_draws=100).fit(P, y)
    >>> len(cs.plots.traces(model).lines)
    3
    """
    model = _fusion(model)
    draws = model._file.get("draws", [])
    if not draws:
        raise ConsilienceError("the model has no posterior draws; fit it with `keep_draws`")
    k = _place(classifier, model.classifiers_, "classifier")
    t = _place(true_class, model.classes_, "class")
    alpha = np.array([draw["alpha"] for draw in draws])[:, k, t]
    shared = "delta" in draws[0]
    axes = np.atleast_1d(_axes(ax, nrows=1 + shared, sharex=True))
    for j, c in enumerate(model.classes_):
        axes[0].plot(alpha[:, j], linewidth=0.8, label=str(c), **_line(j))
    axes[0].set(ylabel=f"alpha of {model.classifiers_[k]}",
                title=f"{len(draws)} posterior draws, true class {model.classes_[t]}")
    handles = axes[0].legend(frameon=False, title="component", loc="upper left", bbox_to_anchor=(1.01, 1.0),
                             fontsize="small", handlelength=3, ncols=1 + len(model.classes_) // 25).get_lines()
    for handle in handles:
        handle.set_linewidth(3)
    if shared and len(axes) > 1:
        delta = np.array([draw["delta"] for draw in draws])[:, 0, t]
        for j in range(delta.shape[1]):
            axes[1].plot(delta[:, j], linewidth=0.8, **_line(j))
        axes[1].set(ylabel="delta of the first pair")
    axes[-1].set(xlabel="draw")
    return axes if shared else axes[0]
