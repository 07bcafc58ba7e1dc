"""Mutated tables and models of probabilities."""

import json

from .bench import FORMATS, check_fused, check_page, check_python
from .mutations import mutate, mutate_json

MODELS = ["model-independent.json", "model-auto.json", "model-linear-pool.json"]
THREE_SOURCES = ("tree", "tree-mixture", "full", "common")


def attack_table(bench, rng, form):
    bad = write_bad_table(bench, rng, form)
    model = rng.choice(MODELS)
    out = f"out.{rng.choice(FORMATS)}"
    words = rng.choice([
        ["fuse", model, bad, "-o", out], ["fuse", model, bad, "-o", "out.csv", "--explain"],
        ["density", "model-independent.json", bad, "-o", out], ["evaluate", model, bad, "--bootstrap", 0],
        ["fit", bad, "--method", "independent", "--inference", "map", "-o", "out.json"],
        ["fit", bad, "--method", "opinion-pool", "-o", "out.json"], ["fit", bad, "-o", "out.json"],
        ["fuse", model, bad, "--layout", "long", "-o", out],
        ["fuse", model, bad, "--values", rng.choice(["logits", "odds", "log-probabilities"]), "-o", out],
    ])
    written = bench.run_whole(*words, "--threads", 1)
    if "out.csv" in written and words[0] == "fuse":
        check_fused(bench.folder / "out.csv")


def attack_analysis(bench, rng, form):
    """The commands that look at a table with a model."""
    bad = write_bad_table(bench, rng, form)
    model = rng.choice(MODELS)
    words = rng.choice([
        ["prevalence", model, bad], ["prevalence", model, bad, "--format", "json"],
        ["advise", model, bad, "--labels", 3, "--folds", 2], ["advise", model, bad, "--no-sources"],
        ["report", model, bad, "-o", "out.html"], ["report", model, bad, "--format", "json"],
    ])
    if "out.html" in bench.run_whole(*words, "--threads", 1):
        check_page(bench.folder / "out.html")


def write_bad_table(bench, rng, form):
    bad = f"bad.{form}"
    (bench.folder / bad).write_bytes(mutate((bench.folder / f"table.{form}").read_bytes(), rng))
    return bad


def attack_model(bench, rng):
    table = write_bad_model(bench, rng, "model-*.json")
    words = rng.choice([
        ["fuse", "bad.json", table, "-o", "out.csv"], ["fuse", "bad.json", table, "-o", "out.csv", "--explain"],
        ["fuse", "bad.json", table, "-o", "out.csv", "--predictive"],
        ["density", "bad.json", table, "-o", "out.csv"], ["evaluate", "bad.json", table, "--bootstrap", 0],
        ["inspect", "bad.json"], ["inspect", "bad.json", "--format", "json"],
        ["fit", table, "--update", "bad.json", "-o", "out.json"],
        ["simulate", "--model", "bad.json", "--items-per-class", 2, "-o", "out.csv"],
    ])
    if bench.run_whole(*words, "--threads", 1) and words[0] == "fuse":
        check_fused(bench.folder / "out.csv")


def attack_analysis_model(bench, rng):
    """The same commands, and `export`, with a mutated model."""
    table = write_bad_model(bench, rng, "model-*.json")
    words = rng.choice([
        ["prevalence", "bad.json", table], ["advise", "bad.json", table, "--labels", 3, "--no-sources"],
        ["advise", "bad.json", table, "--labels", 0, "--folds", 2],
        ["report", "bad.json", table, "-o", "out.html"], ["report", "bad.json", table, "--format", "json"],
        ["export", "bad.json", "-o", "out.onnx"], ["export", "bad.json", "--float32", "-o", "out.onnx"],
        ["export", "bad.json", "--python", "-o", "out.py"], ["export", "bad.json", "--python", "-o", "out.py"],
    ])
    written = bench.run_whole(*words, "--threads", 1)
    if "out.html" in written:
        check_page(bench.folder / "out.html")
    if "out.py" in written:
        check_python(bench.folder / "out.py")


def write_bad_model(bench, rng, pattern):
    """Writes bad.json from one of the models; the table that the model fits."""
    name = rng.choice(sorted(path.name for path in bench.folder.glob(pattern)))
    content = (bench.folder / name).read_bytes()
    bad = mutate(content, rng) if rng.random() < 0.3 else mutate_json(json.loads(content), rng)
    (bench.folder / "bad.json").write_bytes(bad)
    return "three.csv" if name[6:-5] in THREE_SOURCES else "table.csv"
