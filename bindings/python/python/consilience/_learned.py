"""Learned attributes of fitted models, such as concentrations and correlations."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._errors import message_of
from ._tables import Floats


class Insight:
    """Concentrations, correlations and shares of a fitted model, computed when first needed.

    The correlations are integrals over every pair of classifiers, so they are computed once per
    fitted model. Pickles carry the model only.
    """

    def __init__(self, model: _core.Model) -> None:
        self._model = model

    @cached_property
    def found(self) -> dict[str, Any]:
        """The values by name; None where the method does not define one."""
        return json.loads(self._model.insight())  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return Insight, (self._model,)


class LearnedAttributes:
    """Attributes of a fitted estimator. A method without one of them raises `AttributeError`."""

    classes_: Any
    classifiers_: Any
    #: The content of the model file.
    _file: dict[str, Any]
    _insight: Insight

    def _found(self, name: str, attribute: str) -> Any:
        check_is_fitted(self)
        found = self._insight.found[name]
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no attribute `{attribute}`: its method "
                                 "does not model it")
        return found

    @property
    def alpha_(self) -> Floats:
        """Concentrations of the Dirichlet distributions, of shape (n_classifiers, n_classes, n_classes).

        `alpha_[k, j]` belongs to classifier k and true class j.
        """
        return np.array(self._found("alpha", "alpha_"))

    @property
    def n_effective_(self) -> float:
        """Effective number of independent classifiers."""
        return float(self._found("effective_number", "n_effective_"))

    @property
    def shares_(self) -> Floats:
        """Independent share of each classifier's evidence, of shape (n_classifiers,)."""
        return np.array(self._found("shares", "shares_"))

    @property
    def influences_(self) -> Floats:
        """Strength times independent share of each classifier in nats, of shape (n_classifiers,)."""
        return np.array(self._found("influences", "influences_"))

    @property
    def copies_(self) -> list[list[str]]:
        """Names of the classifiers with nearly the same evidence, by group.

        The correlation with another one of the group is 0.95 or more; the members of a group divide
        their share equally.
        """
        self._found("shares", "copies_")
        groups = self._insight.found["copies"]
        return [[str(self.classifiers_[k]) for k in group] for group in groups]

    @property
    def evidence_correlation_(self) -> Floats:
        """Correlations of the classifiers' evidence, of shape (n_classifiers, n_classifiers)."""
        return np.array(self._found("evidence_correlation", "evidence_correlation_"))

    @property
    def intervals_(self) -> dict[str, Any]:
        """90 % intervals of `n_effective`, `shares`, `influences` and `evidence_correlation`, by these names.

        `n_effective` has shape (2,), as has `n_effective_independent`, the range of the effective
        number that independent classifiers would show on as many items; `shares` and, where they
        exist, `influences` have shape (n_classifiers, 2); `evidence_correlation` has shape
        (n_classifiers, n_classifiers, 2).
        """
        found = self._found("intervals", "intervals_")
        names = {"effective_number": "n_effective", "independent": "n_effective_independent",
                 "shares": "shares", "influence": "influences", "correlation": "evidence_correlation"}
        return {new: np.array(found[old]) for old, new in names.items() if old in found}

    @property
    def strengths_(self) -> Floats:
        """Expected evidence of one output of each classifier in nats, of shape (n_classifiers,)."""
        return np.array(self._found("strengths", "strengths_"))

    @property
    def correlation_(self) -> Floats:
        """Correlations of classifiers, of shape (n_classifiers, n_classifiers, n_classes, n_classes).

        `correlation_[a, b, j, l]` is the correlation of component l of the outputs of classifiers a and b
        when the true class is j.
        """
        pairs = self._found("correlations", "correlation_")
        K, J = len(self.classifiers_), len(self.classes_)
        correlation = np.ones((K, K, J, J))
        for pair in pairs:
            a, b = pair["between"]
            correlation[a, b] = correlation[b, a] = pair["correlation"]
        return correlation

    @property
    def delta_(self) -> Floats:
        """Shared shapes, of shape (n_classifiers, n_classifiers, n_classes, n_classes).

        `delta_[a, b, j, l]` is the shape of the gamma variable that classifiers a and b share in component l
        when the true class is j. The diagonal `delta_[k, k]` is `alpha_[k]`.
        """
        check_is_fitted(self)
        delta = self._file.get("parameters", {}).get("delta")
        if delta is None:
            raise AttributeError(f"{type(self).__name__} has no attribute `delta_`: its method does not "
                                 "model correlations")
        K, J = len(self.classifiers_), len(self.classes_)
        shared = np.zeros((K, K, J, J)) + np.array(delta.get("common") or 0.0)
        index = {name: k for k, name in enumerate(self._file["classifiers"])}
        for pair in delta.get("pairs", ()):
            a, b = (index[name] for name in pair["between"])
            shared[a, b] += pair["delta"]
            shared[b, a] = shared[a, b]
        shared[range(K), range(K)] = self.alpha_
        return shared

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """Convergence diagnostics and warnings of the fit.

        `converged` and `warnings`; `n_raised`, the number of probabilities raised to the floor;
        `posterior` and `pairs`, R-hat and effective sample sizes of the chains, if there are any.
        """
        check_is_fitted(self)
        training = self._file.get("training", {})
        found = training.get("warnings", [])
        pairs = self._file.get("pair_diagnostics", [])
        return {
            "converged": all(warning["kind"] != "convergence" for warning in found),
            "warnings": [message_of(warning) for warning in found],
            "n_raised": training.get("raised", 0),
            "posterior": self._file.get("diagnostics"),
            "pairs": [{"between": pair["between"], **pair["delta"]} for pair in pairs],
        }
