"""Where ops run: in this process, for one caller, in both colours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from memwell import ops
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.errors import Busy
from memwell.ops import Op
from memwell.store import Progress

R = TypeVar("R")
POLL_S = 0.05  # how soon another process's write is seen by a watcher
THREADS = 4


class Apply(Protocol):
    """Applies an op for one caller."""

    def __call__(self, op: Op[R], *, progress: Progress | None = None) -> R: ...


class Ring:
    """A bell for a thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.ring = self._event.set
        self.quiet = self._event.clear

    def wait(self, seconds: float) -> None:
        self._event.wait(min(seconds, POLL_S))


class AsyncRing:
    """A bell for a task, rung from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self.quiet = self._event.clear

    def ring(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), min(seconds, POLL_S))


class Local:
    """An engine in this process, called and waited for."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self.engine, self.caller = engine, caller
        self.apply = cast("Apply", partial(engine.apply, caller))

    def acting_as(self, name: str) -> Local:
        """The same engine for a caller of another name."""
        return Local(self.engine, Caller(name, self.caller.owner))

    def position(self, scope: str) -> int:
        """The newest rev of a scope, now."""
        return self.engine.apply(self.caller, ops.Changes(scope)).rev

    def bell(self, scope: str) -> Ring:
        """Something that rings when the scope changes."""
        bell = Ring()
        self.engine.watchers.add(scope, bell)
        return bell

    def run(self, work: Callable[..., R], *args: Any) -> R:
        """Long work that applies many ops."""
        return work(self.apply, *args)

    def close(self) -> None:
        self.engine.close()


class AsyncLocal:
    """The same engine, awaited: light ops run at once on the loop, everything that may wait runs elsewhere."""

    def __init__(self, engine: Engine, caller: Caller, pool: ThreadPoolExecutor | None = None) -> None:
        self.engine, self.caller = engine, caller
        self._inline, self._inline_writes = engine.traits.inline, engine.traits.inline_writes
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="memwell")

    def acting_as(self, name: str) -> AsyncLocal:
        """The same engine for a caller of another name."""
        return AsyncLocal(self.engine, Caller(name, self.caller.owner), self._pool)

    async def apply(self, op: Op[R], *, progress: Progress | None = None) -> R:
        """Await the op. Cancelling stops the waiting, not the write."""
        if self._inline and not op.is_heavy():
            reads = op.action == "read"
            if reads or self._inline_writes:
                try:
                    return self.engine.apply(self.caller, op, 0)
                except Busy:
                    pass  # somebody holds the lock: wait for it where waiting does no harm
            if not reads:
                return await self._submit(op)
        return await self._elsewhere(self.engine.apply, self.caller, op, None, progress)

    async def _submit(self, op: Op[R]) -> R:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()

        def settle(result: R, error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def done(result: R, error: BaseException | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        self.engine.submit(self.caller, op, done)
        return await future

    async def _elsewhere(self, work: Callable[..., R], *args: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *args)

    def position(self, scope: str) -> int:
        """The newest rev of a scope, now."""
        return self.engine.apply(self.caller, ops.Changes(scope)).rev

    def bell(self, scope: str) -> AsyncRing:
        """Something that rings when the scope changes."""
        bell = AsyncRing()
        self.engine.watchers.add(scope, bell)
        return bell

    async def run(self, work: Callable[..., R], *args: Any) -> R:
        """Long work that applies many ops, in a thread."""
        return await self._elsewhere(work, partial(self.engine.apply, self.caller), *args)

    async def close(self) -> None:
        await self._elsewhere(self.engine.close)
        self._pool.shutdown(wait=False)
