"""Calling somebody's object whose methods may be plain or `async def`."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

from memwell.errors import Invalid, MemwellError, Unavailable

METHODS = ("get", "set", "delete", "list", "clear", "delete_scope", "stats", "close")


class Caller:
    """Calls a method and waits for it; awaitables share one loop, because their locks and sockets are tied to it."""

    def __init__(self, wrapped: Any) -> None:
        missing = [name for name in METHODS if not callable(getattr(wrapped, name, None))]
        if missing:
            hint = f"a backend has the methods {', '.join(METHODS)}"
            raise Invalid(f"{type(wrapped).__name__} has no method {missing[0]!r}", hint=hint)
        self.name = str(getattr(wrapped, "name", type(wrapped).__name__.lower()))
        self._wrapped = wrapped
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __call__(self, method: str, *args: Any) -> Any:
        try:
            result = getattr(self._wrapped, method)(*args)
            if inspect.isawaitable(result):
                result = asyncio.run_coroutine_threadsafe(_await(result), self._running_loop()).result()
        except MemwellError:
            raise
        except Exception as error:
            raise Unavailable(
                f"the backend {self.name} failed in {method}: {error!r}", hint="see its own log"
            ) from error
        return result

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="memwell-backend", daemon=True)
            self._thread.start()
        return self._loop

    def stop(self) -> None:
        """End the loop, if there is one."""
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()


async def _await(result: Any) -> Any:
    return await result
