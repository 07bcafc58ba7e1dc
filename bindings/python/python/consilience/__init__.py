"""Combine the outputs of several classifiers into one calibrated probability per class.

>>> import consilience as cs
>>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
>>> model = cs.AutoFusion().fit(P, y)
>>> model.predict(P[1:4]).tolist()
['1', '1', '1']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import __version__
from ._errors import ConsilienceError, ConvergenceWarning, DataWarning
from .estimators import (
    AutoFusion,
    BccFusion,
    CorrelatedFusion,
    DiscountedFusion,
    IndependentFusion,
    LinearPool,
    LogPool,
    LogitNormalFusion,
    NormalMixtureFusion,
    OpinionPool,
    StackingFusion,
    load,
)
from .simulation import simulate
from .statistics import Statistics
from .votes import Rho, VoteFusion, compare_votes

if TYPE_CHECKING:
    from . import plots as plots
    from ._report import Report, report
    from .classifier import FusionClassifier
    from .distributions import CorrelatedDirichlet, Dirichlet
    from .metrics import compare, scores
else:
    #: Modules that are imported when one of their names is first used: most programs need none of them, and
    #: `sklearn.ensemble`, which `classifier` needs, takes longer than the rest of the package.
    _LATER = {
        "plots": [],
        "_report": ["Report", "report"],
        "classifier": ["FusionClassifier"],
        "distributions": ["CorrelatedDirichlet", "Dirichlet"],
        "metrics": ["compare", "scores"],
    }

    def __getattr__(name: str) -> Any:
        for home, names in _LATER.items():
            if name == home or name in names:
                module = import_module(f"{__name__}.{home}")
                return module if name == home else getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER, *__all__})

__all__ = [
    "AutoFusion",
    "BccFusion",
    "ConsilienceError",
    "ConvergenceWarning",
    "CorrelatedDirichlet",
    "CorrelatedFusion",
    "DataWarning",
    "Dirichlet",
    "DiscountedFusion",
    "FusionClassifier",
    "IndependentFusion",
    "LinearPool",
    "LogPool",
    "LogitNormalFusion",
    "NormalMixtureFusion",
    "OpinionPool",
    "Report",
    "Rho",
    "StackingFusion",
    "Statistics",
    "VoteFusion",
    "__version__",
    "compare",
    "compare_votes",
    "load",
    "report",
    "scores",
    "simulate",
]
