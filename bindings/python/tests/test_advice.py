"""Advice: items to label and sources to drop."""

import json
import pickle

import pytest

import consilience as cs


@pytest.fixture(scope="module")
def some():
    """90 items of which 30 have a label, and a model of them."""
    P, y = cs.simulate("sim2", correlation=0.2, items_per_class=30, random_state=1)
    y = [label if i % 3 == 0 else None for i, label in enumerate(y)]
    return cs.AutoFusion().fit(P, y), P, y


def test_items_are_unlabelled_and_sources_have_intervals(some):
    model, P, y = some
    found = model.advise(P, y, labels=4, prices={"c1": 0.02})
    assert len(found.labels.next) == 4
    assert all(y[own.item] is None for own in found.labels.next)
    assert found.labels.n_unlabelled == 60
    frame = found.sources.to_frame().set_index("source")
    assert set(frame.index) == {"c1", "c2"}
    assert (frame.low < frame.worth).all() and (frame.worth < frame.high).all()
    assert frame.worth_per_price["c1"] == pytest.approx(frame.worth["c1"] / 0.02)
    assert found.labels.to_frame().item.tolist() == [own["item"] for own in found["labels"]["next"]]


def test_it_prints_as_the_command_line_does_and_is_still_a_dict(some):
    model, P, y = some
    found = model.advise(P, y, labels=2)
    text = repr(found)
    assert "label next" in text and "dropping it costs" in text
    assert text == f"{found.labels}\n\n{found.sources}"
    assert json.loads(json.dumps(found))["labels"]["n_labelled"] == 30
    assert "<table" in found._repr_html_() and "dropping" not in found.labels._repr_html_()
    again = pickle.loads(pickle.dumps(found))
    assert again == found and repr(again) == text and isinstance(again.sources, type(found.sources))


def test_items_are_printed_as_places_in_x(some):
    """The command line prints rows, which count from 1."""
    model, P, y = some
    found = model.advise(P, y, labels=3, sources=False)
    rows = [line.split() for line in repr(found).splitlines()[1:4]]
    assert [int(row[1]) for row in rows] == [own.item for own in found.labels.next]
    assert "row" not in repr(found).splitlines()[0]


def test_parts_that_are_not_wanted_or_not_known(some):
    model, P, y = some
    assert model.advise(P, y, sources=False).sources is None
    found = model.advise(P)
    assert found.sources is None and "label" in found.sources_unknown
    assert len(found.labels.next) == 10 and "unknown" in found._repr_html_() + repr(found)
    with pytest.raises(AttributeError, match="has no entry `nothing`"):
        found.nothing
    with pytest.raises(AttributeError, match="cannot be changed"):
        found.labels.reduction = 3


def test_wrong_prices_are_refused(some):
    model, P, y = some
    with pytest.raises(cs.ConsilienceError, match="`c3`"):
        model.advise(P, y, prices={"c3": 1.0})
    with pytest.raises(cs.ConsilienceError, match="price of `c1`"):
        model.advise(P, y, prices={"c1": -1.0})
