"""The meta estimator over features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, _num_samples, check_is_fitted, column_or_1d

from ._base import ClassPrior, Fusion
from ._errors import ConsilienceError
from ._tables import Floats
from .estimators import AutoFusion

__all__ = ["FusionClassifier"]


class FusionClassifier(ClassifierMixin, TransformerMixin, _BaseHeterogeneousEnsemble):  # type: ignore[misc]
    """Fuses classifiers over features; fusing is learned from outputs out of fold.

    Parameters
    ----------
    estimators : list of (name, classifier)
        With `predict_proba`. For feature subsets, pipelines that select them. A classifier that
        answers NaN for an item is missing there; one set to "drop" after fitting is missing
        everywhere.
    fusion : fusion estimator, optional
        `AutoFusion(class_prior="empirical")` if not given: training items are taken for a sample
        of those to come.
    cv : int, splitter or "prefit"
        How the outputs for learning to fuse are made; "prefit": the classifiers are fitted already,
        on other items. Frozen estimators are used as they are, too.
    n_jobs : int, optional
        Fits done at the same time.

    Attributes
    ----------
    classes_ : array of shape (J,)
    estimators_ : list of fitted classifiers
    named_estimators_ : the same by name
    fusion_ : the fitted fusion estimator

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
    ) -> None:
        self.estimators = estimators
        self.fusion = fusion
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> FusionClassifier:
        """Fits the classifiers on all items, and the fusion on their outputs out of fold."""
        if y is None:
            raise ValueError("FusionClassifier requires y to be passed, but the target y is None.")
        names, estimators = self._validate_estimators()
        X = _indexable(X)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if _num_samples(X) != len(y):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: "
                             f"{[_num_samples(X), len(y)]}")
        self.classes_ = np.unique(y)
        if len(y) == 0:
            raise ConsilienceError("there are no items")
        if len(self.classes_) < 2:
            raise ConsilienceError(f"at least two classes are needed, found one class: {self.classes_[0]}")
        kept = [(name, est) for name, est in zip(names, estimators, strict=True) if est != "drop"]
        outputs = self._outputs_to_learn_from(X, y, kept)
        self.named_estimators_ = Bunch(**dict(zip((n for n, _ in kept), self.estimators_, strict=True)))
        if hasattr(self.estimators_[0], "n_features_in_"):
            self.n_features_in_ = self.estimators_[0].n_features_in_
        _check_feature_names(self, X, reset=True)
        self._fit_fusion(outputs, y, [name for name, _ in kept])
        return self

    def _outputs_to_learn_from(self, X: Any, y: Any, kept: list[tuple[str, Any]]) -> Floats:
        """Fits the classifiers, and answers for every item without having seen it."""
        if isinstance(self.cv, str):
            if self.cv != "prefit":
                raise ConsilienceError(f"`cv` must be a number, a splitter or prefit, got {self.cv!r}")
            self.estimators_ = [est for _, est in kept]
            for est in self.estimators_:
                check_is_fitted(est)
            return np.stack([self._answer(est, X) for est in self.estimators_], axis=1)
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        parallel = Parallel(n_jobs=self.n_jobs)
        self.estimators_ = parallel(delayed(_fitted)(est, X, y, None) for _, est in kept)
        fold = [(k, train, test) for k in range(len(kept)) for train, test in splits]
        fits = parallel(delayed(_fitted)(kept[k][1], X, y, train) for k, train, _ in fold)
        total = np.zeros((len(y), len(kept), len(self.classes_)))
        seen = np.zeros((len(y), len(kept), 1))
        for (k, _, test), fit in zip(fold, fits, strict=True):
            total[test, k] += self._answer(fit, _safe_indexing(X, test))
            seen[test, k] += 1
        with np.errstate(invalid="ignore"):
            return total / seen  # NaN, that is missing, where no fold has answered

    def _answer(self, fitted: Any, X: Any) -> Floats:
        """A classifier's outputs with a column for every class; NaN where it says nothing."""
        own = np.asarray(fitted.predict_proba(X), dtype=float)
        answer = np.zeros((len(own), len(self.classes_)))
        answer[:, np.searchsorted(self.classes_, fitted.classes_)] = own
        answer[np.isnan(own).any(axis=1)] = np.nan
        return answer

    def _fit_fusion(self, outputs: Floats, y: Any, names: list[str]) -> None:
        fusion = AutoFusion(class_prior="empirical") if self.fusion is None else clone(self.fusion)
        self.fusion_ = fusion.set_params(classifiers=names, classes=None)
        answered = ~np.isnan(outputs).all(axis=(1, 2))
        self.fusion_.fit(outputs[answered], y[answered])

    def outputs(self, X: Any) -> Floats:
        """What the classifiers say, (n, K, J); NaN where one is missing."""
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        dropped = {name for name, est in self.estimators if isinstance(est, str)}
        names = list(self.named_estimators_)
        found = [
            None if name in dropped else self._answer(est, X)
            for name, est in zip(names, self.estimators_, strict=True)
        ]
        shape = (_num_samples(X), len(self.classes_))
        return np.stack([np.full(shape, np.nan) if one is None else one for one in found], axis=1)

    def predict_proba(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """Fused probabilities of the classes, (n, J)."""
        outputs = self.outputs(X)
        return self.fusion_.predict_proba(outputs, class_prior=class_prior)

    def predict(self, X: Any, *, class_prior: ClassPrior | None = None) -> Any:
        """The most probable class of every item."""
        probabilities = self.predict_proba(X, class_prior=class_prior)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def explain(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """What each classifier adds for each class given all others, in nats: (n, K, J)."""
        outputs = self.outputs(X)
        return self.fusion_.explain(outputs, class_prior=class_prior)

    def transform(self, X: Any) -> Floats:
        """What the classifiers say, as a wide table: a column `<classifier>_<class>` each."""
        outputs = self.outputs(X)
        return outputs.reshape(len(outputs), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of `transform`."""
        check_is_fitted(self)
        pairs = [f"{k}_{j}" for k in self.named_estimators_ for j in self.classes_]
        return np.array(pairs, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fusion_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _sk_visual_block_(self) -> Any:
        from sklearn.utils._repr_html.estimator import _VisualBlock

        names, estimators = zip(*self.estimators, strict=True)
        return _VisualBlock("parallel", estimators, names=names)


def _indexable(X: Any) -> Any:
    """Something of which items can be chosen."""
    return X if hasattr(X, "shape") or isinstance(X, list) else np.asarray(X)


def _fitted(estimator: Any, X: Any, y: Any, items: Any) -> Any:
    """A fresh copy fitted on some items, or all."""
    if not hasattr(estimator, "predict_proba"):
        raise ConsilienceError(f"{type(estimator).__name__} has no `predict_proba`")
    if items is not None:
        X, y = _safe_indexing(X, items), y[items]
    return clone(estimator).fit(X, y)
