"""Fusion of scikit-learn classifiers over features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.extmath import softmax
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_feature_names, _num_samples, check_is_fitted, column_or_1d, has_fit_parameter,
)

from ._base import ClassPrior, Fusion
from ._errors import ConsilienceError, DataWarning, warn
from ._labels import read_labels
from ._reading import output_columns
from ._scoring import Evaluation, Gain
from ._summary import Summary
from ._tables import Floats, counted, quoted
from .estimators import AutoFusion

__all__ = ["FusionClassifier"]

# The methods of an estimator that outputs can be made from, in order of preference.
STACK_METHODS = ("predict_proba", "decision_function")


class FusionClassifier(Summary, ClassifierMixin, TransformerMixin, _BaseHeterogeneousEnsemble):  # type: ignore[misc]
    """Ensemble whose classifiers are combined by a fusion estimator.

    The classifiers are fitted on all items. The fusion estimator is fitted on their outputs for items
    of held-out folds, as in `sklearn.ensemble.StackingClassifier`.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples
        The classifiers and their names. For subsets of features, use pipelines that select them. A
        classifier that predicts NaN for an item is missing for this item. A classifier that is set to
        "drop" after fitting is missing for all items.
    fusion : fusion estimator, default=None
        The method that combines the outputs. If None, `AutoFusion()`.
    cv : int, cross-validation generator, iterable or "prefit", default=5
        How outputs for held-out items are made. "prefit": the classifiers are fitted already, on other
        items, and are used as they are. Frozen estimators are used as they are, too.
    n_jobs : int, default=None
        Number of classifiers that are fitted in parallel.
    stack_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The method of the classifiers that outputs are made from. "auto" takes the first of the two that a
        classifier has. See the notes for the outputs made from `decision_function`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    estimators_ : list of estimators
        The fitted classifiers, without those that were dropped.
    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The fitted classifiers by name.
    stack_method_ : list of str
        The method that is called for each fitted classifier.
    fusion_ : fusion estimator
        The fitted fusion estimator.
    out_of_fold_ : ndarray of shape (n_items, n_classifiers, n_classes)
        The outputs for held-out items that `fusion_` was fitted on; NaN for items in no test fold.
    n_features_in_ : int
        Number of features. Only defined if the first classifier defines it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features. Only defined if X is a data frame.

    See Also
    --------
    AutoFusion : The default fusion estimator.
    sklearn.ensemble.StackingClassifier : Logistic regression on the probabilities.

    Notes
    -----
    Scores of `decision_function` are turned into probabilities as if they were logits: by the softmax
    function over one score per class, and by the logistic function for the single score of two
    classes. This is `predict_proba` for logistic regression. Margins, such as those of `SVC`, have another
    scale. Fusion estimators that learn from the outputs correct it; `OpinionPool` does not.

    There is no `passthrough`: a fusion estimator combines probabilities of the classes, and features
    are none. To use the features once more, add a classifier of them to `estimators`.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = cs.FusionClassifier([("nb", GaussianNB()), ("knn", KNeighborsClassifier())]).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    """

    def __init__(
        self, estimators: Sequence[tuple[str, Any]], *, fusion: Fusion | None = None, cv: Any = 5,
        n_jobs: int | None = None,
        stack_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    ) -> None:
        self.estimators = estimators
        self.fusion = fusion
        self.cv = cv
        self.n_jobs = n_jobs
        self.stack_method = stack_method

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> FusionClassifier:
        """Fit the classifiers on all items, and the fusion estimator on outputs for held-out items.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.
        y : array-like of shape (n_items,)
            The true classes.
        sample_weight : array-like of shape (n_items,), default=None
            The items' weights; 1 if not given. They are passed to the fusion estimator and to every
            classifier whose `fit` accepts them; of a pipeline, to the last step. A warning names the
            classifiers that are fitted without weights. Items with weight 0 are left out of all fits.
        groups : array-like of shape (n_items,), default=None
            Groups of items, such as several photos of one animal. With a number as `cv`, all items of a group are
            held out together (`StratifiedGroupKFold`); a splitter as `cv` receives the groups.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if y is None:
            raise ValueError("FusionClassifier requires y to be passed, but the target y is None.")
        names, estimators = self._validate_estimators()
        X = X if hasattr(X, "shape") or isinstance(X, list) else np.asarray(X)
        y = self._check_labels(X, y)
        fusion = self._unfitted_fusion()
        weights = None if sample_weight is None else fusion._check_weights(sample_weight, len(y))
        used = [(name, est) for name, est in zip(names, estimators, strict=True) if est != "drop"]
        self.classes_ = np.unique(y)
        self.stack_method_ = [self._method_of(name, est) for name, est in used]
        if weights is not None and not self._is_prefit():
            _warn_unweighted(used)
        self.estimators_, outputs = self._fit_estimators(X, y, used, weights, groups)
        self.named_estimators_ = Bunch(**dict(zip((n for n, _ in used), self.estimators_, strict=True)))
        if hasattr(self.estimators_[0], "n_features_in_"):
            self.n_features_in_ = self.estimators_[0].n_features_in_
        _check_feature_names(self, X, reset=True)
        predicted = ~np.isnan(outputs).all(axis=(1, 2))
        self.out_of_fold_, self._labels = outputs, y
        fusion.set_params(classifiers=[name for name, _ in used], classes=None)
        self.fusion_ = fusion.fit(
            outputs[predicted], y[predicted], None if weights is None else weights[predicted]
        )
        return self

    def _unfitted_fusion(self) -> Fusion:
        if self.fusion is None:
            return AutoFusion()
        if not isinstance(self.fusion, Fusion):
            raise ConsilienceError("`fusion` must be a fusion estimator, such as `cs.AutoFusion()`, got "
                                   f"{self.fusion!r}")
        copy: Fusion = clone(self.fusion)
        return copy

    def _check_labels(self, X: Any, y: Any) -> Any:
        _require_labels(read_labels(y).has_label)
        y = column_or_1d(y)
        check_classification_targets(y)
        if _num_samples(X) != len(y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: "
                             f"{[_num_samples(X), len(y)]}")
        if len(y) == 0:
            raise ConsilienceError("there are no items")
        if (y == y[0]).all():
            raise ConsilienceError(f"at least two classes are needed, found one class: {y[0]}")
        return y

    def _method_of(self, name: str, estimator: Any) -> str:
        """The method that an estimator's outputs are made from; known before anything is fitted."""
        if self.stack_method != "auto" and self.stack_method not in STACK_METHODS:
            raise ConsilienceError("`stack_method` must be auto, predict_proba or decision_function, "
                                   f"got {self.stack_method!r}")
        wanted = STACK_METHODS if self.stack_method == "auto" else (self.stack_method,)
        for method in wanted:
            if hasattr(estimator, method):
                return method
        raise ConsilienceError(
            f"estimator `{name}` ({type(estimator).__name__}) has no {' or '.join(f'`{m}`' for m in wanted)}\n"
            "hint: wrap it in `sklearn.calibration.CalibratedClassifierCV`"
        )

    def _is_prefit(self) -> bool:
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise ConsilienceError(f"`cv` must be a number, a splitter or prefit, got {self.cv!r}")
        return isinstance(self.cv, str)

    def _fit_estimators(
        self, X: Any, y: Any, used: list[tuple[str, Any]], weights: Floats | None, groups: Any
    ) -> tuple[list[Any], Floats]:
        """Classifiers fitted on all items, and outputs for every item by those that were not fitted on it."""
        names, estimators = zip(*used, strict=True)
        if self._is_prefit():
            for est in estimators:
                check_is_fitted(est)
            parts = zip(names, self.stack_method_, estimators, strict=True)
            return list(estimators), np.stack([self._output(*part, X) for part in parts], axis=1)
        splits = list(self._splitter(y, groups).split(X, y, groups))
        parallel = Parallel(n_jobs=self.n_jobs)
        fitted = parallel(delayed(_fitted)(est, X, y, weights, None) for est in estimators)
        folds = [(k, train, test) for k in range(len(used)) for train, test in splits]
        fits = parallel(delayed(_fitted)(estimators[k], X, y, weights, train) for k, train, _ in folds)
        total = np.zeros((len(y), len(used), len(self.classes_)))
        count = np.zeros((len(y), len(used), 1))
        for (k, _, test), fit in zip(folds, fits, strict=True):
            total[test, k] += self._output(names[k], self.stack_method_[k], fit, _safe_indexing(X, test))
            count[test, k] += 1
        with np.errstate(invalid="ignore"):
            return fitted, total / count  # NaN, that is missing, for items in no test fold

    def _splitter(self, y: Any, groups: Any) -> Any:
        """The folds; with groups, those that keep every group together."""
        if groups is not None and (self.cv is None or isinstance(self.cv, (int, np.integer))):
            return StratifiedGroupKFold(5 if self.cv is None else self.cv)
        return check_cv(self.cv, y, classifier=True)

    def _output(self, name: str, method: str, fitted: Any, X: Any) -> Floats:
        """Outputs of a fitted classifier with one column per class; NaN for missing ones."""
        values = np.asarray(getattr(fitted, method)(X), dtype=float)
        if method == "decision_function":
            values = _probabilities(values, len(fitted.classes_), name)
        unknown = np.setdiff1d(fitted.classes_, self.classes_)
        if len(unknown) > 0:
            raise ConsilienceError(f"estimator `{name}` was fitted with classes that are not in y: "
                                   f"{quoted([str(c) for c in unknown])}")
        output = np.zeros((len(values), len(self.classes_)))
        output[:, np.searchsorted(self.classes_, fitted.classes_)] = values
        output[np.isnan(values).any(axis=1)] = np.nan
        return output

    def worth(self) -> Gain:
        """Gain of fusing over the best classifier and simpler combinations, on `out_of_fold_`.

        The classifiers have not been fitted on the items that they are scored on, and neither has the
        fusion: its log-losses come from a second cross-validation.

        Returns
        -------
        Gain
            Log-losses, their paired differences with standard errors, and a sentence in `verdict`.
        """
        check_is_fitted(self)
        if not isinstance(self.fusion_, AutoFusion):
            raise ConsilienceError("`worth` is available with `AutoFusion` only, got "
                                   f"{type(self.fusion_).__name__}")
        predicted = ~np.isnan(self.out_of_fold_).all(axis=(1, 2))
        return self.fusion_.worth(self.out_of_fold_[predicted], self._labels[predicted])

    def evaluate(
        self, X: Any, y: Any, *, class_prior: ClassPrior | None = None, bootstrap: int = 1000, random_state: Any = None,
    ) -> Evaluation:
        """Scores with 95 % intervals: of the fused probabilities and of every classifier.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features, of items that the classifiers were not fitted on.
        y : array-like of shape (n_items,)
            The true classes.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of that of `fusion_`. "estimate": the class shares of these
            items.
        bootstrap : int, default=1000
            Number of bootstrap replicates for the intervals: 0 (no intervals) or at least 20.
        random_state : int, RandomState instance or None, default=None
            Seed of the bootstrap.

        Returns
        -------
        Evaluation
            The scores. It prints as a table, and is a dict as well.
        """
        outputs = self.outputs(X)
        found: Evaluation = self.fusion_.evaluate(
            outputs, y, class_prior=class_prior, bootstrap=bootstrap, random_state=random_state
        )
        return found

    def outputs(self, X: Any) -> Floats:
        """Outputs of the classifiers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_items, n_classifiers, n_classes)
            The outputs; NaN for missing ones.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        dropped = {name for name, est in self.estimators if isinstance(est, str)}
        missing = np.full((_num_samples(X), len(self.classes_)), np.nan)
        return np.stack([
            missing if name in dropped else self._output(name, method, fitted, X)
            for (name, fitted), method in zip(self.named_estimators_.items(), self.stack_method_, strict=True)
        ], axis=1)

    def predict_proba(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """Fused probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of that of `fusion_`. "estimate": the class shares of these
            items.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            The fused probabilities.
        """
        outputs = self.outputs(X)
        return self.fusion_.predict_proba(outputs, class_prior=class_prior)

    def predict(self, X: Any, *, class_prior: ClassPrior | None = None) -> Any:
        """Most probable class of each item.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of that of `fusion_`. "estimate": the class shares of these
            items.

        Returns
        -------
        ndarray of shape (n_items,)
            The predicted classes.
        """
        probabilities = self.predict_proba(X, class_prior=class_prior)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def explain(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """Evidence that each classifier adds for each class, given all other classifiers.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.
        class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default=None
            A class prior to use instead of that of `fusion_`. "estimate": the class shares of these
            items.

        Returns
        -------
        ndarray of shape (n_items, n_classifiers, n_classes)
            Evidence in nats, with mean 0 over the classes; 0 for a missing output.
        """
        outputs = self.outputs(X)
        return self.fusion_.explain(outputs, class_prior=class_prior)

    def transform(self, X: Any) -> Floats:
        """Outputs of the classifiers as a wide table.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            The features.

        Returns
        -------
        ndarray of shape (n_items, n_classifiers * n_classes)
            One column per classifier and class.
        """
        outputs = self.outputs(X)
        return outputs.reshape(len(outputs), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : None
            Ignored; part of the interface of scikit-learn.

        Returns
        -------
        ndarray of shape (n_classifiers * n_classes,)
            The names `<classifier>_<class>`.
        """
        check_is_fitted(self)
        return np.array(output_columns(self.named_estimators_, self.classes_), dtype=object)

    def _summary_rows(self) -> dict[str, str]:
        return self.fusion_._summary_rows() if hasattr(self, "fusion_") else {}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fusion_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _sk_visual_block_(self) -> Any:
        names, estimators = zip(*self.estimators, strict=True)
        return _VisualBlock("parallel", estimators, names=names)


def _require_labels(has_label: Any) -> None:
    missing = np.flatnonzero(~has_label)
    if len(missing) > 0:
        raise ConsilienceError(
            f"Input y contains NaN or None: {counted(len(missing), 'item has', 'items have')} no label, the first is "
            f"item {missing[0]}\nhint: classifiers are fitted to labelled items, so leave the others out; a fusion "
            "estimator, such as `AutoFusion`, uses outputs of items without a label"
        )


def _fitted(estimator: Any, X: Any, y: Any, weights: Floats | None, items: Any) -> Any:
    """A clone fitted on some items, or on all if `items` is None."""
    if weights is not None:
        items = np.arange(len(y)) if items is None else np.arange(len(y))[items]
        items = items[weights[items] > 0]
    if items is not None:
        X, y = _safe_indexing(X, items), y[items]
    keyword = _weight_keyword(estimator)
    metadata = {} if weights is None or keyword is None else {keyword: weights[items]}
    return clone(estimator).fit(X, y, **metadata)


def _weight_keyword(estimator: Any) -> str | None:
    """The keyword by which an estimator's `fit` accepts weights, if it does."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]):
        return "sample_weight"  # requested by `set_fit_request`
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        inner = _weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    return None


def _warn_unweighted(used: list[tuple[str, Any]]) -> None:
    without = [
        name for name, est in used
        if not isinstance(est, FrozenEstimator) and _weight_keyword(est) is None
    ]
    if without:
        warn(f"`sample_weight` is not accepted by {quoted(without)}: fitted without weights, "
             "which are used for the fusion only", DataWarning)


def _probabilities(scores: Floats, n_classes: int, name: str) -> Floats:
    """Probabilities of the classes from scores of `decision_function`, taken as logits."""
    if scores.ndim == 1 and n_classes == 2:
        scores = np.stack([np.zeros_like(scores), scores], axis=1)
    if scores.ndim != 2 or scores.shape[1] != n_classes:
        raise ConsilienceError(
            f"`decision_function` of estimator `{name}` must give one score per class, got an array of "
            f"shape {scores.shape} for {n_classes} classes"
        )
    return softmax(scores)
