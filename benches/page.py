"""The files of the benchmark page in experiments/speed: `bench.csv`, `bench.md` (the same as a table), `bench.svg` (time
against target) and `scaling.svg` (cost of a fit against items, sources and classes)."""

import csv
import re
from math import log10
from xml.sax.saxutils import escape

from measure import ROOT

RESULTS = ROOT / "experiments" / "speed"
COLUMNS = ["part", "what", "ours", "unit", "before", "peer", "peer_time", "ratio", "limit", "target", "met",
           "instructions", "commit", "base", "load", "processor"]
#: What the table shows.
SHOWN = {"what": "what", "ours": "measured", "unit": "unit", "before": "before", "peer_time": "peer", "ratio": "peer / measured",
         "limit": "limit", "target": "target", "met": "met", "instructions": "M instructions", "commit": "commit", "load": "load"}


def kept(parts):
    """The rows of an earlier run, but not those of these parts."""
    if not (RESULTS / "bench.csv").exists():
        return []
    return [one for one in csv.DictReader((RESULTS / "bench.csv").open()) if one["part"] not in parts]


def write(found):
    RESULTS.mkdir(exist_ok=True)
    rows = [{name: shown(one.get(name)) for name in COLUMNS} for one in map(judged, found)]
    with (RESULTS / "bench.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "bench.md").write_text(table(rows))
    (RESULTS / "bench.svg").write_text(targets_plot(rows))
    (RESULTS / "scaling.svg").write_text(scaling_plot(rows))


def judged(one):
    """The row with the ratio to the peer and whether the target is met."""
    ours, peer, target = (float(one[name]) if shown(one[name]) else None for name in ("ours", "peer_time", "target"))
    return {**one, "ratio": peer and peer / ours, "met": target and ("yes" if ours <= target else "no")}


def shown(value):
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def table(rows):
    lines = ["# Measured", "", "Written by `make bench`; what the columns mean: [Speed](README.md).", "",
             "![Measured value over target](bench.svg)", "",
             "![Cost of a fit of the correlated model against items, sources and classes](scaling.svg)", ""]
    for part in dict.fromkeys(one["part"] for one in rows):
        used = [one for one in rows if one["part"] == part]
        names = [name for name in SHOWN if any(one[name] for one in used)]
        right = {"ours", "before", "peer_time", "ratio", "limit", "target", "instructions", "load"}
        lines += [f"## {part}", "", "| " + " | ".join(SHOWN[name] for name in names) + " |",
                  "|" + "|".join("---:" if name in right else "---" for name in names) + "|"]
        lines += ["| " + " | ".join(one[name] for name in names) + " |" for one in used] + [""]
    return "\n".join(lines)


def drawing(width, height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
                      *parts, "</svg>\n"])


def text(x, y, words, anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words.replace("`", ""))}</text>'


def line(x1, y1, x2, y2, colour="#bbb"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def targets_plot(rows):
    """Bars of the measured value over the target, on a logarithmic axis from 1/10 to 10; beyond 1 the target is missed."""
    bars = [(one["what"], float(one["ours"]) / float(one["target"])) for one in rows if one["target"]]
    left, width, step = 500, 300, 20
    height = step * (len(bars) + 3)

    def place(ratio):
        return left + width * (log10(min(max(ratio, 0.1), 10.0)) + 1) / 2

    parts = []
    for ratio in (0.1, 0.3, 1, 3, 10):
        parts += [line(place(ratio), step, place(ratio), height - 2 * step), text(place(ratio), 14, str(ratio), "middle")]
    for i, (what, ratio) in enumerate(bars):
        y, (first, last) = step * (i + 1) + 4, sorted((place(1), place(ratio)))
        colour = "#2a7" if ratio <= 1 else "#c43"
        parts += [f'<rect x="{first:.1f}" y="{y}" width="{last - first:.1f}" height="12" fill="{colour}"/>',
                  text(left - 6, y + 10, what, "end"), text(left + width + 6, y + 10, f"{ratio:.2f}")]
    parts.append(text(left, height - 12, "measured / target; left of 1 is better"))
    return drawing(left + width + 60, height, parts)


def scaling_plot(rows):
    """Cost of the mode of `correlated` against n, K and J on logarithmic axes, with lines of slope 1."""
    size, margin, parts = 200, 60, []
    for panel, axis in enumerate("nKJ"):
        points = [(float(found[1]), float(one["ours"])) for one in rows
                  if (found := re.fullmatch(rf"mode of `correlated`, {axis} = (\d+)", one["what"]))]
        if not points:
            continue
        left, (x0, y0) = margin + panel * (size + margin), points[0]
        widest = max(max(log10(x / x0) for x, _ in points), max(abs(log10(y / y0)) for _, y in points), 0.1)

        def place(x, y, left=left, x0=x0, y0=y0, widest=widest):
            return left + size * log10(x / x0) / widest, margin + size - size * log10(y / y0) / widest

        parts += [line(left, margin + size, left + size, margin + size), line(left, margin + size, left, margin),
                  line(*place(*points[0]), *place(points[-1][0], y0 * points[-1][0] / x0)),
                  text(left + size / 2, margin + size + 34, f"{axis}; grey: linear", "middle"),
                  text(left, margin - 10, "CPU s")]
        for x, y in points:
            across, down = place(x, y)
            parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="#27c"/>', text(across - 6, down - 6, f"{y:.2g}", "end"),
                      text(across, margin + size + 16, f"{x:g}", "middle")]
    return drawing(3 * (size + margin) + margin, size + 2 * margin, parts)
