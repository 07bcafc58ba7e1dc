"""Distributions, compared with SciPy, closed forms and random draws."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

import consilience as cs


def test_dirichlet_agrees_with_scipy():
    alpha = np.array([3.0, 1.5, 0.7])
    own, other = cs.Dirichlet(alpha), stats.dirichlet(alpha)
    x = other.rvs(20, random_state=1)
    assert_allclose(own.log_pdf(x), [other.logpdf(row) for row in x], rtol=1e-10, atol=1e-12)
    assert_allclose(own.log_pdf(x[0]), other.logpdf(x[0]), rtol=1e-10)
    assert_allclose(own.mean(), other.mean())
    assert_allclose(own.variance(), other.var())
    draws = own.sample(20_000, random_state=1)
    # six standard errors
    assert (abs(draws.mean(axis=0) - own.mean()) < 6 * np.sqrt(own.variance() / 20_000)).all()
    assert_allclose(pickle.loads(pickle.dumps(own)).log_pdf(x), own.log_pdf(x))


def test_the_density_without_shared_shapes_is_a_product():
    alpha = np.array([[3.0, 2.0, 2.0], [2.0, 4.0, 3.0]])
    d = cs.CorrelatedDirichlet(alpha)
    x = np.stack([stats.dirichlet(a).rvs(10, random_state=2) for a in alpha], axis=1)
    expected = [sum(stats.dirichlet(a).logpdf(row) for a, row in zip(alpha, item)) for item in x]
    assert_allclose(d.log_pdf(x), expected, rtol=1e-9)
    assert_allclose(d.mean(), alpha / alpha.sum(axis=1, keepdims=True))


def test_density_and_correlation_of_two_classifiers():
    """Reference values: the density by mpmath, the correlations by a two-dimensional integral."""
    d = cs.CorrelatedDirichlet([[3, 2, 2], [2, 4, 3]], common=[1, 1, 1])
    value, error = d.log_pdf([[0.5, 0.3, 0.2], [0.2, 0.45, 0.35]], return_error=True)
    assert abs(value - 3.797_227_081) < 1e-6 and error < 1e-5
    as_pair = cs.CorrelatedDirichlet([[3, 2, 2], [2, 4, 3]], pairs={(0, 1): [1, 1, 1]})
    assert_allclose(as_pair.log_pdf([[[0.5, 0.3, 0.2], [0.2, 0.45, 0.35]]]), [value])
    r = cs.CorrelatedDirichlet([[3, 2, 2], [2, 4, 3]], common=[1.5, 0.7, 1.2]).correlation()
    assert r.shape == (2, 2, 3)
    assert_allclose(r[0, 1], [0.489_166_11, 0.329_486_16, 0.435_317_99], rtol=1e-6)
    assert_allclose(r[0, 0], 1)


def test_draws_have_the_exact_correlation():
    d = cs.CorrelatedDirichlet([[12, 8, 8]] * 3, common=[4, 3, 3], pairs={(0, 2): [3, 2, 2]})
    x = d.sample(40_000, random_state=3)
    assert x.shape == (40_000, 3, 3)
    assert_allclose(x.sum(axis=2), 1, rtol=1e-12)
    expected = d.correlation()
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        for j in range(3):
            got = np.corrcoef(x[:, a, j], x[:, b, j])[0, 1]
            assert abs(got - expected[a, b, j]) < 0.03  # six standard errors
    assert (d.sample(5, random_state=3) == x[:5]).all()


def test_a_distribution_with_a_given_correlation():
    d = cs.CorrelatedDirichlet.with_correlation([[3, 2, 2], [2, 4, 3]], 0.4)
    assert abs(d.correlation()[0, 1].mean() - 0.4) < 1e-6
    assert_allclose(pickle.loads(pickle.dumps(d)).common, d.common)


def test_density_of_three_classifiers_with_its_error():
    """The reference value was computed by another method: 7.36511 ± 0.00008."""
    pairs = {(0, 1): [1.0, 0.5, 0.8], (0, 2): [0.6, 0.4, 0.7], (1, 2): [0.5, 0.9, 0.4]}
    alpha = [[6, 4, 4], [5, 4, 5], [6, 5, 4]]
    d = cs.CorrelatedDirichlet(alpha, common=[1.5, 1.0, 1.2], pairs=pairs)
    x = [[0.5, 0.2, 0.3], [0.4, 0.3, 0.3], [0.45, 0.25, 0.3]]
    value, error = d.log_pdf(x, tolerance=5e-3, return_error=True)
    assert abs(value - 7.3651) < 0.02 and error < 0.01


def test_wrong_parameters_and_shapes_are_refused():
    for alpha, common in [([[1, -1]], None), ([[1, 2], [1, 2]], [2, 0]), ([[1, 2], [1, 2, 3]], None)]:
        with pytest.raises(ValueError):
            cs.CorrelatedDirichlet(alpha, common)
    with pytest.raises(cs.ConsilienceError, match=r"concentration\[1\]"):
        cs.Dirichlet([1, 0])
    with pytest.raises(cs.ConsilienceError, match="expected"):
        cs.CorrelatedDirichlet([[1, 2], [1, 2]]).log_pdf(np.ones((3, 2, 3)) / 3)


def test_simulation_from_sets_and_from_models(train):
    P, y = cs.simulate("sim1", correlation=0.9, items_per_class=7, random_state=1)
    assert P.shape == (21, 2, 3) and list(y[:7]) == ["1"] * 7
    again, _ = cs.simulate("sim1", correlation=0.9, items_per_class=7, random_state=1)
    assert (again == P).all()
    model = cs.IndependentFusion(inference="map").fit(*train)
    drawn, labels = cs.simulate(model, items_per_class=2000, random_state=1)
    for j, c in enumerate(model.classes_):
        mean = drawn[labels == c].mean(axis=0)
        assert_allclose(mean, model.alpha_[:, j] / model.alpha_[:, j].sum(axis=1, keepdims=True), atol=0.02)
    with pytest.raises(cs.ConsilienceError, match="cannot be simulated"):
        cs.simulate(cs.OpinionPool().fit(*train))
    with pytest.raises(cs.ConsilienceError, match="preset"):
        cs.simulate("sim4")


def test_scores_computed_by_hand():
    p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    found = cs.scores(["a", "b", "b"], p, per_class=True)
    assert found["log_loss"] == pytest.approx(-np.log([0.8, 0.6, 0.3]).mean())
    assert found["brier"] == pytest.approx(2 * np.mean([0.04, 0.16, 0.49]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["per_class"]["b"]["accuracy"] == pytest.approx(0.5)
    even = cs.scores(["a", "b", "b"], p, class_prior="uniform")
    assert even["log_loss"] == pytest.approx(-(np.log(0.8) + np.log([0.6, 0.3]).mean()) / 2)
    with pytest.raises(cs.ConsilienceError, match="unknown label"):
        cs.scores(["c"], p[:1], classes=["a", "b"])
