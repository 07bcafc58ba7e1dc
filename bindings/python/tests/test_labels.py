"""Items without a label, the class prior, and updates of classes that come later."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import consilience as cs


@pytest.fixture
def items():
    """60 items of three classes, labelled 1, 2, 3."""
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=20, random_state=1)
    return P, y.astype(int)


def partly(y, missing):
    """Labels in every form that has entries for `missing` items; None where there is none."""
    listed = [None if m else int(c) for c, m in zip(y, missing)]
    floats = np.where(missing, np.nan, y)
    return {
        "list with None": listed,
        "list with NaN": [float("nan") if v is None else v for v in listed],
        "object array": np.array(listed, dtype=object),
        "float array": floats,
        "masked array": np.ma.masked_array(y, missing),
        "minus one": np.where(missing, -1, y),
        "pandas floats": pd.Series(floats),
        "pandas Int64": pd.array(listed, dtype="Int64"),
        "pandas series of Int64": pd.Series(pd.array(listed, dtype="Int64")),
        "pandas category": pd.Series(pd.Categorical(listed)),
        "polars": pl.Series(listed),
        "pyarrow": pa.array(listed),
    }


FORMS = list(partly(np.array([1]), np.array([False])))


@pytest.mark.parametrize("form", FORMS)
def test_unlabelled_items_in_every_form(items, form):
    P, y = items
    missing = np.arange(60) % 3 == 0
    labels = partly(y, missing)[form]
    model = cs.IndependentFusion(inference="map").fit(P, labels)
    alone = cs.IndependentFusion(inference="map").fit(P[~missing], y[~missing])
    assert_array_equal(model.predict_proba(P), alone.predict_proba(P))
    assert_array_equal(model.classes_, [1, 2, 3])
    assert model._file["training"]["unlabelled"]["items"] == 20
    scored = model.evaluate(P, labels, bootstrap=0)
    assert (scored["n_items"], scored["n_unlabelled"]) == (40, 20)
    found = cs.compare(P, labels, ["independent"], folds=3)
    assert (found["n_items"], found["n_unlabelled"]) == (40, 20)


@pytest.mark.parametrize("form", ["list with None", "list with NaN", "object array", "pandas", "polars", "pyarrow"])
def test_text_labels_with_missing_ones(items, form):
    P, y = items
    texts = [None if i % 4 == 0 else f"class {c}" for i, c in enumerate(y)]
    labels = {
        "list with None": texts,
        "list with NaN": [float("nan") if t is None else t for t in texts],
        "object array": np.array(texts, dtype=object),
        "pandas": pd.Series(texts),
        "polars": pl.Series(texts),
        "pyarrow": pa.array(texts),
    }[form]
    model = cs.OpinionPool().fit(P, labels)
    assert model.classes_.tolist() == ["class 1", "class 2", "class 3"]
    assert model._file["training"]["unlabelled"]["items"] == 15


def test_minus_one_may_be_a_class(items):
    P, y = items
    two = cs.OpinionPool(layout="positive").fit(P[:, :, 0], np.where(y == 1, 1, -1))
    assert two.classes_.tolist() == [-1, 1]
    three = cs.OpinionPool().fit(P, y - 2)
    assert three.classes_.tolist() == [-1, 0, 1]
    given = cs.OpinionPool(classes=[-1, 0, 1]).fit(P[y < 3], y[y < 3] - 2)
    assert given.classes_.tolist() == [-1, 0, 1]
    frame = pd.DataFrame(P.reshape(60, 6), columns=[f"{k}_{j}" for k in "ab" for j in (-1, 0, 1)])
    assert cs.OpinionPool().fit(frame, y - 2).classes_.tolist() == [-1, 0, 1]
    # The parameter names all classes, and -1 is none of them.
    few = cs.OpinionPool(classes=[1, 2, 3]).fit(P, np.where(y == 3, -1, y))
    assert few._file["training"]["unlabelled"]["items"] == 20


def test_pools_need_no_labels(items):
    P, _ = items
    frame = pd.DataFrame(P.reshape(60, 6), columns=[f"{k}_{j}" for k in "ab" for j in "xyz"])
    for make in (cs.OpinionPool, lambda: cs.LinearPool(weights="equal"), lambda: cs.LogPool(weights=[1, 2])):
        model = make().fit(P)
        assert model.classes_.tolist() == [0, 1, 2]
        assert_allclose(model._file["class_prior"], P.mean(axis=(0, 1)), rtol=1e-9)
        named = make().fit(frame)
        assert named.classes_.tolist() == ["x", "y", "z"] and named.classifiers_.tolist() == ["a", "b"]
        assert_array_equal(named.predict_proba(frame), model.predict_proba(P))
        assert_array_equal(make().fit(P, [None] * 60).predict_proba(P), model.predict_proba(P))
    positive = cs.OpinionPool(layout="positive").fit(P[:, :, 0])
    assert positive.classes_.tolist() == [0, 1]
    for make in (cs.StackingFusion, cs.LinearPool, cs.BccFusion):
        with pytest.raises(ValueError, match="requires y to be passed"):
            make().fit(P)
        with pytest.raises(cs.ConsilienceError, match="needs labels, and none of the 60 items has one"):
            make().fit(P, [None] * 60)
    with pytest.raises(cs.ConsilienceError, match="name every class with `classes`"):
        cs.OpinionPool().fit(P.reshape(60, 6))
    assert cs.OpinionPool(n_classifiers=2).fit(P.reshape(60, 6)).classes_.tolist() == [0, 1, 2]


def test_classes_of_unlabelled_items_come_from_the_columns(items):
    P, y = items
    frame = pd.DataFrame(P.reshape(60, 6), columns=[f"{k}_{j}" for k in "ab" for j in (1, 2, 3)])
    labels = [None if c == 3 else int(c) for c in y]
    model = cs.OpinionPool().fit(frame, labels)
    assert model.classes_.tolist() == [1, 2, 3]
    # Half an item for the class without labels.
    assert_allclose(model._file["class_prior"], np.array([20.5, 20.5, 0.5]) / 41.5)


@pytest.mark.filterwarnings("ignore:fewer than 10 training items")
def test_the_class_prior_is_that_of_the_labels(items):
    P, y = items
    few = np.r_[0:5, 20:30, 40:60]
    for make in (cs.AutoFusion, cs.OpinionPool, cs.StackingFusion):
        model = make().fit(P[few], y[few])
        assert_allclose(model._file["class_prior"], np.array([5, 10, 20]) / 35)
        assert model.evaluate(P[few], y[few], bootstrap=0)["weighting"] == "items"
        assert model.evaluate(P[few], y[few], bootstrap=0, class_prior="uniform")["weighting"] == "class-prior"
    assert cs.compare(P[few], y[few], ["bcc"], folds=3)["weighting"] == "items"
    with pytest.warns(cs.DataWarning, match="is far from the frequencies of the labels"):
        cs.OpinionPool(class_prior=[0.9, 0.05, 0.05]).fit(P[few], y[few])


def test_the_class_prior_is_estimated_from_unlabelled_items():
    P, y = cs.simulate("sim2", correlation=0.3, items_per_class=300, random_state=1)
    Q, z = cs.simulate("sim2", correlation=0.3, items_per_class=1400, random_state=2)
    Q = np.concatenate([Q[z == "1"][:200], Q[z == "2"][:400], Q[z == "3"]])
    labels = list(y) + [None] * len(Q)
    model = cs.IndependentFusion(inference="map", class_prior="estimate").fit(np.concatenate([P, Q]), labels)
    # Tolerance as in the test of the library.
    assert_allclose(model._file["class_prior"], [0.1, 0.2, 0.7], atol=0.06)
    plain = cs.IndependentFusion(inference="map").fit(P, y)
    estimated = plain.predict_proba(Q, class_prior="estimate")
    assert_allclose(estimated, plain.predict_proba(Q, class_prior=model._file["class_prior"]), atol=1e-6)
    with pytest.raises(cs.ConsilienceError, match="if every training item has a label"):
        cs.OpinionPool(class_prior="estimate").fit(P, y)


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
@pytest.mark.parametrize("make", [lambda: cs.IndependentFusion(inference="map"), cs.BccFusion])
def test_classes_may_come_one_by_one(items, make):
    P, y = items
    model = make()
    for c in (3, 1, 2):
        model.partial_fit(P[y == c], y[y == c], classes=[1, 2, 3])
    model.partial_fit(P[:5], [None] * 5)
    order = np.concatenate([np.flatnonzero(y == c) for c in (3, 1, 2)])
    assert_array_equal(model.predict_proba(P), make().fit(P[order], y[order]).predict_proba(P))
    with pytest.raises(cs.ConsilienceError, match="the first call had `1`, `2` and `3`"):
        model.partial_fit(P, y, classes=[1, 2])


def test_confusion_matrices(items):
    P, y = items
    model = cs.BccFusion().fit(P, y)
    decided = P[:, 1].argmax(axis=1)
    counts = np.array([[((y == j) & (decided == l)).sum() + 1 for l in range(3)] for j in (1, 2, 3)])
    assert_allclose(model.confusion_[1], counts / counts.sum(axis=1, keepdims=True), rtol=1e-12)


def test_a_classifier_without_outputs_in_a_class_is_left_out(items, tmp_path):
    P, y = items
    Q = np.insert(P, 1, P[:, 0], axis=1)
    Q[y == 3, 1] = np.nan
    model = cs.IndependentFusion(inference="map", classifiers=["a", "b", "c"])
    with pytest.warns(cs.DataWarning, match="classifier `b` is missing for every training item of class `3`"):
        model.fit(Q, y)
    without = cs.IndependentFusion(inference="map", classifiers=["a", "c"]).fit(P, y)
    assert model.classifiers_.tolist() == ["a", "c"] and model.alpha_.shape == (2, 3, 3)
    assert_array_equal(model.predict_proba(Q), without.predict_proba(P))
    model.save(tmp_path / "m.json")
    assert_array_equal(cs.load(tmp_path / "m.json").predict_proba(Q), model.predict_proba(Q))
    # A fit to complete items uses all of them again.
    assert model.fit(np.insert(P, 1, P[:, 0], axis=1), y).classifiers_.tolist() == ["a", "b", "c"]


def test_errors_say_what_is_wrong(items, tmp_path):
    import pickle

    P, y = items
    model = cs.OpinionPool().fit(P, y)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    with pytest.raises(cs.ConsilienceError, match="it is not a model file"):
        cs.load(tmp_path / "m.pkl")
    for empty in (P[:0], P[:0].reshape(0, 6)):
        with pytest.raises(ValueError, match="0 sample"):
            cs.OpinionPool().fit(empty, y[:0])
        with pytest.raises(ValueError, match="0 sample"):
            model.predict_proba(empty)
    with pytest.raises(cs.ConsilienceError, match="the labels come first"):
        cs.scores(P[:, 0], y)
    with pytest.raises(cs.ConsilienceError, match="`balance` must be offset or weights, got balanced"):
        cs.StackingFusion(balance="balanced").fit(P, y)
    with pytest.warns(cs.DataWarning, match="logits look like probabilities"):
        cs.OpinionPool(values="logits").fit(P, y)
