"""Mistakes of first attempts: the message names the cure, and the cure works."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import GaussianNB

import consilience as cs


def long_table(P):
    """One row per item, classifier and class."""
    rows = [(i, f"c{k}", j + 1, P[i, k, j]) for i, k, j in np.ndindex(P.shape)]
    return pd.DataFrame(rows, columns=["item", "classifier", "class", "probability"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_long_tables_are_pivoted_as_the_hint_shows(train, library):
    P, y = train
    X = long_table(P) if library == "pandas" else pl.from_pandas(long_table(P))
    for settings in ({}, {"layout": "long"}):
        with pytest.raises(cs.ConsilienceError, match="in pandas `.*`, in polars `") as error:
            cs.OpinionPool(**settings).fit(X, y)
    cure = str(error.value).split(f"in {library} `")[1].split("`")[0]
    table = eval(cure, {"X": X, "pl": pl})
    expected = cs.OpinionPool().fit(P, y).predict_proba(P)
    assert_allclose(cs.OpinionPool().fit(table, y).predict_proba(table), expected, rtol=1e-12)


def test_tables_of_votes_are_sent_to_the_estimator_of_votes(train):
    votes = pd.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]})
    with pytest.raises(cs.ConsilienceError, match="hint: a table with one row per vote is for `VoteFusion`"):
        cs.AutoFusion().fit(votes, ["x", "y", "x"])
    with pytest.raises(cs.ConsilienceError, match="hint: labels are read by"):
        cs.AutoFusion(layout="wide-labels").fit(*train)


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist])
def test_one_column_per_classifier_without_a_header(three, kind):
    P, y = three
    X = np.nan_to_num(P[:, [0, 1, 0, 1], 1], nan=0.5)
    with pytest.raises(cs.ConsilienceError, match='one column per classifier, use `layout="positive"` .*of `yes`'):
        cs.OpinionPool().fit(kind(X), y)
    cs.OpinionPool(layout="positive").fit(kind(X), y)
    with pytest.raises(cs.ConsilienceError, match="add up to") as error:
        cs.OpinionPool().fit(np.stack([P, 2 * P], axis=1)[:, 1], y)
    assert "positive" not in str(error.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_text_are_named(three, frame):
    P, y = three
    X = frame({"a": P[:, 0, 1], "id": ["x"] * len(P), "b": P[:, 1, 1]})
    with pytest.raises(cs.ConsilienceError, match="`id`"):
        cs.OpinionPool(layout="positive").fit(X, y)
    model = cs.OpinionPool(layout="positive", classifiers=["a", "b"]).fit(X, y)
    assert list(model.classifiers_) == ["a", "b"]


def test_sources_without_any_output_are_none(train):
    P, y = train
    model = cs.AutoFusion().fit({"a": P[:, 0], "b": P[:, 1]}, y)
    with pytest.raises(cs.ConsilienceError, match="X has no output of `a`\nhint: .* `None`"):
        model.predict_proba({"b": P[:, 1]})
    missing = P.copy()
    missing[:, 0] = np.nan
    expected = model.predict_proba(missing)
    assert_array_equal(model.predict_proba({"a": None, "b": P[:, 1]}), expected)
    assert_array_equal(model.predict_proba([None, P[:, 1]]), expected)
    frame = pd.DataFrame(P[:, 1], columns=["1", "2", "3"])
    assert_array_equal(model.predict_proba({"b": frame, "a": None}), expected)
    with pytest.raises(cs.ConsilienceError, match="all are `None`"):
        model.predict_proba({"a": None, "b": None})


@pytest.mark.parametrize("estimator", [cs.AutoFusion(), cs.LinearPool(), cs.LogPool(weights="free")])
def test_a_source_without_any_output_is_left_out_of_a_fit(train, estimator):
    P, y = train
    X = np.concatenate([P, np.full((len(P), 1, 3), np.nan)], axis=1)
    with pytest.warns(cs.DataWarning, match="classifier `c3` has no output for any training item, so it is left out"):
        model = estimator.fit(X, y)
    assert list(model.classifiers_) == ["c1", "c2"]
    assert model.predict_proba(X).shape == (len(P), 3)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_frames_as_they_come(train, library):
    P, y = train
    columns = [f"{k}_{j}" for k in "ab" for j in (1, 2, 3)]
    X = library(dict(zip(columns, P.reshape(-1, 6).T, strict=True)))
    expected = cs.OpinionPool().fit(P, y).predict_proba(P)
    assert_allclose(cs.OpinionPool().fit(X, y).predict_proba(X), expected)
    with pytest.raises(cs.ConsilienceError, match=r"hint: the labels are numbers with a fraction .*`y.astype\(int\)`"):
        cs.OpinionPool().fit(X, y.astype(float))
    labelled = library({**dict(zip(columns, P.reshape(-1, 6).T, strict=True)), "label": y})
    with pytest.warns(cs.DataWarning, match="the column `label` of X is not read\nhint: give the labels as y"):
        cs.OpinionPool().fit(labelled)


def test_frames_without_columns_or_with_two_of_a_name(train):
    P, y = train
    X = pd.DataFrame(P.reshape(-1, 6), columns=["a_1", "a_2", "a_3", "b_1", "b_2", "b_3"])
    with pytest.raises(cs.ConsilienceError, match="column `a_1` occurs twice\nhint: rename"):
        cs.OpinionPool().fit(pd.concat([X, X[["a_1"]]], axis=1), y)
    with pytest.raises(cs.ConsilienceError, match="X is empty: the data frame has no columns"):
        cs.OpinionPool().fit(pd.DataFrame(), [])


def test_one_item_needs_a_dimension_of_items(train):
    P, y = train
    model = cs.OpinionPool().fit(P, y)
    with pytest.raises(cs.ConsilienceError, match=r"single item.*\nhint: for one item use `X\[np.newaxis\]`"):
        model.predict_proba(P[0])
    assert model.predict_proba(P[0][np.newaxis]).shape == (1, 3)


def test_messages_about_classes_and_seeds(train):
    P, y = train
    with pytest.raises(cs.ConsilienceError, match="but there is one class: `1`"):
        cs.OpinionPool().fit(P, np.full(len(y), "1"))
    with pytest.raises(cs.ConsilienceError, match="`random_state` must be a whole number from 0, got -3"):
        cs.AutoFusion(random_state=-3).fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="unknown label `1`; the classes are `a`, `b` and `c`"):
        cs.scores(y, P[:, 0], classes=["a", "b", "c"])
    with pytest.raises(cs.ConsilienceError, match="probabilities of 1 class, got .*\nhint: name every class"):
        cs.scores(["1"] * len(y), P[:, 0])
    with pytest.raises(cs.ConsilienceError, match="has no density.*`independent` and `correlated` do"):
        cs.AutoFusion().fit(P, y).log_density(P)


@pytest.mark.parametrize("unknown", [None, np.nan])
def test_classifiers_of_features_need_labels(unknown):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(cs.ConsilienceError, match="1 item has no label, the first is item 3\nhint: .*leave the others"):
        cs.FusionClassifier([("bayes", GaussianNB())]).fit(X, [unknown if i == 3 else c for i, c in enumerate(y)])


@pytest.mark.parametrize("fusion", ["auto", cs.AutoFusion])
def test_a_fusion_is_an_estimator(fusion):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(cs.ConsilienceError, match=r"`fusion` must be a fusion estimator, such as `cs.AutoFusion\(\)`"):
        cs.FusionClassifier([("bayes", GaussianNB())], fusion=fusion).fit(X, y)


@pytest.mark.parametrize("n_sources", [3, 4])
def test_an_array_of_labels_is_not_taken_for_rows_of_votes(n_sources):
    labels = np.random.default_rng(0).integers(0, 2, (20, n_sources))
    with pytest.raises(cs.ConsilienceError, match='hint: for one column of labels per source use `layout="wide-labels"`'):
        cs.VoteFusion().fit(labels)
    assert len(cs.VoteFusion(layout="wide-labels").fit(labels).labels_) == 20
    rows = np.array([(i, k, labels[i, k]) for i in range(20) for k in range(n_sources)])
    assert len(cs.VoteFusion().fit(rows).labels_) == 20


def test_scores_of_votes_need_gold_labels():
    votes = [(i, k, (i + k) % 2) for i in range(9) for k in range(3)]
    model = cs.VoteFusion().fit(votes)
    with pytest.raises(cs.ConsilienceError, match="no item of the votes has a gold label .*\nhint: give the true labels"):
        model.evaluate(votes)
    with pytest.raises(cs.ConsilienceError, match=r"`probability` must be from 0 to 1, got 1.8 \(item `1`, source `a`\)"):
        cs.VoteFusion().fit([(1, "a", "x", 1.8), (1, "b", "y", 0.5)])
