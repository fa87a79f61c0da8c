"""A kernel runs handlers as processes, each with a memory of its own and one that all share."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable
from concurrent import futures
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from memwell.agent.checkpoint import Saved, collect, put_back, read, save
from memwell.agent.process import Context, Process, is_async
from memwell.aio import AsyncMemory, AsyncStore
from memwell.config import Options, default_author, settings_from
from memwell.engine.guard import Caller
from memwell.errors import Busy, Conflict, Invalid, Unavailable
from memwell.local import Local
from memwell.local_async import THREADS, AsyncLocal
from memwell.memory import Memory, Store
from memwell.opening import engine_for
from memwell.scope import Scope
from memwell.types import Stats

ENDED_KEPT = 1000  # how many ended processes are still listed


class Kernel:
    """Spawns processes. `memory_backend` is a path or URL, an open store, or an object with eight methods; None is RAM.

    >>> with Kernel() as kernel:
    ...     kernel.spawn(lambda ctx: ctx.memory.set("step", 1).version).wait()
    1
    """

    def __init__(self, memory_backend: Any = None, *, by: str | None = None, **options: Unpack[Options]) -> None:
        self._borrowed = isinstance(memory_backend, (Store, AsyncStore))
        if self._borrowed:
            if by or options:
                raise Invalid("an open store has its settings already", hint="give them to memwell.open")
            door = memory_backend._door  # noqa: SLF001 - the same engine, in both colours
            engine, caller = door.engine, door.caller
        else:
            engine = engine_for(":memory:" if memory_backend is None else memory_backend, settings_from(**options))
            caller = Caller(by or default_author(), owner=True)
        self._engine, self._caller = engine, caller
        self._pool = futures.ThreadPoolExecutor(THREADS, thread_name_prefix="memwell-kernel")
        self._awaited = AsyncStore(AsyncLocal(engine, caller, self._pool))
        self._lock = threading.Lock()
        self._table: dict[str, Process] = {}
        self._stop = threading.Event()
        self.memory = Store(Local(engine, caller))

    def spawn(
        self, handler: Callable[..., Any], /, *args: Any, id: str | None = None, persistent: bool = False, **kwargs: Any
    ) -> Process:
        """Start `handler(ctx, *args, **kwargs)`: a plain function in a thread, an `async def` on the loop if one runs.

        What it remembers goes when it ends, unless it is `persistent`: the same id then picks up where it left off.
        """
        scope = Scope(process=uuid.uuid4().hex if id is None else id)
        awaited = is_async(handler)
        store: Any = self._awaited if awaited else self.memory
        process = Process(scope.fields["process"], persistent)
        author = scope.text
        ctx: Context[Any] = Context(process.id, store.scope(scope, by=author), store.shared(by=author), self._stop)
        with self._lock:
            self._admit(process.id)
            process.start(partial(handler, ctx, *args, **kwargs), ctx, awaited)
            self._table[process.id] = process
        return process

    def _admit(self, id: str) -> None:
        """Room in the table for a process of this id, or a refusal."""
        if self._stop.is_set():
            raise Unavailable("the kernel is closed", hint="make a new one on the same store")
        taken = self._table.pop(id, None)
        if taken is not None and taken.status == "running":
            self._table[id] = taken
            raise Conflict(f"process {id} is running", current=taken, hint="wait for it, or choose another id")
        if len(self._table) >= 2 * ENDED_KEPT:
            ended = [old.id for old in self._table.values() if old.status != "running"]
            for old in ended[:-ENDED_KEPT]:
                del self._table[old]

    def processes(self) -> list[Process]:
        """Those that run and those that ended lately, in the order of their start."""
        with self._lock:
            return list(self._table.values())

    def shared(self) -> Memory:
        """The memory that all processes share, for plain code."""
        return self.memory.shared()

    def shared_async(self) -> AsyncMemory:
        """The memory that all processes share, awaited."""
        return self._awaited.shared()

    def stats(self) -> Stats:
        """What the store holds."""
        return self.memory.stats()

    async def stats_async(self) -> Stats:
        """What the store holds, awaited."""
        return await self._awaited.stats()

    def checkpoint(self, path: str | Path) -> int:
        """Write what the processes remember and share, and their table, to a JSON file, atomically; how many facts."""
        body = collect(self.memory, self.processes)
        save(path, body)
        return sum(map(len, body.scopes.values()))

    def restore(self, path: str | Path) -> list[Saved]:
        """Put back what a checkpoint holds in place of what these scopes hold now; the processes that it names."""
        body = read(path)
        with self._lock:
            for process in self._table.values():
                if process.status == "running":
                    raise Conflict(f"process {process.id} is running", current=process, hint="wait for it first")
            put_back(self._engine, self._caller, body)
        return body.processes

    def close(self, timeout: float | None = None) -> None:
        """Accept no more, wait for those that run, close what was opened here; Busy if one runs for longer."""
        if any(process.needs_this_loop() for process in self.processes()):
            raise Invalid("a process runs on this event loop, which waiting would stop", hint="await close_async()")
        self._finish(timeout)

    async def close_async(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - bounds the wait only
        """As `close`, awaited."""
        await asyncio.to_thread(self._finish, timeout)

    def _finish(self, timeout: float | None) -> None:
        with self._lock:  # who spawns now is in the table, or is refused
            self._stop.set()
        processes = self.processes()
        futures.wait([process.outcome for process in processes], timeout)
        running = [process.id for process in processes if process.status == "running"]
        if running:
            hint = "have the handlers look at ctx.stopping, and close again"
            words = "1 process still runs" if len(running) == 1 else f"{len(running)} processes still run"
            raise Busy(f"{words}: {', '.join(running[:5])}", hint=hint)
        for process in processes:
            process.join()
        self._pool.shutdown()
        if not self._borrowed:
            self.memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()
