"""Statistics of partitions: merged fits are those of all items, to the last bit."""

import functools
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import consilience as cs

pytestmark = pytest.mark.filterwarnings("ignore::consilience.DataWarning")

NAMES, CLASSES = ["a", "b", "c"], ["no", "yes"]
ESTIMATORS = [cs.IndependentFusion(inference="map"), cs.IndependentFusion(draws=600, random_state=3), cs.BccFusion()]


@pytest.fixture
def items(three):
    """Items with missing outputs, ties, zeros and, for some, no label; the second class comes last."""
    P, y = three
    P[5:9, 1], P[10:14, 0] = 0.5, [1.0, 0.0]
    return P, [None if i % 9 == 4 else label for i, label in enumerate(y)]


def model_of(model):
    """The model file, but for what every partition warns of."""
    file = json.loads(model.model_.to_json())
    file["training"].pop("warnings", None)
    return file


def parts_of(P, y, weights, n, rng):
    where = rng.integers(n, size=len(y))
    for part in range(n):
        own = np.flatnonzero(where == part)
        yield P[own], [y[i] for i in own], None if weights is None else weights[own]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["map", "posterior", "bcc"])
@pytest.mark.parametrize("weighted", [False, True])
def test_random_partitions_give_the_fit_on_all_items(items, estimator, weighted):
    P, y = items
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.0, 3.0, len(y)).round(1) if weighted else None
    make = functools.partial(type(estimator), **{**estimator.get_params(), "classifiers": NAMES})
    whole = make(classes=CLASSES).fit(P, y, weights)
    for n in (1, 3, 40, 200):  # of 200 parts of 120 items, many are empty and most lack a class
        parts = [cs.Statistics(NAMES, CLASSES).add(*part) for part in parts_of(P, y, weights, n, rng)]
        rng.shuffle(parts)
        merged = sum(pickle.loads(pickle.dumps(part)) for part in parts)
        fitted = make().fit_statistics(merged)
        assert model_of(fitted) == model_of(whole)
        assert (fitted.predict_proba(P) == whole.predict_proba(P)).all()
        assert merged == functools.reduce(lambda a, b: a.merge(b), parts, cs.Statistics(NAMES, CLASSES))


def test_partitions_may_lack_a_class_all_items_or_a_classifier(items):
    P, y = items
    part = cs.Statistics(NAMES, CLASSES)
    assert part.add(P[:0], []).n_items == 0
    assert part.add(P[:60], y[:60]).class_counts.tolist() == [sum(v == "no" for v in y[:60]), 0]
    without = P[60:].copy()
    without[:, 1] = np.nan
    part.add(without, y[60:])
    with pytest.warns(cs.DataWarning, match="`b` is missing for every training item of class `yes`"):
        model = cs.BccFusion().fit_statistics(part)
    assert model.classifiers_.tolist() == ["a", "c"]
    assert model.predict_proba(P).shape == (120, 2)
    with pytest.raises(cs.ConsilienceError, match="there are no items"):
        cs.BccFusion().fit_statistics(cs.Statistics(NAMES, CLASSES))


def test_data_frames_are_read_by_name(items):
    P, y = items
    columns = [f"{k}_{j}" for k in NAMES for j in CLASSES]
    frame = pd.DataFrame(P.reshape(len(P), -1), columns=columns)[columns[::-1]].assign(other=1.0)
    whole = cs.Statistics(NAMES, CLASSES).add(P, y)
    assert cs.Statistics(NAMES, CLASSES).add(frame, y) == whole
    assert cs.Statistics(NAMES, CLASSES).add(pl.from_pandas(frame), y) == whole
    assert cs.Statistics(NAMES, CLASSES).add(frame[:0], y[:0]).n_items == 0
    assert cs.Statistics(NAMES, CLASSES).add(pl.from_pandas(frame)[:0], []).n_items == 0
    positive = cs.Statistics(NAMES, CLASSES, layout="positive").add(P[:, :, 1], y)
    assert positive.class_counts.tolist() == whole.class_counts.tolist()
    first = cs.Statistics(NAMES, CLASSES, layout="positive", pos_label=CLASSES[0]).add(1 - P[:, :, 1], y)
    assert first._sums == cs.Statistics(NAMES, CLASSES, layout="positive").add(1 - (1 - P[:, :, 1]), y)._sums
    assert cs.Statistics.from_json(first.to_json()) == first


def test_round_trips_equality_and_text(items):
    P, y = items
    whole = cs.Statistics(NAMES, CLASSES).add(P, y)
    again = cs.Statistics.from_json(whole.to_json())
    assert again == whole and again != again.copy().add(P[:1], y[:1]) and whole != 3
    assert again.classes.dtype == whole.classes.dtype
    numbers = cs.Statistics(NAMES, [0, 1], floor=1e-4).add(P, [-1] + [1] * 119)
    assert numbers.n_unlabelled == 1 and pickle.loads(pickle.dumps(numbers)) == numbers
    assert cs.IndependentFusion(floor=1e-4).fit_statistics(numbers).classes_.tolist() == [0, 1]
    assert repr(numbers) == "<Statistics of 120 items (0: 0, 1: 119, 1 without a label), 3 classifiers>"
    with pytest.raises(TypeError):
        hash(whole)
    with pytest.raises(cs.ConsilienceError, match="not usable statistics"):
        cs.Statistics.from_json("{}")


def test_models_of_statistics_keep_the_kind_of_values(items, tmp_path):
    P, y = items
    odds = 1 / np.clip(P, 0.01, None)
    make = functools.partial(cs.IndependentFusion, inference="map", values="odds", classifiers=NAMES)
    statistics = cs.Statistics(NAMES, CLASSES, values="odds").add(odds, y)
    fitted, whole = make().fit_statistics(statistics), make(classes=CLASSES).fit(odds, y)
    assert model_of(fitted) == model_of(whole)
    assert model_of(fitted)["settings"]["values"] == "odds"
    with pytest.raises(cs.ConsilienceError, match="`values` is probabilities, but the statistics are of odds"):
        cs.IndependentFusion().fit_statistics(statistics)


def test_what_cannot_be_merged_or_fitted_is_refused(items):
    P, y = items
    whole = cs.Statistics(NAMES, CLASSES).add(P, y)
    before = whole.copy()
    with pytest.raises(cs.ConsilienceError, match="item 3.*classifier `b`"):
        broken = P.copy()
        broken[3, 1] = [0.9, 0.9]
        whole.add(broken, y)
    with pytest.raises(cs.ConsilienceError, match="unknown label `maybe`"):
        whole.add(P, ["maybe"] * 120)
    with pytest.raises(cs.ConsilienceError, match="weights"):
        whole.add(P, y, [-1.0] * 120)
    with pytest.raises(ValueError, match="sample_weight.shape"):
        whole.add(P, y, [1.0])
    with pytest.raises(ValueError, match="2 classifiers and 2 classes"):
        whole.add(P[:, :2], y)
    with pytest.raises(cs.ConsilienceError, match="`d`"):
        whole.merge(cs.Statistics(["a", "b", "d"], CLASSES))
    with pytest.raises(cs.ConsilienceError, match="floors 1e-06 and 0.001"):
        whole.merge(cs.Statistics(NAMES, CLASSES, floor=0.001))
    with pytest.raises(TypeError):
        whole + 1
    assert whole == before
    assert whole.add(P, y, np.zeros(120)) == before
    with pytest.raises(cs.ConsilienceError, match="`floor` is 0.01"):
        cs.BccFusion(floor=0.01).fit_statistics(whole)
    with pytest.raises(cs.ConsilienceError, match="those of the statistics"):
        cs.BccFusion(classes=["yes", "no"]).fit_statistics(whole)
    with pytest.raises(cs.ConsilienceError, match="`estimate`"):
        cs.BccFusion(class_prior="estimate").fit_statistics(whole)
    with pytest.raises(AttributeError, match="sample"):
        cs.DiscountedFusion().fit_statistics(whole)
    with pytest.raises(cs.ConsilienceError, match="two classes"):
        cs.Statistics(NAMES, [1, 2, 3], layout="positive")
    with pytest.raises(cs.ConsilienceError, match="at least two classes"):
        cs.Statistics(NAMES, ["a"])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["map", "posterior", "bcc"])
def test_partial_fit_takes_parts_without_a_class_or_items(items, estimator):
    P, y = items
    make = functools.partial(type(estimator), **estimator.get_params())
    whole = make(classes=CLASSES).fit(P, y)
    parts = make(classes=CLASSES)
    for own in (slice(0, 50), slice(0, 0), slice(50, 100), slice(100, 120), slice(0, 0)):
        parts.partial_fit(P[own], y[own], classes=CLASSES)
    assert model_of(parts)["parameters"] == model_of(whole)["parameters"]
    assert model_of(parts)["training"] == model_of(whole)["training"]
