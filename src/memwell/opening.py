"""Opening a store by path or URL, in both colours."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from memwell.config import Options, Settings, default_author, settings_from
from memwell.embed import embedder_for
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.local import Local, author, trusted
from memwell.memory import Store
from memwell.store import Backend, backend_for
from memwell.types import Trust

if TYPE_CHECKING:
    from memwell.aio import AsyncStore


def open(  # noqa: A001
    url: Any, *, by: str | None = None, trust: Trust = "system", embedder: Any = None, **options: Unpack[Options]
) -> Store:
    """Open a store: a path, ":memory:", a URL, or an object with the eight methods of a simple backend.

    `by` is who writes (`written_by`), `trust` what their word counts; `embedder` finds records by meaning: "local",
    "openai:MODEL", or any function from texts to vectors. The options are the settings, e.g. `durability="fast"`.
    """
    return Store(Local(engine_for(url, settings_from(**options), embedder), _owner(by, trust)))


def open_async(
    url: Any, *, by: str | None = None, trust: Trust = "system", embedder: Any = None, **options: Unpack[Options]
) -> Opening:
    """Open a store to be awaited: `async with open_async(url) as store`, or `store = await open_async(url)`."""
    return Opening(url, settings_from(**options), _owner(by, trust), embedder)


def engine_for(url: Any, settings: Settings, embedder: Any = None) -> Engine:
    """The engine over the backend that a URL names or an object is."""
    finder = embedder_for(embedder)
    backend = _backend(url, settings)
    try:
        return Engine(backend, settings, embedder=finder)
    except BaseException:
        backend.close()
        raise


def _backend(url: Any, settings: Settings) -> Backend:
    if isinstance(url, str) or hasattr(url, "__fspath__"):
        return backend_for(str(url), settings)
    from memwell.store.simple import Simple

    return Simple(url)


def _owner(by: str | None, trust: str) -> Caller:
    return Caller(default_author() if by is None else author(by), True, trusted(trust))


class Opening:
    """A store about to be opened, off the event loop."""

    def __init__(self, url: Any, settings: Settings, caller: Caller, embedder: Any = None) -> None:
        self._url, self._settings, self._caller, self._embedder = url, settings, caller, embedder
        self._store: AsyncStore | None = None

    async def _open(self) -> AsyncStore:
        import asyncio

        from memwell.aio import AsyncStore
        from memwell.local_async import AsyncLocal

        engine = await asyncio.to_thread(engine_for, self._url, self._settings, self._embedder)
        return AsyncStore(AsyncLocal(engine, self._caller))

    def __await__(self) -> Generator[Any, None, AsyncStore]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncStore:
        self._store = await self._open()
        return self._store

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await self._store.close()
