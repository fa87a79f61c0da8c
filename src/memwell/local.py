"""Where ops run: in this process, for one caller."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar, cast, get_args

from memwell import ops
from memwell.codec import check_text
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.errors import Invalid
from memwell.ops import Op
from memwell.store import Progress
from memwell.types import Trust

R = TypeVar("R")
POLL_S = 0.05  # how soon another process's write is seen by a watcher


class Apply(Protocol):
    """Applies an op for one caller."""

    def __call__(self, op: Op[R], *, progress: Progress | None = None) -> R: ...


def author(name: str) -> str:
    """A name to write under."""
    if name == "":
        raise Invalid("the author's name is empty", hint="leave `by` out to write as yourself")
    return check_text(name, "by")


def trusted(level: object) -> Trust:
    """A level of trust."""
    if level not in get_args(Trust):
        raise Invalid(f"trust is {level!r}", hint=f"use one of {', '.join(get_args(Trust))}")
    return level  # type: ignore[return-value]


def other(caller: Caller, name: str | None, trust: str | None) -> Caller:
    """The caller under another name, or with another trust."""
    return Caller(
        caller.name if name is None else author(name),
        caller.owner,
        caller.trust if trust is None else trusted(trust),
    )


def check_timeout(seconds: float | None) -> float:
    """How long to wait; None is for ever."""
    if seconds is None:
        return float("inf")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise Invalid(f"the timeout is {seconds!r}", hint="give seconds from 0, or none to wait for ever")
    return seconds


class Ring:
    """A bell for a thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.ring = self._event.set
        self.quiet = self._event.clear

    def wait(self, seconds: float) -> None:
        self._event.wait(min(seconds, POLL_S))


class Local:
    """An engine in this process, called and waited for."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self.engine, self.caller = engine, caller
        self.apply = cast("Apply", partial(engine.apply, caller))

    def acting_as(self, name: str | None, trust: str | None = None) -> Local:
        """The same engine for a caller of another name or trust."""
        if name is None and trust is None:
            return self
        return Local(self.engine, other(self.caller, name, trust))

    def position(self, scope: str) -> int:
        """The newest rev of a scope, now."""
        return self.engine.apply(self.caller, ops.Changes(scope)).rev

    def bell(self, scope: str) -> Ring:
        """Something that rings when the scope changes."""
        bell = Ring()
        self.engine.watchers.add(scope, bell)
        return bell

    def run(self, work: Callable[..., R], *args: Any) -> R:
        """Long work that applies many ops."""
        return work(self.apply, *args)

    def close(self) -> None:
        self.engine.close()
