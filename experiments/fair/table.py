"""Prints the tables of README.md from the CSV files that run.sh wrote."""

import csv
from pathlib import Path

HERE = Path(__file__).parent
SETS = ["bookies_a", "bookies_b", "bookies_c", "dna_a", "dna_b", "dna_c"]


def rows(path):
    """Method -> row; single classifiers are the best one of each kind."""
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            kind = row["method"].split(":")[0]
            name = f"best {kind}" if ":" in row["method"] else row["method"]
            found.setdefault(name, row)  # rows come by log-loss
    return found


def table(prior, suffix=""):
    """One row a method, one column a set: log-loss beyond the best (standard error)."""
    found = {}
    for name in SETS:
        path = HERE / f"{name}-{prior}{suffix}.csv"
        if path.exists():
            found[name] = rows(path)
    methods = sorted({m for s in found.values() for m in s}, key=lambda m: order(m, found))
    print(f"| method | {' | '.join(found)} |\n|---|{'---:|' * len(found)}")
    best = {name: min(float(r["log_loss"]) for r in s.values() if r["log_loss"]) for name, s in found.items()}
    print("| *log-loss of the best* | " + " | ".join(f"*{best[name]:.4f}*" for name in found) + " |")
    for method in methods:
        print(f"| {method} | " + " | ".join(cell(s.get(method)) for s in found.values()) + " |")
    print()


def order(method, found):
    """By the mean difference to the best; those that failed somewhere last."""
    differences = [s[method]["difference"] if method in s else "" for s in found.values()]
    return sum(float(d) if d else 10.0 for d in differences), method


def cell(row):
    if row is None:
        return ""
    if not row["difference"]:
        return "failed"
    difference, error = float(row["difference"]), float(row["difference_se"])
    return "**best**" if difference == 0 else f"+{difference:.4f} ({error:.4f})"


if __name__ == "__main__":
    for suffix, title in (("", "All methods"), ("-few", "With `correlated`, fewer splits")):
        for prior in ("uniform", "empirical"):
            if any((HERE / f"{name}-{prior}{suffix}.csv").exists() for name in SETS):
                print(f"### {title}, {prior} class prior\n")
                table(prior, suffix)
