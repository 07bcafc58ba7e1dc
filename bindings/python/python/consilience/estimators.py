"""Fusion estimators, one class per method."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Union

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._base import Fusion, estimator, seed_of
from ._files import read_text, restore
from ._errors import ConsilienceError
from ._progress import listener
from ._scoring import Gain
from ._tables import Floats, quoted
from ._votes import classes_of, label_columns, one_hot
from .statistics import FromStatistics
from .votes import VoteFusion

if TYPE_CHECKING:
    from typing_extensions import Self

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
    """The recommended method for prediction.

    A weighted mean of predictions, from plain pools over log-linear models with priors of different
    strength to the logistic regression of `StackingFusion`. The weights follow from how well each
    predicts labelled items that it has not seen, so that it works with any number of labels, none
    included. Unlabelled items are used as well.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    {dirichlets}
    {shares}

    See Also
    --------
    CorrelatedFusion : Correlations of the classifiers, with a posterior.
    FusionClassifier : Fusion of scikit-learn classifiers over features.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> model = cs.AutoFusion().fit(P, y)
    >>> model.predict_proba(P[:2]).round(2)
    array([[0.13, 0.53, 0.34],
           [0.93, 0.01, 0.06]])
    """

    _method: ClassVar[str] = "auto"

    def worth(self, X: Any, y: Any) -> Gain:
        """Gain of fusing over the best classifier and simpler combinations, by cross-validation.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`; usually those of the fit.
        y : array-like of shape (n_items,)
            The true classes.

        Returns
        -------
        Gain
            Log-losses, their paired differences with standard errors, and a sentence in `verdict`. It
            prints as a table, and is a dict as well.
        """
        check_is_fitted(self)
        block, labels = self._read_labelled(X, y, reset=False)
        return Gain(json.loads(self.model_.worth(
            block, labels, self._kind, seed_of(self.random_state), listener(self.progress)
        )))


@estimator
class OpinionPool(Fusion):
    """Independent opinion pool: the normalised product of all outputs.

    Nothing is learned from the items but the names of the classes and an "empirical" class prior.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import consilience as cs, numpy as np
    >>> P = np.array([[[0.6, 0.4], [0.8, 0.2]], [[0.3, 0.7], [0.4, 0.6]]])
    >>> cs.OpinionPool().fit(P, ["a", "b"]).predict_proba(P).round(2)
    array([[0.86, 0.14],
           [0.22, 0.78]])
    """

    _method: ClassVar[str] = "opinion-pool"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it takes outputs as they are
        return tags


class WeightedPool(OpinionPool):
    """Base class of the pools with one weight per classifier."""

    @property
    def weights_(self) -> Any:
        """The weight of each classifier, of shape (n_classifiers,)."""
        check_is_fitted(self)
        return np.array(self._file["parameters"]["weights"])


@estimator
class LinearPool(WeightedPool):
    """Linear opinion pool: a weighted average of the outputs.

    Parameters
    ----------
    weights : {"simplex", "greedy", "equal"} or array-like of shape (n_classifiers,), default="simplex"
        "simplex": weights that are learned, not negative, and add up to 1. "greedy": ensemble selection
        in 25 rounds with replacement.
    {parameters}

    Attributes
    ----------
    weights_ : ndarray of shape (n_classifiers,)
        The weight of each classifier.
    {attributes}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> cs.LinearPool().fit(P, y).weights_.round(1)
    array([0.8, 0.2])
    """

    weights: Union[Literal["simplex", "greedy", "equal"], Sequence[float], Floats] = "simplex"

    _method: ClassVar[str] = "linear-pool"


@estimator
class LogPool(WeightedPool):
    """Logarithmic opinion pool: a weighted average of the logarithms of the outputs, normalised.

    Parameters
    ----------
    weights : {"simplex", "non-negative", "free", "equal"} or array-like, default="simplex"
        "simplex": weights that are learned, not negative, and add up to 1. "non-negative": learned with
        any sum. "free": learned without constraints.
    {parameters}

    Attributes
    ----------
    weights_ : ndarray of shape (n_classifiers,)
        The weight of each classifier.
    {attributes}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> cs.LogPool(weights="free").fit(P, y).weights_.shape
    (2,)
    """

    weights: Union[Literal["simplex", "non-negative", "free", "equal"], Sequence[float], Floats] = "simplex"

    _method: ClassVar[str] = "log-pool"


class Updatable:
    """Estimators to which items can be added."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with more items.

        The result is identical to a fit on all items at once.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        y : array-like of shape (n_items,)
            The true classes; items may be without a label, as in `fit`.
        classes : array-like, default=None
            All classes, in the first call. If None, the parameter `classes`, or else the labels of the
            first call. A class without items follows its prior.
        sample_weight : array-like of shape (n_items,), default=None
            The items' weights, as in `fit`.

        Returns
        -------
        self : object
            The updated estimator.
        """
        assert isinstance(self, Fusion)
        if not hasattr(self, "model_"):
            self._fit(X, y, sample_weight, classes)
            return self
        if classes is not None and set(np.unique(classes).tolist()) != set(self.classes_.tolist()):
            raise ConsilienceError(
                f"`classes` of partial_fit are {quoted([str(c) for c in np.unique(classes)])}, but the "
                f"first call had {quoted([str(c) for c in self.classes_])}"
            )
        block, labels, weights = self._weighted(*self._read_labelled(X, y, reset=False), sample_weight)
        self._learned(self.model_.update(block, labels, self._kind, weights, listener(self.progress)))
        return self


@estimator
class IndependentFusion(FromStatistics, Updatable, Fusion):
    """Independent fusion model: one Dirichlet distribution per classifier and true class.

    Learns the bias and the variance of each classifier, and assumes that the classifiers are independent
    given the true class.

    Parameters
    ----------
    {alpha}
    inference : {"posterior", "map"}, default="posterior"
        "posterior": posterior mean of the concentrations, from draws. "map": posterior mode, which is
        faster and has no uncertainty.
    {chains}
    {parameters}

    Attributes
    ----------
    {attributes}
    {dirichlets}
    {influences}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim1", correlation=0.0, items_per_class=500, random_state=1)
    >>> model = cs.IndependentFusion(inference="map").fit(P, y)
    >>> model.alpha_[0, 0].round(1)  # simulated with 3, 2, 2
    array([2.8, 1.9, 1.9])
    """

    alpha_prior: Literal["pooled", "paper"] = "pooled"
    prior_items: float = 2.0
    inference: Literal["posterior", "map"] = "posterior"
    chains: int = 4
    draws: int = 1000
    warmup: int = 100
    keep_draws: int = 0

    _method: ClassVar[str] = "independent"


@estimator
class DiscountedFusion(IndependentFusion):
    """Independent fusion model in which each classifier is weighted by its independent share.

    Copies of a classifier do not change the result.

    Parameters
    ----------
    {alpha}
    inference : {"posterior", "map"}, default="posterior"
        "posterior": posterior mean of the concentrations, from draws. "map": posterior mode, which is
        faster and has no uncertainty.
    {chains}
    {parameters}

    Attributes
    ----------
    {attributes}
    {dirichlets}
    {influences}
    {shares}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.9, items_per_class=200, random_state=1)
    >>> model = cs.DiscountedFusion(inference="map").fit(P, y)
    >>> bool(model.shares_.sum() < 1.2)
    True
    """

    _method: ClassVar[str] = "discounted"

    @property
    def partial_fit(self) -> Any:
        """Not available: the shares are learned from all items at once."""
        raise AttributeError("DiscountedFusion cannot be updated: fit again on all items")

    @property
    def fit_statistics(self) -> Any:
        """Not available: the shares are learned from the items themselves."""
        raise AttributeError("DiscountedFusion cannot be fitted from statistics: the shares are learned "
                             "from the items themselves, so fit it to a sample of them")


@estimator
class CorrelatedFusion(Fusion):
    """Correlated fusion model: a correlated Dirichlet distribution per true class.

    Models the correlation of the classifiers given the true class, so that information which they share is
    counted once.

    Parameters
    ----------
    {alpha}
    delta_prior : {"pooled", "uniform", "paper"}, default="pooled"
        Prior of the shared shapes. "pooled": the ratios of shared shapes to their upper bounds are
        alike over classes and components. "uniform": uniform between 0 and the upper bound. "paper":
        the vague gamma prior of the paper.
    inference : {"two-step", "posterior", "map"}, default="two-step"
        "two-step": the concentrations first, then the posterior of the shared shapes given their
        point estimate. "posterior": as "two-step", but for three and more classifiers with
        `structure="full"` or "common" the posterior of all shared shapes together instead of that of
        the pairs, which is experimental. "map": as "two-step" with posterior modes, which is faster
        and has no uncertainty.
    resolution : float, default=None
        Resolution of the outputs: the standard deviation of the noise of the log ratio of two
        classifiers' components. 0 is the exact density. If None, 0.03 for two and three different
        classifiers, 0.1 for more. It applies to densities of two classifiers; `structure="full"` and
        "common" fuse three and more with the exact density.
    structure : {"tree", "tree-mixture", "full", "common"}, default="tree"
        Model of three and more classifiers. "tree": pairs along the spanning tree with the largest
        gain. "tree-mixture": the average over all spanning trees. "full": the model of the paper, with
        shapes shared by all classifiers and by each pair. "common": the same without those of pairs.
    {chains}
    {parameters}

    Attributes
    ----------
    delta_ : ndarray of shape (n_classifiers, n_classifiers, n_classes, n_classes)
        Shared shapes of two classifiers, by true class and component.
    correlation_ : ndarray of shape (n_classifiers, n_classifiers, n_classes, n_classes)
        Correlations of two classifiers, by true class and component.
    {attributes}
    {dirichlets}
    {influences}
    {shares}

    See Also
    --------
    CorrelatedDirichlet : The distribution of the outputs.

    References
    ----------
    Trick & Rothkopf, "Bayesian Classifier Fusion with an Explicit Model of Correlation", AISTATS 2022.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=1)
    >>> model = cs.CorrelatedFusion(inference="map").fit(P, y)
    >>> model.delta_.shape, model.correlation_.shape
    ((2, 2, 3, 3), (2, 2, 3, 3))
    """

    alpha_prior: Literal["pooled", "paper"] = "pooled"
    prior_items: float = 2.0
    delta_prior: Literal["pooled", "uniform", "paper"] = "pooled"
    inference: Literal["two-step", "posterior", "map"] = "two-step"
    resolution: float | None = None
    structure: Literal["tree", "tree-mixture", "full", "common"] = "tree"
    chains: int = 4
    draws: int = 1000
    warmup: int = 100
    keep_draws: int = 0

    _method: ClassVar[str] = "correlated"
    _whole_weights: ClassVar[bool] = True


@estimator
class StackingFusion(Fusion):
    """Stacking: logistic regression with a ridge penalty on the logarithms of all outputs.

    Parameters
    ----------
    ridge : float or "cv", default=1.0
        Prior standard deviation of the coefficients. "cv" chooses it by cross-validation.
    balance : {"offset", "weights"}, default="offset"
        How the class frequencies of the training items are kept out of the result. "offset": the log
        frequency of the class is added in training only. "weights": every class has the same total
        weight in training.
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> round(cs.StackingFusion(ridge="cv").fit(P, y).score(P, y), 2)
    0.77
    """

    ridge: Union[float, Literal["cv"]] = 1.0
    balance: Literal["offset", "weights"] = "offset"

    _method: ClassVar[str] = "stacking"


@estimator
class LogitNormalFusion(Fusion):
    """One normal distribution per class over the log-ratios of all classifiers.

    Parameters
    ----------
    covariance_items : float, default=40.0
        Weight of the prior of the covariances, in items.
    mean_items : float, default=1.0
        Weight of the prior of the means, in items.
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> round(cs.LogitNormalFusion().fit(P, y).score(P, y), 2)
    0.76
    """

    covariance_items: float = 40.0
    mean_items: float = 1.0

    _method: ClassVar[str] = "logit-normal"
    _whole_weights: ClassVar[bool] = True


@estimator
class NormalMixtureFusion(Fusion):
    """One mixture of normal distributions per class over the log-ratios of all classifiers.

    Parameters
    ----------
    components : int, default=10
        Largest number of components per class. Superfluous components stay empty.
    weight_items : float, default=1.0
        Weight of the prior of the mixture weights, in items, for all components together.
    covariance_items : float, default=40.0
        Weight of the prior of a component's covariance, in items.
    covariance_share : float, default=None
        Expected covariance of a component as a share of the covariance within classes. If None, 1, 0.3
        or 0.1, chosen by cross-validation.
    mean_items : float, default=1.0
        Weight of the prior of a component's mean, in items.
    chains : int, default=4
        Number of Markov chains.
    warmup : int, default=50
        Number of draws discarded at the start of each chain.
    draws : int, default=4
        Number of draws kept per chain.
    every : int, default=5
        Thinning: one draw in this many is kept.
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Pirs & Strumbelj, "Bayesian Combination of Probabilistic Classifiers using Multivariate Normal
    Mixtures", Journal of Machine Learning Research 20, 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=1)
    >>> cs.NormalMixtureFusion(components=2, chains=1).fit(P, y).predict_proba(P).shape
    (300, 3)
    """

    components: int = 10
    weight_items: float = 1.0
    covariance_items: float = 40.0
    covariance_share: float | None = None
    mean_items: float = 1.0
    chains: int = 4
    warmup: int = 50
    draws: int = 4
    every: int = 5

    _method: ClassVar[str] = "normal-mixture"
    _whole_weights: ClassVar[bool] = True


@estimator
class BccFusion(FromStatistics, Updatable, Fusion):
    """Bayesian classifier combination of hard decisions, a baseline.

    Uses the most probable class of each output only, and learns one confusion matrix per classifier. The
    outputs may be labels (`layout="labels"`).

    Parameters
    ----------
    prior_decisions : float, default=1.0
        Prior count of every entry of the confusion matrices.
    {parameters}

    Attributes
    ----------
    confusion_ : ndarray of shape (n_classifiers, n_classes, n_classes)
        Probabilities of decisions, by classifier and true class.
    {attributes}

    References
    ----------
    Kim & Ghahramani, "Bayesian Classifier Combination", AISTATS 2012.

    Examples
    --------
    >>> import consilience as cs
    >>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    >>> round(cs.BccFusion().fit(P, y).score(P, y), 2)
    0.72
    >>> labels = [["x", "x"], ["y", "x"], ["y", "y"], ["x", None]]
    >>> cs.BccFusion(layout="labels").fit(labels, ["x", "x", "y", "y"]).predict([["y", "y"]]).tolist()
    ['y']
    """

    prior_decisions: float = 1.0
    layout: Literal["wide", "positive", "labels"] = "wide"  # type: ignore[assignment]

    _method: ClassVar[str] = "bcc"
    _layouts: ClassVar[tuple[str, ...]] = ("wide", "positive", "labels")

    def _read(self, X: Any) -> Any:
        if self.layout != "labels":
            return super()._read(X)
        check_is_fitted(self)
        return super()._read(one_hot(label_columns(X, list(self.classifiers_)), self.classes_))

    def _read_labelled(self, X: Any, y: Any, reset: bool = True, classes: Any = None) -> Any:
        if self.layout != "labels":
            return super()._read_labelled(X, y, reset, classes)
        columns = label_columns(X, self.classifiers if reset else list(self.classifiers_))
        if reset and classes is None:
            classes = classes_of(columns, y) if self.classes is None else self.classes
        read = super()._read_labelled(one_hot(columns, classes if reset else self.classes_), y, reset, classes)
        if reset:
            self.classifiers_ = np.array(list(columns), dtype=object)
        return read

    def _set_names(self, n_columns: int, selection: Any) -> None:
        if self.layout == "labels":
            self.classifiers_ = np.arange(n_columns // len(self.classes_))
        else:
            super()._set_names(n_columns, selection)

    @property
    def confusion_(self) -> Any:
        """Probabilities of decisions, of shape (n_classifiers, n_classes, n_classes).

        `confusion_[k, j, l]` is the posterior mean of the probability that classifier k decides for
        class l when the true class is j.
        """
        check_is_fitted(self)
        counts = np.array(self._file["parameters"]["confusion"])
        return counts / counts.sum(axis=2, keepdims=True)


ESTIMATORS: dict[str, type[Fusion]] = {
    cls.__name__: cls
    for cls in (
        AutoFusion, OpinionPool, LinearPool, LogPool, IndependentFusion, DiscountedFusion,
        CorrelatedFusion, StackingFusion, LogitNormalFusion, NormalMixtureFusion, BccFusion,
    )
}


def load(path: str | PathLike[str]) -> Any:
    """Read a model file that `save` or the command line has written.

    Parameters
    ----------
    path : str or path-like
        The file to read.

    Returns
    -------
    Fusion or VoteFusion
        The fitted estimator. A file that `save` has written gives back the saved estimator, with its
        parameters and the types of its classes. For other files the classes are strings, data frames
        need the columns `<classifier>_<class>`, and arrays the order of `classifiers_` and `classes_`.

    Examples
    --------
    >>> import consilience as cs, os, tempfile
    >>> P, y = cs.simulate("sim2", items_per_class=20)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> cs.OpinionPool().fit(P, y).save(path)
    >>> cs.load(path).predict_proba(P).shape
    (60, 3)
    """
    text = read_text(path)
    try:
        if _core.VoteModel.is_file(text):
            return VoteFusion._of_file(text)
        model = _core.Model.from_json(text)
        loaded = restore(json.loads(model.to_json()), ESTIMATORS)
    except ConsilienceError as error:
        raise ConsilienceError(f"{path}: {error}") from None
    return loaded._learned(model, quiet=True)
