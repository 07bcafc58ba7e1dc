"""Results print as tables, are dicts, and become data frames."""

import json
import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import consilience as cs


@pytest.fixture(scope="module")
def fitted(train):
    return cs.AutoFusion().fit(*train)


def test_scores_as_text_html_and_frame(fitted, test):
    found = fitted.evaluate(*test, bootstrap=50)
    frame = found.to_frame().set_index("method")
    for own in found["methods"]:
        assert frame.log_loss[own["method"]] == own["overall"]["log_loss"]["value"]
    assert found.methods[0].overall.log_loss.low <= frame.log_loss["auto"] <= frame.high["auto"]
    text, html = str(found), found._repr_html_()
    for row in frame.index:
        assert row in text and row in html
    assert f"{frame.log_loss['auto']:.4f}" in text and found.gain.verdict in text
    assert json.loads(json.dumps(found)) == found == pickle.loads(pickle.dumps(found))
    assert "methods" in dir(found)


def test_the_gain_has_an_interval_of_the_effective_number(fitted, train):
    found = fitted.worth(*train)
    low, high = found.effective_number_interval
    assert low < found.effective_number < high
    assert [low, high] == list(fitted.intervals_["n_effective"])
    assert found.verdict in repr(found) and "<table" in found._repr_html_()
    frame = found.to_frame().set_index("method")
    baseline = found.baselines[0]
    assert frame.gain_of_auto[baseline.method] == baseline.gain.mean
    assert frame.log_loss[baseline.method] - frame.log_loss["auto"] == pytest.approx(baseline.gain.mean)


def test_names_and_layouts_in_a_comparison(train):
    P, y = train
    options = dict(methods=["bcc"], folds=3, classifiers=["left", "right"])
    found = cs.compare(P, y, **options)
    assert {own.method for own in found.methods} >= {"classifier:left", "meta:right"}
    names = ("left", "right")
    sources = {name: P[:, k] for k, name in enumerate(names)}
    losses = found.to_frame().set_index("method").log_loss
    for X in (sources, [P[:, 0], P[:, 1]]):
        again = cs.compare(X, y, **options).to_frame().set_index("method").log_loss
        assert again.equals(losses)
    two = np.isin(y, np.unique(y)[:2])
    positive = P[two][:, :, 1] / P[two][:, :, :2].sum(axis=2)
    found = cs.compare(positive, y[two], "linear-pool", folds=3, layout="positive")
    assert "classifier:c2" in str(found)


def test_estimators_in_a_comparison(train):
    """The same method by name and as an estimator has the same scores, on the same folds."""
    P, y = train
    seen = []
    found = cs.compare(
        P, y, ["stacking", cs.StackingFusion(), ("strong", cs.StackingFusion(ridge=100.0)), LogisticRegression(),
               LinearSVC()],
        folds=4, random_state=3, progress=lambda *step: seen.append(step),
    )
    frame = found.to_frame().set_index("method")
    assert frame.log_loss["StackingFusion"] == pytest.approx(frame.log_loss["stacking"], abs=1e-12)
    assert frame.log_loss["strong"] != pytest.approx(frame.log_loss["stacking"], abs=1e-4)
    assert frame.log_loss["LogisticRegression"] < frame.log_loss["classifier:c1"]
    assert np.isnan(frame.log_loss["LinearSVC"]) and "Failed: LinearSVC" in str(found)
    assert "predict_proba" in found.methods[-1].failures[0].message
    assert ("comparing 1 of 4 estimators: StackingFusion", 4, 4) in seen


def test_logistic_regression_by_hand(train):
    """The log-loss of an estimator is that of predictions made by hand on the folds of the comparison."""
    P, y = train
    found = cs.compare(P, y, LogisticRegression(), folds=3, random_state=1)
    classes, labels = np.unique(y, return_inverse=True)
    losses = np.empty(len(y))
    for fit, test in cs._core.compare_splits(labels.astype(np.int64), len(classes), (3, 1), None, 1):
        model = LogisticRegression().fit(P.reshape(len(P), -1)[fit], y[fit])
        p = model.predict_proba(P.reshape(len(P), -1)[test])
        losses[test] = -np.log(p[np.arange(len(test)), labels[test]])
    row = found.to_frame().set_index("method").loc["LogisticRegression"]
    assert row.log_loss == pytest.approx(losses.mean(), rel=1e-9)
    assert row.log_loss_se == pytest.approx(losses.std(ddof=1) / np.sqrt(len(y)), rel=1e-6)


def test_a_probability_of_0_costs_what_the_floor_allows(train):
    from sklearn.tree import DecisionTreeClassifier

    found = cs.compare(*train, DecisionTreeClassifier(random_state=0), folds=3, floor=1e-3)
    row = found.to_frame().set_index("method").loc["DecisionTreeClassifier"]
    p = 1e-3 / 1.002  # a tree without limits predicts 0 and 1
    want = -(1 - row.accuracy) * np.log(p) - row.accuracy * np.log(1 / 1.002)
    assert row.log_loss == pytest.approx(want, rel=1e-9)


def test_estimators_learn_from_unlabelled_items(train):
    P, y = train
    some = [label if i % 4 else None for i, label in enumerate(y)]
    found = cs.compare(P, some, ["auto", cs.AutoFusion()], folds=3)
    losses = found.to_frame().set_index("method").log_loss
    assert losses["AutoFusion"] == pytest.approx(losses["auto"], abs=1e-12)


def test_wrong_methods_are_refused(train):
    for wrong in (cs.AutoFusion, 3, [None]):
        with pytest.raises((cs.ConsilienceError, TypeError)):
            cs.compare(*train, wrong)


def test_sources_one_by_one(train):
    """`[m.predict_proba(X) for m in models]`, a dict of them, and data frames of classes."""
    pd = pytest.importorskip("pandas")
    P, y = train
    classes = np.unique(y)
    base = cs.AutoFusion().fit(P, y)
    want = base.predict_proba(P[:9])
    assert (cs.AutoFusion().fit([P[:, 0], P[:, 1]], y).predict_proba([P[:9, 0], P[:9, 1]]) == want).all()
    named = cs.AutoFusion().fit({"a": P[:, 0], "b": P[:, 1]}, y)
    assert named.classifiers_.tolist() == ["a", "b"]
    assert (named.predict_proba({"b": P[:9, 1], "a": P[:9, 0]}) == want).all()  # by name, in any order
    with pytest.raises(cs.ConsilienceError, match="`a` and `z`"):
        named.predict_proba({"a": P[:9, 0], "z": P[:9, 1]})
    frames = {"a": pd.DataFrame(P[:, 0], columns=classes), "b": pd.DataFrame(P[:, 1], columns=classes)}
    frames["b"] = frames["b"][classes[::-1]]  # columns are found by their names
    model = cs.AutoFusion().fit(frames, y)
    assert np.allclose(model.predict_proba({k: f[:9] for k, f in frames.items()}), want, atol=1e-12)
    with pytest.raises(cs.ConsilienceError, match="same items and classes"):
        cs.AutoFusion().fit([P[:, 0], P[:-1, 1]], y)


@pytest.mark.parametrize("wrong", [[2.0, 0.0], [-0.1, 1.1], [np.nan, 1.0], [0.5, 0.4], [np.inf, 0.0]])
def test_scores_are_those_of_probabilities(wrong):
    with pytest.raises(cs.ConsilienceError, match="item 1: expected probabilities that add up to 1, got"):
        cs.scores(["a", "b"], [[0.8, 0.2], wrong])


def test_a_class_prior_that_is_no_list_of_numbers():
    P, y = cs.simulate("sim2", items_per_class=5, random_state=1)
    model = cs.OpinionPool().fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="in the order of `classes_`, got {'1': 0.5"):
        model.predict_proba(P, class_prior={"1": 0.5, "2": 0.3, "3": 0.2})
