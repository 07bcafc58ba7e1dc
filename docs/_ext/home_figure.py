"""Draws the plot of the home page with the library, once for light and once for dark pages."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import consilience as cs
from site_paths import BUILD

matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
matplotlib.rcParams["svg.hashsalt"] = "consilience"
OUTPUT = np.array([[0.6, 0.2, 0.2]] * 2)
ALPHA = 100 + np.eye(3)
COLOURS = {"light": ("#1b2733", "#0072B2", "#D55E00"), "dark": ("#ced6dd", "#6cb8ee", "#f0a05f")}


def fused(level):
    """Correlation of two sources that share a fraction of their shapes, and the fused probability of the first class."""
    classes = [cs.CorrelatedDirichlet([row, row], common=level * row) for row in ALPHA]
    logs = np.array([distribution.log_pdf(OUTPUT) for distribution in classes])
    weights = np.exp(logs - logs.max())
    return classes[0].correlation()[0, 1].mean(), weights[0] / weights.sum()


def draw(points, ink, line, accent):
    """The curve with its two ends named."""
    figure = Figure(figsize=(5.2, 3.5), layout="constrained")
    ax = figure.add_subplot()
    ax.plot(*points, color=line, linewidth=2.5)
    ax.axhline(0.6, color=accent, linestyle="--", linewidth=1.5)
    ax.text(0.02, 0.594, "one source alone: 0.60", color=accent, va="top")
    ax.annotate("taken as independent: 0.82", (points[0][0], points[1][0]), (0.09, 0.825), color=line, va="center",
                arrowprops={"arrowstyle": "-", "color": line})
    ax.set(xlim=(0, 1), ylim=(0.55, 0.86), xlabel="correlation of the two sources", ylabel="fused probability")
    ax.spines[["top", "right"]].set_visible(False)
    for part in (ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()):
        part.set_color(ink)
    ax.tick_params(colors=ink)
    for spine in ax.spines.values():
        spine.set_color(ink)
    return figure


def make(app):
    """Writes home-light.svg and home-dark.svg."""
    folder = BUILD / "site" / "static"
    folder.mkdir(parents=True, exist_ok=True)
    points = np.array([fused(level) for level in np.linspace(0, 0.99, 25)]).T
    for theme, colours in COLOURS.items():
        draw(points, *colours).savefig(folder / f"home-{theme}.svg", transparent=True, metadata={"Date": None})


def setup(app):
    app.connect("builder-inited", make)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
