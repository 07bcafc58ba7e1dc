"""A stratified random sample of a data frame of Spark, for methods that need the items themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._base import seed_of
from ._errors import ConsilienceError
from ._progress import Progress
from ._spark_jobs import quoted_name, watched, with_partitions
from ._spark_workers import CHANCE, chooser, known

#: Labelled rows in a sample. experiments/reach has the log-loss against the size of the sample.
SAMPLE_SIZE = 100_000
#: The smallest share of a class in the sample, as a part of an equal share.
_LEAST_SHARE = 0.25


def quotas(found: dict[Any, int], size: int) -> dict[Any, int]:
    """The number of rows to draw of every label; None for rows without one.

    A class has its share of `size`, but at least a quarter of an equal share, or all of its rows. Rows without a label
    keep their number relative to the labelled ones, up to `size`.
    """
    labelled = {label: n for label, n in found.items() if label is not None}
    total = sum(labelled.values())
    unlabelled = found.get(None, 0)
    if total <= size:
        drawn, share = dict(labelled), 1.0
    else:
        share, least = size / total, math.ceil(_LEAST_SHARE * size / len(labelled))
        drawn = {label: min(n, max(round(n * share), least)) for label, n in labelled.items()}
    if unlabelled:
        drawn[None] = min(unlabelled, size, max(1, round(unlabelled * share)))
    return drawn


@dataclass
class Sample:
    """Rows in the driver, with the number of rows of every label in the whole data frame."""

    table: Any
    found: dict[Any, int]

    @classmethod
    def of(cls, df: Any, columns: list[str], label: str, found: dict[Any, int], size: int, estimator: Any,
           progress: Progress) -> Sample:
        """Draws the sample. The same seed draws the same rows from the same partitions in the same order."""
        if size < 2:
            raise ConsilienceError(f"`sample_size` must be at least 2, got {size}")
        names = [quoted_name(name) for name in columns]
        drawn = quotas(found, size)
        task = f"drawing {sum(drawn.values())} rows"
        if drawn == found:
            return cls(watched(df, task, progress, df.selectExpr(*names).toArrow), found)
        function = chooser(label, _thresholds(drawn, found), seed_of(estimator.random_state))
        some = with_partitions(df, columns).mapInArrow(function, _with_chance(df, columns))
        return cls(_trimmed(watched(df, task, progress, some.toArrow), label, drawn), found)

    def fitted(self, estimator: Any, columns: list[str], classes: Any, label: str, weight: str | None) -> Any:
        """The estimator, fitted to the sample with weights that give every class its share of all rows."""
        labels = [known(value) for value in self.table.column(label).to_pylist()]
        weights, own = self._weights(labels), None
        if weight is not None:
            own = self.table.column(weight).to_numpy().astype(float)
        if weights is not None and estimator._whole_weights:  # it cannot repeat an item by a fraction
            weights = None
            if estimator.class_prior == "empirical":
                estimator.set_params(class_prior=self._shares(classes))
        if weights is not None and own is not None:
            weights = weights * own
        return estimator._fit(self.table.select(columns), labels, own if weights is None else weights, classes)

    def _weights(self, labels: list[Any]) -> Any:
        """Weights with mean 1 over the labelled rows; None if the classes have the shares that they have in all rows."""
        drawn: dict[Any, int] = {}
        for value in labels:
            drawn[value] = drawn.get(value, 0) + 1
        factors = {value: self.found[value] / n for value, n in drawn.items() if value in self.found}
        classes = [value for value in factors if value is not None]
        scale = sum(drawn[value] for value in classes) / sum(self.found[value] for value in classes) if classes else 1.0
        if all(abs(factors[value] * scale - 1.0) < 0.01 for value in classes):
            return None
        return np.array([1.0 if value is None else factors[value] * scale for value in labels])

    def _shares(self, classes: Any) -> list[float]:
        counts = np.array([self.found.get(c, 0) for c in np.asarray(classes).tolist()], float)
        return (counts / counts.sum()).tolist()  # type: ignore[no-any-return]


def _thresholds(drawn: dict[Any, int], found: dict[Any, int]) -> dict[Any, float]:
    """The chance of being drawn, by label: a little above what is needed, five standard deviations and ten rows."""
    return {label: min(1.0, (n + 5.0 * math.sqrt(n) + 10.0) / found[label]) for label, n in drawn.items()}


def _with_chance(df: Any, columns: list[str]) -> Any:
    from pyspark.sql.types import DoubleType, StructField, StructType

    return StructType([df.schema[name] for name in columns] + [StructField(CHANCE, DoubleType())])


def _trimmed(table: Any, label: str, drawn: dict[Any, int]) -> Any:
    """Of every label, the rows with the smallest random numbers, in the order of the table."""
    labels, chance = table.column(label).to_pylist(), table.column(CHANCE).to_numpy()
    labels = [known(value) for value in labels]
    rows: dict[Any, list[int]] = {}
    for row, value in enumerate(labels):
        rows.setdefault(value, []).append(row)
    kept = [row for value, own in rows.items()
            for row in sorted(own, key=lambda row: chance[row])[:drawn.get(value, 0)]]
    return table.drop_columns([CHANCE]).take(sorted(kept))
