"""Draws cost.svg, processor time against classifiers, classes and items, from cost.csv."""

import csv
import math
from pathlib import Path

FOLDER = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP = 250, 190, 60, 40
COLOURS = {"tree": "#0072B2", "full": "#D55E00"}
# title, column of the abscissa, column of the ordinate, what is held fixed
PANELS = [
    ("fit, s, against items a class (K=3, J=3)", "items_per_class", "fit_seconds", {"classifiers": "3", "classes": "3"}),
    ("fit, s, against classifiers (J=3)", "classifiers", "fit_seconds", {"classes": "3"}),
    ("fuse, ms an item, against classifiers (J=3)", "classifiers", "fuse_us_per_item", {"classes": "3"}),
    ("fuse, ms an item, against classes (K=3)", "classes", "fuse_us_per_item", {"classifiers": "3"}),
]


def curves(rows, across, up, fixed):
    """Points of both structures; of `full` those without noise, of `tree` with 300 items a class unless items vary."""
    for structure in COLOURS:
        own = [r for r in rows if r["structure"] == structure and all(r[c] == v for c, v in fixed.items())]
        own = [r for r in own if structure == "tree" or r["resolution"] == "0"]
        if across != "items_per_class":
            own = [r for r in own if structure == "full" or r["items_per_class"] == "300"]
        scale = 1e-3 if up == "fuse_us_per_item" else 1.0
        yield structure, sorted((float(r[across]), scale * float(r[up])) for r in own)


def panel(rows, place, title, across, up, fixed):
    """One panel with logarithmic axes."""
    x0, y0 = LEFT + place % 2 * (WIDTH + 90), TOP + place // 2 * (HEIGHT + 80)
    both = list(curves(rows, across, up, fixed))
    points = [p for _, curve in both for p in curve]
    spans = [[min(p[i] for p in points), max(p[i] for p in points)] for i in (0, 1)]

    def at(p):
        share = [math.log(p[i] / spans[i][0]) / math.log(spans[i][1] / spans[i][0]) for i in (0, 1)]
        return x0 + WIDTH * (0.05 + 0.9 * share[0]), y0 + HEIGHT * (0.95 - 0.9 * share[1])

    yield f'<rect x="{x0}" y="{y0}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
    yield f'<text x="{x0}" y="{y0 - 8}">{title}</text>'
    for value in sorted({p[0] for p in points}):
        x, _ = at((value, spans[1][0]))
        yield f'<text x="{x:.1f}" y="{y0 + HEIGHT + 15}" text-anchor="middle">{value:g}</text>'
    for value in spans[1]:
        _, y = at((spans[0][0], value))
        yield f'<text x="{x0 - 5}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    for structure, curve in both:
        colour = COLOURS[structure]
        line = " ".join("{:.1f},{:.1f}".format(*at(p)) for p in curve)
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for p in curve:
            x, y = at(p)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def main():
    """Reads the table and writes the picture."""
    with open(FOLDER / "cost.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="690" height="560" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="690" height="560" fill="white"/>')
    for place, spec in enumerate(PANELS):
        parts.extend(panel(rows, place, *spec))
    for i, (structure, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="{LEFT + 80 * i}" y="545" fill="{colour}">{structure}</text>')
    parts.append("</svg>")
    (FOLDER / "cost.svg").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
