"""Plots show the numbers of the models."""

import sys

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

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
