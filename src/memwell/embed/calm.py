"""Keeps the machine's other work running: one thread at a time embeds, on one core.

Several threads of one product of matrices wait for each other, and on a busy machine that costs more than it brings.
The library below numpy has one setting for the whole process, so it is changed for the moment of a batch and put back
by the same thread, before the next may change it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any

from memwell.forks import begins_anew


@cache
def calm() -> Calm:
    """The one of this process: two would put back each other's limit. numpy must be there before it."""
    return Calm()


class Calm:
    """Lets one thread at a time in, in turn, so that a question waits for one batch of a long job at most."""

    def __init__(self) -> None:
        self._controller = _controller()
        self.begin_process()
        begins_anew(self)

    def begin_process(self) -> None:
        """In a child process nobody holds the locks."""
        self._next, self._inside = threading.Lock(), threading.Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._next:  # held while waiting, so that who comes out cannot go in again before
            self._inside.acquire()
        try:
            with nullcontext() if self._controller is None else self._controller.limit(limits=1, user_api="blas"):
                yield
        finally:
            self._inside.release()


def _controller() -> Any:
    """What sets the limit; without its package there is none, and all works as well, only less calmly."""
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return None
