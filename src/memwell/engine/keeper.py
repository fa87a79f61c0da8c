"""The thread that keeps house: it sleeps until there is something to free, and works in bounded steps."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memwell import clock
from memwell.config import Settings
from memwell.errors import MemwellError
from memwell.forks import begins_anew
from memwell.store import Backend


class Keeper:
    """Started by the first write that has a reason for it; a store without expiry never has the thread."""

    def __init__(self, backend: Backend, settings: Settings, sweep: Callable[[], int]) -> None:
        self._backend, self._settings, self._sweep = backend, settings, sweep
        self._stopped = False
        self.begin_process()
        backend.poke = self.poke
        begins_anew(self)

    def begin_process(self) -> None:
        """No thread survives a fork; the child starts its own when it needs one."""
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._lock = threading.Lock()

    def poke(self) -> None:
        """There is upkeep to do now."""
        self._wake.set()
        self.start()

    def start(self) -> None:
        """Make sure that the thread runs."""
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stopped:
                    self._thread = threading.Thread(target=self._run, name="memwell-keeper", daemon=True)
                    self._thread.start()

    def stop(self) -> None:
        """End the thread after its current step."""
        with self._lock:
            self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        next_sweep = clock.monotonic() + self._settings.sweep_seconds
        while True:
            poked = self._wake.wait(max(0.0, next_sweep - clock.monotonic()))
            if self._stopped:
                return
            self._wake.clear()
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
