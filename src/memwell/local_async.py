"""Where ops run when they are awaited: light ones at once on the loop, everything that may wait elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from memwell import ops
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.errors import Busy, Unavailable
from memwell.local import POLL_S, other
from memwell.ops import Op
from memwell.store import Progress

R = TypeVar("R")
THREADS = 4
SLICE_S = 0.0003  # how long one task may go on with awaits that need not wait
PASS_S = 0.002  # and how long all tasks together, before the loop has seen to everything else


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


class Turns:
    """Awaits that are answered at once never give the loop its turn by themselves: this says when they must."""

    def __init__(self) -> None:
        self.until = self._pass = 0.0
        self.begun = False

    def begin(self) -> None:
        """A slice for the running task; a short one, if the tasks before it in this pass of the loop took long."""
        now = monotonic()
        if not self.begun:
            self.begun, self._pass = True, now
            asyncio.get_running_loop().call_soon(self._next_pass)
        self.until = now + (SLICE_S if now - self._pass < PASS_S else 0)

    def _next_pass(self) -> None:
        self.begun = False


class AsyncLocal:
    """An engine in this process, awaited."""

    def __init__(
        self, engine: Engine, caller: Caller, pool: ThreadPoolExecutor | None = None, turns: Turns | None = None
    ) -> None:
        self.engine, self.caller = engine, caller
        self._inline, self._inline_writes = engine.traits.inline, engine.traits.inline_writes
        self._pool = pool or ThreadPoolExecutor(THREADS, thread_name_prefix="memwell")
        self._turns = turns or Turns()

    def acting_as(self, name: str | None, trust: str | None = None) -> AsyncLocal:
        """The same engine for a caller of another name or trust."""
        if name is None and trust is None:
            return self
        return AsyncLocal(self.engine, other(self.caller, name, trust), self._pool, self._turns)

    async def apply(self, op: Op[R], *, progress: Progress | None = None) -> R:
        """Await the op. Cancelling stops the waiting, not the write."""
        if self.engine.closed:
            raise _closed()
        if monotonic() > self._turns.until:
            if self._turns.begun:
                await asyncio.sleep(0)
            self._turns.begin()
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
        if self.engine.closed:
            raise _closed()
        return await self._elsewhere(work, partial(self.engine.apply, self.caller), *args)

    async def close(self) -> None:
        if not self.engine.closed:
            await self._elsewhere(self.engine.close)
            self._pool.shutdown(wait=False)


def _closed() -> Unavailable:
    return Unavailable("the store is closed", hint="open it again")
