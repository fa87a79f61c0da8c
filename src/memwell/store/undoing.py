"""For backends without transactions of their own: one lock, and what undoes each step of a job that fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from memwell.errors import Unavailable
from memwell.store import Done

T = TypeVar("T")
View = TypeVar("View")


class Undoing(Generic[View]):
    """Runs jobs one at a time on a view; `undo` collects the steps back, which are taken if the job raises."""

    def __init__(self, view: View) -> None:
        self.lock = threading.RLock()
        self.undo: list[Callable[[], Any]] = []
        self.closed = False
        self._view = view

    def read(self, job: Callable[[View], T]) -> T:
        with self.lock:
            self._check_open()
            return job(self._view)

    def write(self, job: Callable[[View], T]) -> T:
        with self.lock:
            self._check_open()
            try:
                return job(self._view)
            except BaseException:
                for step in reversed(self.undo):
                    step()
                raise
            finally:
                self.undo.clear()

    def submit(self, job: Callable[[View], Any], done: Done) -> None:
        try:
            result = self.write(job)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            done(None, error)
        else:
            done(result, None)

    def _check_open(self) -> None:
        if self.closed:
            raise Unavailable("the store is closed", hint="open it again")
