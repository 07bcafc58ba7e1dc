"""Jobs of Spark: partitions with their numbers, merging in two stages, progress."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ._errors import ConsilienceError
from ._progress import Progress, listener
from ._spark_workers import PARTITION, Function, known, merged, merger

#: Tasks that merge the results of all partitions, so that the driver receives so many at most.
_MERGERS = 16
#: Seconds between two looks at the tasks of a job.
_PAUSE = 0.2

T = TypeVar("T")


def quoted_name(name: str) -> str:
    """A column's name in SQL."""
    return "`" + name.replace("`", "``") + "`"


def with_partitions(df: Any, columns: Sequence[str]) -> Any:
    """Some columns, and the number of the partition, which messages name."""
    names = [quoted_name(name) for name in columns]
    return df.selectExpr(*names, f"spark_partition_id() AS {PARTITION}")


def merged_over(df: Any, function: Function, kind: Any, task: str, progress: Progress) -> Any:
    """What a function finds in every partition, merged into one. `kind` is the type of what is found."""
    parts = df.mapInArrow(function, "value string")
    few = parts.repartition(_MERGERS).mapInArrow(merger(kind), "value string")
    rows = watched(df, task, progress, few.collect)
    return merged([kind.from_json(row[0]) for row in rows])


def rows_by_label(df: Any, label: str, progress: Progress) -> dict[Any, int]:
    """The number of rows of every label; None for rows without one."""
    counts = df.selectExpr(f"{quoted_name(label)} AS label").groupBy("label").count().limit(_MOST_LABELS + 1)
    found: dict[Any, int] = {}
    for value, n in watched(df, "counting labels", progress, counts.collect):
        found[known(value)] = found.get(known(value), 0) + n
    if len(found) > _MOST_LABELS:
        raise ConsilienceError(f"column `{label}` has more than {_MOST_LABELS} different values; it must hold classes")
    return dict(sorted(found.items(), key=lambda entry: (entry[0] is None, str(entry[0]))))


_MOST_LABELS = 10_000


# Progress


def watched(df: Any, task: str, progress: Progress, action: Callable[[], T]) -> T:
    """The result of an action, while a listener hears of its tasks."""
    listen = listener(progress)
    try:
        return action() if listen is None else _listened(df.sparkSession, task, listen, action)
    except Exception as error:
        if message := own_message(str(error)):
            raise ConsilienceError(message) from error
        raise


def own_message(text: str) -> str | None:
    """The message of an error of this package that a worker has raised, without what the engine wraps around it."""
    found = re.search(r"ConsilienceError: (.*(?:\nhint: .*)?)", text)
    return found[1] if found else None


def _listened(session: Any, task: str, listen: Callable[[str, int, int], Any], action: Callable[[], T]) -> T:
    if hasattr(session, "registerProgressHandler") and not hasattr(session, "_jsparkSession"):
        return _watched_remotely(session, task, listen, action)
    return _watched_here(session.sparkContext, task, listen, action)


def _watched_remotely(session: Any, task: str, listen: Callable[[str, int, int], Any], action: Callable[[], T]) -> T:
    """Through the client of Spark Connect, where the server reports."""

    def hear(stages: Any, **_: Any) -> None:
        if total := sum(stage.num_tasks for stage in stages):
            listen(task, sum(stage.num_completed_tasks for stage in stages), total)

    session.registerProgressHandler(hear)
    try:
        result = action()
    finally:
        session.removeProgressHandler(hear)
    listen(task, 1, 1)
    return result


def _watched_here(context: Any, task: str, listen: Callable[[str, int, int], Any], action: Callable[[], T]) -> T:
    """Through the status of the jobs, from a thread of its own."""
    group, done = f"consilience-{uuid.uuid4()}", threading.Event()
    tracker = context.statusTracker()

    def look() -> None:
        while not done.wait(_PAUSE):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            if total := sum(stage.numTasks for stage in stages if stage):
                listen(task, sum(stage.numCompletedTasks for stage in stages if stage), total)

    with _job_group(context, group, f"consilience: {task}"):
        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            result = action()
        finally:
            done.set()
            thread.join()
    listen(task, 1, 1)
    return result


@contextmanager
def _job_group(context: Any, group: str, description: str) -> Any:
    """Jobs of this thread belong to a group, which the pages of Spark show with its description."""
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    before = {name: context.getLocalProperty(name) for name in names}
    context.setJobGroup(group, description)
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)
