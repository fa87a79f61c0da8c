"""A process as its handler sees it, and as whoever spawned it does."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Generator
from concurrent import futures
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from memwell.aio import AsyncMemory
from memwell.errors import Invalid
from memwell.memory import Memory

M = TypeVar("M", Memory, AsyncMemory)
Status = Literal["running", "done", "failed"]
Handler = Callable[[], Any]  # with its context and arguments bound
_log = logging.getLogger(__name__)


class Context(Generic[M]):
    """What a handler is given: its own memory, the one that all share, and its id."""

    __slots__ = ("_stop", "id", "memory", "shared")

    def __init__(self, id: str, memory: M, shared: M, stop: threading.Event) -> None:
        self.id, self._stop = id, stop
        self.memory: M = memory
        self.shared: M = shared

    @property
    def stopping(self) -> bool:
        """Whether the kernel is being closed; a handler that loops looks at it and returns."""
        return self._stop.is_set()


class Process:
    """A spawned handler: `wait()` for it, or await it."""

    def __init__(self, id: str, persistent: bool) -> None:
        self.id, self.persistent = id, persistent
        self.outcome: futures.Future[Any] = futures.Future()
        self.outcome.set_running_or_notify_cancel()  # from here on, who stops waiting for it does not cancel it
        self._task: asyncio.Task[Any] | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"<Process {self.id} {self.status}>"

    @property
    def status(self) -> Status:
        """`running`, `done` or `failed`; it has ended once its memory is cleared."""
        if not self.outcome.done():
            return "running"
        return "failed" if self.outcome.exception() else "done"

    @property
    def result(self) -> Any:
        """What the handler returned; None until it is done."""
        return self.outcome.result() if self.status == "done" else None

    @property
    def error(self) -> BaseException | None:
        """What the handler raised, if it failed."""
        return self.outcome.exception() if self.outcome.done() else None

    def wait(self, timeout: float | None = None) -> Any:
        """What the handler returned, or its error raised; TimeoutError if it still runs after `timeout` seconds."""
        if self.needs_this_loop():
            raise Invalid(f"process {self.id} runs on this event loop, which waiting would stop", hint="await it")
        if not futures.wait([self.outcome], timeout).done:
            raise TimeoutError(f"process {self.id} still runs after {timeout} seconds")
        return self.outcome.result()

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self.outcome).__await__()

    def needs_this_loop(self) -> bool:
        """Whether it runs on the event loop that calls this, and so would never end while that waits."""
        return self._task is not None and not self._task.done() and self._task.get_loop() is _running_loop()

    def start(self, handler: Handler, ctx: Context[Any], awaited: bool) -> None:
        """Run it: in a thread of its own, or, if it is to be awaited, on the loop that runs here."""
        loop = _running_loop()
        if awaited and loop is not None:
            self._task = loop.create_task(self._life_async(handler, ctx))  # kept, because a loop holds tasks weakly
            self._task.add_done_callback(self._end)
            return
        life = partial(self._life_on_loop if awaited else self._life, handler, ctx)
        name = f"memwell-process-{self.id}"
        self._thread = threading.Thread(target=copy_context().run, args=(self._end_of, life), name=name)
        self._thread.start()

    def join(self) -> None:
        """Let the thread of a process that has ended be gone too."""
        if self._thread is not None:
            self._thread.join()

    def _life(self, handler: Handler, ctx: Context[Memory]) -> Any:
        try:
            result = handler()
            if inspect.iscoroutine(result):
                result.close()
                raise Invalid(f"the handler of process {self.id} gave a coroutine", hint="make it an async def")
            return result
        finally:
            if not self.persistent:
                ctx.memory.delete_scope()

    async def _life_async(self, handler: Handler, ctx: Context[AsyncMemory]) -> Any:
        try:
            return await handler()
        finally:
            if not self.persistent:
                await ctx.memory.delete_scope()

    def _life_on_loop(self, handler: Handler, ctx: Context[AsyncMemory]) -> Any:
        return asyncio.run(self._life_async(handler, ctx))

    def _end_of(self, life: Callable[[], Any]) -> None:
        try:
            self.outcome.set_result(life())
        except BaseException as error:  # noqa: BLE001 - raised where the process is waited for
            self._fail(error)

    def _end(self, task: asyncio.Task[Any]) -> None:
        """Called also for a task that was cancelled before its first step, of which nothing else is heard."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None:
            self.outcome.set_result(task.result())
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if isinstance(error, Exception):  # what is no Exception was ended on purpose
            _log.warning("process %s failed: %r", self.id, error)
        self.outcome.set_exception(error)


def is_async(handler: Any) -> bool:
    """Whether a handler is to be awaited; refuses what can't be called."""
    if not callable(handler):
        raise Invalid(f"a handler is a function, not {type(handler).__name__}", hint="pass def handler(ctx)")
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
