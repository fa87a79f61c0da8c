"""The thread that keeps house: it sleeps until there is something to free, and works in bounded steps."""

from __future__ import annotations

from collections.abc import Callable

from memwell import clock
from memwell.config import Settings
from memwell.engine.background import Background
from memwell.errors import MemwellError
from memwell.store import Backend


class Keeper:
    """Started by the first write that has a reason for it; a store without expiry never has the thread."""

    def __init__(self, backend: Backend, settings: Settings, sweep: Callable[[], int]) -> None:
        self._backend, self._settings, self._sweep = backend, settings, sweep
        self._background = Background("memwell-keeper", self._run)
        self.start, self.stop = self._background.start, self._background.stop
        backend.poke = self._background.wake

    def _run(self) -> None:
        next_sweep = clock.monotonic() + self._settings.sweep_seconds
        while True:
            poked = self._background.wait(max(0.0, next_sweep - clock.monotonic()))
            if self._background.stopped:
                return
            try:
                if poked:
                    self._backend.tend()
                if clock.monotonic() >= next_sweep:
                    next_sweep = clock.monotonic() + self._settings.sweep_seconds
                    if self._due():
                        self._sweep()
            except MemwellError:
                continue  # a busy store or a full disk: the next turn tries again

    def _due(self) -> bool:
        if self._settings.history_seconds is not None:
            return True
        expiry = self._backend.next_expiry()
        return expiry is not None and expiry <= clock.now()
