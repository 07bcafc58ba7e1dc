"""One self-contained page about a model and its sources."""

from __future__ import annotations

import html
import json
from os import PathLike
from typing import Any

from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import ClassPrior, Fusion, _prior, seed_of
from ._errors import ConsilienceError
from ._files import write_whole
from ._progress import Progress, listener
from .votes import VoteFusion

__all__ = ["Report", "report"]


class Report:
    """A page about a model and its sources, shown inline in notebooks.

    `report` makes it. The page is one HTML file that loads nothing from the network.

    Parameters
    ----------
    data : dict
        All numbers of the page, as `consilience report --format json` prints them.
    page : str
        The HTML of the page.

    Attributes
    ----------
    data : dict
        All numbers of the page.
    page : str
        The HTML of the page.
    verdict : str
        The result in one sentence.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    >>> page = cs.report(cs.AutoFusion().fit(P[::2], y[::2]), P[1::2], y[1::2])
    >>> page.data["kind"], page.page[:15]
    ('labelled', '<!doctype html>')
    """

    #: Height of the frame in a notebook, in pixels.
    _HEIGHT = 900

    def __init__(self, data: dict[str, Any], page: str) -> None:
        self.data = data
        self.page = page

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        return str(self.data["verdict"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually with the extension `.html`.
        """
        write_whole(path, self.page)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts" title="Consilience report" '
            f'style="width: 100%; height: {self._HEIGHT}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<report: {self.verdict}>"


def report(
    model: Any, X: Any = None, y: Any = None, *, title: str | None = None, data: str | None = None, items: int = 8,
    class_prior: ClassPrior | None = None, predictive: bool = False, random_state: Any = None,
    progress: Progress = None,
) -> Report:
    """Make a page about a model and its sources, to look at and to send to others.

    With labels the page shows what fusing gains, which sources are redundant, what each contributes,
    reliability, scores per class, confusion, single items with explanations, and sliders for the class
    prior and the cost of a mistake. Without labels it shows what can be said without them.

    Parameters
    ----------
    model : fusion estimator, FusionClassifier or VoteFusion
        A fitted model.
    X : array-like or data frame, default=None
        Outputs, as in `AutoFusion.fit`; features for a `FusionClassifier`. Use items that the model
        was not fitted to: on its training items all scores are optimistic, and the page says so. None
        for a `VoteFusion`, whose page is about the votes of its fit.
    y : array-like of shape (n_items,), default=None
        The true classes; None, NaN or -1 where they are unknown (-1 only if no class has this name).
    title : str, default=None
        Title of the page. If None, the number of sources and classes.
    data : str, default=None
        Name of the data, for the page.
    items : int, default=8
        Number of items shown in every list of single items.
    class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
        A class prior to use instead of the model's. "estimate": the class shares of these items.
    predictive : bool, default=False
        Average over the posterior draws stored in the model (`keep_draws`).
    random_state : int, RandomState instance or None, default=None
        Seed of bootstrap and consistency bands; None is the same as 0.
    progress : callable, "tqdm" or None, default=None
        Progress of the computation, as in `AutoFusion`.

    Returns
    -------
    Report
        The page. Notebooks show it inline; `save` writes it to a file; `data` has its numbers.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=1)
    >>> model = cs.AutoFusion().fit(P[::2], y[::2])
    >>> page = cs.report(model, P[1::2], y[1::2])
    >>> page.verdict[:27]
    'Fusing these 2 sources gain'
    """
    from .classifier import FusionClassifier  # takes long

    if items < 0:
        raise ConsilienceError(f"`items` must not be negative, got {items}")
    if isinstance(model, VoteFusion):
        return _of_votes(model, X, title, data, items)
    if X is None:
        raise ConsilienceError(f"`X` is needed for a page about {type(model).__name__}")
    if isinstance(model, FusionClassifier):
        check_is_fitted(model)
        X, model = model.outputs(X), model.fusion_
    if not isinstance(model, Fusion):
        raise ConsilienceError(f"`model` must be a fitted fusion estimator, got {type(model).__name__}")
    check_is_fitted(model)
    block = model._read(X)
    numbers, page = _core.report(
        model.model_, block, model._some_labels(y, len(block)), model._kind, _prior(class_prior), predictive,
        title, data, items, seed_of(random_state), listener(progress),
    )
    return Report(json.loads(numbers), page)


def _of_votes(model: VoteFusion, X: Any, title: str | None, data: str | None, items: int) -> Report:
    check_is_fitted(model)
    if X is not None:
        raise ConsilienceError("the page of a VoteFusion is about the votes of its fit; leave `X` out")
    if model._result is None:
        raise ConsilienceError("a VoteFusion from a file or a pickle has no votes to report on; fit it again")
    numbers, page = _core.report_of_votes(model._result, title, data, items)
    return Report(json.loads(numbers), page)
