"""Fusion estimators: one class a method.

All have these parameters, and those of their own.

class_prior : "uniform", "empirical" or J numbers
    Probabilities of the classes before any output. It can be changed in `predict_proba`.
values : "probabilities", "log-probabilities", "logits" or "odds"
    What the numbers of X are.
floor : float
    Smaller probabilities are raised to it, and the output normalised.
layout : "wide" or "positive"
    "positive": every column is one classifier's value for the second of two classes.
n_classifiers : int, optional
    Of an array with K * J columns; found from the number of classes if not given.
classifiers : list of names, optional
    Of an array; `c1`, `c2`, ... if not given.
classes : list, optional
    All classes, in the order of X, where some may have no items.
random_state : int, RandomState or None
    Seed; None is 0.
progress : callable(task, done, total), "tqdm" or None
    Who hears of long work.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Union

import numpy as np

from . import _core
from ._base import Fusion, estimator, given, seed_of
from ._progress import listener

__all__ = [
    "AutoFusion",
    "BccFusion",
    "CorrelatedFusion",
    "DiscountedFusion",
    "IndependentFusion",
    "LinearPool",
    "LogPool",
    "LogitNormalFusion",
    "NormalMixtureFusion",
    "OpinionPool",
    "StackingFusion",
    "load",
]


@estimator
class AutoFusion(Fusion):
    """The best prediction we know how to make, cheaply; start here.

    Exponents of every classifier's output and evidence, averaged with stacking. Part of the fit is cut
    into folds: an item with weight 2 stays in one of them, two copies of it need not.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> model = cs.AutoFusion().fit(P, y)
    >>> model.predict_proba(P[:2]).round(2)
    array([[0.13, 0.54, 0.34],
           [0.93, 0.01, 0.06]])
    """

    _method: ClassVar[str] = "auto"

    def _settings(self) -> dict[str, Any]:
        return {"auto": {"seed": seed_of(self.random_state)}}

    def worth(self, X: Any, y: Any) -> dict[str, Any]:
        """What fusing is worth beside the best classifier, the average and stacking.

        From cross-validation on labelled items: usually those of the fit.
        """
        X, labels = self._read_labelled(X, y, reset=False)
        return json.loads(self.model_.worth(
            self._block(X), labels, self.values, seed_of(self.random_state), listener(self.progress)
        ))


@estimator
class OpinionPool(Fusion):
    """The product of all opinions (independent opinion pool); nothing is learned."""

    _method: ClassVar[str] = "opinion-pool"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it believes its sources
        return tags


@estimator
class LinearPool(OpinionPool):
    """A weighted average of probabilities.

    Parameters
    ----------
    weights : "simplex", "equal" or K numbers
        "simplex": fitted, not negative, adding up to 1.
    """

    weights: Union[str, Sequence[float]] = "simplex"

    _method: ClassVar[str] = "linear-pool"

    def _settings(self) -> dict[str, Any]:
        return {"weights": given(self.weights)}

    @property
    def weights_(self) -> Any:
        """The weight of every classifier, (K,)."""
        return np.array(self._file["parameters"]["weights"])


@estimator
class LogPool(LinearPool):
    """A weighted average of logarithms.

    Parameters
    ----------
    weights : "simplex", "free", "equal" or K numbers
        "simplex": fitted, not negative, adding up to 1. "free": fitted without constraint.
    """

    _method: ClassVar[str] = "log-pool"


class _Sampled:
    """Settings of fits with a posterior."""

    def _chains(self) -> dict[str, Any]:
        return {
            "chains": self.chains,  # type: ignore[attr-defined]
            "draws": self.draws,  # type: ignore[attr-defined]
            "warmup": self.warmup,  # type: ignore[attr-defined]
            "keep_draws": self.keep_draws,  # type: ignore[attr-defined]
            "seed": seed_of(self.random_state),  # type: ignore[attr-defined]
        }

    def _dirichlets(self, inference: str) -> dict[str, Any]:
        prior = self.alpha_prior  # type: ignore[attr-defined]
        items = self.prior_items  # type: ignore[attr-defined]
        return {
            "alpha_prior": {"pooled": {"items": items}} if prior == "pooled" else prior,
            "inference": inference,
            **self._chains(),
        }


@estimator
class IndependentFusion(_Sampled, Fusion):
    """A Dirichlet for every classifier and true class, learned with full posterior.

    Knows each classifier's bias and noise, and takes the classifiers for independent.

    Parameters
    ----------
    alpha_prior : "pooled" or "paper"
        What is believed of the Dirichlets beforehand.
    prior_items : float
        What the pooled prior is worth in items.
    inference : "posterior" or "map"
        Draws from the posterior, or its mode: faster, without uncertainty.
    chains, draws, warmup : int
        Of the sampler.
    keep_draws : int
        Posterior draws kept in the model, for `predictive=True` and `to_arviz`.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim1", correlation=0.0, items_per_class=500, random_state=1)
    >>> model = cs.IndependentFusion(inference="map").fit(P, y)
    >>> model.alpha_[0, 0].round(1)  # the truth is 3, 2, 2
    array([2.8, 1.9, 1.9])
    """

    alpha_prior: str = "pooled"
    prior_items: float = 2.0
    inference: str = "posterior"
    chains: int = 4
    draws: int = 1000
    warmup: int = 100
    keep_draws: int = 0

    _method: ClassVar[str] = "independent"

    def _settings(self) -> dict[str, Any]:
        return {"independent": self._dirichlets(self.inference)}

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> IndependentFusion:
        """Adds items: the same model, to the last bit, as fitting on all items at once.

        The first items must contain every class; `classes` is there for scikit-learn's sake.
        """
        if not hasattr(self, "model_"):
            return self._fit(X, y, sample_weight)  # type: ignore[no-any-return]
        X, labels, weights = self._weighted(*self._read_labelled(X, y, reset=False), sample_weight)
        self.model_ = self.model_.update(
            self._block(X), labels, self.values, weights, listener(self.progress)
        )
        self._learned()
        return self


@estimator
class DiscountedFusion(IndependentFusion):
    """The independent model, every classifier weighted by its independent share."""

    _method: ClassVar[str] = "discounted"

    @property
    def partial_fit(self) -> Any:
        """Shares are learned from all items at once."""
        raise AttributeError("DiscountedFusion cannot be updated: fit again on all items")


@estimator
class CorrelatedFusion(_Sampled, Fusion):
    """The correlated Dirichlet model: what classifiers share is counted once.

    Two classifiers exactly, more as a tree of pairs or, slower, by the paper's model.

    Parameters
    ----------
    alpha_prior, prior_items, chains, draws, warmup, keep_draws
        As of `IndependentFusion`.
    delta_prior : "pooled", "uniform" or "paper"
        What is believed of the shared part beforehand.
    inference : "two-step", "posterior" or "map"
        Dirichlets first, then what is shared given them; both together; or the mode.
    sampler : "likelihood" or "gibbs"
        "gibbs": the paper's data augmentation, slow.
    resolution : float, optional
        How exactly outputs are observed, 0 exactly; 0.03 by default, 0.1 from four on that
        are no copies of each other.
    structure : "tree", "tree-mixture", "full" or "common"
        How more than two classifiers are joined: by pairs along the tree that explains most, or all
        such trees; or by the paper's model, with or without parts of pairs.

    References
    ----------
    Trick & Rothkopf, "Bayesian Classifier Fusion with an Explicit Model of Correlation",
    AISTATS 2022.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=1)
    >>> model = cs.CorrelatedFusion(inference="map").fit(P, y)
    >>> model.delta_.shape, model.correlation_.shape
    ((2, 2, 3, 3), (2, 2, 3, 3))
    """

    alpha_prior: str = "pooled"
    prior_items: float = 2.0
    delta_prior: str = "pooled"
    inference: str = "two-step"
    sampler: str = "likelihood"
    resolution: float | None = None
    structure: str = "tree"
    chains: int = 4
    draws: int = 1000
    warmup: int = 100
    keep_draws: int = 0

    _method: ClassVar[str] = "correlated"
    _whole_weights: ClassVar[bool] = True

    def _settings(self) -> dict[str, Any]:
        margins = "map" if self.inference == "map" else "posterior"
        return {
            "correlated": {
                "independent": self._dirichlets(margins),
                "delta_prior": self.delta_prior,
                "inference": self.inference,
                "sampler": self.sampler,
                **self._chains(),
            },
            "structure": self.structure,
            "resolution": self.resolution,
        }


@estimator
class StackingFusion(Fusion):
    """Ridge logistic regression on the logarithms of all outputs.

    Parameters
    ----------
    ridge : float or "cv"
        Standard deviation of the weights beforehand, or chosen by cross-validation.
    """

    ridge: Union[float, str] = 1.0

    _method: ClassVar[str] = "stacking"

    def _settings(self) -> dict[str, Any]:
        ridge = "cross-validated" if self.ridge == "cv" else {"sd": self.ridge}
        return {"stacking": {"ridge": ridge, "seed": seed_of(self.random_state)}}


@estimator
class LogitNormalFusion(Fusion):
    """One normal distribution of all classifiers' log-ratios for every class.

    Parameters
    ----------
    covariance_items, mean_items : float
        What the priors of covariance and mean are worth in items.
    """

    covariance_items: float = 40.0
    mean_items: float = 1.0

    _method: ClassVar[str] = "logit-normal"
    _whole_weights: ClassVar[bool] = True

    def _settings(self) -> dict[str, Any]:
        return {"logit_normal": {"covariance_items": self.covariance_items, "mean_items": self.mean_items}}


@estimator
class NormalMixtureFusion(Fusion):
    """Mixtures of normal distributions of all log-ratios, after Pirs and Strumbelj.

    Parameters
    ----------
    variant : "repaired" or "published"
        "published": as its authors' program runs; it takes `class_prior="empirical"`.
    components : int
        Of a class at most.
    chains, warmup, draws : int
        Of the sampler.
    """

    variant: str = "repaired"
    components: int = 10
    chains: int = 4
    warmup: int = 50
    draws: int = 4

    _method: ClassVar[str] = "normal-mixture"
    _whole_weights: ClassVar[bool] = True

    def _settings(self) -> dict[str, Any]:
        return {"normal_mixture": {
            "variant": self.variant, "components": self.components, "chains": self.chains,
            "warmup": self.warmup, "draws": self.draws, "seed": seed_of(self.random_state),
        }}


@estimator
class BccFusion(Fusion):
    """Bayesian combination of hard decisions (Kim & Ghahramani 2012): a baseline.

    Parameters
    ----------
    prior_decisions : float
        What every entry of a confusion matrix is worth in decisions beforehand.
    """

    prior_decisions: float = 1.0

    _method: ClassVar[str] = "bcc"

    def _settings(self) -> dict[str, Any]:
        return {"bcc": {"prior_decisions": self.prior_decisions}}


METHODS: dict[str, type[Fusion]] = {
    cls._method: cls
    for cls in (
        AutoFusion, OpinionPool, LinearPool, LogPool, IndependentFusion, DiscountedFusion,
        CorrelatedFusion, StackingFusion, LogitNormalFusion, NormalMixtureFusion, BccFusion,
    )
}


def load(path: str | PathLike[str]) -> Fusion:
    """Reads a model file, written here or by the command line.

    Its classes are text. A data frame needs the columns `<classifier>_<class>`, an array the
    order of `classifiers_` and `classes_`.
    """
    model = _core.Model.from_json(Path(path).read_text(encoding="utf-8"))
    file = json.loads(model.to_json())
    # A meta classifier is the independent model of one classifier.
    method = "independent" if file["method"].startswith("meta:") else file["method"]
    settings = file.get("settings", {})
    loaded = METHODS[method](
        class_prior=file["class_prior"], floor=settings.get("floor", 1e-6),
        classifiers=file["classifiers"], classes=file["classes"],
    )
    loaded.model_, loaded._file = model, file
    loaded.classifiers_ = np.array(file["classifiers"], dtype=object)
    loaded.classes_ = np.array(file["classes"])
    loaded.n_features_in_ = len(file["classifiers"]) * len(file["classes"])
    return loaded
