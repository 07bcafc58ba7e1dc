"""The base of all fusion estimators: fitting, predicting, learned attributes, the model file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._advice import Advising
from ._errors import ConsilienceError, DataWarning, warn, warn_all
from ._export import Exports
from ._files import describe, plain, write_whole
from ._learned import Insight, LearnedAttributes
from ._parameters import ClassPrior, Values, estimator
from ._progress import Progress, listener
from ._reading import OutputReader
from ._scoring import Evaluation, Gain, Prevalence
from ._sklearn import BaseEstimator, ClassifierMixin, TransformerMixin
from ._summary import Summary, fit_rows
from ._tables import Floats

if TYPE_CHECKING:
    from typing_extensions import Self


def given(choice: Any) -> Any:
    """A choice by name or by numbers, in the form of the model file."""
    if isinstance(choice, str):
        return choice
    try:
        return {"given": np.asarray(choice, float).tolist()}
    except (TypeError, ValueError):
        raise ConsilienceError("`class_prior` must be a name or one number per class, in the order of `classes_`, "
                               f"got {choice!r}") from None


def seed_of(random_state: Any) -> int:
    """The seed of the core. None is 0, so that no result depends on hidden state."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ConsilienceError(f"`random_state` must be a whole number from 0, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


@estimator
class Fusion(Summary, OutputReader, LearnedAttributes, Advising, Exports, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Base class of all fusion estimators.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    """

    class_prior: ClassPrior = "empirical"
    values: Values = "probabilities"
    floor: float = 1e-6
    sum_tolerance: float = 0.02
    layout: Literal["wide", "positive"] = "wide"
    pos_label: Any = None
    n_classifiers: int | None = None
    classifiers: Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    random_state: Any = None
    progress: Progress = None

    _method: ClassVar[str]
    #: Whether weights are numbers of copies, because the method repeats items.
    _whole_weights: ClassVar[bool] = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn how to fuse, from items of which some have a label.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_classifiers, n_classes) or (n_items, n_features), list, dict or data frame
            The outputs. The classes of an array are in the order of `classes_`. A list or dict has one
            array of shape (n_items, n_classes), or one data frame of classes, per classifier; None for one that has no
            output for any item. A data frame has columns `<classifier>_<class>` in any order; other columns are ignored.
            With `layout="positive"`, one column per classifier. An output is missing if all
            of its values are NaN (null).
        y : array-like of shape (n_items,), default=None
            The true classes. None, NaN, NA and masked entries are items without a label. So is -1
            among integer labels, unless it is in `classes`, or X has a class for it, or there is at
            most one other label. If y is None, no item has a label; this suits `AutoFusion`,
            `OpinionPool`, and `LinearPool` and `LogPool` with equal or given weights.
        sample_weight : array-like of shape (n_items,), default=None
            The items' weights; 1 if not given. An item with weight 2 counts as two items, an item
            with weight 0 is left out. `CorrelatedFusion`, `LogitNormalFusion` and
            `NormalMixtureFusion` accept whole numbers only.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(X, y, sample_weight)
        return self

    def _options(self) -> dict[str, Any]:
        """The options of the method, which are parameters of the estimator with the same names."""
        names = _core.method_options(self._method)
        options = {name: plain(getattr(self, name)) for name in names if name != "seed"}
        return options | ({"seed": seed_of(self.random_state)} if "seed" in names else {})

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        if y is None and _core.needs_labels(self._method, json.dumps(self._options())):
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        block, labels = self._read_labelled(X, y, classes=classes)
        if len(self.classes_) < 2:
            raise ConsilienceError(f"at least two classes are needed, found one class: {self.classes_[0]}")
        block, labels, weights = self._weighted(block, labels, sample_weight)
        with self._layout_hint(X):
            return self._learned(_core.Model.fit(
                self._method, json.dumps(self._options()), json.dumps(given(self.class_prior)),
                self.floor, block, labels, list(self.classifiers_),
                [str(c) for c in self.classes_], self._kind, weights, listener(self.progress),
            ))

    @property
    def _kind(self) -> tuple[str, float]:
        """How the numbers in X are read."""
        return self.values, self.sum_tolerance

    def _weighted(self, block: Floats, labels: Any, sample_weight: Any) -> tuple[Floats, Any, Floats | None]:
        """Items and labels, repeated by whole weights or together with real weights."""
        if sample_weight is None:
            return block, labels, None
        weights = self._check_weights(sample_weight, len(block))
        if self._whole_weights:
            counts = weights.astype(np.int64)
            return np.repeat(block, counts, axis=0), np.repeat(labels, counts), None
        return block, labels, weights

    def _check_weights(self, sample_weight: Any, n_items: int) -> Floats:
        weights = np.ascontiguousarray(sample_weight, dtype=float)
        if weights.shape != (n_items,):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_items,)}!")
        if not weights.any():
            raise ConsilienceError("all of `sample_weight` is zero")
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            i = int(wrong.argmax())
            raise ConsilienceError(f"`sample_weight[{i}]` must be finite and not negative, got {weights[i]}")
        if self._whole_weights and (weights != np.floor(weights)).any():
            raise ConsilienceError(
                f"`sample_weight` of {type(self).__name__} must be whole numbers: the number of copies of "
                "each item"
            )
        return weights

    def _learned(self, model: _core.Model, quiet: bool = False) -> Any:
        """Keeps a fitted model, and issues its warnings unless `quiet`."""
        self.model_ = model
        self._file = json.loads(model.to_json())
        self._use(self._file["classifiers"])
        self._insight = Insight(model)
        if not quiet:
            found = self._file.get("training", {}).get("warnings", [])
            warn_all(found)
            if self.layout == "positive" and any("is worse than chance" in own["message"] for own in found):
                classes = self.classes_.tolist()
                own = classes.pop(self._positive_class())
                warn(f"with `layout=\"positive\"` the columns are values for the class {own!r}\nhint: if they are "
                     f"those for {classes[0]!r}, set `pos_label={classes[0]!r}`", DataWarning)
        return self

    # Predicting

    def predict_proba(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> Floats:
        """Fused probabilities of the classes.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.
        predictive : bool, default=False
            If True, average the fused probabilities over the posterior draws stored in the model
            (`keep_draws`). If False, use the point estimate of the parameters.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            The fused probabilities.
        """
        block = self._read(X)
        return self.model_.fuse(block, self._kind, _prior(class_prior), predictive, errors=False)[0]

    def fuse(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> tuple[Floats, Floats]:
        """Fused probabilities and their estimated numerical errors.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.
        predictive : bool, default=False
            Average over the posterior draws stored in the model, as in `predict_proba`.

        Returns
        -------
        probabilities : ndarray of shape (n_items, n_classes)
            The fused probabilities.
        errors : ndarray of shape (n_items,)
            Estimate of the largest absolute numerical error of an item's fused probabilities.
        """
        block = self._read(X)
        return self.model_.fuse(block, self._kind, _prior(class_prior), predictive)

    def predict_log_proba(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """Logarithms of the fused probabilities.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            The natural logarithms of the fused probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, class_prior=class_prior))

    def predict(self, X: Any, *, class_prior: ClassPrior | None = None) -> Any:
        """Most probable class of each item.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.

        Returns
        -------
        ndarray of shape (n_items,)
            The predicted classes.
        """
        probabilities = self.predict_proba(X, class_prior=class_prior)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def transform(self, X: Any) -> Floats:
        """Fused probabilities, for use as a step of a pipeline.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            The fused probabilities.
        """
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : None
            Ignored; part of the interface of scikit-learn.

        Returns
        -------
        ndarray of shape (n_classes,)
            The names `fused_<class>`.
        """
        check_is_fitted(self)
        return np.array([f"fused_{c}" for c in self.classes_], dtype=object)

    def log_density(self, X: Any, *, predictive: bool = False) -> Floats:
        """Log density of each item's outputs given each class.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        predictive : bool, default=False
            Average over the posterior draws stored in the model, as in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            The log densities. Methods without a density raise an error.
        """
        block = self._read(X)
        return self.model_.density(block, self._kind, predictive)[0]

    def explain(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> Floats:
        """Evidence that each classifier adds for each class, given all other classifiers.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.
        predictive : bool, default=False
            Average over the posterior draws stored in the model, as in `predict_proba`.

        Returns
        -------
        ndarray of shape (n_items, n_classifiers, n_classes)
            Evidence in nats, with mean 0 over the classes; 0 for a missing output.
        """
        block = self._read(X)
        return self.model_.explain(block, self._kind, _prior(class_prior), predictive)

    def evaluate(
        self, X: Any, y: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False,
        score_items: bool = False, bootstrap: int = 1000, random_state: Any = None,
    ) -> Evaluation:
        """Scores with 95 % intervals: of the model, of every classifier and of its meta classifier.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        y : array-like of shape (n_items,)
            The true classes. Items without a label, as in `fit`, are not scored.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's. "estimate": the class shares of these items.
        predictive : bool, default=False
            Average over the posterior draws stored in the model, as in `predict_proba`.
        score_items : bool, default=False
            If True, every item has the same weight under any class prior. If False, the items are
            weighted so that the classes have the shares of a class prior that is uniform or given.
        bootstrap : int, default=1000
            Number of bootstrap replicates for the intervals: 0 (no intervals) or at least 20.
        random_state : int, RandomState instance or None, default=None
            Seed of the bootstrap.

        Returns
        -------
        Evaluation
            The scores, as `consilience evaluate --format json` prints them. It prints as a table, and is
            a dict as well.
        """
        check_is_fitted(self)
        block, labels = self._read_labelled(X, y, reset=False)
        found = json.loads(self.model_.evaluate(
            block, labels, self._kind, _prior(class_prior), predictive, score_items,
            bootstrap, seed_of(random_state),
        ))
        repeats_training = found.pop("repeats_training")
        return Evaluation(found | ({"gain": Gain(found["gain"])} if "gain" in found else {}), repeats_training)

    def prevalence(
        self, X: Any, y: Any = None, *, class_prior: ClassPrior | None = None, predictive: bool = False,
        target: Literal["population", "items"] = "population",
    ) -> Prevalence:
        """Share of each class among items, with 95 % intervals.

        Parameters
        ----------
        X : array-like or data frame
            Outputs, as in `fit`.
        y : array-like of shape (n_items,), default=None
            The true classes of some items; None, NaN or -1 where the class is unknown (-1 only if no
            class has this name). The labelled items correct the model (prediction-powered inference).
            They must be a random sample of the items, and the model must not have been fitted to
            them. If None, the shares trust the calibration of the model.
        class_prior : {"uniform", "empirical"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of the model's.
        predictive : bool, default=False
            Average over the posterior draws stored in the model, as in `predict_proba`.
        target : {"population", "items"}, default="population"
            What the shares are shares of: the population that the items were drawn from, or the items
            themselves.

        Returns
        -------
        Prevalence
            The shares, as `consilience prevalence --format json` prints them: for each class of
            `classes`, `by_model` and, with labels, `corrected`, each with `value`, `low` and `high`. It
            prints as a table, and is a dict as well.
        """
        if target not in ("population", "items"):
            raise ConsilienceError(f"`target` must be 'population' or 'items', got {target!r}")
        block = self._read(X)
        labels = self._some_labels(y, len(block))
        found = json.loads(self.model_.prevalence(
            block, labels, self._kind, _prior(class_prior), predictive, target == "items"
        ))
        if found.pop("repeats_training"):
            warnings.warn(
                "y has as many items of every class as the model was fitted to: if they are the same, the "
                "corrected intervals are too short; fit the model to other items", UserWarning, stacklevel=2)
        return Prevalence(found)

    def _some_labels(self, y: Any, n_items: int) -> Any:
        """The index of every item's class; -1 where it is unknown."""
        if y is None:
            return np.full(n_items, -1, dtype=np.int64)
        y = [None if c is None or c != c else c for c in np.asarray(y, dtype=object).ravel()]
        index = {c: j for j, c in enumerate(self.classes_.tolist())}
        if -1 not in index:
            y = [None if c == -1 and not isinstance(c, str) else c for c in y]
        unknown = next((c for c in y if c is not None and c not in index), None)
        if unknown is not None:
            raise ConsilienceError(f"y has the unknown label {unknown!r}; the classes are {list(index)}")
        return np.array([-1 if c is None else index[c] for c in y], dtype=np.int64)

    # Files

    def to_arviz(self) -> Any:
        """Posterior draws stored in the model (`keep_draws`), for ArviZ.

        Returns
        -------
        InferenceData or DataTree
            The draws with named dimensions.
        """
        from ._arviz import to_arviz

        check_is_fitted(self)
        return to_arviz(self._file)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model file, which the command line reads as well.

        `load` gives back this estimator, with its parameters and the types of its classes, except for
        `progress`. Classes that are neither numbers nor strings become strings.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        check_is_fitted(self)
        write_whole(path, self.model_.to_json(describe(self)))

    # Representation

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = self.layout == "wide"
        tags.classifier_tags.multi_class = self.layout == "wide"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _summary_rows(self) -> dict[str, str]:
        return fit_rows(self) if hasattr(self, "model_") else {}


def _prior(class_prior: ClassPrior | None) -> str | None:
    return None if class_prior is None else json.dumps(given(class_prior))
