"""For people who test with Memwell: a clock that stands still, and the suite that a backend has to pass.

>>> import memwell
>>> from memwell.testing import frozen_clock
>>> with frozen_clock() as clock, memwell.open(":memory:") as store:
...     mem = store.scope(agent="support")
...     _ = mem.set("token", "abc", ttl=60)
...     clock.advance(60)
...     mem.get("token", "gone")
'gone'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memwell.testing.clocks import FrozenClock, frozen_clock
from memwell.testing.faces import FACES, opened
from memwell.testing.faults import Faulty
from memwell.testing.promise import promise

if TYPE_CHECKING:
    from memwell.testing.backend import BackendTests, FactBackendTests
    from memwell.testing.model import Facts

__all__ = [
    "FACES",
    "BackendTests",
    "FactBackendTests",
    "Facts",
    "Faulty",
    "FrozenClock",
    "frozen_clock",
    "opened",
    "promise",
]

# These need pytest or Hypothesis, which somebody who only stops the clock may not have.
_LAZY = {
    "BackendTests": "memwell.testing.backend",
    "FactBackendTests": "memwell.testing.backend",
    "Facts": "memwell.testing.model",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'memwell.testing' has no attribute {name!r}")
