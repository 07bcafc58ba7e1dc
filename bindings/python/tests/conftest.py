"""Data that several tests share."""

import numpy as np
import pytest

import consilience as cs


@pytest.fixture(scope="session")
def train():
    """Two correlated classifiers, three classes."""
    return cs.simulate("sim2", correlation=0.5, items_per_class=60, random_state=1)


@pytest.fixture(scope="session")
def test():
    return cs.simulate("sim2", correlation=0.5, items_per_class=20, random_state=2)


@pytest.fixture
def three():
    """Three classifiers, the first two alike, two classes, some outputs missing."""
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 60)
    sign = np.where(y == "yes", 1.0, -1.0)
    shared, own = rng.normal(size=120), rng.normal(size=(120, 3))
    score = sign[:, None] + np.c_[shared + 0.3 * own[:, 0], shared + 0.3 * own[:, 1], own[:, 2]]
    p = 1 / (1 + np.exp(-score))
    P = np.stack([1 - p, p], axis=2)
    P[::7, 2] = np.nan
    return P, y
