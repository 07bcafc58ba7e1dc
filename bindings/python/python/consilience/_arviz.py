"""Posterior draws for ArviZ."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_arviz(file: dict[str, Any]) -> Any:
    """Draws of a model file as inference data with named dimensions."""
    import arviz

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
    return arviz.from_dict({"posterior": posterior}, coords=coords, dims=dims)
