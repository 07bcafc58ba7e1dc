"""Makes summary.csv and the tables of README.md from the scores of all splits, which run.sh writes."""

import csv
import re
from collections import defaultdict
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

HERE = Path(__file__).parent
SETS = ["bookies_a", "bookies_b", "bookies_c", "dna_a", "dna_b", "dna_c"]
PRIORS = ["uniform", "empirical"]
SPLITS = 50
# Splits of the same items are not independent (Nadeau & Bengio 2003): test over training items.
SHARED = 0.2 / 0.8
SCORES = ["log_loss", "brier", "accuracy", "entropy", "ece"]


def read(name):
    """Class prior -> method -> score -> values split by split, for one set."""
    found = defaultdict(dict)
    for path in sorted((HERE / "splits").glob(f"{name}-*.csv")):
        scores = defaultdict(lambda: {score: [] for score in SCORES})
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                for score in SCORES:
                    scores[row["class_prior"], row["method"]][score].append(float(row[score]))
        for (prior, method), own in scores.items():
            assert len(own["log_loss"]) == SPLITS, f"{path}: {method} has {len(own['log_loss'])} splits"
            found[prior][method] = own
    return found


def estimate(values):
    return mean(values), stdev(values) * sqrt(1 / SPLITS + SHARED)


def summarise(name, prior, methods):
    """One row per method, by log-loss; differences to the best are paired split by split."""
    ordered = sorted(methods.items(), key=lambda item: mean(item[1]["log_loss"]))
    best = ordered[0][1]["log_loss"]
    rows = []
    for method, scores in ordered:
        difference = estimate([own - other for own, other in zip(scores["log_loss"], best)])
        row = {"set": name, "class_prior": prior, "method": method}
        for score, pair in [*((s, estimate(scores[s])) for s in SCORES), ("difference", difference)]:
            row[score], row[f"{score}_se"] = (f"{value:.5f}" for value in pair)
        rows.append(row)
    return rows


def merged(rows):
    """Method -> row; of single classifiers the best of each kind."""
    found = {}
    for row in rows:
        kind, _, one = row["method"].partition(":")
        found.setdefault(f"best {kind}" if one else kind, row)
    return found


def table(columns):
    """One row per method, one column per set: log-loss beyond the best (standard error)."""
    total = lambda method: sum(float(own[method]["difference"]) if method in own else 10 for own in columns.values())
    methods = sorted({method for own in columns.values() for method in own}, key=lambda m: (total(m), m))
    best = (min(row["log_loss"] for row in own.values()) for own in columns.values())
    lines = [f"| method | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}",
             "| *log-loss of the best* | " + " | ".join(f"*{float(loss):.4f}*" for loss in best) + " |"]
    for method in methods:
        lines.append(f"| {method} | " + " | ".join(cell(own.get(method)) for own in columns.values()) + " |")
    return "\n".join(lines) + "\n"


def cell(row):
    if row is None:
        return "not run"
    difference, error = float(row["difference"]), float(row["difference_se"])
    return "**best**" if difference == error == 0 else f"+{difference:.4f} ({error:.4f})"


if __name__ == "__main__":
    found = {name: read(name) for name in SETS}
    rows = {(name, prior): summarise(name, prior, found[name][prior]) for prior in PRIORS for name in SETS}
    with open(HERE / "summary.csv", "w", newline="") as file:
        every = [row for own in rows.values() for row in own]
        writer = csv.DictWriter(file, every[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(every)
    text = (HERE / "README.md").read_text()
    for prior in PRIORS:
        title = f"## {prior.capitalize()} class prior\n\n"
        new = title + table({name: merged(rows[name, prior]) for name in SETS})
        text = re.sub(re.escape(title) + r"(\|.*\n)+", lambda _: new, text)
    (HERE / "README.md").write_text(text)
