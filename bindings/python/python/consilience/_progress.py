"""Progress of long computations: a callback or progress bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

Progress = Union[None, str, Callable[[str, int, int], Any]]


def listener(progress: Progress) -> Callable[[str, int, int], Any] | None:
    """The function that the core calls with (task, done, total), or None."""
    if progress is None or callable(progress):
        return progress
    if progress != "tqdm":
        raise ValueError(f"`progress` must be None, 'tqdm' or callable, got {progress!r}")
    return _Bar()


class _Bar:
    """Progress bars of tqdm, one per task."""

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
