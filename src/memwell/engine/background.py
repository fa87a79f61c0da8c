"""A thread for work that nobody waits for: started when there is a first reason, woken, stopped, safe across forks."""

from __future__ import annotations

import threading
from collections.abc import Callable

from memwell.forks import begins_anew


class Background:
    """Runs `work` in a daemon thread; a store that has no reason for one never has it."""

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._name, self._work = name, work
        self.stopped = False
        self.begin_process()
        begins_anew(self)

    def begin_process(self) -> None:
        """No thread survives a fork; the child starts its own when it needs one."""
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Make sure that the thread runs."""
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self.stopped:
                    self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                    self._thread.start()

    def wake(self) -> None:
        """There is something to do now."""
        self._wake.set()
        self.start()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until woken; whether that was the reason."""
        woken = self._wake.wait(seconds)
        if not self.stopped:
            self._wake.clear()
        return woken

    def stop(self) -> None:
        """End the thread after its current step."""
        with self._lock:
            self.stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
