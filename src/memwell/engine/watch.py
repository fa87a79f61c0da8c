"""Watching a scope: pages of its events, and who is to be woken when there are more."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from memwell import clock, ops
from memwell.engine.answers import to_event
from memwell.engine.context import Context
from memwell.engine.rules import check_number, wanted
from memwell.errors import NotFound
from memwell.forks import begins_anew
from memwell.store import Change, Read, ReadJob
from memwell.types import Changes


def changes(op: ops.Changes, context: Context) -> ReadJob[Changes]:  # noqa: ARG001
    check_number(op.since, "since", 0)
    check_number(op.limit, "limit", 1)
    fits, prefix = wanted(op.prefix, op.pattern)

    def job(view: Read) -> Changes:
        newest, horizon, _ = view.position(op.scope)
        if op.since is None:
            return Changes([], newest, more=False)
        if op.since < horizon:
            raise NotFound(
                f"the events of {op.scope} up to rev {horizon} have been forgotten",
                hint=f"read the entries as they are, then watch with since={horizon}",
            )
        page = view.changes(op.scope, op.since, op.limit, clock.now())
        kept = [change for change in page if _wanted(change, prefix, fits)]
        more = len(page) == op.limit
        reached = page[-1].rev if more else max(newest, op.since)
        return Changes([to_event(change) for change in kept], reached, more)

    return job


def _wanted(change: Change, prefix: str, fits: Callable[[str], bool] | None) -> bool:
    """Whether a watcher asked for it; that the scope was deleted concerns every one."""
    if change.shape == "scope":
        return True
    return change.key.startswith(prefix) and (fits is None or fits(change.key))


class Bell(Protocol):
    """Something that is rung when a scope has changed."""

    def ring(self) -> None: ...


class Watchers:
    """Who waits for which scope in this process; a bell that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self.begin_process()
        begins_anew(self)

    def begin_process(self) -> None:
        """Nobody waits in a child yet."""
        self._lock = threading.Lock()
        self.bells: dict[str, weakref.WeakSet[Bell]] = {}

    def add(self, scope: str, bell: Bell) -> None:
        with self._lock:
            self.bells.setdefault(scope, weakref.WeakSet()).add(bell)

    def publish(self, scope: str | None) -> None:
        """Ring for those who wait for the scope, or for all."""
        with self._lock:
            for name in [scope] if scope is not None else list(self.bells):
                bells = list(self.bells.get(name, ()))
                if not bells:
                    self.bells.pop(name, None)
                for bell in bells:
                    bell.ring()
