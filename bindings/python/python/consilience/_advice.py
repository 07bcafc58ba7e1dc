"""Which items to label next, and which sources to drop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from . import _core
from ._results import Entry, Result, html_table

__all__ = ["Advice", "LabelAdvice", "SourceAdvice"]


class LabelAdvice(Result):
    """Items to label next.

    Attributes
    ----------
    next : list
        The items, the most useful first: `item` (its place in X), `predicted`, `probabilities`, and
        `reduction`, the expected reduction of the mean log-loss in nats by its label once the items
        before it have labels.
    reduction : float
        Expected reduction of the mean log-loss by all labels of the list.
    random_reduction : float
        The same for as many random items.
    n_labelled : int
        Number of items with a label.
    n_unlabelled : int
        Number of items without one.
    note : str
        What the list is expected to bring, in one sentence.
    """

    next: list[Entry]
    reduction: float
    random_reduction: float
    n_labelled: int
    n_unlabelled: int
    note: str

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"label_next": rank, "item": own["item"], "predicted": own["predicted"],
             "probability": max(own["probabilities"]), "reduction": own["reduction"]}
            for rank, own in enumerate(self["next"], start=1)
        ]

    def _note(self) -> str:
        return str(self["note"])


class SourceAdvice(Result):
    """The worth of every source beyond the others.

    Attributes
    ----------
    sources : list
        All sources, the most valuable first: `classifier`, `worth` (log-loss without the source minus
        log-loss with all, with `mean`, `se`, `low` and `high`), `price`, `worth_per_price` and
        `decision` ("keep", "drop" or "undecided").
    dropped : dict or None
        The `classifiers` to drop, with the `loss` of dropping all of them and the price `saved`.
    log_loss : dict
        Log-loss with all sources, out of fold: `mean` and `se`.
    tolerance : float
        Largest loss that dropping may cost.
    n_items : int
        Number of labelled items.
    folds : int
        Number of folds used.
    note : str
        What to do, in one or two sentences.
    """

    sources: list[Entry]
    dropped: Entry | None
    log_loss: Entry
    tolerance: float
    n_items: int
    folds: int
    note: str

    def _rows(self) -> list[dict[str, Any]]:
        def row(own: Entry) -> dict[str, Any]:
            worth = own["worth"]
            cells = {"source": own["classifier"], "worth": worth["mean"], "low": worth["low"],
                     "high": worth["high"]}
            if any(source["price"] is not None for source in self["sources"]):
                cells |= {"price": own["price"], "worth_per_price": own["worth_per_price"]}
            return cells | {"advice": own["decision"]}

        return [row(own) for own in self["sources"]]

    def _note(self) -> str:
        return str(self["note"])


class Advice(Result):
    """Which items to label next, and which sources to drop.

    Attributes
    ----------
    labels : LabelAdvice
        The items to label next.
    sources : SourceAdvice or None
        The worth of every source; None if it was not wanted or cannot be estimated.
    sources_unknown : str or None
        The reason why it cannot be estimated.
    """

    labels: LabelAdvice
    sources: SourceAdvice | None
    sources_unknown: str | None

    def _rows(self) -> list[dict[str, Any]]:
        return [] if self["sources"] is None else list(self["sources"]._rows())

    def _repr_html_(self) -> str:
        labels, sources = self["labels"], self["sources"]
        below = html_table([], self["sources_unknown"] or "") if sources is None else sources._repr_html_()
        return str(labels._repr_html_()) + str(below)


class Advising:
    """The method `advise` of all fusion estimators."""

    def advise(
        self, X: Any, y: Any = None, *, labels: int = 10, sources: bool = True,
        prices: Mapping[str, float] | None = None, tolerance: float = 0.01, folds: int = 5,
        class_prior: Any = None, score_items: bool = False, random_state: Any = None,
    ) -> Advice:
        """Which items to label next, and which sources to drop.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`; usually those of the fit.
        y : array-like of shape (n_items,), default=None
            The true classes where they are known, as in `fit`.
        labels : int, default=10
            Number of items to name for labelling: those whose labels, as a batch, are expected to reduce
            the log-loss most.
        sources : bool, default=True
            Whether to estimate what each source is worth beyond the others, by fits without it to the
            labelled items. This takes most of the time.
        prices : dict of float, default=None
            The price of one output of each source, in any unit.
        tolerance : float, default=0.01
            Largest loss that dropping sources may cost, in nats of log-loss per item.
        folds : int, default=5
            Number of stratified folds.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's for the items to label.
        score_items : bool, default=False
            If True, every item has the same weight under any class prior.
        random_state : int, RandomState instance or None, default=None
            Seed of the folds.

        Returns
        -------
        Advice
            `labels` and `sources`, each with `to_frame()`. Printed, it is two tables, in which `item`
            is the place of an item in X, counted from 0.
        """
        from ._base import _prior, seed_of
        from ._progress import listener

        check_is_fitted(self)
        estimator: Any = self
        block = estimator._read(X)
        wanted = (folds, float(tolerance), list((prices or {}).items()), score_items) if sources else None
        found, text = _core.advise(
            estimator.model_, block, estimator._some_labels(y, len(block)), estimator._kind,
            _prior(class_prior), labels, wanted, seed_of(random_state), listener(estimator.progress),
        )
        return _advice(json.loads(found), text)


def _advice(found: dict[str, Any], text: str) -> Advice:
    labels, _, sources = text.partition("\n\n")
    # The command line counts rows from 1; here an item is its place in X.
    found["labels"] = LabelAdvice(found["labels"], "" if found["labels"]["next"] else labels)
    if found["sources"] is not None:
        found["sources"] = SourceAdvice(found["sources"], sources)
    return Advice(found, "\n\n".join(filter(None, [str(found["labels"]), sources])))
