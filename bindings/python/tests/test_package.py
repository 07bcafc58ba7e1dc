"""Docstrings, type stubs and the example of the README."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import consilience
from consilience import plots

MODULES = [
    f"consilience.{module.name}"
    for module in pkgutil.iter_modules(consilience.__path__) if module.name not in ("_core",)
]
README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("name", ["consilience", *MODULES])
def test_examples_in_docstrings(name):
    with np.printoptions(legacy=False):
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_stubs_agree_with_the_binary():
    command = [sys.executable, "-m", "mypy.stubtest", "consilience._core"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_examples_of_the_readme(capsys, tmp_path, monkeypatch):
    """The Python blocks run in order, and print the text block that follows them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", README.read_text(), re.DOTALL)
    assert blocks
    names = {}
    for code, expected in blocks:
        exec(compile(code, "README.md", "exec"), names)
        printed = capsys.readouterr().out
        assert not expected or printed == expected


# Docstrings in the form of numpydoc

#: Methods that write a file and return nothing.
WRITERS = {"save", "export_onnx", "export_python"}
ERRORS = {"ConsilienceError", "ConvergenceWarning", "DataWarning"}
PUBLIC = {
    **{name: getattr(consilience, name) for name in consilience.__all__ if name != "__version__"},
    **{f"plots.{name}": getattr(plots, name) for name in plots.__all__},
}
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing) and name not in ERRORS}
METHODS = {
    f"{name}.{own}": getattr(thing, own)
    for name, thing in CLASSES.items() for own in dir(thing)
    if not own.startswith("_") and inspect.isroutine(getattr(thing, own))
    and getattr(thing, own).__module__.startswith("consilience")
}


def section(thing, title):
    """The entries of a section of a docstring: their names and the lines that introduce them."""
    text = inspect.getdoc(thing)
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\S|\n?\Z)", text, re.DOTALL | re.MULTILINE)
    lines = found.group(1).split("\n") if found else []
    return {line.split(" : ")[0]: line for line in lines if line and not line.startswith(" ")}


def parameters(thing):
    found = inspect.signature(thing).parameters
    return {name: one.default for name, one in found.items() if name not in ("self", "cls")}


@pytest.mark.parametrize("thing", PUBLIC.values(), ids=PUBLIC)
def test_public_names_have_a_summary_and_an_example(thing):
    text = inspect.getdoc(thing)
    first, *rest = text.split("\n")
    assert first.endswith(".") and rest[:1] in ([], [""]), "one sentence on the first line"
    assert thing.__name__ in ERRORS or "Examples\n--------\n>>> " in text


@pytest.mark.parametrize("thing", (PUBLIC | METHODS).values(), ids=PUBLIC | METHODS)
def test_all_parameters_are_documented_with_their_defaults(thing):
    if thing.__name__ in ERRORS:
        pytest.skip("no parameters")
    documented = section(thing, "Parameters")
    assert documented.keys() == parameters(thing).keys()
    for name, default in parameters(thing).items():
        stated = re.search(r"default=(.*)$", documented[name])
        if default is inspect.Parameter.empty or name == "input_features":
            assert stated is None
        else:
            assert eval(stated.group(1)) == default, documented[name]


@pytest.mark.parametrize("thing", METHODS.values(), ids=METHODS)
def test_methods_document_what_they_return(thing):
    assert ("Returns\n-------\n" in inspect.getdoc(thing)) == (thing.__name__ not in WRITERS)


def test_learned_attributes_are_documented(model, train):
    """All that are documented exist, and none exists that is not documented."""
    documented = section(type(model), "Attributes").keys() - {"feature_names_in_"}
    model.fit(*train)
    learned = {name for name in dir(model) if name.endswith("_") and not name.startswith("_") and hasattr(model, name)}
    assert documented == learned - {"model_"}


CHOICES = {
    f"{name}-{parameter}": (thing, parameter)
    for name, thing in CLASSES.items() if hasattr(thing, "_method")
    for parameter, line in section(thing, "Parameters").items()
    if ": {" in line and parameter in consilience._core.method_options(thing._method)
}


@pytest.mark.parametrize(("thing", "name"), CHOICES.values(), ids=CHOICES)
def test_all_choices_are_documented(thing, name, train):
    """The core lists its choices when it refuses another one."""
    documented = re.search(r": {(.*?)}", section(thing, "Parameters")[name]).group(1)
    with pytest.raises(consilience.ConsilienceError, match=f"`{name}` must be .*, got none") as error:
        thing(**{name: "none"}).fit(*train)
    listed = re.search(" must be (.*), got none", str(error.value)).group(1)
    choices = set(re.split(", | or ", listed.replace(" or a list of numbers", "")))
    if name == "weights":  # both pools share one list; each refuses what the other alone can learn
        choices -= {"greedy"} if thing is consilience.LogPool else {"free", "non-negative"}
    assert set(eval(f"[{documented}]")) == choices


def test_the_parameters_are_the_options_of_the_core(model):
    own = model.get_params().keys() - consilience.OpinionPool().get_params().keys()
    assert own == set(consilience._core.method_options(model._method)) - {"seed"}
