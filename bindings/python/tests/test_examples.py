"""The examples run."""

import os
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "four_sets.py")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_prints(name, capsys, monkeypatch):
    monkeypatch.setitem(os.environ, "MPLBACKEND", "Agg")
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert capsys.readouterr().out


def test_all_examples_are_found():
    assert len(EXAMPLES) == 7
