"""What all fusion estimators share: reading outputs, fitting, predicting, the model file."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length, check_is_fitted, column_or_1d, validate_data,
)

from . import _core
from ._errors import ConsilienceError, warn_all
from ._progress import Progress, listener
from ._tables import (
    Floats, as_frame, both_classes, classifiers_in, column_names, quoted, select,
)

ClassPrior = Union[str, Sequence[float]]

T = TypeVar("T")


def estimator(cls: type[T]) -> type[T]:
    """A class whose annotated fields are its keyword-only parameters."""
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


def given(choice: Any) -> Any:
    """A choice by name or by numbers, in the form of the model file."""
    return choice if isinstance(choice, str) else {"given": np.asarray(choice, float).tolist()}


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays become lists, numpy's numbers become Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (str, type(None))) or np.isscalar(value):
        return value
    return np.asarray(value, float).tolist()


def seed_of(random_state: Any) -> int:
    """The core's seed. None is 0: no result depends on hidden state."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


@estimator
class Fusion(TransformerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all fusion estimators."""

    class_prior: ClassPrior = "uniform"
    values: str = "probabilities"
    floor: float = 1e-6
    layout: str = "wide"
    n_classifiers: int | None = None
    classifiers: Sequence[str] | None = None
    classes: Sequence[Any] | None = None
    random_state: Any = None
    progress: Progress = None

    _method: ClassVar[str]
    _whole_weights: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learns how to fuse from items whose class is known.

        Parameters
        ----------
        X : array of shape (n, K, J), array of shape (n, K * J), or data frame
            Outputs of K classifiers for J classes; NaN where a classifier has none. The classes
            stand in the order of `classes_`; a data frame names them,
            `<classifier>_<class>`, in any order, and may have other columns.
        y : array of shape (n,)
            The true classes.
        sample_weight : array of shape (n,), optional
            How often every item counts: 2 is the item twice, 0 leaves it out. Twice the weights are
            twice the evidence. `CorrelatedFusion`, `LogitNormalFusion` and `NormalMixtureFusion` take
            whole numbers only.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _options(self) -> dict[str, Any]:
        """The method's options: the parameters of the estimator that have their names."""
        names = _core.method_options(self._method)
        options = {name: plain(getattr(self, name)) for name in names if hasattr(self, name)}
        if "seed" in names:
            options["seed"] = seed_of(self.random_state)
        return options

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        X, labels = self._read_labelled(X, y)
        if len(self.classes_) < 2:
            raise ConsilienceError(f"at least two classes are needed, found one class: {self.classes_[0]}")
        X, labels, weights = self._weighted(X, labels, sample_weight)
        self.model_ = _core.Model.fit(
            self._method, json.dumps(self._options()), json.dumps(given(self.class_prior)),
            self.floor, self._block(X), labels, list(self.classifiers_),
            [str(c) for c in self.classes_], self.values, weights, listener(self.progress),
        )
        self._learned()
        return self

    def _weighted(self, X: Floats, labels: Any, sample_weight: Any) -> tuple[Floats, Any, Floats | None]:
        """Items, labels and what every item counts."""
        if sample_weight is None:
            return X, labels, None
        weights = np.ascontiguousarray(sample_weight, dtype=float)
        if weights.shape != (len(X),):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(len(X),)}!")
        if not weights.any():
            raise ConsilienceError("all of `sample_weight` is zero")
        if self._whole_weights:
            counts = whole(weights, type(self).__name__)
            return np.repeat(X, counts, axis=0), np.repeat(labels, counts), None
        return X, labels, weights

    def _learned(self) -> None:
        self._file = json.loads(self.model_.to_json())
        warn_all(self._file.get("training", {}).get("warnings", []))

    # Reading

    def _read_labelled(self, X: Any, y: Any, reset: bool = True) -> tuple[Floats, Any]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if not reset:
            classes = self.classes_
        else:
            classes = np.unique(np.asarray(y)) if self.classes is None else self.classes
        X = self._flat(X, [str(c) for c in classes], reset)
        names = self.__dict__.pop("_names", None)
        if names is not None and not reset:  # chosen by name: nothing is left to check
            y = column_or_1d(y)
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, reset=reset, dtype=np.float64, order="C",
                                 ensure_all_finite=False, ensure_min_samples=1)
        if names is not None and reset:
            self.feature_names_in_ = np.array(names, dtype=object)
        check_classification_targets(y)
        if reset:
            self._name(X, y)
        return X, self._labels(y)

    def _read(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._flat(X, [str(c) for c in self.classes_], reset=False)
        if self.__dict__.pop("_names", None) is not None:
            return self._block(X)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
        return self._block(X)

    def _flat(self, X: Any, classes: list[str], reset: bool) -> Any:
        """Two-dimensional: one row an item. Of a frame, the columns that are outputs."""
        X = as_frame(X)
        if isinstance(X, _core.Table):
            return self._rows(X, classes, reset)
        columns = column_names(X)
        if columns is not None and self.layout == "wide" and self.n_classifiers is None:
            if reset:
                self._found = classifiers_in(columns, classes)
                return select(X, [f"{k}_{j}" for k in self._found for j in classes])
            if hasattr(self, "feature_names_in_"):
                return select(X, [f"{k}_{j}" for k in self.classifiers_ for j in classes])
            own = [f"{k}_{j}" for k in self.classifiers_ for j in classes]
            return np.asarray(select(X, own)) if set(own) <= set(columns) else X
        if columns is None and getattr(X, "ndim", 2) == 3:
            self._check_depth(X.shape, reset)
            return np.asarray(X).reshape(X.shape[0], -1)
        return X

    def _rows(self, table: _core.Table, classes: list[str], reset: bool) -> Floats:
        """The outputs of a table; `_names` says where they were found by name."""
        columns = table.column_names
        if reset:
            names = columns
            if self.layout == "wide" and self.n_classifiers is None:
                self._found = classifiers_in(columns, classes)
                names = [f"{k}_{j}" for k in self._found for j in classes]
        elif hasattr(self, "feature_names_in_"):
            names = list(self.feature_names_in_)
        else:  # fitted on an array
            own = [f"{k}_{j}" for k in self.classifiers_ for j in classes]
            if not set(own) <= set(columns):
                return select(table, columns)  # type: ignore[no-any-return]
            names = own
        self._names = names
        return select(table, names)  # type: ignore[no-any-return]

    def _check_depth(self, shape: tuple[int, ...], reset: bool) -> None:
        if self.layout != "wide":
            raise ConsilienceError('`layout="positive"` takes one column a classifier')
        if reset:
            self._depth = shape[2]
        elif shape[1:] != (len(self.classifiers_), len(self.classes_)):
            raise ConsilienceError(
                f"X has {shape[1]} classifiers and {shape[2]} classes, but "
                f"{type(self).__name__} was fitted with {len(self.classifiers_)} and {len(self.classes_)}"
            )

    def _name(self, X: Floats, y: Any) -> None:
        """Finds classes and classifiers."""
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        J, columns = len(self.classes_), X.shape[1]
        depth, found = self.__dict__.pop("_depth", J), self.__dict__.pop("_found", [])
        if self.layout == "positive":
            if J > 2:
                raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
            K, names = columns, list(getattr(self, "feature_names_in_", ()))
        elif self.layout != "wide":
            raise ConsilienceError(f"`layout` must be wide or positive, got {self.layout!r}")
        else:
            K, names = self.n_classifiers or columns // max(J, 1), found
            if depth != J or K * J != columns:
                raise ConsilienceError(
                    f"{columns} columns are not those of {K} classifiers for the {J} classes "
                    f"{quoted([str(c) for c in self.classes_])}"
                    + (f" (the last dimension is {depth})" if depth != J else "")
                    + "\nhint: name every class with `classes` where some have no items"
                )
        if self.classifiers is not None:
            names = list(self.classifiers)
            if len(names) != K:
                raise ConsilienceError(f"{len(names)} names were given for {K} classifiers")
        self.classifiers_ = np.array(names or [f"c{k + 1}" for k in range(K)], dtype=object)

    def _labels(self, y: Any) -> Any:
        places = {c: j for j, c in enumerate(self.classes_.tolist())}
        try:
            return np.array([places[c] for c in np.asarray(y).tolist()], dtype=np.int64)
        except KeyError as error:
            known = quoted([str(c) for c in self.classes_])
            raise ConsilienceError(f"unknown label `{error.args[0]}`; the classes are {known}") from None

    def _block(self, X: Floats) -> Floats:
        """Items × classifiers × classes, contiguous."""
        if self.layout == "positive":
            return np.ascontiguousarray(both_classes(X, self.values))
        return np.ascontiguousarray(X).reshape(len(X), len(self.classifiers_), len(self.classes_))

    # Predicting

    def predict_proba(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> Floats:
        """Fused probabilities of the classes.

        Parameters
        ----------
        X : array or data frame
            Outputs, as in `fit`.
        class_prior : "uniform", "empirical" or J numbers, optional
            Another class prior than the model's, without refitting.
        predictive : bool
            Average over the posterior draws kept in the model instead of trusting their mean.

        Returns
        -------
        array of shape (n, J)
        """
        block = self._read(X)
        return self.model_.fuse(block, self.values, _prior(class_prior), predictive, errors=False)[0]

    def fuse(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> tuple[Floats, Floats]:
        """Fused probabilities, and the estimated largest numerical error of each item's."""
        block = self._read(X)
        return self.model_.fuse(block, self.values, _prior(class_prior), predictive)

    def predict_log_proba(self, X: Any, *, class_prior: ClassPrior | None = None) -> Floats:
        """Logarithms of the fused probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, class_prior=class_prior))

    def predict(self, X: Any, *, class_prior: ClassPrior | None = None) -> Any:
        """The most probable class of every item."""
        probabilities = self.predict_proba(X, class_prior=class_prior)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def transform(self, X: Any) -> Floats:
        """Fused probabilities, as a step of a pipeline."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of what `transform` gives: `fused_<class>`."""
        check_is_fitted(self)
        return np.array([f"fused_{c}" for c in self.classes_], dtype=object)

    def log_density(self, X: Any, *, predictive: bool = False) -> Floats:
        """How well each class explains the items' outputs: log densities of shape (n, J)."""
        block = self._read(X)
        return self.model_.density(block, self.values, predictive)[0]

    def explain(
        self, X: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False
    ) -> Floats:
        """What each classifier adds for each class given all others, in nats.

        Centred over the classes; 0 where a classifier is missing. Shape (n, K, J).
        """
        block = self._read(X)
        return self.model_.explain(block, self.values, _prior(class_prior), predictive)

    def evaluate(
        self, X: Any, y: Any, *, class_prior: ClassPrior | None = None, predictive: bool = False,
        score_items: bool = False, bootstrap: int = 1000, random_state: Any = None,
    ) -> dict[str, Any]:
        """Scores with 95 % intervals, of the model, of every classifier and of its meta classifier.

        The classes count as the class prior says, unless `score_items` counts items alike. What
        `consilience evaluate --format json` prints.
        """
        check_is_fitted(self)
        X, labels = self._read_labelled(X, y, reset=False)
        return json.loads(self.model_.evaluate(
            self._block(X), labels, self.values, _prior(class_prior), predictive, score_items,
            bootstrap, seed_of(random_state),
        ))

    # What was learned

    def _insight(self, name: str, attribute: str) -> Any:
        check_is_fitted(self)
        found = json.loads(self.model_.insight())[name]
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no attribute `{attribute}`: its method "
                                 "does not model it")
        return found

    @property
    def alpha_(self) -> Floats:
        """Dirichlets, (K, J, J): `alpha_[k, j]` is that of classifier k when the true class is j."""
        return np.array(self._insight("alpha", "alpha_"))

    @property
    def n_effective_(self) -> float:
        """How many independent classifiers the sources are worth."""
        return float(self._insight("effective_number", "n_effective_"))

    @property
    def shares_(self) -> Floats:
        """The independent share of every classifier's evidence, (K,)."""
        return np.array(self._insight("shares", "shares_"))

    @property
    def strengths_(self) -> Floats:
        """The evidence in nats that one output of each classifier is expected to give, (K,)."""
        return np.array(self._insight("strengths", "strengths_"))

    @property
    def correlation_(self) -> Floats:
        """Implied correlations, (K, K, J, J): of two classifiers, by true class and component."""
        pairs = self._insight("correlations", "correlation_")
        K, J = len(self.classifiers_), len(self.classes_)
        correlation = np.ones((K, K, J, J))
        for pair in pairs:
            a, b = pair["between"]
            correlation[a, b] = correlation[b, a] = pair["correlation"]
        return correlation

    @property
    def delta_(self) -> Floats:
        """Shared shapes, (K, K, J, J): what two classifiers share, by true class and component.

        On the diagonal a classifier shares all with itself, `alpha_`.
        """
        check_is_fitted(self)
        delta = self._file.get("parameters", {}).get("delta")
        if delta is None:
            raise AttributeError(f"{type(self).__name__} has no attribute `delta_`: its method takes "
                                 "classifiers for independent")
        K, J = len(self.classifiers_), len(self.classes_)
        shared = np.zeros((K, K, J, J)) + np.array(delta.get("common") or 0.0)
        place = {name: k for k, name in enumerate(self._file["classifiers"])}
        for pair in delta.get("pairs", ()):
            a, b = (place[name] for name in pair["between"])
            shared[a, b] += pair["delta"]
            shared[b, a] = shared[a, b]
        shared[range(K), range(K)] = self.alpha_
        return shared

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """Whether the fit can be trusted: chains, R-hat, effective draws, warnings."""
        check_is_fitted(self)
        training = self._file.get("training", {})
        found = training.get("warnings", [])
        pairs = self._file.get("pair_diagnostics", [])
        return {
            "converged": all(warning["kind"] != "convergence" for warning in found),
            "warnings": [warning["message"] for warning in found],
            "n_raised": training.get("raised", 0),
            "posterior": self._file.get("diagnostics"),
            "pairs": [{"between": pair["between"], **pair["delta"]} for pair in pairs],
        }

    def to_arviz(self) -> Any:
        """The posterior draws kept in the model (`keep_draws`) as ArviZ inference data."""
        from ._arviz import to_arviz

        check_is_fitted(self)
        return to_arviz(self._file)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the model file, which the command line reads, too."""
        check_is_fitted(self)
        Path(path).write_text(self.model_.to_json(), encoding="utf-8")

    # How it looks

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = self.layout == "wide"
        tags.classifier_tags.multi_class = self.layout == "wide"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        """A table of what was fitted."""
        if not hasattr(self, "model_"):
            return ""
        counts = self._file.get("training", {}).get("statistics", {}).get("items", [])
        rows = {
            "method": self._file["method"],
            "classifiers": ", ".join(map(str, self.classifiers_)),
            "classes": ", ".join(map(str, self.classes_)),
            "class prior": ", ".join(f"{p:.3g}" for p in self._file["class_prior"]),
        }
        if counts:
            rows["items"] = f"{sum(counts)} ({', '.join(map(str, counts))})"
        worth = json.loads(self.model_.insight())["effective_number"]
        if worth is not None:
            rows["worth"] = f"{worth:.2f} independent classifiers of {len(self.classifiers_)}"
        posterior = self._file.get("diagnostics")
        if posterior:
            worst = posterior["worst"]
            rows["posterior"] = (f"{posterior['chains']} chains of {posterior['draws']} draws, "
                                 f"R-hat at most {worst['r_hat']:.3f}")
        body = "".join(
            f"<tr><th style='text-align:left'>{key}</th><td>{html.escape(value)}</td></tr>"
            for key, value in rows.items()
        )
        return f"<table class='consilience-summary'>{body}</table>"


def whole(weights: Floats, name: str) -> Any:
    """Weights as numbers of copies."""
    with np.errstate(invalid="ignore"):
        counts = weights.astype(np.int64)
    if not (np.isfinite(weights).all() and (counts == weights).all() and (counts >= 0).all()):
        raise ConsilienceError(
            f"`sample_weight` of {name} must be whole numbers, 0 or more: how often every item counts"
        )
    return counts


def _prior(class_prior: ClassPrior | None) -> str | None:
    return None if class_prior is None else json.dumps(given(class_prior))
