"""Both faces behind one: a test body is written once, and runs on the sync face and on the awaited one."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, Unpack

from memwell.aio import AsyncBatch, AsyncMemory, AsyncStore, AsyncWatch
from memwell.config import Options, Settings, settings_from
from memwell.embed import embedder_for
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.local import Local
from memwell.local_async import AsyncLocal
from memwell.memory import Store
from memwell.opening import engine_for
from memwell.recall_async import AsyncRecords
from memwell.store import Backend
from memwell.threads_async import AsyncThread, AsyncThreads

FACES = ("sync", "async")
PATIENCE_S = 60.0  # a call that takes longer hangs: better a failure than a test that never ends
_HANDLES = (AsyncStore, AsyncMemory, AsyncBatch, AsyncWatch, AsyncRecords, AsyncThreads, AsyncThread)


@contextmanager
def opened(
    face: str, thing: Any, *, by: str = "tester", embedder: Any = None, **options: Unpack[Options]
) -> Iterator[Any]:
    """A store over a URL, a path, a `Backend` or an object with eight methods, which looks sync in either face."""
    engine = engine_over(thing, settings_from(**options), embedder)
    caller = Caller(by, owner=True)
    if face == "sync":
        with Store(Local(engine, caller)) as store:
            yield store
        return
    with Loop() as loop, Awaited(loop, AsyncStore(AsyncLocal(engine, caller))) as store:
        yield store


def engine_over(thing: Any, settings: Settings, embedder: Any = None) -> Engine:
    """The engine over whatever a test names as its store."""
    if is_backend(thing):
        return Engine(thing, settings, embedder=embedder_for(embedder))
    return engine_for(thing, settings, embedder)


def is_backend(thing: Any) -> bool:
    """Whether this is a backend itself, not a URL or an object to be wrapped."""
    return hasattr(thing, "traits") and hasattr(thing, "submit")


def backend_of(thing: Any, settings: Settings) -> Backend:
    """The backend that a test names: given, by URL, or an object to be wrapped."""
    if is_backend(thing):
        return thing  # type: ignore[no-any-return]
    if isinstance(thing, str) or hasattr(thing, "__fspath__"):
        from memwell.store import backend_for

        return backend_for(str(thing), settings)
    from memwell.store.simple import Simple

    return Simple(thing)


class Loop:
    """An event loop in a thread of its own, which any thread can have something awaited on."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memwell-testing", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def run(self, call: Callable[[], Any]) -> Any:
        """Call on the loop, and await what comes back if it can be awaited."""

        async def awaited() -> Any:
            result = call()
            return await result if inspect.isawaitable(result) else result

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(PATIENCE_S)


class Awaited:
    """An async handle that looks like its sync twin."""

    def __init__(self, loop: Loop, handle: Any) -> None:
        self._loop, self._handle = loop, handle

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._handle, name)
        if not callable(found):
            return self._wrap(found)
        return lambda *args, **options: self._wrap(self._loop.run(lambda: found(*args, **options)))

    def _wrap(self, result: Any) -> Any:
        """Handles look sync as well, and so does what is iterated with `async for`."""
        known = isinstance(result, _HANDLES) or inspect.isasyncgen(result)
        return Awaited(self._loop, result) if known else result

    def __repr__(self) -> str:
        return repr(self._handle)

    def __enter__(self) -> Self:
        self._loop.run(self._handle.__aenter__)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(lambda: self._handle.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        try:
            return self._loop.run(self._handle.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None
