"""Fitted models for other programs: ONNX files, and Python code without dependencies."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.utils.validation import check_is_fitted

from . import _core
from ._files import write_whole


class Exports:
    """Exports of a fitted estimator."""

    model_: _core.Model
    _kind: Any

    def export_onnx(self, path: str | PathLike[str], *, float32: bool = False) -> None:
        """Write the model as an ONNX file, which many runtimes can load.

        The file takes `outputs`, of shape (n_items, n_classifiers, n_classes) in the order of
        `classifiers_` and `classes_`, with the kind of numbers of `values`. It gives `probabilities`, of
        shape (n_items, n_classes), and `predicted`, the names of the most probable classes. An output is
        missing if its values are NaN. The class prior is the optional input `class_prior`. Methods
        without a closed form raise an error.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        float32 : bool, default=False
            Compute in 32 bits. The results then agree with `predict_proba` to about 1e-5 only.
        """
        check_is_fitted(self)
        write_whole(path, self.model_.to_onnx(self._kind, float32))

    def export_python(self, path: str | PathLike[str]) -> None:
        """Write the model as a Python module without dependencies.

        Its function `score(outputs)` takes the outputs for one item, in the order of `classifiers_` or as
        a dict by name, None where one is missing, and returns the fused probabilities. Methods without
        a closed form raise an error.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        """
        check_is_fitted(self)
        write_whole(path, self.model_.to_python(self._kind))
