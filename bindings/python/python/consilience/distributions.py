"""Distributions of the outputs of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._base import seed_of
from ._tables import Floats

__all__ = ["CorrelatedDirichlet", "Dirichlet"]


class Dirichlet:
    """Dirichlet distribution on the probability simplex.

    Parameters
    ----------
    alpha : array-like of shape (n_classes,)
        Concentrations, all positive.

    Attributes
    ----------
    alpha : ndarray of shape (n_classes,)
        Concentrations.

    Examples
    --------
    >>> import consilience as cs
    >>> round(float(cs.Dirichlet([3, 1, 1]).log_pdf([[0.5, 0.25, 0.25]])[0]), 6)  # ln 3
    1.098612
    """

    def __init__(self, alpha: Any) -> None:
        self.alpha: Floats = np.array(alpha, dtype=float)
        self._core = _core.Dirichlet(self.alpha.tolist())

    def log_pdf(self, x: Any) -> Floats:
        """Log density.

        Parameters
        ----------
        x : array-like of shape (n, n_classes) or (n_classes,)
            Points of the simplex.

        Returns
        -------
        ndarray of shape (n,) or float
            The log densities.
        """
        x = np.ascontiguousarray(x, dtype=float)
        found = self._core.log_pdf(np.atleast_2d(x))
        return found[0] if x.ndim == 1 else found

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """Random draws.

        Parameters
        ----------
        n : int
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seed; None is the same as 0.

        Returns
        -------
        ndarray of shape (n, n_classes)
            The draws.
        """
        return self._core.sample(n, seed_of(random_state))

    def mean(self) -> Floats:
        """Mean of every component.

        Returns
        -------
        ndarray of shape (n_classes,)
            The means.
        """
        return self._core.mean()

    def variance(self) -> Floats:
        """Variance of every component.

        Returns
        -------
        ndarray of shape (n_classes,)
            The variances.
        """
        return self._core.variance()

    def __reduce__(self) -> Any:
        return Dirichlet, (self.alpha,)

    def __repr__(self) -> str:
        return f"Dirichlet({self.alpha.tolist()})"


class CorrelatedDirichlet:
    """Joint distribution of the outputs of several classifiers, each of them Dirichlet distributed.

    The outputs are normalised gamma variables. Classifiers that share some of these variables are
    correlated.

    Parameters
    ----------
    alpha : array-like of shape (n_classifiers, n_classes)
        Concentrations of the Dirichlet distribution of each classifier.
    common : array-like of shape (n_classes,), default=None
        Shapes of the gamma variables that all classifiers share.
    pairs : dict of (int, int) to array-like of shape (n_classes,), default=None
        Shapes of the gamma variables that two classifiers share with no other classifier.

    Attributes
    ----------
    alpha : ndarray of shape (n_classifiers, n_classes)
        Concentrations.
    common : ndarray of shape (n_classes,) or None
        Shapes shared by all classifiers.
    pairs : dict
        Shapes shared by pairs.

    References
    ----------
    Trick & Rothkopf, AISTATS 2022, eq. 6 and supplement C.3.

    Examples
    --------
    >>> import consilience as cs
    >>> d = cs.CorrelatedDirichlet([[12, 8, 8], [12, 8, 8]], common=[6, 4, 4])
    >>> d.correlation()[0, 1].round(4)
    array([0.4917, 0.4917, 0.4917])
    """

    def __init__(
        self, alpha: Any, common: Any = None, pairs: dict[tuple[int, int], Any] | None = None
    ) -> None:
        self.alpha: Floats = np.array(alpha, dtype=float)
        self.common: Floats | None = None if common is None else np.array(common, dtype=float)
        self.pairs: dict[tuple[int, int], Floats] = {
            pair: np.array(delta, dtype=float) for pair, delta in (pairs or {}).items()
        }
        self._core = _core.CorrelatedDirichlet(
            self.alpha.tolist(),
            None if self.common is None else self.common.tolist(),
            [(a, b, delta.tolist()) for (a, b), delta in self.pairs.items()],
        )

    def log_pdf(
        self, x: Any, *, resolution: float = 0.0, tolerance: float | None = None,
        return_error: bool = False, random_state: Any = None,
    ) -> Any:
        """Log density, by quadrature for two classifiers and by quasi-Monte Carlo for more.

        Parameters
        ----------
        x : array-like of shape (n, n_classifiers, n_classes) or (n_classifiers, n_classes)
            Outputs inside the simplex.
        resolution : float, default=0.0
            Resolution of the outputs: the standard deviation of the noise of the log ratio of two
            classifiers' components. 0 is the exact density, the only one if more than two classifiers
            share something.
        tolerance : float, default=None
            The error to aim for. If None, that of the library.
        return_error : bool, default=False
            Whether to return the estimated errors as well.
        random_state : int, RandomState instance or None, default=None
            Seed; None is the same as 0. Not used for two classifiers.

        Returns
        -------
        log_densities : ndarray of shape (n,) or float
            The log densities.
        errors : ndarray of shape (n,) or float
            Estimated absolute errors of the log densities, infinite if a density could not be computed.
            Only if `return_error` is True.
        """
        x = np.ascontiguousarray(x, dtype=float)
        block = x[None] if x.ndim == 2 else x
        found, errors = self._core.log_pdf(block, resolution, tolerance, seed_of(random_state))
        if x.ndim == 2:
            found, errors = found[0], errors[0]
        return (found, errors) if return_error else found

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """Random draws of the outputs of all classifiers.

        Parameters
        ----------
        n : int
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seed; None is the same as 0.

        Returns
        -------
        ndarray of shape (n, n_classifiers, n_classes)
            The draws.
        """
        return self._core.sample(n, seed_of(random_state))

    def mean(self) -> Floats:
        """Mean of every component.

        Returns
        -------
        ndarray of shape (n_classifiers, n_classes)
            The means.
        """
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def correlation(self) -> Floats:
        """Correlations of the classifiers, by component.

        Returns
        -------
        ndarray of shape (n_classifiers, n_classifiers, n_classes)
            Exact correlations; `correlation()[a, b, l]` is that of component l of classifiers a and b.
        """
        return self._core.correlation()

    @classmethod
    def with_correlation(cls, alpha: Sequence[Any], correlation: float) -> CorrelatedDirichlet:
        """Distribution of two classifiers with a given mean correlation.

        Parameters
        ----------
        alpha : array-like of shape (2, n_classes)
            Concentrations of the two classifiers.
        correlation : float
            Mean of the correlations over the components.

        Returns
        -------
        CorrelatedDirichlet
            The distribution.
        """
        first, second = (np.asarray(row, dtype=float).tolist() for row in alpha)
        return cls(alpha, _core.delta_for_correlation(first, second, correlation))

    def __reduce__(self) -> Any:
        return CorrelatedDirichlet, (self.alpha, self.common, self.pairs)

    def __repr__(self) -> str:
        K, J = self.alpha.shape
        return f"<correlated Dirichlet of {K} classifiers and {J} classes>"
