"""Progress of long work: a callback of the user's, or a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

Progress = Union[None, str, Callable[[str, int, int], Any]]


def listener(progress: Progress) -> Callable[[str, int, int], Any] | None:
    """What the core calls with (task, done, total), if anything."""
    if progress is None or callable(progress):
        return progress
    if progress != "tqdm":
        raise ValueError(f"`progress` must be None, 'tqdm' or callable, got {progress!r}")
    return _Bar()


class _Bar:
    """A bar of tqdm for every task."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._make, self._bar, self._task = tqdm, None, ""

    def __call__(self, task: str, done: int, total: int) -> None:
        if self._bar is None or task != self._task:
            if self._bar is not None:
                self._bar.close()
            self._bar, self._task = self._make(total=total, desc=task), task
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()
