"""Fork-safety. SQLite's locks belong to a process, but its bookkeeping of them is copied by a fork: a child that used
or even kept an open connection would believe in locks that it does not hold. So every connection is closed before a
fork, and parent and child each open anew when they next need one.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol

from memwell.store.sqlite.commit import Commits

PATIENCE_S = 5.0


class Forkable(Protocol):
    """A store with connections to close."""

    commits: Commits

    def close_connections(self, patience: float) -> None: ...
    def begin_process(self) -> None: ...


_stores: weakref.WeakSet[Forkable] = weakref.WeakSet()


def at_fork(store: Forkable) -> None:
    """Look after this store whenever the process forks."""
    _stores.add(store)


def _before() -> None:
    for store in _stores:
        store.commits.pause(PATIENCE_S)
        store.close_connections(PATIENCE_S)


def _in_parent() -> None:
    for store in _stores:
        store.commits.resume()


def _in_child() -> None:
    for store in _stores:
        store.begin_process()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
