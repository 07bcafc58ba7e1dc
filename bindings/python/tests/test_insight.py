"""What models tell about their sources, class shares, and pools with learned weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience as cs

# Copies and few labels cause warnings, which other tests cover.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def copied():
    """Two sources and a copy of the first."""
    P, y = cs.simulate("sim2", correlation=0.3, items_per_class=100, random_state=1)
    P = np.asarray(P).reshape(len(y), 2, 3)
    return P[:, [0, 1, 0]], np.asarray(y)


def test_intervals_contain_their_estimates_and_copies_share_alike(copied):
    model = cs.AutoFusion().fit(*copied)
    assert model.copies_ == [[str(model.classifiers_[k]) for k in (0, 2)]]
    assert model.shares_[0] == model.shares_[2] > 0.2
    low, high = model.intervals_["n_effective"]
    assert low < model.n_effective_ < high < 3
    ends = model.intervals_["shares"]
    assert ends.shape == (3, 2)
    assert np.all((ends[:, 0] <= model.shares_) & (model.shares_ <= ends[:, 1]))
    assert_allclose(model.evidence_correlation_[0, 2], 1, atol=1e-9)
    assert model.intervals_["n_effective_independent"][0] > model.n_effective_


def test_attributes_that_a_method_lacks_are_attribute_errors(copied):
    model = cs.StackingFusion().fit(*copied)
    for name in ("copies_", "intervals_", "influences_", "shares_"):
        assert not hasattr(model, name)


def test_class_shares_are_the_mean_probabilities_and_labels_correct_them(copied):
    P, y = copied
    model = cs.AutoFusion(class_prior="uniform").fit(P, y)
    kept = np.r_[0:100, 100:150, 200:210]
    shares = model.prevalence(P[kept])
    assert_allclose([row["by_model"]["value"] for row in shares["classes"]], model.predict_proba(P[kept]).mean(0), atol=1e-12)
    assert str(shares).splitlines()[0].split() == ["class", "share", "low", "high"]
    labelled = model.prevalence(P[kept], y[kept])
    assert_allclose(labelled.to_frame()["share"], np.array([100, 50, 10]) / 160, atol=1e-9)
    assert_allclose([row["corrected"]["value"] for row in labelled["classes"]], np.array([100, 50, 10]) / 160, atol=1e-9)


def test_greedy_and_non_negative_weights(copied):
    P, y = copied
    greedy = cs.LinearPool(weights="greedy").fit(P, y).weights_
    assert_allclose(greedy.sum(), 1)
    assert_allclose(greedy * 25, np.round(greedy * 25), atol=1e-9)
    assert np.all(cs.LogPool(weights="non-negative").fit(P, y).weights_ >= 0)


def test_any_number_of_labels(copied):
    P, y = copied
    none = cs.AutoFusion().fit(P)
    few = [label if i % 20 == 0 else None for i, label in enumerate(y)]
    some = cs.AutoFusion().fit(P, few)
    truth = np.unique(y, return_inverse=True)[1]
    models = [none, some, cs.AutoFusion().fit(P, y)]
    losses = [-np.log(m.predict_proba(P)[np.arange(len(y)), truth]).mean() for m in models]
    assert losses[2] < losses[1] < losses[0] + 0.05
    assert_array_equal(some.classes_, np.unique(y))
