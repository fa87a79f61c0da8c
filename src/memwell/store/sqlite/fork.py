"""Fork-safety. SQLite's locks belong to a process, but its bookkeeping of them is copied by a fork: a child that used
or even kept an open connection would believe in locks that it does not hold. So every connection is closed before a
fork, while all threads wait at a gate, and parent and child each open anew when they next need one.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from memwell.forks import Forked, begins_anew

PATIENCE_S = 5.0


class Forkable(Forked, Protocol):
    """A store with connections to close."""

    def before_fork(self, patience: float) -> None: ...
    def after_fork(self) -> None: ...


_stores: weakref.WeakSet[Forkable] = weakref.WeakSet()


def at_fork(store: Forkable) -> None:
    """Look after this store whenever the process forks."""
    _stores.add(store)
    begins_anew(store)


def _before() -> None:
    for store in list(_stores):
        store.before_fork(PATIENCE_S)


def _in_parent() -> None:
    for store in list(_stores):
        store.after_fork()


if hasattr(os, "register_at_fork"):  # not every platform forks
    os.register_at_fork(before=_before, after_in_parent=_in_parent)
