"""Every kind of backend that a kernel takes, and handlers whose body is written once for both colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memwell import clock

from .dicts import AsyncDicts, Dicts

BACKENDS: dict[str, Callable[[Path], Any]] = {
    "ram": lambda folder: None,
    "sqlite": lambda folder: str(folder / "memory.db"),
    "dicts": lambda folder: Dicts(),
    "async-dicts": lambda folder: AsyncDicts(),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """What to give to a kernel."""
    return BACKENDS[request.param](tmp_path)


class Immediate:
    """A Memory whose calls can be awaited, so that one body serves both colours."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._memory, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


def _plain(body: Callable[..., Any]) -> Callable[..., Any]:
    def handler(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        seen = SimpleNamespace(id=ctx.id, memory=Immediate(ctx.memory), shared=Immediate(ctx.shared))
        try:
            body(seen, *args, **kwargs).send(None)
        except StopIteration as end:
            return end.value
        raise AssertionError("the body waited for something that is not its memory")

    return handler


@pytest.fixture(params=["plain", "awaited"])
def colour(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Makes a handler of a coroutine function: a plain one, or itself."""
    return _plain if request.param == "plain" else lambda body: body


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """A clock that stands still; `time.us` moves it."""
    stopped = SimpleNamespace(us=1_800_000_000_000_000)
    monkeypatch.setattr(clock, "now", lambda: stopped.us)
    return stopped
