"""After a fork the child has one thread, and what other threads had locked stays locked: so it starts anew there."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forked(Protocol):
    """Something that begins anew in a child process."""

    def begin_process(self) -> None: ...


_known: weakref.WeakSet[Forked] = weakref.WeakSet()


def begins_anew(thing: Forked) -> None:
    """Call its `begin_process` in every child from now on."""
    _known.add(thing)


def _in_child() -> None:
    for thing in list(_known):
        thing.begin_process()


if hasattr(os, "register_at_fork"):  # not every platform forks
    os.register_at_fork(after_in_child=_in_child)
