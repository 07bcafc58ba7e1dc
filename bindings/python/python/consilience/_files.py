"""Model files: the estimator in them, so that a file and a pickle give back the same one; reading and writing."""

from __future__ import annotations

import json
import operator
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    if kept is None or str(kept.get("class")) not in known:
        return _of_plain_file(file, known)
    with usable():
        loaded = known[kept["class"]](**kept["parameters"])
        loaded._check_parameters()
        loaded.classes_ = array_of(kept["classes"], len(file["classes"]))
        loaded.classifiers_ = _names(kept["classifiers"])
        loaded.n_features_in_ = operator.index(kept["n_features_in"])
        if kept["feature_names_in"] is not None:
            loaded.feature_names_in_ = _names(kept["feature_names_in"])
        if not set(file["classifiers"]) <= set(kept["classifiers"]):
            raise ValueError("the classifiers are not those of the model")
        return loaded


@contextmanager
def usable() -> Iterator[None]:
    """Reports whatever is wrong with the part `estimator` of a model file."""
    try:
        yield
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ConsilienceError(f"not a usable model: `estimator`: {error}") from None


def _names(names: Any) -> Any:
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError("names must be a list of strings")
    return np.array(names, dtype=object)


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


def write_whole(path: Any, content: str | bytes) -> None:
    """Writes a file that appears when it is complete: to a temporary file beside it, which is renamed.

    A symbolic link is followed, and a file that is replaced keeps its group and its permissions. Devices and pipes are
    written directly, and so are the open files of a process, such as /dev/stdout: there, the content is appended.
    """
    content = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    is_open = re.fullmatch(r"/dev/(stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+", os.path.abspath(path))
    if is_open or (target.exists() and not target.is_file()):
        with open(path, "ab") as file:
            file.write(content)
        return
    temporary = target.with_name(f".consilience-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            if target.exists():
                open(target, "r+b").close()  # without permission to write, it must not be replaced either
                _keep_access(target, temporary)  # before there is anything to read
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = os.fspath(path)
        raise


def _keep_access(old: Path, new: Path) -> None:
    """Gives a file the group, where that is allowed, and the permissions of another one."""
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, -1, old.stat().st_gid)
    shutil.copymode(old, new)


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


def array_of(kept: dict[str, Any], n_classes: int) -> Any:
    """The classes of `typed_list`."""
    kind = kept["type"]
    if kind != "str" and np.dtype(kind).kind not in "biufO":
        raise ValueError(f"classes cannot be of type {kind}")
    classes = np.array(kept["values"], dtype=None if kind == "str" else kind)
    if classes.shape != (n_classes,):
        raise ValueError(f"the model has {n_classes} classes")
    return classes
