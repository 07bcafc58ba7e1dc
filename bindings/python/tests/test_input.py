"""Arrays, data frames and kinds of values that the estimators accept, and errors about them."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import consilience as cs



def wide(P, classes=("1", "2", "3"), names=("res_net", "vit")):
    columns = {f"{k}_{j}": P[:, a, b] for a, k in enumerate(names) for b, j in enumerate(classes)}
    return dict(reversed(columns.items()))  # the order of columns is free


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_data_frames_give_the_results_of_arrays(model, frame, train, test):
    if model._method == "correlated" and frame is not pl.DataFrame:
        pytest.skip("slow; one frame is enough")
    names = ["vit", "res_net"]  # in the order of the columns
    arrays = copy.deepcopy(model).set_params(classifiers=names).fit(train[0][:, ::-1], train[1])
    table = frame({"id": np.arange(180.0), **wide(train[0])})
    frames = copy.deepcopy(model).fit(table, train[1])
    assert list(frames.classifiers_) == names
    new = frame({**wide(test[0]), "other": np.arange(60.0)})
    assert_array_equal(frames.predict_proba(new), arrays.predict_proba(test[0][:, ::-1]))


def test_data_frames_with_missing_cells(three):
    P, y = three
    cells = {f"{k}_{j}": P[:, a, b] for a, k in enumerate("abc") for b, j in enumerate(["no", "yes"])}
    expected = cs.IndependentFusion(inference="map").fit(P, y).predict_proba(P)
    nullable = pl.DataFrame(cells).with_columns(pl.all().fill_nan(None))
    for frame in (pd.DataFrame(cells), nullable, nullable.to_arrow(), pd.DataFrame(cells).convert_dtypes()):
        model = cs.IndependentFusion(inference="map").fit(frame, y)
        assert_array_equal(model.predict_proba(frame), expected)


class Stream:
    """A table with the Arrow stream interface only, which can be read once."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        table, self.table = self.table, None
        return table.__arrow_c_stream__(requested_schema)


def test_arrow_columns_of_all_types(three):
    """Several chunks, nulls, all types of numbers, dictionaries."""
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
    decimals = nulls.cast(pa.schema([(k, pa.decimal128(10, 6)) for k in names]))
    coded = pa.table({k: nulls[k].dictionary_encode() for k in names})
    for table in (nulls, chunks, halves, singles, decimals, coded, pl.from_arrow(chunks), nulls.combine_chunks().to_batches()[0]):
        for frame in (table, Stream(table)):
            model = cs.IndependentFusion(inference="map").fit(frame, y)
            again = Stream(table) if isinstance(frame, Stream) else table
            assert_array_equal(model.predict_proba(again), expected)
            assert list(model.feature_names_in_) == names
            assert model.n_features_in_ == 6
    model.evaluate(nulls, y)  # without a warning about feature names
    vote = P[:, 0, 1] > 0.5
    hard = pa.table({"a_no": pa.array((~vote).astype(np.int8)), "a_yes": pa.array(vote.astype(np.uint64))})
    assert_array_equal(cs.OpinionPool(floor=0.01).fit(hard, y).predict(hard), np.where(vote, "yes", "no"))
    with pytest.raises(cs.ConsilienceError, match="must hold numbers"):
        model.predict_proba(pa.table({k: pa.array([["x"]]) for k in names}))
    with pytest.raises(cs.ConsilienceError, match="`a_no` are missing"):
        model.predict_proba(nulls.drop_columns(["a_no"]))


def test_loaded_models_accept_data_frames_and_arrays(train, test, tmp_path):
    model = cs.OpinionPool(classifiers=["res_net", "vit"]).fit(*train)
    model.save(tmp_path / "m.json")
    loaded = cs.load(tmp_path / "m.json")
    expected = model.predict_proba(test[0])
    assert_array_equal(loaded.predict_proba(pd.DataFrame(wide(test[0]))), expected)
    assert_array_equal(loaded.predict_proba(test[0]), expected)
    assert_array_equal(loaded.predict_proba(test[0].reshape(60, 6)), expected)


def test_two_dimensional_arrays_and_one_column_per_classifier(three):
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


@pytest.mark.parametrize("values", ["probabilities", "logits", "log-probabilities"])
def test_pos_label_names_the_class_of_the_columns(three, values):
    """The order of `classes_`, and with it that of the fused probabilities, does not depend on it."""
    P, y = three
    kinds = {"probabilities": P, "logits": np.log(P / P[:, :, ::-1]), "log-probabilities": np.log(P)}
    X, (first, second) = kinds[values], np.unique(y)
    options = dict(layout="positive", values=values)
    expected = cs.StackingFusion(**options).fit(X[:, :, 1], y).predict_proba(X[:, :, 1])
    same = cs.StackingFusion(**options, pos_label=second).fit(X[:, :, 1], y)
    assert_array_equal(same.predict_proba(X[:, :, 1]), expected)
    other = cs.StackingFusion(**options, pos_label=first).fit(X[:, :, 0], y)
    assert other.classes_.tolist() == [first, second]
    assert_allclose(other.predict_proba(X[:, :, 0]), expected, rtol=1e-9)
    with pytest.raises(cs.ConsilienceError, match="`pos_label` is 'maybe', which is none of the classes `no` and `yes`"):
        cs.StackingFusion(**options, pos_label="maybe").fit(X[:, :, 0], y)


@pytest.mark.parametrize("empty", [[], (), {}])
def test_empty_data_have_a_message(empty):
    with pytest.raises(cs.ConsilienceError, match="X is empty: there are no items and no sources"):
        cs.AutoFusion().fit(empty, [])


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table])
def test_columns_of_a_frame_with_one_column_per_classifier(three, frame):
    """`classifiers` selects columns by name, in its order; without it, a column `label` is left out."""
    P, y = three
    columns = {name: P[:, k, 1] for k, name in enumerate("abc")} | {"label": (y == "yes").astype(float)}
    expected = cs.OpinionPool(layout="positive").fit(P[:, :, 1], y).predict_proba(P[:, :, 1])
    with pytest.warns(cs.DataWarning, match="`label` is not taken for a classifier"):
        model = cs.OpinionPool(layout="positive").fit(frame(columns), y)
    assert model.classifiers_.tolist() == ["a", "b", "c"]
    assert_array_equal(model.predict_proba(frame(columns)), expected)
    two = cs.OpinionPool(layout="positive", classifiers=["c", "a"]).fit(frame(columns), y)
    assert_array_equal(two.predict_proba(frame(columns)),
                       cs.OpinionPool(layout="positive").fit(P[:, [2, 0], 1], y).predict_proba(P[:, [2, 0], 1]))
    renamed = cs.OpinionPool(layout="positive", classifiers=["x", "y", "z", "w"]).fit(frame(columns), y)
    assert renamed.classifiers_.tolist() == ["x", "y", "z", "w"]
    with pytest.raises(cs.ConsilienceError, match="columns `x` are missing"):
        cs.OpinionPool(layout="positive", classifiers=["a", "x"]).fit(frame(columns), y)


def test_values_for_the_first_class_are_noticed(three):
    P, y = three
    with pytest.warns(cs.DataWarning) as record:
        cs.AutoFusion(layout="positive").fit(P[:, :, 0], np.where(y == "yes", 1, 0))
    texts = [str(warning.message) for warning in record]
    assert any("values for the class 1\nhint: if they are those for 0, set `pos_label=0`" in text for text in texts)



def test_hints_name_the_layout(three):
    P, y = three
    names = [str(c) for c in np.unique(y)]
    for columns, hint in [
        (["a", "b"], f"probabilities of `{names[1]}` per classifier use `layout=\"positive\"`"),
        (["item", "classifier", "class", "probability"], "X.pivot"),
        ([f"{c}_a" for c in names], "swaplevel"),
    ]:
        with pytest.raises(cs.ConsilienceError, match="no column is named") as error:
            cs.OpinionPool().fit(pd.DataFrame(np.zeros((len(y), len(columns))), columns=columns), y)
        assert hint in str(error.value)


def test_one_column_per_classifier_is_proposed_for_two_classes_only(three, train):
    for (P, y), proposed in [(three, True), (train, False)]:
        width = P.shape[1] * P.shape[2]
        for columns in (width, width + 1):
            with pytest.raises(cs.ConsilienceError, match="one column per classifier") as error:
                cs.IndependentFusion().fit(np.full((len(y), columns), 0.9), y)
            text = str(error.value)
            assert ("layout=\"positive\"" in text) == proposed and "BccFusion(layout=\"labels\")" in text


def test_masked_entries_are_missing(train):
    """numpy hides masked values, but does not remove them."""
    P, y = train
    missing, masked = P.copy(), np.ma.masked_array(P, mask=np.zeros(P.shape, bool))
    missing[0, 0] = np.nan
    masked[0, 0] = np.ma.masked
    model = cs.AutoFusion().fit(P, y)
    assert_array_equal(model.predict_proba(masked), model.predict_proba(missing))
    sources = {name: masked[:, k] for k, name in enumerate("ab")}
    fitted = [cs.OpinionPool().fit(X, y).predict_proba(missing) for X in (missing, masked, sources)]
    assert_array_equal(fitted[1], fitted[0])
    assert_array_equal(fitted[2], fitted[0])


def test_memory_of_any_kind_is_read(train):
    P, y = train
    model = cs.AutoFusion().fit(P, y)
    read_only, bytes_ = P.copy(), np.frombuffer(b"." + P.tobytes(), dtype=np.uint8)
    read_only.flags.writeable = False
    unaligned = bytes_[1:].view(np.float64).reshape(P.shape)
    for other in (unaligned, read_only, P[::-1][::-1], np.asfortranarray(P), P.astype(">f8"), P.astype(object)):
        assert_array_equal(model.predict_proba(other), model.predict_proba(P))


def test_logits_log_probabilities_and_odds(train):
    P, y = train
    expected = cs.OpinionPool().fit(P, y).predict_proba(P)
    kinds = [("logits", np.log(P) + 3), ("log-probabilities", np.log(P))]
    kinds += [(odds, 1 / P) for odds in ("odds", "odds-power", "odds-shin")]
    for kind, raw in kinds:
        got = cs.OpinionPool(values=kind).fit(raw, y).predict_proba(raw)
        assert_allclose(got, expected, rtol=1e-10)


class Frozen:
    """Refuses new attributes after `fit`, so that threads cannot disturb each other."""

    def __setattr__(self, name, value):
        if getattr(self, "frozen", False):
            raise AssertionError(f"`{name}` is set outside of `fit`")
        super().__setattr__(name, value)


class FrozenIndependent(Frozen, cs.IndependentFusion):
    pass


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame, pl.DataFrame, pa.table])
def test_predicting_changes_nothing(frame, train):
    P, y = train
    X = P if frame is np.asarray else frame(wide(P))
    model = FrozenIndependent(inference="map").fit(X, y)
    state = {"frozen": True, **vars(model)}
    model.frozen = True
    for predict in (model.predict_proba, model.fuse, model.predict, model.explain, model.log_density):
        predict(X)
    model.evaluate(X, y, bootstrap=0)
    assert vars(model).keys() == state.keys()


def test_rounded_outputs_are_normalised_and_counted(train):
    P, y = train
    rounded = P.round(2)
    n_rounded = int((abs(rounded.sum(axis=2) - 1) > 1e-6).sum())
    assert n_rounded > 0
    with pytest.warns(cs.DataWarning, match=f"^{n_rounded} outputs did not add up to 1"):
        model = cs.OpinionPool().fit(rounded, y)
    exact = rounded / rounded.sum(axis=2, keepdims=True)
    assert_allclose(model.predict_proba(rounded), model.predict_proba(exact), rtol=1e-12)
    with pytest.raises(cs.ConsilienceError, match="add up to") as error:
        cs.OpinionPool(sum_tolerance=1e-6).fit(rounded, y)
    assert "`sum_tolerance`" in str(error.value)
    with pytest.raises(cs.ConsilienceError, match="sum_tolerance"):
        cs.OpinionPool(sum_tolerance=-1).fit(P, y)
    with pytest.raises(cs.ConsilienceError, match="they look like percentages"):
        cs.OpinionPool().fit(100 * P, y)
    with pytest.warns(cs.DataWarning, match="the logits look like probabilities"):
        cs.OpinionPool(values="logits").fit(P, y)


def test_errors_are_value_errors_that_name_item_and_classifier(train):
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
        (dict(class_prior="flat"), "must be empirical, uniform, estimate or one weight per class, got flat"),
        (dict(class_prior=[1, 2]), "class prior"),
        (dict(class_prior=[1, -2, 1]), r"class_prior\[1\]"),
        (dict(values="percent"), "must be probabilities, log-probabilities, logits, odds, odds-power or odds-shin, got percent"),
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
    for settings, message in [
        (dict(draws=1), "`draws` must be from 4 to 1 000 000, got 1"),
        (dict(draws=-1), "`draws` must be a whole number"),
        (dict(alpha_prior="jeffreys"), "`alpha_prior` must be pooled or paper, got jeffreys"),
    ]:
        with pytest.raises(cs.ConsilienceError, match=message):
            cs.IndependentFusion(**settings).fit(P, y)


def test_errors_about_headers(train):
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


def test_integer_classes_and_classes_without_items(train):
    P, y = train
    labels = y.astype(int)
    model = cs.OpinionPool().fit(P, labels)
    assert model.classes_.dtype == labels.dtype
    assert set(model.predict(P)) <= {1, 2, 3}
    few = labels < 3
    with pytest.raises(cs.ConsilienceError, match="class `3` has no training items"):
        cs.StackingFusion(classes=[1, 2, 3]).fit(P[few], labels[few])
    with pytest.warns(cs.DataWarning, match="class `3` has no training items"):
        cs.IndependentFusion(classes=[1, 2, 3], inference="map").fit(P[few], labels[few])
    with pytest.raises(cs.ConsilienceError, match="unknown label `3`"):
        cs.IndependentFusion(classes=[1, 2, 4]).fit(P, labels)
    turned = cs.OpinionPool(classes=[3, 2, 1]).fit(P[:, :, ::-1], labels)
    assert_allclose(turned.predict_proba(P[:, :, ::-1])[:, ::-1], model.predict_proba(P), rtol=1e-12)


def test_columns_of_two_levels_are_classifier_and_class(train):
    P, y = train
    parts = {name: pd.DataFrame(P[:, k], columns=["1", "2", "3"]) for k, name in enumerate(["forest", "bayes"])}
    frame = pd.concat(parts, axis=1)
    model = cs.OpinionPool().fit(frame, y)
    assert list(model.classifiers_) == ["forest", "bayes"]
    assert_allclose(model.predict_proba(frame[["bayes", "forest"]]), cs.OpinionPool().fit(P, y).predict_proba(P))


@pytest.mark.parametrize(("options", "change", "message"), [
    ({"layout": "long"}, None, r"`layout` must be wide or positive, got 'long'\nhint: .*pivot"),
    ({"layout": "labels"}, None, "hint: labels are read by `BccFusion` and `VoteFusion`"),
    ({"pos_label": "1"}, None, '`pos_label` is for `layout="positive"`'),
    ({"floor": "small"}, None, "`floor` must be a number, got 'small'"),
    ({"sum_tolerance": None}, None, "`sum_tolerance` must be a number"),
    ({}, lambda P: np.full((len(P), 2), "fox"), r"(?s)not numbers.*hint: .*`BccFusion\(layout=\"labels\"\)`"),
    ({}, lambda P: P[:, :, 0], "X has 2 columns, which are not those of any number of classifiers for the 3 classes"),
    ({"n_classifiers": 2}, lambda P: P[:, :, 0], "X has 2 columns, which are not those of 2 classifiers"),
])
def test_mistakes_in_the_layout_are_named(train, options, change, message):
    P, y = train
    with pytest.raises(cs.ConsilienceError, match=message):
        cs.OpinionPool(**options).fit(P if change is None else change(P), y)


def test_a_series_of_three_levels_has_a_cure(train):
    P, y = train
    table = pd.concat({name: pd.DataFrame(P[:, k], columns=["1", "2", "3"]) for k, name in enumerate("ab")}, axis=1)
    series = table.stack([0, 1], future_stack=True)
    with pytest.raises(cs.ConsilienceError, match=r"`X.unstack\(\[1, 2\]\)`"):
        cs.OpinionPool().fit(series, y)
    model = cs.OpinionPool().fit(series.unstack([1, 2]), y)
    assert_allclose(model.predict_proba(series.unstack([1, 2])), cs.OpinionPool().fit(P, y).predict_proba(P))
