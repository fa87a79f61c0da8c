"""A backend that fails when it is told to, around a real one: what a broken disk or a slow network looks like."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from memwell.errors import Unavailable
from memwell.store import Backend, Cell, Done, Progress, Put, ReadJob, Traits, Write, WriteJob
from memwell.types import Health

T = TypeVar("T")
Where = Literal["read", "write", "commit"]
WRITES = frozenset({"put", "drop", "erase"})  # put_all is as many writes as it has puts; all else is a read


class Broken(Unavailable):
    """The fault that was ordered."""

    code = "broken"


class Faulty:
    """Wraps a backend; `fail("write", 2)` makes the second write from now on raise `Broken`, once.

    A read or write is one call on the view that a job is given; "commit" fails when the job is done, before it is kept.
    """

    def __init__(self, backend: Backend, latency: float = 0.0) -> None:
        self._backend, self._latency = backend, latency
        self._left: dict[str, int] = {}
        self._lock = threading.Lock()
        self._never = threading.Event()

    def fail(self, where: Where, nth: int = 1) -> None:
        """Let the nth read, write or commit from now on fail."""
        with self._lock:
            self._left[where] = nth

    @property
    def armed(self) -> bool:
        """Whether an ordered fault is still to come."""
        return bool(self._left)

    def strike(self, where: str) -> None:
        """Count one step, and fail if it is the one."""
        if self.spare(where, 1) == 0:
            raise Broken(f"this {where} was told to fail")

    def spare(self, where: str, steps: int) -> int:
        """Count steps, and say how many of them come before the one that fails."""
        with self._lock:
            left = self._left.pop(where, 0)
            if left > steps:
                self._left[where] = left - steps
        return left - 1 if 0 < left <= steps else steps

    @property
    def traits(self) -> Traits:
        """A slow backend says so, and is then kept off the event loop."""
        traits = self._backend.traits
        return traits._replace(inline=False, inline_writes=False) if self._latency else traits

    @property
    def poke(self) -> Callable[[], None]:
        """What the wrapped backend calls when there is upkeep to do."""
        return self._backend.poke

    @poke.setter
    def poke(self, poke: Callable[[], None]) -> None:
        self._backend.poke = poke

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:
        """As the wrapped one, with faults."""
        self._delay()
        return self._backend.read(lambda view: job(_View(self, view)), wait, snapshot)

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:
        """As the wrapped one, with faults."""
        self._delay()
        return self._backend.write(self._faulty(job), wait, single and "commit" not in self._left)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        """As the wrapped one, with faults."""
        self._delay()
        self._backend.submit(self._faulty(job), wait, single and "commit" not in self._left, done)

    def _faulty(self, job: WriteJob[T]) -> WriteJob[T]:
        def attempt(view: Write) -> T:
            result = job(_View(self, view))
            self.strike("commit")
            return result

        return attempt

    def _delay(self) -> None:
        if self._latency:
            self._never.wait(self._latency)

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:
        """As the wrapped one."""
        return self._backend.sweep(now, before, limit)

    def next_expiry(self) -> int | None:
        """As the wrapped one."""
        return self._backend.next_expiry()

    def tend(self) -> None:
        """As the wrapped one."""
        self._backend.tend()

    def check(self, progress: Progress | None) -> Health:
        """As the wrapped one."""
        return self._backend.check(progress)

    def backup(self, path: str, progress: Progress | None) -> int:
        """As the wrapped one."""
        return self._backend.backup(path, progress)

    def describe(self) -> dict[str, Any]:
        """As the wrapped one."""
        return self._backend.describe()

    def close(self) -> None:
        """As the wrapped one."""
        self._backend.close()


class _View:
    """A view that counts its calls."""

    def __init__(self, faults: Faulty, view: Any) -> None:
        self._faults, self._view = faults, view

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._view, name)

        def counted(*args: Any) -> Any:
            self._faults.strike("write" if name in WRITES else "read")
            return method(*args)

        return counted

    def put_all(self, puts: list[Put]) -> list[Cell]:
        spared = self._faults.spare("write", len(puts))
        made: list[Cell] = self._view.put_all(puts[:spared])
        if spared < len(puts):
            raise Broken("this write was told to fail")
        return made
