from collections.abc import Callable, Sequence
from typing import Any, Literal, final, overload

import numpy as np
import numpy.typing as npt

__all__ = [
    "__version__",
    "ConsilienceError",
    "hint_text",
    "Model",
    "Table",
    "CorrelatedDirichlet",
    "Dirichlet",
    "method_options",
    "needs_labels",
    "score",
    "compare",
    "simulate_preset",
    "delta_for_correlation",
]

_Floats = npt.NDArray[np.float64]
_Labels = npt.NDArray[np.int64]
_Progress = Callable[[str, int, int], Any] | None

__version__: str

class ConsilienceError(ValueError): ...

def hint_text(name: str) -> str: ...

@final
class Model:
    @staticmethod
    def fit(
        method: str,
        options: str,
        class_prior: str,
        floor: float,
        values: _Floats,
        labels: _Labels,
        classifiers: Sequence[str],
        classes: Sequence[str],
        kind: tuple[str, float],
        weights: _Floats | None = None,
        progress: _Progress = None,
    ) -> Model: ...
    def update(
        self, values: _Floats, labels: _Labels, kind: tuple[str, float], weights: _Floats | None = None,
        progress: _Progress = None,
    ) -> Model: ...
    @staticmethod
    def from_json(text: str) -> Model: ...
    def to_json(self, estimator: str | None = None) -> str: ...
    def insight(self) -> str: ...
    def prevalence(
        self, values: _Floats, labels: _Labels, kind: tuple[str, float], class_prior: str | None, predictive: bool,
        items: bool,
    ) -> str: ...
    @overload
    def fuse(
        self, values: _Floats, kind: tuple[str, float], class_prior: str | None = None, predictive: bool = False,
        errors: Literal[True] = True,
    ) -> tuple[_Floats, _Floats]: ...
    @overload
    def fuse(
        self, values: _Floats, kind: tuple[str, float], class_prior: str | None = None, predictive: bool = False,
        *, errors: Literal[False],
    ) -> tuple[_Floats, None]: ...
    def density(
        self, values: _Floats, kind: tuple[str, float], predictive: bool = False
    ) -> tuple[_Floats, _Floats]: ...
    def explain(
        self, values: _Floats, kind: tuple[str, float], class_prior: str | None = None, predictive: bool = False
    ) -> _Floats: ...
    def evaluate(
        self,
        values: _Floats,
        labels: _Labels,
        kind: tuple[str, float],
        class_prior: str | None,
        predictive: bool,
        score_items: bool,
        bootstrap: int,
        seed: int,
    ) -> str: ...
    def worth(
        self, values: _Floats, labels: _Labels, kind: tuple[str, float], seed: int, progress: _Progress = None
    ) -> str: ...
    def simulate(self, items_per_class: int, seed: int) -> tuple[_Floats, _Labels]: ...
    def __reduce__(self) -> tuple[Callable[[str], Model], tuple[str]]: ...

@final
class CorrelatedDirichlet:
    def __new__(
        cls,
        alpha: Sequence[Sequence[float]],
        common: Sequence[float] | None = None,
        pairs: Sequence[tuple[int, int, Sequence[float]]] = ...,
    ) -> CorrelatedDirichlet: ...
    def log_pdf(
        self,
        x: _Floats,
        resolution: float = 0.0,
        tolerance: float | None = None,
        seed: int = 0,
    ) -> tuple[_Floats, _Floats]: ...
    def sample(self, n: int, seed: int) -> _Floats: ...
    def correlation(self) -> _Floats: ...

@final
class Dirichlet:
    def __new__(cls, alpha: Sequence[float]) -> Dirichlet: ...
    def log_pdf(self, x: _Floats) -> _Floats: ...
    def sample(self, n: int, seed: int) -> _Floats: ...
    def mean(self) -> _Floats: ...
    def variance(self) -> _Floats: ...

@final
class Table:
    def __new__(cls, table: Any) -> Table: ...
    @property
    def column_names(self) -> list[str]: ...
    def rows(self, names: Sequence[str]) -> _Floats: ...

def method_options(method: str) -> list[str]: ...
def needs_labels(method: str, options: str) -> bool: ...
def score(
    probabilities: _Floats, labels: _Labels, class_prior: Sequence[float] | None = None
) -> str: ...
def compare(
    values: _Floats,
    labels: _Labels,
    classifiers: Sequence[str],
    classes: Sequence[str],
    kind: tuple[str, float],
    floor: float,
    methods: Sequence[str] | None,
    class_prior: str,
    folds: tuple[int, int],
    splits: tuple[int, float] | None,
    at_mode: bool,
    score_items: bool,
    seed: int,
    progress: _Progress = None,
) -> str: ...
def simulate_preset(
    preset: str, correlation: float, items_per_class: int, seed: int
) -> tuple[_Floats, _Labels]: ...
def delta_for_correlation(
    first: Sequence[float], second: Sequence[float], correlation: float
) -> list[float]: ...
