"""What `import consilience` brings, and what it leaves to the first use."""

import subprocess
import sys

import pytest

import consilience

LATER = ["plots", "_report", "classifier", "distributions", "metrics"]


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_rarely_used_modules_are_imported_at_their_first_use():
    loaded = run("import sys, consilience; print([name for name in sys.modules])")
    assert "'consilience.estimators'" in loaded
    for name in ["sklearn.ensemble", "matplotlib", *(f"consilience.{name}" for name in LATER)]:
        assert f"'{name}'" not in loaded, name


def test_all_names_are_there_from_the_start():
    names = [*consilience.__all__, *LATER]
    assert set(names) <= set(dir(consilience))
    run(f"import consilience as cs\nfor name in {names}: assert getattr(cs, name) is getattr(cs, name), name\n"
        "assert callable(cs.plots.pair) and cs.classifier.FusionClassifier is cs.FusionClassifier")
    run("from consilience import *\nFusionClassifier, compare, Dirichlet, report")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'consilience' has no attribute 'plot'"):
        consilience.plot
