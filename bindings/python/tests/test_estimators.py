"""Fusion estimators: results, learned attributes, files, weights."""

import copy
import json
import pickle
import types
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import consilience as cs

FAST = dict(chains=4, draws=600)



def test_fused_probabilities_are_distributions(model, train, test):
    model = copy.deepcopy(model).fit(*train)
    p = model.predict_proba(test[0])
    assert p.shape == (60, 3)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(test[0]), model.classes_[p.argmax(axis=1)])
    assert model.score(*test) > 0.55
    assert_array_equal(model.transform(test[0]), p)
    assert list(model.get_feature_names_out()) == ["fused_1", "fused_2", "fused_3"]


def test_saved_loaded_and_pickled_models_are_the_same(model, train, test, tmp_path):
    model = copy.deepcopy(model).fit(*train)
    p = model.predict_proba(test[0])
    model.save(tmp_path / "model.json")
    loaded = cs.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert_array_equal(loaded.predict_proba(test[0]), p)
    assert_array_equal(loaded.predict(test[0]), model.predict(test[0]))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(test[0]), p)
    assert_array_equal(copy.deepcopy(loaded).predict_proba(test[0]), p)


def test_the_class_prior_can_be_changed_without_refitting(model, train, test):
    """A class prior p multiplies the odds by ratios of p.

    This does not hold for pools, whose outputs contain the prior, and for `auto`, which averages two models.
    """
    model = copy.deepcopy(model).fit(*train)
    p, prior = model.predict_proba(test[0]), np.array([0.45, 0.35, 0.2])
    q = model.predict_proba(test[0], class_prior=prior)
    assert_array_equal(model.predict_proba(test[0], class_prior="uniform"), p)
    if model._method in ("independent", "discounted", "correlated", "stacking", "logit-normal", "bcc"):
        assert_allclose(q, p * prior / (p * prior).sum(axis=1, keepdims=True), rtol=1e-9)
    again = copy.deepcopy(model).set_params(class_prior=prior)
    if model._method not in ("linear-pool", "log-pool"):  # their weights depend on the class prior
        assert_array_equal(again.fit(*train).predict_proba(test[0]), q)


def test_missing_outputs(model, three):
    P, y = three
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.DataWarning)
        model = copy.deepcopy(model).fit(P, y)
    p = model.predict_proba(P)
    assert np.isfinite(p).all()
    none_present = model.predict_proba(np.full((1, 3, 2), np.nan), class_prior=[0.3, 0.7])
    assert_allclose(none_present, [[0.3, 0.7]], rtol=1e-12)
    assert model.score(P, y) > 0.75


def test_the_opinion_pool_is_the_normalised_product(train):
    """The closed form of supplement A.11 with a uniform prior."""
    P, y = train
    product = P[:, 0] * P[:, 1]
    product /= product.sum(axis=1, keepdims=True)
    assert_allclose(cs.OpinionPool().fit(P, y).predict_proba(P), product, rtol=1e-12)


def test_learned_attributes_of_two_classifiers(train):
    model = cs.CorrelatedFusion(**FAST, keep_draws=20).fit(*train)
    assert model.alpha_.shape == (2, 3, 3)
    assert_allclose(model.alpha_[:, 0, 0] / model.alpha_[:, 0, 1], 1.5, rtol=0.2)  # simulated with 12 and 8
    assert model.delta_.shape == model.correlation_.shape == (2, 2, 3, 3)
    assert_array_equal(model.delta_[0, 1], model.delta_[1, 0])
    assert_array_equal(model.delta_[0, 0], model.alpha_[0])
    own = cs.CorrelatedDirichlet(model.alpha_[:, 1], common=model.delta_[0, 1, 1])
    assert_allclose(model.correlation_[:, :, 1], own.correlation(), rtol=1e-12)
    assert abs(model.correlation_[0, 1].mean() - 0.49) < 0.15
    assert 1 < model.n_effective_ < 2
    assert model.diagnostics_["posterior"]["worst"]["r_hat"] < 1.1
    assert model.diagnostics_["pairs"][0]["between"] == ["c1", "c2"]
    predictive = model.predict_proba(train[0][:5], predictive=True)
    assert_allclose(predictive, model.predict_proba(train[0][:5]), atol=0.1)
    assert model.shares_.shape == model.strengths_.shape == (2,)
    with pytest.raises(AttributeError, match="delta_"):
        cs.IndependentFusion(inference="map").fit(*train).delta_
    with pytest.raises(AttributeError, match="alpha_"):
        cs.OpinionPool().fit(*train).alpha_


class Counted:
    """A model of the core that counts how often its insight is computed."""

    def __init__(self, model, count):
        self.model, self.count = model, count

    def insight(self):
        self.count[0] += 1
        return self.model.insight()

    def __getattr__(self, name):
        return getattr(self.model, name)


def test_learned_attributes_are_computed_once_per_fit(train, monkeypatch):
    count, fit = [0], cs._core.Model.fit

    class Model:
        def fit(*arguments):
            return Counted(fit(*arguments), count)

    monkeypatch.setattr("consilience._base._core", types.SimpleNamespace(Model=Model, method_options=cs._core.method_options))
    model = cs.CorrelatedFusion(inference="map").fit(*train)
    assert count == [0]  # not before an attribute is asked for
    before = [model.alpha_, model.delta_, model.correlation_, model.n_effective_, model.shares_, model.strengths_]
    model._repr_html_()
    assert count == [1]
    model.alpha_[:] = 0  # a copy
    assert_array_equal(model.alpha_, before[0])
    some = train[1] != "3"
    model.fit(train[0][some][:, :, :2] / train[0][some][:, :, :2].sum(axis=2, keepdims=True), train[1][some])
    assert model.alpha_.shape == (2, 2, 2) and model.correlation_.shape == (2, 2, 2, 2)
    assert count == [2]


def test_learned_attributes_survive_pickling_and_partial_fits(train):
    P, y = train
    model = cs.IndependentFusion(inference="map").fit(P[::2], y[::2])
    size = len(pickle.dumps(model))
    alpha = model.alpha_
    assert len(pickle.dumps(model)) == size  # what was computed is not stored
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(P[::2], y[::2])):
        assert_array_equal(again.alpha_, alpha)
    whole = clone(model).fit(P, y)
    assert_array_equal(model.partial_fit(P[1::2], y[1::2]).alpha_, whole.alpha_)
    assert not np.array_equal(whole.alpha_, alpha)


def test_learned_attributes_of_three_classifiers(three):
    P, y = three
    model = cs.CorrelatedFusion(inference="map").fit(P, y)
    correlation = model.correlation_
    assert correlation.shape == model.delta_.shape == (3, 3, 2, 2)
    assert correlation[0, 1].mean() > 0.6 > correlation[0, 2].mean()
    assert_allclose(correlation, correlation.transpose(1, 0, 2, 3))


@pytest.mark.filterwarnings("ignore::consilience.ConvergenceWarning")
def test_partial_fits_equal_one_fit(train):
    P, y = train
    model = cs.IndependentFusion(**FAST, random_state=4)
    whole = copy.deepcopy(model).fit(P, y)
    parts = model.partial_fit(P[::2], y[::2], classes=["1", "2", "3"]).partial_fit(P[1::2], y[1::2])
    assert_array_equal(parts.alpha_, whole.alpha_)
    assert parts.model_.to_json() == whole.model_.to_json()
    assert not hasattr(cs.DiscountedFusion(), "partial_fit")


def test_weights_equal_repetitions(model, train):
    P, y = train
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = copy.deepcopy(model).fit(P, y, sample_weight=weights)
    repeated = copy.deepcopy(model).fit(np.repeat(P, weights, axis=0), np.repeat(y, weights))
    if model._method != "auto":  # its folds separate copies of an item
        assert_allclose(weighted.predict_proba(P), repeated.predict_proba(P), atol=1e-9)
    absent = copy.deepcopy(model).fit(P[weights > 0], y[weights > 0])
    left_out = copy.deepcopy(model).fit(P, y, sample_weight=(weights > 0).astype(float))
    assert left_out.model_.to_json() == absent.model_.to_json()


WHOLE = {"correlated", "logit-normal", "normal-mixture"}


def test_weights_may_be_real_numbers(model, train):
    """Two copies of every item whose weights add up to 1."""
    P, y = train
    parts = np.where(np.arange(2 * len(y)) < len(y), 0.3, 0.7)
    doubled = lambda: copy.deepcopy(model).fit(np.tile(P, (2, 1, 1)), np.tile(y, 2), sample_weight=parts)  # noqa: E731
    if model._method in WHOLE:
        with pytest.raises(cs.ConsilienceError, match=f"{type(model).__name__} must be whole numbers"):
            doubled()
        return
    if model._method != "auto":
        whole = copy.deepcopy(model).fit(P, y)
        assert_allclose(doubled().predict_proba(P), whole.predict_proba(P), atol=1e-9)
    for bad, match in [(-1.0, "not negative"), (np.nan, "finite"), (0.0, "zero")]:
        with pytest.raises(cs.ConsilienceError, match=match):
            copy.deepcopy(model).fit(P, y, sample_weight=np.full(len(y), bad))
    with pytest.raises(ValueError, match="shape"):
        copy.deepcopy(model).fit(P, y, sample_weight=[1.0])


def test_weights_enter_class_frequencies_and_partial_fits(train):
    P, y = train
    weights = np.where(y == "1", 2.5, 0.5)
    share = np.array([weights[y == c].sum() for c in ("1", "2", "3")]) / weights.sum()
    for make in (cs.AutoFusion, cs.StackingFusion, cs.IndependentFusion):
        model = make(class_prior="empirical").fit(P, y, weights)
        assert_allclose(model._file["class_prior"], share, rtol=1e-12)
    model = cs.IndependentFusion(**FAST)
    whole = copy.deepcopy(model).fit(P, y, weights)
    parts = model.partial_fit(P[::2], y[::2], sample_weight=weights[::2])
    parts = pickle.loads(pickle.dumps(parts)).partial_fit(P[1::2], y[1::2], sample_weight=weights[1::2])
    assert parts.model_.to_json() == whole.model_.to_json()


def test_explanations_add_up(train, test):
    """The evidence of independent classifiers is their log density, and adds up to the fused logits."""
    model = cs.IndependentFusion(inference="map").fit(*train)
    evidence = model.explain(test[0])
    assert evidence.shape == (60, 2, 3)
    assert_allclose(evidence.sum(axis=2), 0, atol=1e-12)
    logs = np.log(model.predict_proba(test[0]))
    assert_allclose(evidence.sum(axis=1), logs - logs.mean(axis=1, keepdims=True), atol=1e-10)
    density = [cs.Dirichlet(model.alpha_[0, j]).log_pdf(test[0][:, 0]) for j in range(3)]
    first = np.stack(density, axis=1)
    assert_allclose(evidence[:, 0], first - first.mean(axis=1, keepdims=True), atol=1e-10)
    both = first + np.stack([cs.Dirichlet(model.alpha_[1, j]).log_pdf(test[0][:, 1]) for j in range(3)], axis=1)
    assert_allclose(model.log_density(test[0]), both, atol=1e-9)


def test_evaluation_and_gain(train, test):
    model = cs.IndependentFusion(inference="map").fit(*train)
    found = model.evaluate(*test, bootstrap=50)
    names = [method["method"] for method in found["methods"]]
    assert names == ["independent", "classifier:c1", "classifier:c2", "meta:c1", "meta:c2"]
    own = cs.scores(test[1], model.predict_proba(test[0]), class_prior="uniform")
    assert found["methods"][0]["overall"]["log_loss"]["value"] == pytest.approx(own["log_loss"], rel=1e-12)
    worth = cs.AutoFusion().fit(*train).worth(*train)
    assert worth["n_items"] == 180 and worth["verdict"]


def test_scores_of_the_items_of_the_fit_have_a_note(train, test):
    model = cs.AutoFusion().fit(*train)
    note = "The model was fitted to these items, so all scores are optimistic"
    own = model.evaluate(*train, bootstrap=0)
    assert note in str(own) and note in own._repr_html_() and note in str(pickle.loads(pickle.dumps(own)))
    assert "gain" not in own and "`compare`" in str(own)
    other = model.evaluate(*test, bootstrap=0)
    assert note not in str(other) and other.gain.verdict in str(other)


def test_set_output_and_html_representation(train):
    model = cs.AutoFusion().set_output(transform="pandas").fit(*train)
    assert list(model.transform(train[0]).columns) == ["fused_1", "fused_2", "fused_3"]
    text = model._repr_html_()
    assert "of 2 classifiers" in text and "c1, c2" in text
    assert f"<td>{len(train[1])} (" in text
    assert "consilience-summary" not in cs.AutoFusion()._repr_html_()
    assert "consilience-summary" in model._repr_mimebundle_()["text/html"]


def test_print_describes_the_fitted_model(train):
    model = cs.AutoFusion(class_prior="uniform")
    assert str(model) == repr(model) == "AutoFusion(class_prior='uniform')"
    lines = str(model.fit(*train)).splitlines()
    assert lines[:2] == [repr(model), "  method            auto"]
    assert lines[2] == "  classifiers       c1, c2"
    assert any(line.startswith("  effective number  ") and line.endswith("of 2 classifiers") for line in lines)
    assert any(line.startswith("  if independent    ") for line in lines)
    assert "  items             180 (1: 60, 2: 60, 3: 60)" in lines
    assert model._repr_mimebundle_()["text/plain"] == str(model)  # what IPython prints in a terminal
    votes = cs.VoteFusion(layout="wide-labels").fit([["a", "b"], ["a", "a"], ["b", "b"]])
    assert str(votes).startswith(repr(votes) + "\n  method")


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_print_counts_items_without_a_label(train):
    P, y = train
    some = np.where(np.arange(180) % 3 > 0, y.astype(object), None)
    assert f"items             {sum(c is not None for c in some)} (1: " in (text := str(cs.AutoFusion().fit(P, some)))
    assert ") and 60 without a label" in text
    assert "items        180 without a label" in str(cs.AutoFusion().fit(P))


def test_seeds_determine_the_result(train):
    P, y = train
    fit = lambda state: cs.IndependentFusion(**FAST, random_state=state).fit(P, y).model_.to_json()  # noqa: E731
    assert fit(None) == fit(0) != fit(1)
    assert fit(np.random.RandomState(5)) == fit(np.random.RandomState(5))
    assert json.loads(fit(7))["settings"]["fit"]["seed"] == 7
