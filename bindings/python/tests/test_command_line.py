"""Python and the command line give identical numbers, to the last bit."""

import csv
import json
import os
import subprocess

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import consilience as cs

PROGRAM = os.environ.get("CONSILIENCE_PROGRAM", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    for name, seed in [("train", 1), ("test", 2)]:
        run("simulate", "--preset", "sim3", "--correlation", 0.4, "--items-per-class", 50, "--seed", seed,
            "-o", folder / f"{name}.csv")
    return folder


def read(path):
    """The table and its labels, with numbers exact to the last bit."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    text = {"label", "predicted"}
    columns = {
        name: [row[name] if name in text else float(row[name]) for row in rows] for name in rows[0]
    }
    frame = pd.DataFrame(columns)
    return frame, frame["label"]


def test_simulations_are_identical(folder):
    P, y = cs.simulate("sim3", correlation=0.4, items_per_class=50, random_state=1)
    frame, labels = read(folder / "train.csv")
    assert_array_equal(frame.drop(columns="label").to_numpy(), P.reshape(150, 6))
    assert_array_equal(labels, y)


@pytest.mark.parametrize(("method", "make", "arguments"), [
    ("auto", cs.AutoFusion, {}),
    ("opinion-pool", cs.OpinionPool, {}),
    ("linear-pool", cs.LinearPool, {}),
    ("log-pool", cs.LogPool, {"weights": "free"}),
    ("independent", cs.IndependentFusion, {"draws": 300, "keep_draws": 10}),
    ("discounted", cs.DiscountedFusion, {"alpha_prior": "paper", "inference": "map"}),
    ("correlated", cs.CorrelatedFusion, {"inference": "map", "resolution": 0.05}),
    ("stacking", cs.StackingFusion, {"ridge": "cv"}),
    ("logit-normal", cs.LogitNormalFusion, {}),
    ("normal-mixture", cs.NormalMixtureFusion, {"draws": 3}),
    ("bcc", cs.BccFusion, {}),
])
def test_fits_and_fused_probabilities_are_identical(method, make, arguments, folder):
    model_path, fused_path = folder / f"{method}.json", folder / f"{method}.csv"
    options = [text for name, value in arguments.items() for text in ("--" + name.replace("_", "-"), value)]
    run("fit", folder / "train.csv", "--method", method, "--seed", 7, "--class-prior", "empirical",
        *options, "-o", model_path)
    run("fuse", model_path, folder / "test.csv", "-o", fused_path)
    frame, labels = read(folder / "train.csv")
    model = make(class_prior="empirical", random_state=7, **arguments).fit(frame, labels)
    assert model.model_.to_json() == model_path.read_text()
    fused, _ = read(fused_path)
    p, error = model.fuse(read(folder / "test.csv")[0])
    assert_array_equal(p, fused[[f"fused_{j}" for j in "123"]].to_numpy())
    assert_array_equal(error, fused["error"].to_numpy())
    assert_array_equal(model.predict(read(folder / "test.csv")[0]), fused["predicted"])
    assert_array_equal(cs.load(model_path).predict_proba(read(folder / "test.csv")[0]), p)


def test_evaluations_and_updates_are_identical(folder):
    frame, labels = read(folder / "train.csv")
    more, more_labels = read(folder / "test.csv")
    model = cs.IndependentFusion(draws=200).fit(frame, labels)
    model.save(folder / "saved.json")
    printed = json.loads(run("evaluate", folder / "saved.json", folder / "test.csv", "--format", "json",
                             "--bootstrap", 20))
    assert model.evaluate(more, more_labels, bootstrap=20) == printed
    run("fit", folder / "test.csv", "--update", folder / "saved.json", "-o", folder / "updated.json")
    assert model.partial_fit(more, more_labels).model_.to_json() == (folder / "updated.json").read_text()


def test_comparisons_are_identical(folder):
    frame, labels = read(folder / "train.csv")
    methods = ["auto", "independent", "linear-pool"]
    found = cs.compare(frame, labels, methods, folds=3, random_state=2)
    printed = json.loads(run("compare", folder / "train.csv", "--methods", ",".join(methods), "--folds", 3,
                             "--seed", 2, "--format", "json"))
    assert len(found["methods"]) == len(printed["methods"]) >= 5
    for own, other in zip(found["methods"], printed["methods"]):
        for name in ("method", "log_loss", "log_loss_se", "brier", "accuracy", "entropy", "ece"):
            assert own[name] == other[name]
