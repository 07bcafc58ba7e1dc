from collections.abc import Callable, Sequence
from typing import Any, Literal, final, overload

import numpy as np
import numpy.typing as npt

__all__ = [
    "__version__",
    "ConsilienceError",
    "hint_text",
    "Model",
    "Statistics",
    "Table",
    "Votes",
    "Aggregation",
    "VoteModel",
    "CorrelatedDirichlet",
    "Dirichlet",
    "method_options",
    "needs_labels",
    "advise",
    "score",
    "compare",
    "compare_splits",
    "report",
    "report_of_votes",
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
    def to_onnx(self, kind: tuple[str, float], float32: bool = False) -> bytes: ...
    def to_python(self, kind: tuple[str, float]) -> str: ...
    def __new__(cls, text: str) -> Model: ...
    def __reduce__(self) -> tuple[type[Model], tuple[str]]: ...

@final
class Statistics:
    def __new__(cls, classifiers: Sequence[str], classes: Sequence[str]) -> Statistics: ...
    def add(
        self, values: _Floats, labels: _Labels, kind: tuple[str, float], floor: float,
        weights: _Floats | None = None,
    ) -> None: ...
    def merge(self, other: Statistics) -> None: ...
    def copy(self) -> Statistics: ...
    @property
    def n_items(self) -> int: ...
    @property
    def n_unlabelled(self) -> int: ...
    @property
    def class_counts(self) -> list[int]: ...
    @staticmethod
    def from_json(text: str) -> Statistics: ...
    def to_json(self) -> str: ...
    def fit(
        self, method: str, options: str, class_prior: str, floor: float, kind: tuple[str, float],
        progress: _Progress = None,
    ) -> Model: ...

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

@final
class Votes:
    def __new__(
        cls,
        items: Sequence[str],
        sources: Sequence[str],
        labels: Sequence[str],
        codes: _Labels,
        probabilities: _Floats | None,
        gold: Sequence[tuple[str, str]],
        classes: Sequence[str] | None = None,
    ) -> Votes: ...
    @property
    def items(self) -> list[str]: ...
    @property
    def sources(self) -> list[str]: ...
    @property
    def classes(self) -> list[str]: ...
    def counts(self) -> _Labels: ...
    def fit(self, method: str, options: str, progress: _Progress = None) -> Aggregation: ...
    def compare(
        self,
        methods: Sequence[tuple[str, str]],
        folds: int,
        held_out: Sequence[tuple[str, str]],
        seed: int,
        progress: _Progress = None,
    ) -> str: ...

@final
class Aggregation:
    @property
    def model(self) -> VoteModel: ...
    def probabilities(self) -> _Floats: ...
    def effective_votes(self) -> _Floats: ...
    def sources(self) -> dict[str, Any]: ...
    def confusion(self) -> _Floats: ...
    def report(self) -> str: ...
    def summary(self) -> str: ...

@final
class VoteModel:
    @staticmethod
    def is_file(text: str) -> bool: ...
    @staticmethod
    def from_json(text: str) -> VoteModel: ...
    def to_json(self, estimator: str | None = None) -> str: ...
    def description(self) -> str: ...
    def sources(self) -> dict[str, Any]: ...
    def predict(self, votes: Votes) -> tuple[_Floats, str]: ...
    def evaluate(self, votes: Votes, progress: _Progress = None) -> str: ...
    def __reduce__(self) -> tuple[Callable[[str], VoteModel], tuple[str]]: ...

def method_options(method: str) -> list[str]: ...
def needs_labels(method: str, options: str) -> bool: ...
def advise(
    model: Model,
    values: _Floats,
    labels: _Labels,
    kind: tuple[str, float],
    class_prior: str | None,
    n_labels: int,
    sources: tuple[int, float, Sequence[tuple[str, float]], bool] | None,
    seed: int,
    progress: _Progress = None,
) -> tuple[str, str]: ...
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
    given: Sequence[tuple[str, Sequence[_Floats | str], float, float]] = ...,
) -> str: ...
def compare_splits(
    labels: _Labels, n_classes: int, folds: tuple[int, int], splits: tuple[int, float] | None, seed: int
) -> list[tuple[list[int], list[int]]]: ...
def report(
    model: Model,
    values: _Floats,
    labels: _Labels,
    kind: tuple[str, float],
    class_prior: str | None,
    predictive: bool,
    title: str | None,
    data: str | None,
    items: int,
    seed: int,
    progress: _Progress = None,
) -> tuple[str, str]: ...
def report_of_votes(
    result: Aggregation, title: str | None, data: str | None, items: int
) -> tuple[str, str]: ...
def simulate_preset(
    preset: str, correlation: float, items_per_class: int, seed: int
) -> tuple[_Floats, _Labels]: ...
def delta_for_correlation(
    first: Sequence[float], second: Sequence[float], correlation: float
) -> list[float]: ...
