"""Scores and comparisons as results that print themselves as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._results import Entry, Result

__all__ = ["Comparison", "Evaluation", "Gain", "Prevalence", "VoteScores"]

SCORES = ("log_loss", "brier", "accuracy", "entropy", "ece")


class Evaluation(Result):
    """Scores of a model, of every classifier and of its meta classifier.

    Attributes
    ----------
    methods : list
        One entry per method, the model first: `method`, `overall` and `per_class`, with the scores
        `log_loss`, `brier`, `accuracy`, `entropy` and `ece`, each with `value`, `low` and `high`.
    gain : Gain or None
        What fusing gains on these items; only for `AutoFusion`, and not for the items that it was fitted to.
    n_items : int
        Number of items scored.
    n_unlabelled : int
        Number of items without a label, which are not scored.
    classes : list of str
        The classes.
    class_counts : list of int
        Number of items per class.
    class_prior : list of float
        The class prior.
    weighting : str
        "items" if every item has the same weight, "class-prior" if the classes are weighted.
    """

    methods: list[Entry]
    gain: Gain | None
    n_items: int
    n_unlabelled: int
    classes: list[str]
    class_counts: list[int]
    class_prior: list[float]
    weighting: str
    _repeats_training: bool

    def __init__(self, values: Mapping[str, Any], repeats_training: bool = False) -> None:
        super().__init__(values)
        object.__setattr__(self, "_repeats_training", repeats_training)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self._repeats_training)

    def _rows(self) -> list[dict[str, Any]]:
        def row(own: Entry) -> dict[str, Any]:
            overall = own["overall"]
            ends = {"low": overall["log_loss"]["low"], "high": overall["log_loss"]["high"]}
            first = {"method": own["method"], "log_loss": overall["log_loss"]["value"]}
            return first | ends | {score: overall[score]["value"] for score in SCORES[1:]}

        return [row(own) for own in self["methods"]]

    def _note(self) -> str:
        others = f"; {self['n_unlabelled']} without a label are not scored" if self["n_unlabelled"] else ""
        gain = self.get("gain")
        lines = [f"{self['n_items']} items{others}; low and high: 95 % interval of the log-loss."]
        if self._repeats_training:
            lines.append("The model was fitted to these items, so all scores are optimistic: use other items, or `compare`, "
                         "which scores methods by cross-validation.")
        return "\n".join([*lines, *([gain["verdict"]] if gain else [])])


class Gain(Result):
    """The gain of fusing over single classifiers and simpler combinations.

    Attributes
    ----------
    verdict : str
        The result in one sentence.
    log_loss : dict
        Log-loss of `AutoFusion`: `mean` and `se`.
    baselines : list
        All simpler predictions: `method`, `log_loss` and `gain`, each with `mean` and `se`.
    best_single : dict
        The baseline with the smallest log-loss among single classifiers.
    effective_number : float
        Number of independent classifiers with the same total evidence.
    effective_number_interval : list of float or None
        Its 90 % interval.
    similar : list
        Pairs of classifiers with nearly the same evidence.
    n_items : int
        Number of items.
    folds : int
        Number of folds; 0 if the items were new to the model.
    """

    verdict: str
    log_loss: Entry
    baselines: list[Entry]
    best_single: Entry
    effective_number: float
    effective_number_interval: list[float] | None
    similar: list[Entry]
    n_items: int
    folds: int

    def _rows(self) -> list[dict[str, Any]]:
        def row(own: Any) -> dict[str, Any]:
            return {"method": own["method"], "log_loss": own["log_loss"]["mean"], "se": own["log_loss"]["se"],
                    "gain_of_auto": own["gain"]["mean"], "gain_se": own["gain"]["se"]}

        none = {"mean": None, "se": None}
        first = row({"method": "auto", "log_loss": self["log_loss"], "gain": none})
        ranked = sorted(self["baselines"], key=lambda own: own["log_loss"]["mean"])
        return [first, *map(row, ranked)]

    def _note(self) -> str:
        return str(self["verdict"])


class Comparison(Result):
    """Methods on the same items.

    Attributes
    ----------
    methods : list
        One entry per method, by increasing log-loss: `method`, `log_loss`, `log_loss_se`, `difference`
        from the best method with its interval (`difference_low`, `difference_high`), `brier`,
        `accuracy`, `entropy`, `ece`, `fit_seconds`, `fuse_seconds`, `failures`, `warnings` and more.
    n_items : int
        Number of items scored.
    n_unlabelled : int
        Number of items without a label.
    classes : list of str
        The classes.
    class_counts : list of int
        Number of items per class.
    class_prior : list of float
        The class prior.
    weighting : str
        "items" if every item has the same weight, "class-prior" if the classes are weighted.
    protocol : dict
        How the items were split.
    seed : int
        Seed of the splits.
    """

    methods: list[Entry]
    n_items: int
    n_unlabelled: int
    classes: list[str]
    class_counts: list[int]
    class_prior: list[float]
    weighting: str
    protocol: Entry
    seed: int

    def _rows(self) -> list[dict[str, Any]]:
        names = ("method", "log_loss", "log_loss_se", "difference", "difference_low", "difference_high",
                 *SCORES[1:], "fit_seconds", "fuse_seconds")
        return [{name: own[name] for name in names} for own in self["methods"]]

    def _note(self) -> str:
        failed = [own["method"] for own in self["methods"] if own["failures"]]
        text = f"{self['n_items']} items. Differences of log-loss from the best method, with 95 % intervals."
        return text + (f" Failed: {', '.join(failed)}." if failed else "")


class Prevalence(Result):
    """Shares of the classes with intervals.

    Attributes
    ----------
    classes : list
        One entry per class: `class`, `by_model` and `corrected`, each with `value`, `low` and `high`
        (`corrected` is None without labels), and `labelled`, the number of labels.
    level : float
        Level of the intervals.
    target : str
        "population" or "items".
    n_items : int
        Number of items.
    n_labelled : int
        Number of items with a label.
    fitted_on : list or None
        Number of items per class that the model was fitted to.
    note : str
        What the shares are shares of, and what they rely on.
    """

    classes: list[Entry]
    level: float
    target: str
    n_items: int
    n_labelled: int
    fitted_on: list[float] | None
    note: str

    def _rows(self) -> list[dict[str, Any]]:
        def row(own: Entry) -> dict[str, Any]:
            best = own["corrected"] or own["by_model"]
            cells = {"class": own["class"], "share": best["value"], "low": best["low"], "high": best["high"]}
            return cells | ({"by_model": own["by_model"]["value"], "labelled": own["labelled"]} if self["n_labelled"] else {})

        return [row(own) for own in self["classes"]]

    def _note(self) -> str:
        return str(self["note"])


class VoteScores(Result):
    """Scores of methods for votes on items whose gold label was not used.

    Attributes
    ----------
    methods : list
        One entry per method: `method`; `accuracy`, `log_loss` and `brier`, each with `mean` and standard
        error `se`; the calibration error `ece`; `reliability`; and `against`, the paired differences
        from the baselines.

    The entry `items` is the number of items scored.
    """

    methods: list[Entry]

    def _rows(self) -> list[dict[str, Any]]:
        def row(own: Entry) -> dict[str, Any]:
            cells = {"method": own["method"], "log_loss": own["log_loss"]["mean"], "se": own["log_loss"]["se"]}
            cells |= {"accuracy": own["accuracy"]["mean"], "brier": own["brier"]["mean"], "ece": own["ece"]}
            for other in own["against"]:
                cells |= {f"against_{other['baseline']}": other["log_loss"]["mean"],
                          f"se ({other['baseline']})": other["log_loss"]["se"]}
            return cells

        return [row(own) for own in self["methods"]]

    def _note(self) -> str:
        return (f"{self['items']} items whose gold label was not used; se: standard error of the log-loss; "
                "against: log-loss minus that of the baseline.")
