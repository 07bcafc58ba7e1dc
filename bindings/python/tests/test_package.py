"""Docstrings, stubs, the README's example."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import consilience

MODULES = [
    f"consilience.{module.name}"
    for module in pkgutil.iter_modules(consilience.__path__) if module.name not in ("_core",)
]
README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("name", ["consilience", *MODULES])
def test_docstrings(name):
    with np.printoptions(legacy=False):
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_stubs_agree_with_the_binary():
    command = [sys.executable, "-m", "mypy.stubtest", "consilience._core"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_example_of_the_readme(capsys, tmp_path, monkeypatch):
    """Python blocks run one after the other, and print what the text block after them says."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README.read_text(), re.DOTALL)
    assert blocks
    names = {}
    for code, expected in blocks:
        exec(compile(code, "README.md", "exec"), names)
        printed = capsys.readouterr().out
        assert not expected or printed == expected


def test_everything_public_is_documented():
    for name in consilience.__all__:
        if name != "__version__":
            assert getattr(consilience, name).__doc__, name
