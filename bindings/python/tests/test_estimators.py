"""Every estimator: shapes, inputs of all kinds, files, errors."""

import copy
import json
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import consilience as cs

FAST = dict(chains=4, draws=600)
MODELS = {
    "auto": cs.AutoFusion(),
    "opinion-pool": cs.OpinionPool(),
    "linear-pool": cs.LinearPool(),
    "log-pool": cs.LogPool(),
    "independent": cs.IndependentFusion(**FAST),
    "discounted": cs.DiscountedFusion(**FAST),
    "correlated": cs.CorrelatedFusion(inference="map"),
    "stacking": cs.StackingFusion(),
    "logit-normal": cs.LogitNormalFusion(),
    "normal-mixture": cs.NormalMixtureFusion(components=3, chains=2),
    "bcc": cs.BccFusion(),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@each
def test_distributions_come_out(model, train, test):
    model = copy.deepcopy(model).fit(*train)
    p = model.predict_proba(test[0])
    assert p.shape == (60, 3)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_array_equal(model.predict(test[0]), model.classes_[p.argmax(axis=1)])
    assert model.score(*test) > 0.55
    assert_array_equal(model.transform(test[0]), p)
    assert list(model.get_feature_names_out()) == ["fused_1", "fused_2", "fused_3"]


@each
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


@each
def test_another_class_prior(model, train, test):
    """With a prior p instead of a uniform one, odds are multiplied by ratios of p: of all but
    pools, whose opinions contain the prior, and of `auto`, an average."""
    model = copy.deepcopy(model).fit(*train)
    p, prior = model.predict_proba(test[0]), np.array([0.6, 0.3, 0.1])
    q = model.predict_proba(test[0], class_prior=prior)
    assert_array_equal(model.predict_proba(test[0], class_prior="uniform"), p)
    if model._method in ("independent", "discounted", "correlated", "stacking", "logit-normal", "bcc"):
        assert_allclose(q, p * prior / (p * prior).sum(axis=1, keepdims=True), rtol=1e-9)
    again = copy.deepcopy(model).set_params(class_prior=prior)
    if model._method not in ("linear-pool", "log-pool"):  # whose weights depend on it
        assert_array_equal(again.fit(*train).predict_proba(test[0]), q)


@each
def test_missing_outputs(model, three):
    P, y = three
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.DataWarning)
        model = copy.deepcopy(model).fit(P, y)
    p = model.predict_proba(P)
    assert np.isfinite(p).all()
    nobody = model.predict_proba(np.full((1, 3, 2), np.nan), class_prior=[0.3, 0.7])
    assert_allclose(nobody, [[0.3, 0.7]], rtol=1e-12)
    assert model.score(P, y) > 0.75


def wide(P, classes=("1", "2", "3"), names=("res_net", "vit")):
    columns = {f"{k}_{j}": P[:, a, b] for a, k in enumerate(names) for b, j in enumerate(classes)}
    return dict(reversed(columns.items()))  # any order


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
@each
def test_data_frames(model, frame, train, test):
    if model._method == "correlated" and frame is not pl.DataFrame:
        pytest.skip("slow; one frame is enough")
    names = ["vit", "res_net"]  # in the order of the columns
    arrays = copy.deepcopy(model).set_params(classifiers=names).fit(train[0][:, ::-1], train[1])
    table = frame({"id": np.arange(180.0), **wide(train[0])})
    frames = copy.deepcopy(model).fit(table, train[1])
    assert list(frames.classifiers_) == names
    new = frame({**wide(test[0]), "other": np.arange(60.0)})
    assert_array_equal(frames.predict_proba(new), arrays.predict_proba(test[0][:, ::-1]))


def test_frames_with_missing_cells(three):
    P, y = three
    cells = {f"{k}_{j}": P[:, a, b] for a, k in enumerate("abc") for b, j in enumerate(["no", "yes"])}
    expected = cs.IndependentFusion(inference="map").fit(P, y).predict_proba(P)
    nullable = pl.DataFrame(cells).with_columns(pl.all().fill_nan(None))
    for frame in (pd.DataFrame(cells), nullable, nullable.to_arrow(), pd.DataFrame(cells).convert_dtypes()):
        model = cs.IndependentFusion(inference="map").fit(frame, y)
        assert_array_equal(model.predict_proba(frame), expected)


class Stream:
    """A table that speaks the Arrow stream interface and nothing else, and only once."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        table, self.table = self.table, None
        return table.__arrow_c_stream__(requested_schema)


def test_columns_of_all_kinds(three):
    """In several chunks, nulls among them, every type of number, dictionaries."""
    P, y = three
    P = np.where(np.isnan(P), np.nan, np.round(P * 64) / 64)  # exact in half precision
    P[:, :, 1] = 1 - P[:, :, 0]
    names = [f"{k}_{j}" for k in "abc" for j in ["no", "yes"]]
    columns = dict(zip(names, P.reshape(len(P), 6).T, strict=True))
    expected = cs.IndependentFusion(inference="map").fit(P, y).predict_proba(P)
    nulls = pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})
    chunks = pa.concat_tables([nulls[:7], nulls[7:]])
    halves = nulls.cast(pa.schema([(k, pa.float16()) for k in names]))
    singles = nulls.cast(pa.schema([(k, pa.float32()) for k in names]))
    coded = pa.table({k: nulls[k].dictionary_encode() for k in names})
    for table in (nulls, chunks, halves, singles, coded, pl.from_arrow(chunks), nulls.combine_chunks().to_batches()[0]):
        for frame in (table, Stream(table)):
            model = cs.IndependentFusion(inference="map").fit(frame, y)
            again = Stream(table) if isinstance(frame, Stream) else table
            assert_array_equal(model.predict_proba(again), expected)
            assert list(model.feature_names_in_) == names
            assert model.n_features_in_ == 6
    model.evaluate(nulls, y)  # no warning of names
    said = P[:, 0, 1] > 0.5
    hard = pa.table({"a_no": pa.array((~said).astype(np.int8)), "a_yes": pa.array(said.astype(np.uint64))})
    assert_array_equal(cs.OpinionPool(floor=0.01).fit(hard, y).predict(hard), np.where(said, "yes", "no"))
    with pytest.raises(cs.ConsilienceError, match="must hold numbers"):
        model.predict_proba(pa.table({k: pa.array([["x"]]) for k in names}))
    with pytest.raises(cs.ConsilienceError, match="`a_no` are missing"):
        model.predict_proba(nulls.drop_columns(["a_no"]))


def test_a_loaded_model_takes_frames_and_arrays(train, test, tmp_path):
    model = cs.OpinionPool(classifiers=["res_net", "vit"]).fit(*train)
    model.save(tmp_path / "m.json")
    loaded = cs.load(tmp_path / "m.json")
    expected = model.predict_proba(test[0])
    assert_array_equal(loaded.predict_proba(pd.DataFrame(wide(test[0]))), expected)
    assert_array_equal(loaded.predict_proba(test[0]), expected)
    assert_array_equal(loaded.predict_proba(test[0].reshape(60, 6)), expected)


def test_wide_arrays_and_one_column_a_classifier(three):
    P, y = three
    whole = cs.StackingFusion().fit(P, y).predict_proba(P)
    flat = cs.StackingFusion(n_classifiers=3).fit(P.reshape(-1, 6), y)
    assert_array_equal(flat.predict_proba(P.reshape(-1, 6)), whole)
    half = cs.StackingFusion(layout="positive").fit(P[:, :, 1], y)
    assert_allclose(half.predict_proba(P[:, :, 1]), whole, rtol=1e-9)
    odds = np.log(P[:, :, 1] / P[:, :, 0])
    logits = cs.StackingFusion(layout="positive", values="logits").fit(odds, y)
    assert_allclose(logits.predict_proba(odds), whole, rtol=1e-9)
    logs = cs.StackingFusion(layout="positive", values="log-probabilities").fit(np.log(P[:, :, 1]), y)
    assert_allclose(logs.predict_proba(np.log(P[:, :, 1])), whole, rtol=1e-9)


def test_kinds_of_values(train):
    P, y = train
    expected = cs.OpinionPool().fit(P, y).predict_proba(P)
    for kind, raw in [("logits", np.log(P) + 3), ("log-probabilities", np.log(P)), ("odds", 1 / P)]:
        got = cs.OpinionPool(values=kind).fit(raw, y).predict_proba(raw)
        assert_allclose(got, expected, rtol=1e-10)


def test_opinion_pool_is_the_product(train):
    """The closed form of supplement A.11 with a uniform prior."""
    P, y = train
    product = P[:, 0] * P[:, 1]
    product /= product.sum(axis=1, keepdims=True)
    assert_allclose(cs.OpinionPool().fit(P, y).predict_proba(P), product, rtol=1e-12)


def test_what_was_learned(train):
    model = cs.CorrelatedFusion(**FAST, keep_draws=20).fit(*train)
    assert model.alpha_.shape == (2, 3, 3)
    assert_allclose(model.alpha_[:, 0, 0] / model.alpha_[:, 0, 1], 1.5, rtol=0.2)  # 12 and 8
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


def test_trees_of_three(three):
    P, y = three
    model = cs.CorrelatedFusion(inference="map").fit(P, y)
    correlation = model.correlation_
    assert correlation.shape == model.delta_.shape == (3, 3, 2, 2)
    assert correlation[0, 1].mean() > 0.6 > correlation[0, 2].mean()
    assert_allclose(correlation, correlation.transpose(1, 0, 2, 3))


@pytest.mark.filterwarnings("ignore::consilience.ConvergenceWarning")
def test_updates_are_the_same_as_one_fit(train):
    P, y = train
    model = cs.IndependentFusion(**FAST, random_state=4)
    whole = copy.deepcopy(model).fit(P, y)
    parts = model.partial_fit(P[::2], y[::2], classes=["1", "2", "3"]).partial_fit(P[1::2], y[1::2])
    assert_array_equal(parts.alpha_, whole.alpha_)
    assert parts.model_.to_json() == whole.model_.to_json()
    assert not hasattr(cs.DiscountedFusion(), "partial_fit")


@each
def test_weights_are_repetitions(model, train):
    P, y = train
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = copy.deepcopy(model).fit(P, y, sample_weight=weights)
    repeated = copy.deepcopy(model).fit(np.repeat(P, weights, axis=0), np.repeat(y, weights))
    if model._method != "auto":  # it deals copies out over its folds; the library's tests keep them in one
        assert_allclose(weighted.predict_proba(P), repeated.predict_proba(P), atol=1e-9)
    absent = copy.deepcopy(model).fit(P[weights > 0], y[weights > 0])
    left_out = copy.deepcopy(model).fit(P, y, sample_weight=(weights > 0).astype(float))
    assert left_out.model_.to_json() == absent.model_.to_json()


WHOLE = {"correlated", "logit-normal", "normal-mixture"}


@each
def test_weights_are_real_numbers(model, train):
    """Items in two parts that together count 1."""
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
    for bad, match in [(-1.0, "weights"), (np.nan, "weights"), (0.0, "zero")]:
        with pytest.raises(cs.ConsilienceError, match=match):
            copy.deepcopy(model).fit(P, y, sample_weight=np.full(len(y), bad))
    with pytest.raises(ValueError, match="shape"):
        copy.deepcopy(model).fit(P, y, sample_weight=[1.0])


def test_weighted_class_shares_and_updates(train):
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
    """Of independent classifiers, evidence is the log ratio of densities, and all of it is told."""
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


def test_evaluation(train, test):
    model = cs.IndependentFusion(inference="map").fit(*train)
    found = model.evaluate(*test, bootstrap=50)
    names = [method["method"] for method in found["methods"]]
    assert names == ["independent", "classifier:c1", "classifier:c2", "meta:c1", "meta:c2"]
    own = cs.scores(test[1], model.predict_proba(test[0]), class_prior="uniform")
    assert found["methods"][0]["overall"]["log_loss"]["value"] == pytest.approx(own["log_loss"], rel=1e-12)
    worth = cs.AutoFusion().fit(*train).worth(*train)
    assert worth["n_items"] == 180 and worth["verdict"]


def test_errors_are_value_errors_that_say_where(train):
    P, y = train
    model = cs.OpinionPool().fit(P, y)
    bad = P.copy()
    bad[7, 1] = [0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match="item 7, classifier `c2`: the probabilities add up to 1.5") as error:
        model.predict_proba(bad)
    assert isinstance(error.value, cs.ConsilienceError) and 'values="log-probabilities"' in str(error.value)
    many = np.tile(P, (100, 1, 1))
    many[12345, 0, 0] = -0.1
    with pytest.raises(cs.ConsilienceError, match="item 12345"):
        model.predict_proba(many)
    with pytest.raises(cs.ConsilienceError, match="some classes have a value"):
        model.predict_proba(np.where(np.arange(3) == 1, np.nan, P))
    with pytest.raises(NotFittedError):
        cs.OpinionPool().predict_proba(P)
    for settings, message in [
        (dict(class_prior="flat"), "flat"),
        (dict(class_prior=[1, 2]), "class prior"),
        (dict(class_prior=[1, -2, 1]), r"class_prior\[1\]"),
        (dict(values="percent"), "percent"),
        (dict(floor=0.5), "floor"),
        (dict(layout="tall"), "layout"),
        (dict(layout="positive"), "column"),
        (dict(n_classifiers=4), "4 classifiers"),
        (dict(classifiers=["a"]), "names"),
        (dict(classes=["1", "2"]), "last dimension is 3"),
        (dict(progress="bar"), "progress"),
    ]:
        with pytest.raises(ValueError, match=message):
            cs.OpinionPool(**settings).fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="draws"):
        cs.IndependentFusion(draws=1).fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="wrong value: integer `-1`; expected a whole number >= 0"):
        cs.IndependentFusion(draws=-1).fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="unknown value `jeffreys`"):
        cs.IndependentFusion(alpha_prior="jeffreys").fit(P, y)


def test_errors_of_headers(train):
    P, y = train
    columns = wide(P)
    for change, message in [
        ({"vit_1": None}, "classifier `vit` has columns for `2` and `3` but none for `1`"),
        ({"vit_9": P[:, 0, 0]}, "class `9` never occurs"),
        ({k: None for k in columns}, "no column"),
    ]:
        cells = {k: v for k, v in {**columns, "x": P[:, 0, 0], **change}.items() if v is not None}
        with pytest.raises(cs.ConsilienceError, match=message):
            cs.OpinionPool().fit(pd.DataFrame(cells), y)
    twice = {f"{k}_{j}": P[:, 0, 0] for k in ("a", "a_x") for j in ("x_y", "y")}
    with pytest.raises(cs.ConsilienceError, match="can belong to"):
        cs.OpinionPool(classes=["y", "x_y"]).fit(pd.DataFrame(twice), np.repeat(["y", "x_y"], 90))


def test_convergence_warnings(train):
    with pytest.warns(cs.ConvergenceWarning):
        model = cs.IndependentFusion(chains=2, draws=4, warmup=0).fit(*train)
    assert not model.diagnostics_["converged"] and model.diagnostics_["warnings"]


def test_progress_and_exceptions_of_callbacks(train):
    heard = []
    model = cs.IndependentFusion(**FAST, progress=lambda *told: heard.append(told)).fit(*train)
    assert heard and all(0 <= done <= total for _, done, total in heard)
    assert heard[-1][1] == heard[-1][2]

    def refuse(task, done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cs.CorrelatedFusion(draws=100_000, progress=refuse).fit(*train)
    assert pickle.loads(pickle.dumps(model.set_params(progress=None))).alpha_.shape == (2, 3, 3)


def test_interruption():
    """Ctrl-C stops a fit between two of its 120 Dirichlets."""
    def later():
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    P = np.random.default_rng(0).dirichlet(np.ones(30), size=(90, 4))
    thread = threading.Thread(target=later)
    thread.start()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        cs.IndependentFusion(draws=3000).fit(P, np.arange(90) % 30)
    thread.join()
    assert time.process_time() - start < 30  # it would take minutes


def test_ctrl_c_in_a_terminal():
    """The signal comes from outside, in the midst of the correlated model's chains."""
    program = """if True:
        import consilience as cs
        P, y = cs.simulate("sim2", correlation=0.5, items_per_class=60, random_state=1)
        tell = lambda task, done, total: print(task, flush=True)
        cs.CorrelatedFusion(draws=1_000_000, progress=tell).fit(P, y)
    """
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        assert process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]  # it would take minutes
    assert errors.endswith("KeyboardInterrupt\n"), errors


def test_bars(train, capsys):
    """tqdm draws every task to its end."""
    cs.IndependentFusion(**FAST, progress="tqdm").fit(*train)
    drawn = capsys.readouterr().err
    assert "fitting Dirichlets: 100%" in drawn and "6/6" in drawn


def test_other_threads_run_while_fitting(train):
    """The interpreter is released: a thread that counts gets on."""
    count, stop = [0], threading.Event()

    def counting():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=counting)
    thread.start()
    try:
        before = count[0]
        cs.IndependentFusion(draws=20_000).fit(*train)
        assert count[0] > before + 5
    finally:
        stop.set()
        thread.join()


def test_set_output_and_html(train):
    model = cs.AutoFusion().set_output(transform="pandas").fit(*train)
    assert list(model.transform(train[0]).columns) == ["fused_1", "fused_2", "fused_3"]
    text = model._repr_html_()
    assert "independent classifiers of 2" in text and "c1, c2" in text
    assert f"<td>{len(train[1])} (" in text
    assert "consilience-summary" not in cs.AutoFusion()._repr_html_()
    assert "consilience-summary" in model._repr_mimebundle_()["text/html"]


def test_classes_without_items_and_integers(train):
    P, y = train
    labels = y.astype(int)
    model = cs.OpinionPool().fit(P, labels)
    assert model.classes_.dtype == labels.dtype
    assert set(model.predict(P)) <= {1, 2, 3}
    few = labels < 3
    with pytest.raises(cs.ConsilienceError, match="class `3` has no training items"):
        cs.IndependentFusion(classes=[1, 2, 3]).fit(P[few], labels[few])
    with pytest.raises(cs.ConsilienceError, match="unknown label `3`"):
        cs.IndependentFusion(classes=[1, 2, 4]).fit(P, labels)
    turned = cs.OpinionPool(classes=[3, 2, 1]).fit(P[:, :, ::-1], labels)
    assert_allclose(turned.predict_proba(P[:, :, ::-1])[:, ::-1], model.predict_proba(P), rtol=1e-12)


def test_seeds(train):
    P, y = train
    fit = lambda state: cs.IndependentFusion(**FAST, random_state=state).fit(P, y).model_.to_json()  # noqa: E731
    assert fit(None) == fit(0) != fit(1)
    assert fit(np.random.RandomState(5)) == fit(np.random.RandomState(5))
    assert json.loads(fit(7))["settings"]["independent"]["seed"] == 7
