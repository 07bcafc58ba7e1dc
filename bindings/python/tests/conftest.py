"""Data and models that several tests share."""

import copy

import numpy as np
import pytest

import consilience as cs

POSTERIOR = dict(chains=4, draws=600)
MODELS = {
    "auto": cs.AutoFusion(),
    "opinion-pool": cs.OpinionPool(),
    "linear-pool": cs.LinearPool(),
    "log-pool": cs.LogPool(),
    "independent": cs.IndependentFusion(**POSTERIOR),
    "discounted": cs.DiscountedFusion(**POSTERIOR),
    "correlated": cs.CorrelatedFusion(inference="map"),
    "stacking": cs.StackingFusion(),
    "logit-normal": cs.LogitNormalFusion(),
    "normal-mixture": cs.NormalMixtureFusion(components=3, chains=2),
    "bcc": cs.BccFusion(),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request):
    """An estimator of every method, not fitted."""
    return copy.deepcopy(request.param)


@pytest.fixture(scope="session")
def train():
    """Labelled outputs of two correlated classifiers for three classes."""
    return cs.simulate("sim2", correlation=0.5, items_per_class=60, random_state=1)


@pytest.fixture(scope="session")
def test():
    """More items of the same distribution."""
    return cs.simulate("sim2", correlation=0.5, items_per_class=20, random_state=2)


@pytest.fixture
def three():
    """Three classifiers and two classes; the first two are similar, some outputs are missing."""
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 60)
    sign = np.where(y == "yes", 1.0, -1.0)
    shared, own = rng.normal(size=120), rng.normal(size=(120, 3))
    score = sign[:, None] + np.c_[shared + 0.3 * own[:, 0], shared + 0.3 * own[:, 1], own[:, 2]]
    p = 1 / (1 + np.exp(-score))
    P = np.stack([1 - p, p], axis=2)
    P[::7, 2] = np.nan
    return P, y
