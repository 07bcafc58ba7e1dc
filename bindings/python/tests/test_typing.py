"""Type checkers find wrong options of estimators."""

import subprocess
import sys

WRONG = {
    "cs.AutoFusion(class_priors='uniform')": "class_priors",
    "cs.AutoFusion(class_prior='balanced')": "class_prior",
    "cs.LinearPool(weights='simplx')": "weights",
    "cs.LinearPool(weights='free')": "weights",
    "cs.LogPool(weights='greedy')": "weights",
    "cs.AutoFusion(layout='labels')": "layout",
    "cs.CorrelatedFusion(inference='mode')": "inference",
    "cs.OpinionPool(values='probability')": "values",
    "cs.compare([], [], layout='long')": "layout",
    "cs.VoteFusion(method='ds')": "method",
    "cs.FusionClassifier([], stack_method='predict')": "stack_method",
    "cs.AutoFusion().fit([], []).predict_prob([])": "predict_prob",
    "cs.IndependentFusion().partial_fit([], []).alpha": "alpha",
}
RIGHT = """
cs.AutoFusion(class_prior="uniform", random_state=1)
cs.AutoFusion(class_prior=[0.2, 0.8])
cs.LinearPool(weights=[1.0, 2.0])
cs.LogPool(weights="free")
cs.BccFusion(layout="labels")
cs.CorrelatedFusion(inference="map", structure="tree")
model: cs.AutoFusion = cs.AutoFusion()
gain = model.worth([], [])
number: float = gain.effective_number
"""


def test_mypy_finds_misspelt_options(tmp_path):
    script = tmp_path / "script.py"
    wrong = list(WRONG)
    script.write_text("\n".join(["import consilience as cs", *wrong]) + RIGHT)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if line.startswith("script.py") and "error" in line]
    found = {int(line.split(":")[1]): line for line in errors}
    assert sorted(found) == list(range(2, 2 + len(wrong))), done.stdout
    for number, code in enumerate(wrong, start=2):
        assert WRONG[code] in found[number], found[number]
