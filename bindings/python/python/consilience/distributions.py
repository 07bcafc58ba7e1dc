"""Distributions of classifiers' outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._base import seed_of
from ._tables import Floats

__all__ = ["CorrelatedDirichlet", "Dirichlet"]


class Dirichlet:
    """The Dirichlet distribution on the probability simplex.

    Parameters
    ----------
    alpha : array of shape (J,)
        Concentrations, all positive.

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
        """Log densities at points (n, J), or at one point (J,)."""
        x = np.ascontiguousarray(x, dtype=float)
        found = self._core.log_pdf(np.atleast_2d(x))
        return found[0] if x.ndim == 1 else found

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """n draws, (n, J)."""
        return self._core.sample(n, seed_of(random_state))

    def mean(self) -> Floats:
        """The mean, (J,)."""
        return self._core.mean()

    def variance(self) -> Floats:
        """The variance of every component, (J,)."""
        return self._core.variance()

    def __reduce__(self) -> Any:
        return Dirichlet, (self.alpha,)

    def __repr__(self) -> str:
        return f"Dirichlet({self.alpha.tolist()})"


class CorrelatedDirichlet:
    """Dirichlet outputs of K classifiers made dependent by gammas that they share.

    Parameters
    ----------
    alpha : array of shape (K, J)
        Every classifier's Dirichlet.
    common : array of shape (J,), optional
        Shapes of what all share.
    pairs : dict {(k, m): array of shape (J,)}, optional
        Shapes of what two share with nobody else.

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
        """Log densities at (n, K, J), by quadrature for two classifiers, estimated for more.

        Parameters
        ----------
        x : array of shape (n, K, J), or (K, J) for one point
            Outputs inside the simplex.
        resolution : float
            How exactly they are observed; 0 exactly.
        tolerance : float, optional
            The error wanted.
        return_error : bool
            Also give the estimated errors, infinite where a density could not be resolved.
        """
        x = np.ascontiguousarray(x, dtype=float)
        block = x[None] if x.ndim == 2 else x
        found, errors = self._core.log_pdf(block, resolution, tolerance, seed_of(random_state))
        if x.ndim == 2:
            found, errors = found[0], errors[0]
        return (found, errors) if return_error else found

    def sample(self, n: int, random_state: Any = None) -> Floats:
        """n joint draws, (n, K, J)."""
        return self._core.sample(n, seed_of(random_state))

    def mean(self) -> Floats:
        """The mean, (K, J)."""
        return self.alpha / self.alpha.sum(axis=1, keepdims=True)

    def correlation(self) -> Floats:
        """Exact correlations of every two classifiers' components, (K, K, J)."""
        return self._core.correlation()

    @classmethod
    def with_correlation(cls, alpha: Sequence[Any], correlation: float) -> CorrelatedDirichlet:
        """Two classifiers whose outputs have a wanted mean correlation."""
        first, second = (np.asarray(row, dtype=float).tolist() for row in alpha)
        return cls(alpha, _core.delta_for_correlation(first, second, correlation))

    def __reduce__(self) -> Any:
        return CorrelatedDirichlet, (self.alpha, self.common, self.pairs)

    def __repr__(self) -> str:
        K, J = self.alpha.shape
        return f"<correlated Dirichlet of {K} classifiers and {J} classes>"
