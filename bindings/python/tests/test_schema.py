"""The JSON schema of model files: it accepts what is written and read, and nothing else."""

import copy
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import consilience as cs

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).parents[3]
PROGRAM = os.environ.get("CONSILIENCE_PROGRAM", "")

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def schema():
    schema = json.loads((ROOT / "docs" / "model-file.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def written(model, path):
    model.save(path)
    return json.loads(path.read_text())


def test_files_of_every_method_are_valid(schema, model, train, three, tmp_path):
    P, y = train
    schema.validate(written(model.fit(P, y), tmp_path / "m.json"))
    schema.validate(json.loads(model.model_.to_json()))
    # With missing outputs, items without a label, a given class prior and a warning.
    P, y = three
    y = [None if i % 5 == 2 else label for i, label in enumerate(y)]
    schema.validate(written(model.set_params(class_prior=[0.9, 0.1]).fit(P, y), tmp_path / "m.json"))


@pytest.mark.parametrize("model", [
    cs.IndependentFusion(keep_draws=3), cs.CorrelatedFusion(keep_draws=3, chains=2, draws=60, warmup=30),
    cs.CorrelatedFusion(inference="map", structure="tree-mixture"), cs.CorrelatedFusion(inference="map", structure="full"),
    cs.AutoFusion(), cs.LogPool(weights="free"), cs.BccFusion(),
], ids=lambda model: re.sub(r"\s+", " ", repr(model)))
def test_draws_diagnostics_and_structures_are_valid(schema, model, three, tmp_path):
    P, y = three
    weights = None if model._whole_weights else np.linspace(0.1, 2.0, len(y))
    schema.validate(written(model.fit(P, y, weights), tmp_path / "m.json"))


def test_models_without_labels_are_valid(schema, three, tmp_path):
    schema.validate(written(cs.AutoFusion(classes=["no", "yes"]).fit(three[0]), tmp_path / "m.json"))


def test_the_examples_of_the_guide_are_valid(schema):
    page = (ROOT / "docs" / "model-file.md").read_text()
    for example in re.findall(r"```json\n(.*?)```", page, re.DOTALL):
        schema.validate(json.loads(example))


def test_stored_files_are_valid(schema):
    """The seeds of the fuzzer, one per method, `meta` included."""
    paths = sorted((ROOT / "fuzz" / "corpus" / "model").glob("*.json"))
    assert "meta" in [path.stem for path in paths]
    for path in paths:
        cs.load(path)
        schema.validate(json.loads(path.read_text()))


@pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")
@pytest.mark.parametrize("method", ["auto", "ibcc", "ebcc", "ueda", "dbcc", "dawid-skene", "majority"])
def test_models_of_votes_are_valid(schema, method, tmp_path):
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=80)
    votes = ["item,source,label,probability"]
    for i, t in enumerate(truth):
        for s in range(5):
            label = t if rng.random() < 0.7 else rng.integers(3)
            votes.append(f"{i},w{s},{'abc'[label]},{rng.uniform(0.4, 1):.2f}")
    (tmp_path / "votes.csv").write_text("\n".join(votes) + "\n")
    gold = "\n".join(f"{i},{'abc'[t]}" for i, t in enumerate(truth[:40]))
    (tmp_path / "gold.csv").write_text(f"item,label\n{gold}\n")
    subprocess.run([PROGRAM, "aggregate", "votes.csv", "--method", method, "--gold", "gold.csv", "-o", "out.csv",
                    "--model", "m.json", "--quiet"], cwd=tmp_path, check=True, capture_output=True)
    schema.validate(json.loads((tmp_path / "m.json").read_text()))


def test_saved_estimators_of_votes_are_valid(schema, tmp_path):
    rng = np.random.default_rng(1)
    votes = {"item": np.repeat(np.arange(40), 3), "source": np.tile(["a", "b", "c"], 40), "label": rng.integers(2, size=120)}
    schema.validate(written(cs.VoteFusion().fit(votes), tmp_path / "m.json"))


def test_other_files_are_not_valid(schema, train, tmp_path):
    good = written(cs.StackingFusion().fit(*train), tmp_path / "m.json")

    def broken(change):
        file = copy.deepcopy(good)
        change(file)
        return not schema.is_valid(file)

    assert not broken(lambda file: None)
    assert broken(lambda file: file.pop("classes"))
    assert broken(lambda file: file.update(extra=1))
    assert broken(lambda file: file.update(version=2))
    assert broken(lambda file: file.update(method="psychic"))
    assert broken(lambda file: file.update(method="independent"))
    assert broken(lambda file: file.update(classes=["x"]))
    assert broken(lambda file: file.update(class_prior=[0.0, 0.5, 0.5]))
    assert broken(lambda file: file.pop("parameters"))
    assert broken(lambda file: file["parameters"]["logistic"].update(bias="0"))
    assert broken(lambda file: file["parameters"]["fill"].update(weight=1.5))
    assert broken(lambda file: file["training"]["statistics"].update(items=[1, -1, 2]))
    assert broken(lambda file: file["settings"].update(class_prior="prior"))
