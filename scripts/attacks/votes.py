"""Mutated tables of votes and gold labels, and mutated models of votes."""

from .bench import FORMATS, check_fused, check_labels, check_page
from .mutations import mutate
from .stock import VOTE_METHODS
from .tables import write_bad_model


def attack_votes(bench, rng, form):
    """A mutated table of votes or of gold labels, in one of the two layouts."""
    name = rng.choice(["votes", "votes", "wide", "gold"])
    bad = f"bad.{form}"
    (bench.folder / bad).write_bytes(mutate((bench.folder / f"{name}.{form}").read_bytes(), rng))
    votes, gold = (f"votes.{form}", bad) if name == "gold" else (bad, "gold.csv")
    layout = ["--layout", "wide-labels"] if name == "wide" else []
    method = ["--method", *rng.choice(VOTE_METHODS)]
    aggregate = ["aggregate", votes, *layout, *method]
    words = rng.choice([
        [*aggregate, "-o", "out.csv"], [*aggregate, "--gold", gold, "-o", "out.csv"],
        [*aggregate, "--gold", gold, "-o", f"out.{rng.choice(FORMATS)}", "--sources", "out-sources.csv", "--model",
         "out.json"],
        [*aggregate, "--held-out", gold, "-o", "out.csv", "--report", "out.html"],
        ["fuse", "votes-auto.json", votes, *layout, "-o", "out.csv"],
        ["evaluate", "votes-auto.json", votes, *layout, "--gold", gold],
        ["report", "votes-auto.json", votes, *layout, "-o", "out.html"],
        ["compare", votes, *layout, "--votes", "--gold", gold, "--methods", "ibcc", "--folds", 2],
    ])
    check_written(bench, words, bench.run_whole(*words, "--threads", 1))


def attack_vote_model(bench, rng):
    write_bad_model(bench, rng, "votes-*.json")
    words = rng.choice([
        ["fuse", "bad.json", "votes.csv", "-o", "out.csv"],
        ["fuse", "bad.json", "wide.csv", "--layout", "wide-labels", "-o", "out.csv"],
        ["evaluate", "bad.json", "votes.csv", "--gold", "gold.csv"],
        ["report", "bad.json", "votes.csv", "-o", "out.html"], ["report", "bad.json", "votes.csv", "--format", "json"],
        ["inspect", "bad.json"], ["export", "bad.json", "--python", "-o", "out.py"],
    ])
    check_written(bench, words, bench.run_whole(*words, "--threads", 1))


def check_written(bench, words, written):
    if "out.html" in written:
        check_page(bench.folder / "out.html")
    if "out.csv" in written:
        (check_fused if words[0] == "fuse" else check_labels)(bench.folder / "out.csv")
