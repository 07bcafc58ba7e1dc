"""Labels from votes of many sources, such as crowd workers, raters and judges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import estimator, plain, seed_of
from ._errors import ConsilienceError, message_of, warn_all
from ._files import array_of, typed_list, usable, write_whole
from ._frames import frame, library_of
from ._progress import Progress, listener
from ._scoring import VoteScores
from ._summary import Summary
from ._votes import name_of, pairs_of, read_votes

__all__ = ["Rho", "VoteFusion", "compare_votes"]

#: Parameters of `VoteFusion` that are options of methods.
OPTIONS = ("rho", "folds", "inference", "chains", "draws", "warmup", "subtypes", "restarts")


@dataclass(frozen=True)
class Rho:
    """The correlation of sources by which votes are discounted.

    n votes on an item count as n / (1 + (n − 1) · value) independent ones. It is a discount, not a coefficient of
    correlation, and may exceed 1.

    Parameters
    ----------
    value : float
        Geometric mean.
    low : float
        Lower end of the 90 % interval.
    high : float
        Upper end of the 90 % interval.
    origin : {"assumed", "gold", "given", "none"}
        "assumed": typical of other data sets, because it cannot be learned without gold labels.
        "gold": learned from gold labels. "given": the parameter `rho`. "none": the method treats
        sources as independent.

    Examples
    --------
    >>> import consilience as cs
    >>> cs.Rho(0.42, 0.13, 1.33, "assumed").is_assumption
    True
    """

    value: float
    low: float
    high: float
    origin: str

    @property
    def is_assumption(self) -> bool:
        """Whether the value is an assumption, not learned from gold labels."""
        return self.origin == "assumed"


@estimator
class VoteFusion(Summary, BaseEstimator):  # type: ignore[misc]
    """Labels from votes: many sources, each of which labels some of the items.

    Learns how good each source is, with or without gold labels, and gives every item a calibrated
    probability of each class. Only the default method takes into account that sources err together.

    Parameters
    ----------
    method : {"auto", "ibcc", "ebcc", "ueda", "dbcc", "dawid-skene", "majority"}, default="auto"
        "auto": sources of different quality, with a discount for the errors that they share. "ibcc":
        one confusion matrix per source. "ebcc": subtypes of classes, through which errors correlate.
        "ueda": sources that are effective for some classes only. "dbcc": regression on one-hot votes,
        which needs gold labels. "dawid-skene" and "majority" are baselines.
    rho : float, default=None
        Correlation of sources of "auto", from 0 (independent). If None, the result is averaged over
        its distribution.
    folds : int, default=None
        Folds of the gold items of "auto" and "dbcc". If None, 5.
    inference : {"cvb", "vb", "gibbs"}, default=None
        How "ibcc" computes its posterior. If None, "cvb".
    chains : int, default=None
        Number of Markov chains of "gibbs". If None, 4.
    draws : int, default=None
        Number of draws per chain of "gibbs". If None, 300.
    warmup : int, default=None
        Number of draws of "gibbs" that are discarded at the start of each chain. If None, 100.
    subtypes : int, default=None
        Subtypes per class of "ebcc". If None, 10.
    restarts : int, default=None
        Random starts of "ebcc". If None, 5.
    layout : {"auto", "long", "wide-labels"}, default="auto"
        "long": one row per vote. "wide-labels": one row per item and one column of labels per source.
        "auto": long, if the data frame has columns of items and sources.
    classes : list, default=None
        All classes, in order. If None, the labels that occur, sorted.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. None is the same as 0, so that equal input gives equal results.
    progress : callable, "tqdm" or None, default=None
        Progress of long computations: a function that is called with (task, done, total), or "tqdm" for
        progress bars.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    labels_ : data frame
        Per item: the most probable `label`, its `probability`, the number of `votes` and the number of
        `effective_votes`.
    probabilities_ : data frame
        Per item: the probability of every class.
    sources_ : data frame
        Per source: `votes`; `accuracy` with its 90 % interval `accuracy_low`, `accuracy_high`;
        `strength`, the information of a vote in nats; `worst_class` and `worst_accuracy`;
        `bias_label`, the label given too often, and `bias`, by how much; `guessing`, whether the
        source cannot be told from one that guesses. A loaded model has votes and accuracies only.
    confusion_ : data frame
        Per source and class: the probability of every label.
    class_shares_ : data frame
        Per class: `share` with its 90 % interval `low`, `high`.
    rho_ : Rho
        The correlation of sources by which votes are discounted, with its 90 % interval.
    similar_sources_ : data frame
        Pairs of sources that agree far more often than their agreement with the other sources explains,
        such as copies: `first`, `second`, the number of `common` items, on how many they `agree`, and
        the number `expected`.
    groups_ : list of lists
        Groups of similar sources. "auto" counts each group as one source.
    diagnostics_ : dict
        `passes` over the votes; whether the method `converged` (False for "auto", which stops after a set
        number of passes by design); `warnings`; `gold_check`, log-losses of
        gold items from fits without their labels; `sampling`, R-hat and effective sample size of the
        chains of "gibbs".

    Notes
    -----
    Data frames are those of polars if the votes are, and otherwise of pandas, with items, sources or
    classes as index. Without pandas they are dicts of arrays.

    References
    ----------
    `docs/votes.md` and `docs/methods/votes.md` of the project.

    Examples
    --------
    >>> import consilience as cs
    >>> votes = [("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q1", "eve", "no"),
    ...          ("q2", "ann", "no"), ("q2", "bob", "no"), ("q2", "eve", "no")]
    >>> model = cs.VoteFusion().fit(votes)
    >>> model.labels_["label"].tolist()
    ['yes', 'no']
    >>> model.rho_.is_assumption
    True
    >>> model.predict([("q3", "ann", "yes")]).tolist()
    ['yes']
    """

    method: Literal["auto", "ibcc", "ebcc", "ueda", "dbcc", "dawid-skene", "majority"] = "auto"
    rho: float | None = None
    folds: int | None = None
    inference: Literal["cvb", "vb", "gibbs"] | None = None
    chains: int | None = None
    draws: int | None = None
    warmup: int | None = None
    subtypes: int | None = None
    restarts: int | None = None
    layout: Literal["auto", "long", "wide-labels"] = "auto"
    classes: Sequence[Any] | None = None
    random_state: Any = None
    progress: Progress = None

    def fit(self, votes: Any, gold: Any = None) -> VoteFusion:
        """Learn about the sources, and label the items.

        Parameters
        ----------
        votes : data frame, dict of columns, list of tuples or array
            A long data frame (pandas, polars, pyarrow) has the columns `item`, `source` and `label`, or
            `task`, `worker` and `label`. Optional columns: `probability`, the source's probability of
            its label; `probability_<class>`, those of all classes, with which `label` may be absent or
            missing; `gold`, the true class of the item. A data frame with the layout "wide-labels" has
            one column of labels per source, and optionally `item` and `gold`; otherwise its index names
            the items. A list, or an array with the layout "long", has rows (item, source, label) or
            (item, source, label, probability); an array with the layout "wide-labels" has one column of
            labels per source.
            A missing label is no vote.
        gold : dict, series, data frame, list or str, default=None
            Known true labels: a dict or a series of pandas by item; a data frame with the columns `item`
            and `label`; pairs (item, label); one label per row of the votes, missing where unknown; or
            the name of a column of the votes.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        table = read_votes(votes, gold, layout=self.layout, classes=self.classes)
        result = table.votes.fit(self.method, json.dumps(self._options()), listener(self.progress))
        self._forget()
        self.model_ = result.model
        self.classes_ = table.classes
        self._library = library_of(votes)
        self._names = {"item": table.items, "source": table.sources}
        self._result, self._counts = result, table.votes.counts()
        self._report = json.loads(result.report())
        self._summary = result.summary()
        warn_all(self._report["warnings"])
        return self

    def fit_predict(self, votes: Any, gold: Any = None) -> Any:
        """Learn about the sources, and return the labels of the items.

        Parameters
        ----------
        votes : data frame, dict of columns, list of tuples or array
            Votes, as in `fit`.
        gold : dict, series, data frame, list or str, default=None
            Known true labels, as in `fit`.

        Returns
        -------
        Series or data frame
            The most probable class of every item, as `predict` returns it.
        """
        self.fit(votes, gold)
        return self._labelled(self._names["item"], np.asarray(self._result.probabilities()))

    def _options(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in OPTIONS}
        chosen = {name: plain(value) for name, value in given.items() if value is not None}
        return chosen | {"seed": seed_of(self.random_state)}

    # New items

    def predict_proba(self, votes: Any) -> Any:
        """Probabilities of the classes of items, from the votes on them.

        Parameters
        ----------
        votes : data frame, dict of columns, list of tuples or array
            Votes, as in `fit`. Gold labels are not used. Sources that the model does not know count as
            average ones.

        Returns
        -------
        data frame
            Per item: the probability of every class.
        """
        items, probabilities, library = self._predicted(votes)
        return _classes_frame(library, {"item": items}, self.classes_, probabilities)

    def predict(self, votes: Any) -> Any:
        """Most probable class of items, from the votes on them.

        Parameters
        ----------
        votes : data frame, dict of columns, list of tuples or array
            Votes, as in `fit`.

        Returns
        -------
        Series or data frame
            The labels: a series of pandas by item, or a data frame of polars with the columns `item`
            and `label`.
        """
        items, probabilities, library = self._predicted(votes)
        return self._labelled(items, probabilities, library)

    def _predicted(self, votes: Any) -> tuple[Any, Any, str]:
        check_is_fitted(self)
        table = read_votes(votes, layout=self.layout, classes=self.classes_, ignores_gold=True)
        probabilities, found = self.model_.predict(table.votes)
        warn_all(json.loads(found))
        return table.items, probabilities, library_of(votes)

    def _labelled(self, items: Any, probabilities: Any, library: str | None = None) -> Any:
        library = self._library if library is None else library
        labels = self.classes_[probabilities.argmax(axis=1)]
        made = frame(library, {"item": items}, {"label": labels})
        return made["label"] if library == "pandas" else made

    def evaluate(self, votes: Any, gold: Any = None) -> VoteScores:
        """Scores of the model on items with a known true label, beside majority and Dawid–Skene.

        The baselines see the same votes. No gold label is used, so the items should be others than the
        gold items of the fit. To score a fit on its own items, use `compare_votes`.

        Parameters
        ----------
        votes : data frame, dict of columns, list of tuples or array
            Votes, as in `fit`.
        gold : dict, series, data frame, list or str, default=None
            The true labels, as in `fit`. If None, the votes have a column `gold`.

        Returns
        -------
        VoteScores
            The scores, as `consilience evaluate --format json` prints them: the number of `items`, and
            for each of `methods` its `accuracy`, `log_loss` and `brier`, each with `mean` and standard
            error `se`, the calibration error `ece`, `reliability`, and the paired differences `against`
            the baselines. It prints as a table, and is a dict as well.
        """
        check_is_fitted(self)
        table = read_votes(votes, gold, layout=self.layout, classes=self.classes_)
        if table.n_gold == 0:
            raise ConsilienceError("no item of the votes has a gold label to score it by\n"
                                   "hint: give the true labels as `gold`, or in a column `gold` of the votes")
        return VoteScores(json.loads(self.model_.evaluate(table.votes, listener(self.progress))))

    # Results of the fit

    @property
    def labels_(self) -> Any:
        """Most probable label of every item, its probability, votes and effective votes."""
        def make() -> Any:
            p = self._result.probabilities()
            columns = {
                "label": self.classes_[p.argmax(axis=1)], "probability": p.max(axis=1),
                "votes": self._counts, "effective_votes": self._result.effective_votes(),
            }
            return frame(self._library, {"item": self._names["item"]}, columns)
        return self._table("labels_", make)

    @property
    def probabilities_(self) -> Any:
        """Probability of every class for every item."""
        return self._table("probabilities_", lambda: _classes_frame(
            self._library, {"item": self._names["item"]}, self.classes_, self._result.probabilities()))

    @property
    def sources_(self) -> Any:
        """Votes, accuracy, strength, worst class and bias of every source."""
        def make() -> Any:
            columns = self._result.sources()
            for name in ("worst_class", "bias_label"):
                columns[name] = self.classes_[columns[name]]
            return frame(self._library, {"source": self._names["source"]}, columns)
        return self._table("sources_", make)

    @property
    def confusion_(self) -> Any:
        """Probability of every label, by source and class."""
        def make() -> Any:
            sources, classes = self._names["source"], self.classes_
            rows = {"source": np.repeat(sources, len(classes)), "class": np.tile(classes, len(sources))}
            matrices = self._result.confusion().reshape(-1, len(classes))
            return _classes_frame(self._library, rows, classes, matrices)
        return self._table("confusion_", make)

    @property
    def class_shares_(self) -> Any:
        """Share of every class among the items, with its 90 % interval."""
        def make() -> Any:
            found = self._report["class_shares"]
            columns = {name: [row[name] for row in found] for name in ("share", "low", "high")}
            return frame(self._library, {"class": self.classes_}, columns)
        return self._table("class_shares_", make)

    @property
    def similar_sources_(self) -> Any:
        """Pairs of sources that agree far more often than their agreement with others explains."""
        def make() -> Any:
            found = self._report["similar_sources"]
            names = {name_of(source): source for source in self._names["source"].tolist()}
            pairs = [[names[row["between"][i]] for row in found] for i in (0, 1)]
            columns = {"first": pairs[0], "second": pairs[1]}
            columns |= {name: [row[name] for row in found] for name in ("common", "agree", "expected")}
            return frame(self._library, {"pair": np.arange(len(found))}, columns)
        return self._table("similar_sources_", make)

    @property
    def groups_(self) -> list[list[Any]]:
        """Groups of similar sources; `auto` counts each group as one source."""
        def make() -> list[list[Any]]:
            names = {name_of(source): source for source in self._names["source"].tolist()}
            return [[names[source] for source in group] for group in self._report["groups"]]
        return self._table("groups_", make)  # type: ignore[no-any-return]

    @property
    def rho_(self) -> Rho:
        """The correlation of sources by which votes are discounted."""
        check_is_fitted(self)
        return Rho(**json.loads(self.model_.description())["rho"])

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """Passes, convergence, warnings, checks with gold labels, and diagnostics of chains."""
        report = self._fitted("diagnostics_")
        return {
            "passes": report["passes"], "converged": report["converged"],
            "warnings": [message_of(warning) for warning in report["warnings"]],
            "gold_check": report["gold_check"], "sampling": report["diagnostics"],
        }

    def summary(self) -> str:
        """Report on the fit for a person, as `consilience aggregate` prints it.

        Returns
        -------
        str
            Class shares, sources and checks.
        """
        self._fitted("summary")
        return self._summary

    def _table(self, name: str, make: Any) -> Any:
        """A table of the fit, made when it is first needed."""
        self._fitted(name)
        if name not in self._tables:
            self._tables[name] = make()
        return self._tables[name]

    def _fitted(self, name: str) -> dict[str, Any]:
        check_is_fitted(self)
        if self._report is None and name not in self._tables:
            raise AttributeError(f"`{name}` belongs to the votes of a fit, which a model file does not have")
        return self._report or {}

    def _forget(self) -> None:
        self._tables: dict[str, Any] = {}
        self._result: Any = None
        self._report: Any = None

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file, which the command line reads as well.

        It is the file of `consilience aggregate --model`: what was learned about the sources, without
        the votes. If the classes are not strings, it also has their types. `load` gives back an
        estimator that labels new items.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        check_is_fitted(self)
        kept = None
        if self.classes_.dtype.kind != "U":
            kept = json.dumps({"class": type(self).__name__, "classes": typed_list(self.classes_)})
        write_whole(path, self.model_.to_json(kept))

    @classmethod
    def _of_file(cls, text: str) -> VoteFusion:
        """The estimator of a model file."""
        model = _core.VoteModel.from_json(text)
        file = json.loads(model.description())
        settings, classes = file["settings"], np.array(file["classes"])
        options = {name: settings[name] for name in OPTIONS if name in settings}
        loaded = cls(method=settings["method"], random_state=settings.get("seed"), **options)
        loaded._forget()
        loaded.model_ = model
        if file["estimator"]:
            with usable():
                classes = array_of(file["estimator"]["classes"], len(classes))
        loaded.classes_ = classes
        loaded._library = library_of()
        sources = model.sources()
        loaded._tables["sources_"] = frame(loaded._library, {"source": sources.pop("source")}, sources)
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        """Tables in place of the votes, which cannot be pickled."""
        if getattr(self, "_result", None) is not None:
            for name in ("labels_", "probabilities_", "sources_", "confusion_"):
                getattr(self, name)
        state: dict[str, Any] = super().__getstate__()
        return state | {"_result": None} if "_result" in state else state

    # Representation

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _summary_rows(self) -> dict[str, str]:
        if not hasattr(self, "model_"):
            return {}
        rho, report = self.rho_, self._report
        rows = {
            "method": json.loads(self.model_.description())["settings"]["method"],
            "classes": ", ".join(map(str, self.classes_)),
        }
        if report is not None:
            rows["votes"] = f"{report['votes']} of {len(self._names['source'])} sources on {report['items']} items"
            rows["gold labels"] = str(report["gold_labels"])
        if rho.origin != "none":
            origin = {"assumed": "an assumption", "gold": "learned from gold labels", "given": "given"}[rho.origin]
            rows["correlation of sources"] = f"{rho.value:.2f} ({rho.low:.2f}–{rho.high:.2f}), {origin}"
        return rows


def compare_votes(
    votes: Any, gold: Any = None, methods: Any = ("auto",), *, held_out: Any = None, folds: int = 5,
    layout: Literal["auto", "long", "wide-labels"] = "auto", classes: Sequence[Any] | None = None, random_state: Any = None,
    progress: Progress = None,
) -> VoteScores:
    """Compare methods for votes on items whose gold label was not used.

    Majority and Dawid–Skene are always among the methods, as baselines.

    Parameters
    ----------
    votes : data frame, dict of columns, list of tuples or array
        Votes, as in `VoteFusion.fit`.
    gold : dict, series, data frame, list or str, default=None
        Known true labels, as in `VoteFusion.fit`. Without `held_out`, methods are scored on them by
        cross-validation: the labels of a fold are hidden from the fit that is scored on it.
    methods : str, VoteFusion or list of them, default=("auto",)
        Names of methods, or estimators with their options.
    held_out : dict, series, data frame or list, default=None
        True labels of other items, in the forms of `gold`. The fits do not use them. If given, all
        methods are fitted once, with `gold`, and scored on these items.
    folds : int, default=5
        Number of folds of the gold items.
    layout : {"auto", "long", "wide-labels"}, default="auto"
        Layout of the votes, as in `VoteFusion`.
    classes : list, default=None
        All classes, as in `VoteFusion`.
    random_state : int, RandomState instance or None, default=None
        Seed; None is the same as 0.
    progress : callable, "tqdm" or None, default=None
        Progress of the computation, as in `VoteFusion`.

    Returns
    -------
    VoteScores
        The scores, in the form of `VoteFusion.evaluate`. It prints as a table, and is a dict as well.

    Examples
    --------
    >>> import consilience as cs
    >>> votes = [(i, w, i % 2 if (i * w) % 5 else 1 - i % 2) for i in range(40) for w in range(3, 7)]
    >>> found = cs.compare_votes(votes, {i: i % 2 for i in range(20)}, ["auto", "ibcc"])
    >>> [row["method"] for row in found["methods"]]
    ['auto', 'ibcc', 'majority', 'dawid-skene']
    """
    table = read_votes(votes, gold, layout=layout, classes=classes)
    chosen = [methods] if isinstance(methods, (str, VoteFusion)) else list(methods)
    seed = {"seed": seed_of(random_state)}
    configs = [
        (one, json.dumps(seed)) if isinstance(one, str)
        else (one.method, json.dumps(one._options() | (seed if one.random_state is None else {})))
        for one in chosen
    ]
    pairs = [] if held_out is None else [(name_of(item), name_of(label)) for item, label in pairs_of(held_out)]
    return VoteScores(json.loads(table.votes.compare(configs, folds, pairs, seed["seed"], listener(progress))))


def _classes_frame(library: str, names: dict[str, Any], classes: Any, values: Any) -> Any:
    """A data frame with one column per class."""
    return frame(library, names, {c: values[:, j] for j, c in enumerate(classes.tolist())})
