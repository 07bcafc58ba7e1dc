"""Combine the outputs of several classifiers into one calibrated probability per class.

>>> import consilience as cs
>>> P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
>>> model = cs.AutoFusion().fit(P, y)
>>> model.predict(P[1:4]).tolist()
['1', '1', '1']
"""

from . import plots as plots
from ._core import __version__
from ._errors import ConsilienceError, ConvergenceWarning, DataWarning
from ._report import Report, report
from .classifier import FusionClassifier
from .distributions import CorrelatedDirichlet, Dirichlet
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
from .metrics import compare, scores
from .simulation import simulate
from .statistics import Statistics
from .votes import Rho, VoteFusion, compare_votes

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
