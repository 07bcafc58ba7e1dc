"""The estimator in the model file, so that a file and a pickle give back the same one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._errors import ConsilienceError

if TYPE_CHECKING:
    from ._base import Fusion


def describe(estimator: Fusion) -> str:
    """Parameters of an estimator and the facts of its fit that the model does not have, as JSON."""
    seed = estimator._file.get("settings", {}).get("fit", {}).get("seed")
    parameters = {
        name: seed if name == "random_state" and _is_generator(value) else plain(value)
        for name, value in estimator.get_params(deep=False).items() if name != "progress"
    }
    names = getattr(estimator, "feature_names_in_", None)
    return json.dumps({
        "class": type(estimator).__name__,
        "parameters": parameters,
        "classes": typed_list(estimator.classes_),
        "classifiers": [str(name) for name in estimator._input_classifiers],
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else [str(name) for name in names],
    })


def restore(file: dict[str, Any], known: dict[str, type[Fusion]]) -> Fusion:
    """An estimator with the parameters and names of a model file; its model is still to be set."""
    kept = file.get("estimator")
    if kept is None or kept["class"] not in known:
        return _of_plain_file(file, known)
    loaded = known[kept["class"]](**kept["parameters"])
    loaded.classes_ = array_of(kept["classes"])
    loaded.classifiers_ = np.array(kept["classifiers"], dtype=object)
    loaded.n_features_in_ = kept["n_features_in"]
    if kept["feature_names_in"] is not None:
        loaded.feature_names_in_ = np.array(kept["feature_names_in"], dtype=object)
    return loaded


def read_text(path: Any) -> str:
    """The text of a model file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConsilienceError(
            f"{path}: it is not a model file, which is text\n"
            "hint: model files are written by `save` and by `consilience fit`; read a pickle with "
            "`pickle.load` or `joblib.load`"
        ) from None


def _of_plain_file(file: dict[str, Any], known: dict[str, type[Fusion]]) -> Fusion:
    """An estimator for a file of the command line, or one written by hand: its classes are strings."""
    # A meta classifier is the independent fusion model of one classifier.
    method = "independent" if file["method"].startswith("meta:") else file["method"]
    make = {cls._method: cls for cls in known.values()}[method]
    settings = file.get("settings", {})
    options = {name: value for name, value in settings.get("fit", {}).items()
               if name not in ("method", "seed", "classifier")}
    chosen = settings.get("class_prior")
    loaded = make(
        class_prior=chosen if isinstance(chosen, str) else file["class_prior"],
        floor=settings.get("floor", 1e-6), values=settings.get("values", "probabilities"), classifiers=file["classifiers"], classes=file["classes"],
        random_state=settings.get("fit", {}).get("seed"), **options,
    )
    loaded.classifiers_ = np.array(file["classifiers"], dtype=object)
    loaded.classes_ = np.array(file["classes"])
    loaded.n_features_in_ = len(file["classifiers"]) * len(file["classes"])
    return loaded


def _is_generator(value: Any) -> bool:
    return value is not None and not isinstance(value, (int, np.integer))


def plain(value: Any) -> Any:
    """A parameter for JSON: arrays as lists, numbers of numpy as numbers of Python, other objects as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return plain(np.asarray(value).tolist()) if hasattr(value, "__array__") else str(value)


def typed_list(classes: Any) -> dict[str, Any]:
    """The classes with the type of their array. Types that JSON does not have become strings."""
    values = classes.tolist()
    if all(isinstance(value, (bool, int, float, str)) for value in values):
        kind = "str" if classes.dtype.kind in "UT" else classes.dtype.name
        return {"type": kind, "values": values}
    return {"type": "str", "values": [str(value) for value in values]}


def array_of(classes: dict[str, Any]) -> Any:
    """The classes of `typed_list`."""
    kind = classes["type"]
    return np.array(classes["values"]) if kind == "str" else np.array(classes["values"], dtype=kind)
