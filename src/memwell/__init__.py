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

if TYPE_CHECKING:
    from memwell.agent.kernel import Kernel
    from memwell.aio import AsyncMemory, AsyncStore
    from memwell.codec import ABSENT
    from memwell.errors import Conflict, Corrupt, Denied, Invalid, MemwellError, NotFound, TooLarge, Unavailable
    from memwell.memory import Memory, Store
    from memwell.opening import open, open_async  # noqa: A004 - memwell.open is the name people look for
    from memwell.scope import Scope
    from memwell.types import Entry, Event

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

# Each name is loaded when it is first asked for: the command line, and an agent that starts many
# short processes, pay only for what they use.
_HOMES = {
    "agent.kernel": ["Kernel"],
    "aio": ["AsyncMemory", "AsyncStore"],
    "codec": ["ABSENT"],
    "errors": ["Conflict", "Corrupt", "Denied", "Invalid", "MemwellError", "NotFound", "TooLarge", "Unavailable"],
    "memory": ["Memory", "Store"],
    "opening": ["open", "open_async"],
    "scope": ["Scope"],
    "types": ["Entry", "Event"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'memwell' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"memwell.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
