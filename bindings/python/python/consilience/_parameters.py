"""The parameters of estimators and their types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from ._docs import filled
from ._tables import Floats

ClassPrior = Union[Literal["empirical", "uniform", "estimate"], Sequence[float], Floats]
Values = Literal["probabilities", "log-probabilities", "logits", "odds", "odds-power", "odds-shin"]

T = TypeVar("T")

if TYPE_CHECKING:  # type checkers read the fields of an estimator as its parameters
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_: Any) -> Any:
        return lambda function: function


@dataclass_transform(kw_only_default=True, eq_default=False)
def estimator(cls: type[T]) -> type[T]:
    """Makes the annotated fields of a class its keyword-only parameters, and completes its docstring."""
    cls.__doc__ = filled(cls.__doc__)
    return dataclass(kw_only=True, eq=False, repr=False)(cls)
