"""What `consilience.spark` runs on the workers: functions from the Arrow batches of a partition to batches.

A worker needs the installed package and nothing else: the model comes as JSON inside the function.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import ConsilienceError
from ._files import describe, restore
from ._scores import Sums
from .estimators import ESTIMATORS
from .statistics import Statistics

#: A column with the number of the partition, which is added before the batches are sent.
PARTITION = "__consilience_partition"

#: A random number for every row of a sample.
CHANCE = "__consilience_chance"

Batches = Iterator[Any]
Function = Callable[[Batches], Batches]

_log = logging.getLogger("consilience.spark")


class Process(NamedTuple):
    """A process of a machine."""

    machine: str
    number: int

    @classmethod
    def this(cls) -> Process:
        return cls(platform.node(), os.getpid())


def one_thread(driver: Process) -> None:
    """Computes on one thread from now on, because the engine runs a task per processor.

    Some engines run their tasks inside the driver. There, the driver's choice stays in force.
    """
    if Process.this() != driver:
        os.environ.setdefault("RAYON_NUM_THREADS", "1")


def as_text(estimator: Any) -> str:
    """A fitted estimator as the text of its model file."""
    return str(estimator.model_.to_json(describe(estimator)))


@functools.lru_cache(maxsize=8)
def from_text(text: str) -> Any:
    """The estimator of a model file; the same object for all partitions of a process."""
    model = _core.Model.from_json(text)
    return restore(json.loads(model.to_json()), ESTIMATORS)._learned(model, quiet=True)


# Places


class Place(NamedTuple):
    """Where a batch is: its partition, and the rows of the partition before it."""

    partition: int
    row: int


def numbered(batches: Batches) -> Iterator[tuple[Any, Place]]:
    """The batches with rows, without the column of the partition's number, and their places."""
    row, partition = 0, 0
    for batch in batches:
        if batch.num_rows:
            partition = batch.column(PARTITION)[0].as_py()
            yield batch.drop_columns([PARTITION]), Place(partition, row)
            row += batch.num_rows
    _log.info("partition %d: %d rows", partition, row)


@contextmanager
def errors_at(place: Place, batch: Any, columns_of: Callable[[str], list[str]], label: str | None = None) -> Iterator[None]:
    """Gives errors the partition, the row within it (from 0) and the column."""
    try:
        yield
    except ConsilienceError as error:
        raise ConsilienceError(_located(str(error), place, batch, columns_of, label)) from None


def _located(message: str, place: Place, batch: Any, columns_of: Callable[[str], list[str]], label: str | None) -> str:
    if found := re.match(r"item (\d+)(?:, classifier `(.*?)`)?: ", message):
        columns = columns_of(found[2]) if found[2] else []
        row = place.row + int(found[1])
        return _where(place, row, columns) + message[found.end():]
    unknown = re.match(r"unknown label `(.*?)`;", message)
    if unknown and label is not None:
        labels = [str(value) for value in batch.column(label).to_pylist()]
        if unknown[1] in labels:
            return _where(place, place.row + labels.index(unknown[1]), [label]) + message
    return f"partition {place.partition}, rows from {place.row}: {message}"


def _where(place: Place, row: int, columns: list[str]) -> str:
    names = f", column{'s' if len(columns) > 1 else ''} " + ", ".join(f"`{c}`" for c in columns) if columns else ""
    return f"partition {place.partition}, row {row}{names}: "


def columns_by_classifier(estimator: Any, columns: list[str]) -> Callable[[str], list[str]]:
    """The columns of a classifier, for messages."""
    names = [str(name) for name in estimator._input_classifiers]
    width = len(columns) // len(names)
    return lambda name: columns[names.index(name) * width:][:width] if name in names else []


# Scoring


class Added(NamedTuple):
    """The columns that scoring adds, by kind."""

    probabilities: bool
    predicted: bool
    entropy: bool
    error: bool
    explanation: bool


def scorer(text: str, columns: list[str], kept: list[str], added: Added, class_prior: Any, predictive: bool,
           driver: Process) -> Function:
    """Adds fused probabilities and what belongs to them."""

    def score(batches: Batches) -> Batches:
        import pyarrow as pa

        one_thread(driver)
        estimator = from_text(text)
        columns_of = columns_by_classifier(estimator, columns)
        for batch, place in numbered(batches):
            with errors_at(place, batch, columns_of):
                new = _scored(estimator, batch.select(columns), added, class_prior, predictive)
            arrays = [batch.column(name) for name in kept] + [pa.array(values) for values in new.values()]
            yield pa.RecordBatch.from_arrays(arrays, names=[*kept, *new])

    return score


def _scored(estimator: Any, outputs: Any, added: Added, class_prior: Any, predictive: bool) -> dict[str, Any]:
    """The new columns of a batch, in the order of the command line."""
    options = dict(class_prior=class_prior, predictive=predictive)
    if added.error:
        p, error = estimator.fuse(outputs, **options)
    else:
        p, error = estimator.predict_proba(outputs, **options), None
    new: dict[str, Any] = {}
    if added.probabilities:
        new |= {f"fused_{c}": np.ascontiguousarray(p[:, j]) for j, c in enumerate(estimator.classes_)}
    if added.predicted:
        new["predicted"] = estimator.classes_[np.argmax(p, axis=1)]
    if added.entropy:
        new["entropy"] = entropy(p)
    if added.error:
        new["error"] = error
    if added.explanation:
        evidence = estimator.explain(outputs, **options)
        new |= {f"evidence_{k}_{c}": np.ascontiguousarray(evidence[:, i, j])
                for i, k in enumerate(estimator.classifiers_) for j, c in enumerate(estimator.classes_)}
    return new


def entropy(p: Any) -> Any:
    """Entropy of every row, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0.0, p * np.log(p), 0.0)
    return 0.0 - terms.sum(axis=1)


# Samples


def known(label: Any) -> Any:
    """A label; None for NaN, which is none."""
    return None if label is None or label != label else label


def chooser(label: str, chances: dict[Any, float], seed: int) -> Function:
    """Keeps rows by chance, which depends on their label, together with the random number that decided.

    The numbers are those of the partition and of the seed, whatever the size of the batches.
    """

    def choose(batches: Batches) -> Batches:
        import pyarrow as pa

        random = None
        for batch, place in numbered(batches):
            random = random or np.random.default_rng([seed, place.partition])
            u = random.random(batch.num_rows)
            wanted = np.array([chances.get(known(value), 0.0) for value in batch.column(label).to_pylist()])
            rows = pa.array(np.flatnonzero(u < wanted))
            yield pa.RecordBatch.from_arrays([*batch.take(rows).columns, pa.array(u).take(rows)],
                                             names=[*batch.schema.names, CHANCE])

    return choose


# Statistics and scores of partitions, which are merged


def statistician(names: dict[str, Any], columns: list[str], label: str, weight: str | None,
                 driver: Process) -> Function:
    """The statistics of a partition, as JSON."""

    def add(batches: Batches) -> Batches:
        one_thread(driver)
        statistics = Statistics(**names)
        width = len(columns) // len(names["classifiers"])
        places = {name: columns[k * width:][:width] for k, name in enumerate(names["classifiers"])}
        for batch, place in numbered(batches):
            weights = None if weight is None else _weights(batch, weight, place)
            with errors_at(place, batch, lambda name: places.get(name, []), label):
                statistics.add(batch.select(columns), batch.column(label).to_pylist(), weights)
        yield _one_text(statistics.to_json())

    return add


def _weights(batch: Any, weight: str, place: Place) -> Any:
    """The weights of a batch, which must be finite and not negative."""
    values = _core.Table(batch.select([weight])).rows([weight])[:, 0]
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        i = int(wrong.argmax())
        raise ConsilienceError(_where(place, place.row + i, [weight])
                               + f"a weight must be finite and not negative, got {batch.column(weight)[i].as_py()}")
    return values


def examiner(text: str, columns: list[str], label: str, class_prior: Any, predictive: bool, driver: Process) -> Function:
    """The sums of the scores of a partition, as JSON."""

    def examine(batches: Batches) -> Batches:
        one_thread(driver)
        estimator = from_text(text)
        columns_of = columns_by_classifier(estimator, columns)
        sums = Sums.of(estimator)
        for batch, place in numbered(batches):
            with errors_at(place, batch, columns_of, label):
                sums.add(estimator, batch.select(columns), batch.column(label).to_pylist(), class_prior, predictive)
        yield _one_text(sums.to_json())

    return examine


def merger(kind: Any) -> Function:
    """Merges all texts of a partition into one; `kind` is `Statistics` or `Sums`."""

    def merge(batches: Batches) -> Batches:
        found = [kind.from_json(text) for batch in batches for text in batch.column(0).to_pylist()]
        if found:
            yield _one_text(merged(found).to_json())

    return merge


def merged(parts: list[Any]) -> Any:
    """All parts in one."""
    return functools.reduce(lambda whole, part: whole.merge(part), parts)


def _one_text(text: str) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"value": [text]})
