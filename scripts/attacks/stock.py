"""The good files that attacks start from."""

import json
import math
import random

from .bench import FORMATS

METHODS = ["auto", "stacking", "independent", "discounted", "logit-normal", "normal-mixture", "bcc", "opinion-pool",
           "linear-pool", "log-pool", "meta:c1", "correlated"]
OPTIONS = {"independent": ["--inference", "map"], "meta:c1": ["--inference", "map"],
           "normal-mixture": ["--chains", "1", "--warmup", "5", "--draws", "2", "--components", "3"]}
VOTE_METHODS = [["auto"], ["auto", "--rho", "0"], ["ibcc"], ["ibcc", "--inference", "vb"],
                ["ibcc", "--inference", "gibbs", "--chains", "1", "--warmup", "3", "--draws", "5"],
                ["ebcc", "--subtypes", "2", "--restarts", "1"], ["ueda"], ["dbcc"], ["dawid-skene"], ["majority"]]
ONE_SOURCE = {"format": "consilience", "version": 1, "method": "independent", "classifiers": ["a"], "classes": ["x", "y"],
              "class_prior": [0.5, 0.5], "parameters": {"alpha": [[[3, 2], [2, 3]]]}}


def stock(bench):
    """The files that are mutated: tables in every format, and a model of every method."""
    must = {"codes": (0,), "seconds": 300}
    for preset, name in [("sim1", "table"), ("sim2", "train")]:
        for form in FORMATS:
            bench.run("simulate", "--preset", preset, "--items-per-class", 8, "-o", f"{name}.{form}", **must)
    for method in METHODS:
        options = OPTIONS.get(method, [])
        if method == "correlated":
            options = ["--inference", "map"]
        name = method.replace(":", "-")
        bench.run("fit", "train.csv", "--method", method, *options, "-o", f"model-{name}.json", **must)
    bench.run("simulate", "--preset", "sim1", "--items-per-class", 4000, "-o", "long.csv", **must)
    three = write_three_sources(bench.folder)
    for structure in ["tree", "tree-mixture", "full", "common"]:
        bench.run("fit", three, "--method", "correlated", "--inference", "map", "--structure", structure, "-o",
                  f"model-{structure}.json", **must)
    stock_votes(bench, must)


def write_three_sources(folder):
    """A table of three sources, two of them alike, in the layout of the others."""
    rng = random.Random(1)
    lines = ["label," + ",".join(f"c{k}_{j}" for k in (1, 2, 3) for j in (1, 2, 3))]
    for i in range(30):
        shared = [rng.gauss(0, 1) for _ in range(3)]
        cells = []
        for k in range(3):
            logits = [0.7 * shared[j] * (k < 2) + rng.gauss(0, 0.7) + (i % 3 == j) for j in range(3)]
            weights = [math.exp(x) for x in logits]
            cells += [f"{w / sum(weights):.9f}" for w in weights]
        lines.append(f"{i % 3 + 1}," + ",".join(cells))
    (folder / "three.csv").write_text("\n".join(lines) + "\n")
    return "three.csv"


def stock_votes(bench, must):
    """Votes in both layouts and gold labels, in every format, and a model of every method."""
    (bench.folder / "one.json").write_text(json.dumps(ONE_SOURCE))
    for name, lines in votes().items():
        (bench.folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        # `fuse` keeps the columns of its table, which makes it a converter.
        with_outputs = [lines[0] + ",a_x,a_y", *(line + ",0.5,0.5" for line in lines[1:])]
        (bench.folder / "outputs.csv").write_text("\n".join(with_outputs) + "\n")
        for form in FORMATS[1:]:
            bench.run("fuse", "one.json", "outputs.csv", "-o", f"{name}.{form}", **must)
    for i, method in enumerate(VOTE_METHODS):
        name = "auto" if i == 0 else f"{i}-{method[0]}"
        bench.run("aggregate", "votes.csv", "--gold", "gold.csv", "--method", *method, "-o", "labels.csv", "--model",
                  f"votes-{name}.json", **must)
    many = votes(10_000)["votes"]
    (bench.folder / "many-votes.csv").write_text("\n".join(many) + "\n")


def votes(n_items=25):
    """Four sources, and a fifth that is wrong as often as right, in the long and in the wide layout; gold labels."""
    rng = random.Random(2)
    classes = ["no", "yes", "?"]
    long, wide, gold = ["item,source,label"], ["item,s0,s1,s2,s3,s4"], ["item,label"]
    for item in range(n_items):
        truth = rng.choice(classes)
        given = [truth if rng.random() < (0.8 if k < 4 else 0.4) else rng.choice(classes) for k in range(5)]
        long += [f"q{item},s{k},{vote}" for k, vote in enumerate(given)]
        wide.append(f"q{item},{','.join(given)}")
        if item % 5 < 3:
            gold.append(f"q{item},{truth}")
    return {"votes": long, "wide": wide, "gold": gold}
