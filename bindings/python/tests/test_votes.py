"""Labels from votes: what `VoteFusion` accepts, returns, saves and refuses."""

import json
import os
import pickle
import signal
import subprocess
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import consilience as cs
from test_package import section

PROGRAM = os.environ.get("CONSILIENCE_PROGRAM", "")
CLASSES = ["bird", "cat", "dog"]


def crowd(seed=0, n=60):
    """Votes of eight sources of different quality, some absent, and the true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    rows = []
    for i in range(n):
        for w, skill in enumerate([0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.0]):
            if rng.random() < 0.7:
                label = truth[i] if rng.random() < skill else rng.integers(3)
                rows.append((f"i{i}", f"w{w}", CLASSES[label], round(rng.uniform(0.4, 1.0), 3)))
    votes = pd.DataFrame(rows, columns=["item", "source", "label", "probability"])
    return votes, pd.Series(np.array(CLASSES)[truth], index=[f"i{i}" for i in range(n)], name="label")


@pytest.fixture(scope="module")
def votes():
    return crowd()[0].drop(columns="probability")


@pytest.fixture(scope="module")
def truth():
    return crowd()[1]


def probabilities(model):
    found = model.probabilities_
    return found.drop("item").to_numpy() if isinstance(found, pl.DataFrame) else found.to_numpy()


# What comes in


@pytest.mark.parametrize("make", [
    lambda votes: votes.rename(columns={"item": "task", "source": "worker"}),
    lambda votes: votes.astype("category"),
    lambda votes: votes.convert_dtypes(),
    pl.from_pandas,
    lambda votes: pl.from_pandas(votes).lazy(),
    pa.Table.from_pandas,
    lambda votes: votes.to_dict("list"),
    lambda votes: list(votes.itertuples(index=False, name=None)),
    lambda votes: votes.to_numpy(),
    lambda votes: votes.assign(other=1.0)[["other", "label", "source", "item"]],
], ids=["crowd-kit", "category", "nullable", "polars", "lazy", "pyarrow", "dict", "tuples", "array", "columns"])
def test_all_kinds_of_tables_give_the_same_result(make, votes, truth):
    expected = cs.VoteFusion().fit(votes)
    model = cs.VoteFusion().fit(make(votes))
    assert_array_equal(probabilities(model), probabilities(expected))
    assert model.classes_.tolist() == CLASSES
    assert model.model_.to_json() == expected.model_.to_json()
    assert (expected.labels_["label"] == truth).mean() > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_wide_labels_give_the_result_of_long_votes(library, votes, truth):
    wide = votes.pivot(index="item", columns="source", values="label").loc[votes["item"].unique()]
    long = wide.stack().rename("label").reset_index()
    expected = cs.VoteFusion().fit(long, truth[:10])
    if library == "polars":
        model = cs.VoteFusion().fit(pl.from_pandas(wide, include_index=True), dict(truth[:10]))
    elif library == "pandas":
        model = cs.VoteFusion().fit(wide, truth[:10])
        assert_array_equal(probabilities(cs.VoteFusion().fit(wide.assign(gold=truth[:10]))), probabilities(model))
    else:
        gold = truth.reindex(wide.index).where(np.arange(60) < 10, None)
        model = cs.VoteFusion(layout="wide-labels").fit(wide.to_numpy(), gold.tolist())
        assert model.sources_.index[0] == "s1"
    assert_array_equal(probabilities(model), probabilities(expected))


@pytest.mark.parametrize("make", [
    lambda gold: gold.to_dict(),
    lambda gold: gold.rename_axis("item").reset_index(),
    lambda gold: gold.rename_axis("task").reset_index(),
    lambda gold: pl.from_pandas(gold.rename_axis("item").reset_index()),
    lambda gold: pa.Table.from_pandas(gold.rename_axis("item").reset_index()),
    lambda gold: list(gold.items()),
    lambda gold: pd.concat([gold, pd.Series({"i40": None, "i41": np.nan})]),
], ids=["dict", "frame", "task", "polars", "pyarrow", "pairs", "missing"])
def test_all_kinds_of_gold_labels_give_the_same_result(make, votes, truth):
    expected = cs.VoteFusion().fit(votes, truth[:20])
    assert expected.rho_.origin == "gold" and not expected.rho_.is_assumption
    assert_array_equal(probabilities(cs.VoteFusion().fit(votes, make(truth[:20]))), probabilities(expected))
    assert (expected.labels_["label"][:20] == truth[:20]).all() and (expected.labels_["probability"][:20] == 1).all()


def test_gold_labels_in_the_rows_of_votes(votes, truth):
    expected = probabilities(cs.VoteFusion().fit(votes, truth[:20]))
    column = votes["item"].map(truth[:20])
    assert_array_equal(probabilities(cs.VoteFusion().fit(votes.assign(gold=column))), expected)
    assert_array_equal(probabilities(cs.VoteFusion().fit(votes.assign(known=column), "known")), expected)
    assert_array_equal(probabilities(cs.VoteFusion().fit(votes, column)), expected)
    assert_array_equal(probabilities(cs.VoteFusion().fit(votes, column.tolist())), expected)
    assert_array_equal(probabilities(cs.VoteFusion().fit(pl.from_pandas(votes), pl.from_pandas(column))), expected)


def test_labels_keep_their_types(votes, tmp_path):
    codes = votes.assign(label=votes["label"].map({c: i + 8 for i, c in enumerate(CLASSES)}),
                         item=votes["item"].str[1:].astype(int))
    model = cs.VoteFusion().fit(codes)
    assert model.classes_.tolist() == [8, 9, 10] and model.classes_.dtype.kind == "i"
    assert model.labels_["label"].dtype.kind == "i" and model.labels_.index.dtype.kind == "i"
    assert list(model.probabilities_.columns) == [8, 9, 10]
    gaps = codes.astype({"label": float})
    gaps.loc[3, "label"] = np.nan
    assert cs.VoteFusion().fit(gaps).classes_.tolist() == [8, 9, 10]
    model.save(tmp_path / "model.json")
    loaded = cs.load(tmp_path / "model.json")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert_array_equal(loaded.predict_proba(codes), model.predict_proba(codes))
    flags = cs.VoteFusion().fit(codes.assign(label=codes["label"] > 8))
    assert flags.classes_.tolist() == [False, True]


def test_graded_votes(truth):
    votes, _ = crowd()
    bare = cs.VoteFusion().fit(votes.drop(columns="probability"))
    graded = cs.VoteFusion().fit(votes)
    assert not np.array_equal(probabilities(bare), probabilities(graded))
    tuples = cs.VoteFusion().fit(list(votes.itertuples(index=False, name=None)))
    assert_array_equal(probabilities(tuples), probabilities(graded))
    # The same grades from the probabilities of all classes, with and without the label.
    rows = {c: np.where(votes["label"] == c, votes["probability"], (1 - votes["probability"]) / 2) for c in CLASSES}
    full = votes.drop(columns="probability").assign(**{f"probability_{c}": rows[c] for c in reversed(CLASSES)})
    model = cs.VoteFusion(classes=CLASSES).fit(full)
    assert_array_equal(probabilities(model), probabilities(graded))
    assert_array_equal(probabilities(cs.VoteFusion(classes=CLASSES).fit(full.drop(columns="label"))),
                       probabilities(graded))
    assert_allclose(model.predict_proba(full), graded.predict_proba(votes))


def test_voters_beside_a_source_with_probabilities():
    """Probabilities of one source among voters help as graded votes, and more with many gold labels."""
    rng = np.random.default_rng(1)
    n = 900
    truth = pd.Series(rng.integers(2, size=n))
    labels = np.where(rng.random((n, 3)) < [0.7, 0.7, 0.65], truth.to_numpy()[:, None], 1 - truth.to_numpy()[:, None])
    p = 1 / (1 + np.exp(-1.5 * (2 * truth.to_numpy() - 1 + rng.normal(size=n))))
    rows = [(i, f"v{w}", labels[i, w], None) for i in range(n) for w in range(3)]
    rows += [(i, "model", int(p[i] > 0.5), max(p[i], 1 - p[i])) for i in range(n)]
    votes = pd.DataFrame(rows, columns=["item", "source", "label", "probability"])
    gold, rest = truth[:400], truth[400:]

    def loss(probabilities):
        return cs.scores(rest, probabilities, classes=[0, 1])["log_loss"]

    graded = cs.VoteFusion().fit(votes, gold).probabilities_.loc[rest.index]
    bare = cs.VoteFusion().fit(votes.drop(columns="probability"), gold).probabilities_.loc[rest.index]
    outputs = {f"v{w}_{c}": (labels[:, w] == c).astype(float) for w in range(3) for c in (0, 1)}
    outputs = pd.DataFrame(outputs | {"model_0": 1 - p, "model_1": p})
    fused = cs.AutoFusion().fit(outputs[:400], gold).predict_proba(outputs[400:])
    assert loss(fused) < loss(graded) < loss(bare) - 0.01


# What comes out


def test_results_agree_with_each_other(votes):
    model = cs.VoteFusion().fit(votes)
    assert_allclose(model.probabilities_.sum(axis=1), 1)
    assert (model.probabilities_.idxmax(axis=1) == model.labels_["label"]).all()
    assert_array_equal(model.labels_["votes"], votes.groupby("item", sort=False).size())
    n, rho = model.labels_["votes"], model.rho_.value
    assert_allclose(model.labels_["effective_votes"], n / (1 + (n - 1) * rho))
    assert_array_equal(model.sources_["votes"], votes.groupby("source").size().loc[model.sources_.index])
    assert model.confusion_.shape == (24, 3)
    assert_allclose(model.confusion_.sum(axis=1), 1)
    # Accuracy is the diagonal weighted by the class shares, up to the average over rho.
    diagonal = [np.diag(model.confusion_.loc[w]) @ model.class_shares_["share"] for w in model.sources_.index]
    assert_allclose(model.sources_["accuracy"], diagonal, atol=0.02)
    assert (model.sources_["accuracy_low"] < model.sources_["accuracy"]).all()
    many = cs.VoteFusion().fit(crowd(n=400)[0]).sources_["guessing"]
    assert many["w7"] and not many["w0"]
    assert_allclose(model.class_shares_["share"].sum(), 1)
    assert "an assumption" in model.summary() and "auto" in model._repr_mimebundle_()["text/html"]
    assert model.similar_sources_.empty and model.groups_ == []


def test_frames_of_polars(votes, truth):
    model = cs.VoteFusion().fit(pl.from_pandas(votes), truth[:5])
    assert model.labels_.columns == ["item", "label", "probability", "votes", "effective_votes"]
    assert model.probabilities_.columns == ["item", *CLASSES]
    assert model.confusion_.columns == ["source", "class", *CLASSES]
    assert model.predict(pl.from_pandas(votes)).columns == ["item", "label"]
    named = votes.replace({"bird": "item"})
    assert cs.VoteFusion().fit(pl.from_pandas(named)).probabilities_.columns == ["item_", "cat", "dog", "item"]


def test_new_items_and_unknown_sources(votes):
    model = cs.VoteFusion().fit(votes)
    new = [("new", "w0", "cat"), ("new", "w1", "cat"), ("other", "w0", "dog")]
    assert model.predict(new).to_dict() == {"new": "cat", "other": "dog"}
    with pytest.warns(cs.DataWarning, match="1 items have no votes"):
        assert model.predict_proba([*new, ("none", "w2", None)]).loc["none"].max() < 0.6
    with pytest.warns(cs.DataWarning, match="1 of 2 sources are not in the model"):
        model.predict([("new", "w0", "cat"), ("new", "stranger", "dog")])
    with pytest.raises(cs.ConsilienceError, match="unknown label `fish`"):
        model.predict([("new", "w0", "fish")])


@pytest.mark.parametrize(("method", "options"), [
    ("auto", {"rho": 0.0}), ("auto", {"folds": 3}), ("ibcc", {}), ("ibcc", {"inference": "vb"}),
    ("ibcc", {"inference": "gibbs", "chains": 2, "draws": 40, "warmup": 10}), ("ebcc", {"subtypes": 2, "restarts": 2}),
    ("ueda", {}), ("dbcc", {"folds": 3}), ("dawid-skene", {}), ("majority", {}),
])
@pytest.mark.filterwarnings("ignore::consilience.ConvergenceWarning")
@pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")
def test_fits_are_those_of_the_command_line(method, options, votes, truth, tmp_path):
    """Labels, sources and the model file, to the last bit."""
    votes.to_csv(tmp_path / "votes.csv", index=False)
    truth[:30].rename_axis("item").to_csv(tmp_path / "gold.csv")
    words = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    run("aggregate", tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "--method", method, *words, "--seed", 3,
        "-o", tmp_path / "labels.csv", "--sources", tmp_path / "sources.csv", "--model", tmp_path / "model.json")
    model = cs.VoteFusion(method=method, random_state=3, **options).fit(votes, truth[:30])
    model.save(tmp_path / "own.json")
    assert (tmp_path / "own.json").read_text() == (tmp_path / "model.json").read_text()
    labels = pd.read_csv(tmp_path / "labels.csv")
    assert_array_equal(labels["label"], model.labels_["label"])
    assert_array_equal(labels[[f"p_{c}" for c in CLASSES]], model.probabilities_)
    assert_array_equal(labels["effective_votes"], model.labels_["effective_votes"])
    sources = pd.read_csv(tmp_path / "sources.csv", index_col="source")
    sources["guessing"] = sources["guessing"] == "yes"
    assert_array_equal(sources[model.sources_.columns], model.sources_)
    given = [[f"p_{label}_given_{c}" for label in CLASSES] for c in CLASSES]
    assert_array_equal(sources[sum(given, [])], model.confusion_.to_numpy().reshape(8, 9))
    # New votes
    new, _ = crowd(seed=1, n=20)
    new = new.drop(columns="probability")
    new.to_csv(tmp_path / "new.csv", index=False)
    run("fuse", tmp_path / "model.json", tmp_path / "new.csv", "-o", tmp_path / "fused.csv")
    fused = pd.read_csv(tmp_path / "fused.csv")
    expected = fused[[f"fused_{c}" for c in CLASSES]]
    assert_array_equal(model.predict_proba(new), expected)
    assert_array_equal(cs.load(tmp_path / "model.json").predict_proba(new), expected)
    assert_array_equal(model.predict(new), fused["predicted"])


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout


# Scores


def test_scores_of_new_items(votes, truth):
    model = cs.VoteFusion().fit(votes)
    new, new_truth = crowd(seed=2, n=200)
    new = new.drop(columns="probability")
    found = model.evaluate(new, new_truth)
    assert [row["method"] for row in found["methods"]] == ["auto", "majority", "dawid-skene"]
    p, index = model.predict_proba(new), {c: j for j, c in enumerate(CLASSES)}
    expected = cs.scores(new_truth, p.loc[new_truth.index], classes=CLASSES)
    row = found["methods"][0]
    assert found["items"] == 200
    for name in ("accuracy", "log_loss", "brier"):
        assert_allclose(row[name]["mean"], expected[name], rtol=1e-9)
    assert_allclose(row["ece"], expected["ece"], rtol=1e-9)
    counts = new.pivot_table(index="item", columns="label", aggfunc="size", fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0).loc[new_truth.index].clip(1e-6)
    shares = shares.div(shares.sum(axis=1), axis=0)
    at = (range(200), [index[t] for t in new_truth])
    difference = np.log(shares[CLASSES].to_numpy()[at]) - np.log(p.loc[new_truth.index].to_numpy()[at])
    against = row["against"][0]
    assert against["baseline"] == "majority"
    assert_allclose(against["log_loss"]["mean"], difference.mean(), rtol=1e-9)
    assert_allclose(against["log_loss"]["se"], difference.std(ddof=1) / np.sqrt(200), rtol=1e-9)
    with pytest.raises(cs.ConsilienceError):
        model.evaluate(new)


def test_comparisons(votes, truth):
    found = cs.compare_votes(votes, truth, ["auto", cs.VoteFusion(method="ebcc", subtypes=2, restarts=1)], folds=3)
    assert [row["method"] for row in found["methods"]] == ["auto", "ebcc", "majority", "dawid-skene"]
    assert found["items"] == 60
    held = cs.compare_votes(votes, truth[:20], "ibcc", held_out=truth[20:])
    assert held["items"] == 40
    assert held.methods[0].method == "ibcc" and "against majority" in repr(held) and "<table" in held._repr_html_()
    assert held.to_frame().log_loss[0] == held.methods[0].log_loss.mean
    with pytest.raises(cs.ConsilienceError, match="at least 2"):
        cs.compare_votes(votes)
    with pytest.raises(cs.ConsilienceError, match="unknown label"):
        cs.compare_votes(votes, held_out={"i1": "fish"})


# Files and running


def test_pickles_files_and_clones(votes, truth, tmp_path):
    model = cs.VoteFusion(rho=0.3, random_state=1).fit(votes, truth[:10])
    again = pickle.loads(pickle.dumps(model))
    for name in ("labels_", "probabilities_", "sources_", "confusion_", "class_shares_", "similar_sources_"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(model, name))
    assert again.groups_ == model.groups_
    assert again.rho_ == model.rho_ and again.diagnostics_ == model.diagnostics_ and again.summary() == model.summary()
    assert_array_equal(again.predict_proba(votes), model.predict_proba(votes))
    assert clone(model).get_params() == model.get_params()
    model.save(tmp_path / "model.json")
    loaded = cs.load(tmp_path / "model.json")
    assert (loaded.method, loaded.rho, loaded.random_state) == ("auto", 0.3, 1)
    assert_array_equal(loaded.predict_proba(votes), model.predict_proba(votes))
    own = ["votes", "accuracy", "accuracy_low", "accuracy_high"]
    pd.testing.assert_frame_equal(loaded.sources_, model.sources_[own])
    assert loaded.rho_ == model.rho_ and "given" in loaded._repr_mimebundle_()["text/html"]
    with pytest.raises(AttributeError, match="a model file does not have"):
        loaded.labels_
    pickle.loads(pickle.dumps(loaded)).predict(votes)
    with pytest.raises(NotFittedError):
        cs.VoteFusion().predict(votes)


def test_attributes_are_documented(votes):
    model = cs.VoteFusion().fit(votes)
    learned = {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}
    assert section(cs.VoteFusion, "Attributes").keys() == learned - {"model_"}


def test_progress_and_ctrl_c(votes):
    calls = []
    cs.VoteFusion(progress=lambda *call: calls.append(call)).fit(votes)
    assert calls and all(0 <= done <= total for _, done, total in calls)

    def later():
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=later)
    try:
        thread.start()
        start = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            cs.VoteFusion(method="ibcc", inference="gibbs", draws=1_000_000).fit(votes)
        assert time.process_time() - start < 30
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


# Bad input


def test_warnings_of_the_core(votes, truth):
    with pytest.warns(cs.DataWarning, match="1 vote was repeated by the same source"):
        cs.VoteFusion().fit(pd.concat([votes, votes[:1]]))
    with pytest.warns(cs.DataWarning, match="items without votes, such as `nowhere`"):
        cs.VoteFusion().fit(votes, {"i1": "cat", "nowhere": "dog"})
    with pytest.warns(cs.DataWarning, match="1 items have no votes"):
        cs.VoteFusion().fit(pd.concat([votes, pd.DataFrame({"item": ["x"], "source": ["w0"], "label": [None]})]))


def test_a_copied_source_is_named():
    rng = np.random.default_rng(0)
    truth = rng.random(200) < 0.5
    accuracies = {"w0": 0.6, "w1": 0.9, "w2": 0.85, "w3": 0.8, "w4": 0.9, "w5": 0.75, "w6": 0.8}
    wide = {source: truth == (rng.random(200) < accuracy) for source, accuracy in accuracies.items()}
    wide["copy"] = wide["w0"]
    table = pd.DataFrame([(i, source, str(vote)) for source, own in wide.items() for i, vote in enumerate(own)],
                         columns=["item", "source", "label"])
    with pytest.warns(cs.DataWarning, match="sources `w0` and `copy` agree on 100 %.*counts as one source"):
        model = cs.VoteFusion().fit(table)
    assert model.similar_sources_[["first", "second"]].to_numpy().tolist() == [["w0", "copy"]]
    assert model.groups_ == [["w0", "copy"]]
    assert any("agree" in text for text in model.diagnostics_["warnings"])


@pytest.mark.parametrize(("rows", "message"), [
    ([], "votes are a data frame, or a list"),
    ([("a", "b")], "votes are a data frame, or a list"),
    (3, "votes are a data frame, or a list"),
    ([("a", "b", None)], "no votes"),
    ([(None, "b", "x"), ("a", "b", "y")], "row 0: the name of the item is missing"),
    ([("a", "b", "x"), ("a", float("nan"), "y")], "row 1: the name of the source is missing"),
    ([("a", "b", "x"), ("c", "b", "x")], "at least two classes"),
    ([("a", "b", "x", 1.5), ("c", "b", "y", 0.5)], "from 0 to 1"),
    ([("a", "b", "x", "high"), ("c", "b", "y", 0.5)], "row 0, column `probability`: 'high' is not a number"),
    ([("a", "b", ["x"]), ("c", "b", "y")], "labels must be text or numbers"),
])
def test_bad_votes_are_refused(rows, message):
    with pytest.raises(cs.ConsilienceError, match=message):
        cs.VoteFusion().fit(rows)


@pytest.mark.parametrize(("change", "gold", "settings", "message"), [
    (lambda v: v.rename(columns={"source": "annotator"}), None, {}, "votes have the columns `item`"),
    (lambda v: v.drop(columns="label"), None, {"layout": "long"}, "votes have the columns `item`"),
    (lambda v: v[["item"]], None, {}, "no column of a source"),
    (lambda v: pd.concat([v, v["label"]], axis=1), None, {}, "`label` occurs twice"),
    (lambda v: v, None, {"classes": ["cat", "dog"]}, "unknown label `bird`"),
    (lambda v: v, None, {"layout": "broad"}, "`layout` must be"),
    (lambda v: v, None, {"method": "best"}, "unknown method `best`"),
    (lambda v: v, None, {"method": "ibcc", "rho": 0.1}, "method `ibcc` has no option `rho`"),
    (lambda v: v, None, {"rho": -1.0}, "rho"),
    (lambda v: v, None, {"method": "ibcc", "inference": "exact"}, "`inference` must be cvb, vb or gibbs, got exact"),
    (lambda v: v, None, {"method": "dbcc"}, "gold labels"),
    (lambda v: v, {"nowhere": "cat"}, {}, "none of the 1 gold labels"),
    (lambda v: v, "truth", {}, "no column `truth`"),
    (lambda v: v, ["cat", "dog"], {}, "`gold` has 2 labels"),
    (lambda v: v, pd.DataFrame({"a": ["i1"], "b": ["cat"]}), {}, "a table of gold labels has the columns"),
    (lambda v: v, {"i1": "fish"}, {"classes": CLASSES}, "unknown label `fish`"),
])
def test_bad_tables_and_settings_are_refused(change, gold, settings, message, votes):
    with pytest.raises(cs.ConsilienceError, match=message):
        cs.VoteFusion(**settings).fit(change(votes), gold)


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
@pytest.mark.parametrize("rows", [
    [("a", "w", "x"), ("a", "v", "y")],
    [("a", "w", "x"), ("b", "w", "y")],
    [(i, 0, i % 2) for i in range(9)] + [(i, 1, 1 - i % 2) for i in range(9)],
    [(i, w, 0) for i in range(5) for w in range(3)] + [(9, 9, 1)],
    [(i % 50, i, i % 2) for i in range(2000)],
], ids=["two votes", "one source", "always against", "nearly one label", "one vote each"])
def test_odd_votes_give_finite_answers(rows):
    model = cs.VoteFusion().fit(rows)
    assert np.isfinite(model.probabilities_.to_numpy()).all()
    assert np.isfinite(model.confusion_.to_numpy()).all()
    assert model.sources_["accuracy"].between(0, 1).all()


# Labels in the place of probabilities


def test_bcc_takes_labels(votes, truth):
    wide = votes.pivot(index="item", columns="source", values="label").loc[truth.index]
    hot = np.stack([np.where(wide.isna(), np.nan, wide == c) for c in CLASSES], axis=2).astype(float)
    expected = cs.BccFusion().fit(hot, truth)
    model = cs.BccFusion(layout="labels").fit(wide, truth)
    assert list(model.classifiers_) == list(wide.columns)
    assert_array_equal(model.confusion_, expected.confusion_)
    # Shares of right labels, with one more decision of every kind
    seen = wide["w0"].dropna()
    right = ((seen == "cat") & (truth[seen.index] == "cat")).sum()
    assert_allclose(model.confusion_[0, 1, 1], (right + 1) / ((truth[seen.index] == "cat").sum() + 3))
    assert_array_equal(model.predict_proba(wide.iloc[:, ::-1]), expected.predict_proba(hot))
    assert_array_equal(model.predict_proba(wide.to_numpy()), expected.predict_proba(hot))
    parts = cs.BccFusion(layout="labels", classes=CLASSES)
    parts.partial_fit(wide[:30], truth[:30]).partial_fit(wide[30:], truth[30:])
    assert_allclose(parts.confusion_, model.confusion_, rtol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(pl.from_pandas(wide)), expected.predict(hot))
    with pytest.raises(cs.ConsilienceError, match="column `w0`: unknown label `fish`"):
        model.predict(wide.assign(w0="fish"))
    with pytest.raises(cs.ConsilienceError, match="columns `w7` are missing"):
        model.predict(wide.drop(columns="w7"))


def test_bcc_with_labels_is_saved(votes, truth, tmp_path):
    wide = votes.pivot(index="item", columns="source", values="label").loc[truth.index]
    model = cs.BccFusion(layout="labels").fit(wide, truth)
    model.save(tmp_path / "bcc.json")
    assert json.loads((tmp_path / "bcc.json").read_text())["estimator"]["parameters"]["layout"] == "labels"
    assert_array_equal(cs.load(tmp_path / "bcc.json").predict(wide), model.predict(wide))


def test_masked_labels_are_missing(votes, truth):
    wide = votes.pivot(index="item", columns="source", values="label").loc[truth.index]
    masked = np.ma.masked_array(wide.fillna("cat").to_numpy(dtype=str), wide.isna().to_numpy())
    plain = wide.to_numpy(dtype=object)
    for array in (masked, masked.astype(object)):
        model = cs.VoteFusion(layout="wide-labels").fit(array)
        assert_array_equal(probabilities(model), probabilities(cs.VoteFusion(layout="wide-labels").fit(plain)))
        assert_array_equal(cs.BccFusion(layout="labels").fit(array, truth).confusion_,
                           cs.BccFusion(layout="labels").fit(plain, truth).confusion_)
