"""Posterior draws in the form of ArviZ."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_arviz(file: dict[str, Any]) -> Any:
    """The draws of a model file as inference data with named dimensions."""
    draws = file.get("draws", [])
    if not draws:
        raise ValueError("the model has no posterior draws; fit it with `keep_draws`")
    posterior = {"alpha": np.array([[draw["alpha"] for draw in draws]])}
    dims = {"alpha": ["classifier", "true_class", "class"]}
    coords: dict[str, Any] = {
        "classifier": file["classifiers"], "true_class": file["classes"], "class": file["classes"],
    }
    if "delta" in draws[0]:
        posterior["delta"] = np.array([[draw["delta"] for draw in draws]])
        dims["delta"] = ["pair", "true_class", "class"]
        pairs = file["parameters"]["delta"].get("pairs") or [{"between": file["classifiers"]}]
        coords["pair"] = [" and ".join(pair["between"]) for pair in pairs]
    return _inference_data(posterior, coords, dims)


def _inference_data(posterior: dict[str, Any], coords: dict[str, Any], dims: dict[str, Any]) -> Any:
    """Inference data of ArviZ 1 if `arviz_base` is installed, else of older versions."""
    try:
        from arviz_base import from_dict
    except ImportError:
        import arviz

        return arviz.from_dict(posterior=posterior, coords=coords, dims=dims)
    return from_dict({"posterior": posterior}, coords=coords, dims=dims)
