"""Plots show the numbers of the models."""

import sys

import matplotlib
import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import consilience as cs
from consilience import plots

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model(train):
    return cs.CorrelatedFusion(keep_draws=50).fit(*train)


def test_figure_2_of_the_paper():
    """At correlation 0 the result of the opinion pool, 0.818; near correlation 1 that of one classifier, 0.6."""
    line = plots.fused_against_correlation([[0.6, 0.2, 0.2]] * 2, levels=[0.0, 0.5, 0.99]).lines[0]
    assert abs(line.get_ydata()[0] - 0.36 / 0.44) < 2e-3
    assert abs(line.get_ydata()[1] - 0.674075) < 1e-4  # reference value
    assert 0.6 < line.get_ydata()[2] < 0.62
    assert (np.diff(line.get_xdata()) > 0).all()


def test_plots_of_pairs_and_correlations(model, train):
    ax = plots.pair(model, *train)
    assert "observed" in ax.get_legend().get_texts()[0].get_text()
    image = plots.correlations(model).images[0].get_array()
    assert_allclose(image, model.correlation_.mean(axis=(2, 3)))


def test_reliability_of_known_frequencies():
    y = np.repeat([0, 1], 50)
    p = np.where(np.arange(100)[:, None] % 4 == 3, [0.25, 0.75], [0.75, 0.25])
    p[50:] = p[50:, ::-1]
    predicted, found = plots.reliability(y, p, label="x").lines[1].get_data()
    assert_allclose(predicted, 0.75)
    assert_allclose(found, 0.75, atol=0.02)


def test_plots_of_influence_and_traces(model, train):
    assert len(plots.influence(model).patches) == 2
    wide = plots.influence(model, train[0]).patches
    assert all(bar.get_width() > 0 for bar in wide)
    axes = plots.traces(model)
    assert len(axes) == 2 and len(axes[1].lines) == 3
    with pytest.raises(cs.ConsilienceError, match="keep_draws"):
        plots.traces(cs.OpinionPool().fit(*train))


def test_intervals_have_a_length_at_0_and_1():
    """Wilson's intervals: with 10 of 10 right 0.7225 to 1, with 0 of 10 the mirror image; 10 / (10 + 1.96²) by hand."""
    low, high = plots._wilson(np.array([10.0, 0.0, 5.0]), np.array([10.0, 10.0, 10.0]))
    assert_allclose(low, [0.7224672, 0.0, 0.2365931], atol=1e-6)
    assert_allclose(high, [1.0, 0.2775328, 0.7634069], atol=1e-6)


def test_reliability_has_counts_a_title_and_bars():
    y = np.zeros(30, int)
    p = np.repeat([[0.95, 0.05], [0.65, 0.35]], [20, 10], axis=0)
    ax = plots.reliability(y, p, classes=[0, 1], label="one")
    assert {text.get_text() for text in ax.texts} == {"20", "10"}
    assert "30 items" in ax.get_title()
    bars = ax.containers[0].lines[2][0].get_segments()
    assert all(segment[1, 1] - segment[0, 1] > 0.1 for segment in bars)
    plots.reliability(y, p[::-1], classes=[0, 1], label="two", ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert len(ax.texts) == 2


def test_pairs_of_many_classes_all_look_different():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.ones(12), (240, 3)), np.repeat([f"k{j:02}" for j in range(12)], 20)
    model = cs.OpinionPool(classifiers=["a", "b", "c"]).fit(P, y)
    ax = plots.pair(model, P, y, between=("c", "a"), component="k03")
    assert ax.get_xlabel() == "probability of k03, c" and "c against a, 240 items" == ax.get_title()
    looks = {(tuple(dots.get_facecolor()[0]), dots.get_paths()[0].vertices.tobytes()) for dots in ax.collections}
    assert len(looks) == 12 == len(ax.get_legend().get_texts())
    with pytest.raises(cs.ConsilienceError, match="unknown classifier 'd'; there are a, b, c"):
        plots.pair(model, P, y, between=("a", "d"))


def test_comparisons_are_bars(train):
    found = cs.compare(*train, ["auto", "linear-pool"], folds=3)
    ax = cs.plots.comparison(found)
    best = ax.patches[-1].get_width()
    assert best == found.methods[0].log_loss and ax.get_title() == f"Methods on {found.n_items} items"
    assert len(cs.plots.comparison(found, score="brier", most=3).patches) == 3
    with pytest.raises(cs.ConsilienceError, match="`score`"):
        cs.plots.comparison(found, score="loss")


def test_plots_of_a_classifier_are_those_of_its_fusion(train):
    P, y = train
    models = [("one", KNeighborsClassifier(9)), ("two", GaussianNB())]
    model = cs.FusionClassifier(models).fit(P[:, 0], y)
    outputs = model.outputs(P[:, 0])
    for draw in (plots.correlations, plots.shares, plots.influence):
        assert draw(model).get_title() == draw(model.fusion_).get_title()
    assert plots.influence(model).get_title() == "Strength of the classifiers, each alone"
    widths = [own.get_width() for own in plots.influence(model, P[:, 0]).patches]
    assert widths == [own.get_width() for own in plots.influence(model.fusion_, outputs).patches]
    assert_allclose(plots.pair(model, P[:, 0], y).collections[0].get_offsets(),
                    plots.pair(model.fusion_, outputs, y).collections[0].get_offsets())


@pytest.mark.filterwarnings(r"ignore:\s*ArviZ is undergoing:FutureWarning")  # issued once per day
@pytest.mark.parametrize("version", ["one", "older"])
def test_inference_data_for_arviz(model, version, monkeypatch):
    if version == "older":
        monkeypatch.setitem(sys.modules, "arviz_base", None)  # as if it were not installed
    posterior = model.to_arviz().posterior
    assert posterior["alpha"].dims == ("chain", "draw", "classifier", "true_class", "class")
    assert posterior["alpha"].shape == (1, 50, 2, 3, 3)
    assert posterior["delta"].shape == (1, 50, 1, 3, 3)
    assert list(posterior["pair"].values) == ["c1 and c2"]
    draws = model._file["draws"]
    own = posterior["alpha"].sel(chain=0, draw=7, classifier="c2", true_class="3")
    assert_allclose(own, draws[7]["alpha"][1][2], rtol=0)


def test_heat_maps_of_many_classifiers_stay_legible(train):
    P, y = train
    labels = {}
    for n in (4, 10, 24):
        X = np.concatenate([P] * (n // 2), axis=1) * np.random.default_rng(0).uniform(0.7, 1.3, (len(P), n, 3))
        ax = cs.plots.correlations(cs.AutoFusion().fit(X / X.sum(axis=2, keepdims=True), y))
        labels[n] = [text.get_text() for text in ax.texts]
    assert any("\n" in text for text in labels[4]) and len(labels[4]) == 16
    assert not any("\n" in text for text in labels[10]) and len(labels[10]) == 100
    assert labels[24] == []


@pytest.mark.parametrize("frame", [None, pl.DataFrame])
def test_sources_of_votes_are_drawn_with_their_intervals(frame):
    rng = np.random.default_rng(0)
    rows = [(i, w, (i + (rng.random() > right)) % 2) for i in range(60) for w, right in [("poor", 0.5), ("good", 0.95)]]
    votes = rows if frame is None else frame(rows, schema=["item", "source", "label"], orient="row")
    model = cs.VoteFusion().fit(votes, {i: i % 2 for i in range(60)})
    ax = cs.plots.sources(model)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["poor (60)", "good (60)"]
    drawn = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(drawn, np.sort(model.sources_["accuracy"]))
    assert ax.lines[0].get_color() == "#777777" != ax.lines[3].get_color()
    with pytest.raises(cs.ConsilienceError, match="`model` must be a `VoteFusion`"):
        cs.plots.sources(cs.AutoFusion())


def test_plots_of_something_else_have_a_message(train):
    P, y = train
    with pytest.raises(NotFittedError):
        cs.plots.shares(cs.AutoFusion())
    with pytest.raises(cs.ConsilienceError, match="`model` must be a fusion estimator .*, got VoteFusion"):
        cs.plots.correlations(cs.VoteFusion())
    with pytest.raises(cs.ConsilienceError, match="`found` must be the result of `compare`, got AutoFusion"):
        cs.plots.comparison(cs.AutoFusion())
    with pytest.raises(cs.ConsilienceError, match=r"shapes \(180, 3\) and \(180,\)"):
        cs.plots.reliability(P[:, 0], y)
    with pytest.raises(cs.ConsilienceError, match="probabilities of 1 classes, got 3\nhint: name every class"):
        cs.plots.reliability(np.full(180, "1"), P[:, 0])
