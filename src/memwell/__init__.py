"""Memwell: one memory for every agent you run.

>>> import memwell
>>> with memwell.open(":memory:") as store:
...     mem = store.scope(agent="support", user="42")
...     _ = mem.set("theme", {"dark": True})
...     mem.get("theme")
{'dark': True}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memwell.codec import ABSENT
from memwell.errors import Conflict, Corrupt, Denied, Invalid, MemwellError, NotFound, TooLarge, Unavailable
from memwell.memory import Memory, Store
from memwell.opening import open, open_async  # noqa: A004 - memwell.open is the name people look for
from memwell.scope import Scope
from memwell.types import Entry, Event

if TYPE_CHECKING:
    from memwell.agent.kernel import Kernel
    from memwell.aio import AsyncMemory, AsyncStore

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "AsyncMemory",
    "AsyncStore",
    "Conflict",
    "Corrupt",
    "Denied",
    "Entry",
    "Event",
    "Invalid",
    "Kernel",
    "Memory",
    "MemwellError",
    "NotFound",
    "Scope",
    "Store",
    "TooLarge",
    "Unavailable",
    "open",
    "open_async",
]

_LAZY = {"AsyncMemory": "memwell.aio", "AsyncStore": "memwell.aio", "Kernel": "memwell.agent.kernel"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'memwell' has no attribute {name!r}")
