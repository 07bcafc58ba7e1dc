"""Score, fit and evaluate on data frames of Apache Spark 4, and of Sail, which has the same interface.

The functions run on an existing cluster. The workers need the package (`pip install consilience`) and nothing else: the
model travels with the job, as the text of its model file.

>>> from consilience import spark as ccs                       # doctest: +SKIP
>>> model = ccs.fit(train, method="independent")               # doctest: +SKIP
>>> scored = ccs.score(frame, model)                           # doctest: +SKIP
>>> ccs.evaluate(test, model)["methods"][0]["overall"]         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from ._base import ClassPrior, Fusion
from ._errors import ConsilienceError
from ._labels import read_labels
from ._progress import Progress
from ._reading import output_columns
from ._scores import Sums
from ._spark_jobs import merged_over, rows_by_label, with_partitions
from ._spark_sample import SAMPLE_SIZE, Sample
from ._spark_workers import Added, Process, as_text, examiner, scorer, statistician
from ._tables import classifiers_in, quoted
from .estimators import ESTIMATORS, load
from .statistics import INPUT_FORMAT, Statistics

__all__ = ["SAMPLE_SIZE", "evaluate", "fit", "score"]

#: What `score` can add, in the order of the columns.
_KINDS = Added._fields


def score(
    df: Any, model: Fusion | str | PathLike[str], *,
    add: Sequence[str] = ("probabilities", "predicted", "entropy", "error"),
    keep: Sequence[str] | None = None, class_prior: ClassPrior | None = None, predictive: bool = False,
) -> Any:
    """Add fused probabilities to a data frame of outputs.

    Nothing is computed until the result is used. Every partition is scored on its own, with one thread per task, so the
    numbers do not depend on the cluster; they are those of `consilience fuse`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Outputs: columns `<classifier>_<class>`, as in `fit`. A missing output is null (or NaN) for all classes.
    model : Fusion, str or path-like
        A fitted estimator, or the path of a model file, which is read here and not on the workers.
    add : sequence of {"probabilities", "predicted", "entropy", "error", "explanation"}
        The columns to add: `fused_<class>`; `predicted`; `entropy` in nats; `error`, the estimated largest absolute
        numerical error of a fused probability; `evidence_<classifier>_<class>`, the evidence that each classifier adds.
    keep : sequence of str, default=None
        The columns of df that stay; all of them if None.
    class_prior : {"empirical", "uniform"} or array-like of shape (n_classes,), default=None
        A class prior to use instead of the model's.
    predictive : bool, default=False
        Average over the posterior draws stored in the model.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of df that stay, and the new ones.
    """
    estimator = _fitted(model)
    columns = _columns_of(estimator)
    _check_columns(df, columns)
    _check_prior(class_prior)
    if unknown := [name for name in add if name not in _KINDS]:
        raise ConsilienceError(f"`add` has the unknown entries {quoted(unknown)}; known are {quoted(_KINDS)}")
    wanted = Added(*(name in add for name in _KINDS))
    kept = list(df.columns) if keep is None else list(keep)
    _check_columns(df, kept)
    schema = _scored_schema(df, kept, estimator, wanted)
    function = scorer(as_text(estimator), columns, kept, wanted, class_prior, predictive, Process.this())
    return with_partitions(df, list(dict.fromkeys([*kept, *columns]))).mapInArrow(function, schema)


def fit(
    df: Any, method: str | Fusion = "auto", *, label: str = "label", weight: str | None = None,
    sample_size: int = SAMPLE_SIZE, progress: Progress = None,
) -> Any:
    """Learn how to fuse, from a data frame of which some rows have a label.

    Methods whose training items are summarised by statistics ("independent", "bcc") are fitted to all rows: every partition
    is summed exactly, and the model is identical, to the last bit, to that of `consilience fit` on one machine. All other
    methods need the items themselves. They are fitted here, in the driver, to a stratified random sample of the rows; if
    there are no more than `sample_size` labelled rows, to all of them.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Outputs: columns `<classifier>_<class>`. Other columns are ignored.
    method : str or Fusion, default="auto"
        The name of a method, or an estimator with its parameters, which is not changed.
    label : str, default="label"
        The column of true classes; null where there is none.
    weight : str, default=None
        The column of the items' weights; every item has weight 1 if None.
    sample_size : int, default=SAMPLE_SIZE
        Number of labelled rows in the sample. Every class has its share of them, but at least a quarter of an equal share
        (all of its rows, if it has fewer); weights correct for the difference.
    progress : None, "tqdm" or callable, default=None
        Called with (task, done, total), where done and total are numbers of Spark's tasks.

    Returns
    -------
    Fusion
        The fitted estimator.
    """
    estimator = _unfitted(method)
    _check_columns(df, [label] + ([] if weight is None else [weight]))
    others = [name for name in df.columns if name not in (label, weight)]
    found = rows_by_label(df, label, progress)
    names, columns = _names(estimator, others, found)
    if hasattr(estimator, "fit_statistics"):
        statistics = _statistics(df, estimator, names, columns, label, weight, progress)
        return estimator.fit_statistics(statistics)
    sample = Sample.of(df, [*columns, label] + ([] if weight is None else [weight]), label, found, sample_size,
                       estimator, progress)
    return sample.fitted(estimator, columns, names["classes"], label, weight)


def evaluate(
    df: Any, model: Fusion | str | PathLike[str], *, label: str = "label", class_prior: ClassPrior | None = None,
    predictive: bool = False, score_items: bool = False, progress: Progress = None,
) -> dict[str, Any]:
    """Scores with standard errors, of the model and of every classifier alone, on all labelled rows.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Outputs: columns `<classifier>_<class>`, and the column of labels.
    model : Fusion, str or path-like
        A fitted estimator, or the path of a model file.
    label : str, default="label"
        The column of true classes. Rows where it is null are counted but not scored.
    class_prior : "uniform" or array-like of shape (n_classes,), default=None
        A class prior to use instead of the model's.
    predictive : bool, default=False
        Average over the posterior draws stored in the model.
    score_items : bool, default=False
        If True, every item has the same weight under any class prior. If False, the items are weighted so that the
        classes have the shares of a class prior that is uniform or given.
    progress : None, "tqdm" or callable, default=None
        Called with (task, done, total), where done and total are numbers of Spark's tasks.

    Returns
    -------
    dict
        The scores in the form of `Fusion.evaluate`, with a standard error `se` in place of an interval. The calibration
        error `ece` has none.
    """
    estimator = _fitted(model)
    columns = _columns_of(estimator)
    _check_columns(df, [*columns, label])
    prior = _given_prior(class_prior, len(estimator.classes_))
    function = examiner(as_text(estimator), columns, label, prior, predictive, Process.this())
    sums = merged_over(with_partitions(df, [*columns, label]), function, Sums, "scoring", progress)
    if not sums.counts.any():
        raise ConsilienceError(f"no row has a label in column `{label}`")
    chosen = estimator._file.get("settings", {}).get("class_prior") if prior is None else None
    by_item = score_items or chosen in ("empirical", "estimate")
    weights = np.asarray(estimator._file["class_prior"] if prior is None else prior, float)
    return {
        "n_items": int(sums.counts.sum()),
        "n_unlabelled": sums.n_unlabelled,
        "class_counts": [int(n) for n in sums.counts],
        "classes": [str(c) for c in estimator.classes_],
        "weighting": "items" if by_item else "class-prior",
        "class_prior": (weights / weights.sum()).tolist(),
        "methods": sums.report(None if by_item else weights),
    }


# Models


def _fitted(model: Any) -> Any:
    """The fitted estimator that was given, or that of a model file."""
    estimator = load(model) if isinstance(model, (str, PathLike)) else model
    if not isinstance(estimator, Fusion) or not hasattr(estimator, "model_"):
        raise ConsilienceError("`model` must be a fitted fusion estimator or the path of a model file, got "
                               f"{type(model).__name__}\nhint: of a FusionClassifier, use `fusion_`")
    return estimator


def _unfitted(method: Any) -> Any:
    """A new estimator of a method."""
    if isinstance(method, Fusion):
        return type(method)(**method.get_params(deep=False))
    known = {cls._method: cls for cls in ESTIMATORS.values()}
    if method not in known:
        raise ConsilienceError(f"unknown method `{method}`; the methods are {quoted(sorted(known))}")
    return known[method]()


def _columns_of(estimator: Any) -> list[str]:
    """The columns that an estimator reads."""
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    if estimator.layout == "positive":
        return [str(name) for name in estimator._input_classifiers]
    return output_columns(estimator._input_classifiers, estimator.classes_)


class _Header:
    """The header of a data frame, in place of the data frame."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns


def _names(estimator: Any, columns: list[str], found: dict[Any, int]) -> tuple[dict[str, Any], list[str]]:
    """Classifiers and classes, with how numbers are read, and the columns of outputs; by the rules of the estimators."""
    if estimator.n_classifiers is not None:
        raise ConsilienceError("`n_classifiers` is for arrays; a data frame has columns `<classifier>_<class>`")
    labels = read_labels(list(found))
    _, classes = estimator._find_classes(_Header(columns), labels, estimator.classes)
    if len(classes) < 2:
        raise ConsilienceError(f"at least two classes are needed, found {quoted([str(c) for c in classes])}")
    if estimator.layout == "positive":
        classifiers = list(estimator.classifiers or columns)
        outputs = classifiers
    else:
        classifiers = classifiers_in(columns, [str(c) for c in classes])
        outputs = output_columns(classifiers, classes)
    reading = {name: getattr(estimator, name) for name in INPUT_FORMAT}
    return {"classifiers": classifiers, "classes": classes, **reading}, outputs


def _statistics(df: Any, estimator: Any, names: dict[str, Any], columns: list[str], label: str, weight: str | None,
                progress: Progress) -> Any:
    """The exact statistics of all rows."""
    read = [*columns, label] + ([] if weight is None else [weight])
    function = statistician(names, columns, label, weight, Process.this())
    return merged_over(with_partitions(df, read), function, Statistics, f"fitting `{estimator._method}`", progress)


# Arguments


def _check_columns(df: Any, names: Sequence[str]) -> None:
    if absent := [name for name in names if name not in df.columns]:
        raise ConsilienceError(f"columns {quoted(absent)} are missing; the columns are {quoted(df.columns)}")


def _check_prior(class_prior: Any) -> None:
    if isinstance(class_prior, str) and class_prior == "estimate":
        raise ConsilienceError('`class_prior="estimate"` needs all items at once\nhint: estimate the shares on a sample '
                               "with `prevalence`, and give them as numbers")


def _given_prior(class_prior: Any, n_classes: int) -> Any:
    """A class prior as numbers, or None for the model's own."""
    _check_prior(class_prior)
    if class_prior is None:
        return None
    if isinstance(class_prior, str):
        if class_prior != "uniform":
            raise ConsilienceError(f"`class_prior` must be None, uniform or one number per class, got {class_prior}")
        return [1.0 / n_classes] * n_classes
    return [float(p) for p in class_prior]


def _scored_schema(df: Any, kept: list[str], estimator: Any, wanted: Added) -> Any:
    """The columns that stay, and the new ones."""
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

    classes = [str(c) for c in estimator.classes_]
    kind = {"i": LongType, "u": LongType, "f": DoubleType, "b": BooleanType}.get(estimator.classes_.dtype.kind, StringType)
    new = [(f"fused_{c}", DoubleType()) for c in classes] if wanted.probabilities else []
    new += [("predicted", kind())] if wanted.predicted else []
    new += [(name, DoubleType()) for name in ("entropy", "error") if getattr(wanted, name)]
    if wanted.explanation:
        new += [(f"evidence_{k}_{c}", DoubleType()) for k in estimator.classifiers_ for c in classes]
    if taken := [name for name, _ in new if name in kept]:
        raise ConsilienceError(f"the data frame already has the columns {quoted(taken)}\nhint: drop them, or leave them "
                               "out of `keep`")
    fields = [df.schema[name] for name in kept] + [StructField(name, type_) for name, type_ in new]
    return StructType(fields)
