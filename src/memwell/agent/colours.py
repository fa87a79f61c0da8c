"""Work that is written once, as a coroutine, and runs on either face: at once, or awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from memwell.agent.process import is_async
from memwell.aio import AsyncMemory, AsyncStore
from memwell.errors import Invalid
from memwell.memory import Memory, Store

T = TypeVar("T")


def is_awaited(memory: object) -> bool:
    """Whether calls of this handle are awaited; refuses what is no handle."""
    if isinstance(memory, (AsyncMemory, AsyncStore)):
        return True
    if isinstance(memory, (Memory, Store)):
        return False
    hint = "give a store that memwell.open gave, or a scope of it"
    raise Invalid(f"the memory is {type(memory).__name__}, which is neither a store nor a scope", hint=hint)


async def given(result: Any) -> Any:
    """The result of a call of either face."""
    return await result if inspect.isawaitable(result) else result


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work in which nothing waits: all that it awaits is there already."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise Invalid("a part of this can only be awaited", hint="use a store of memwell.open_async, and await it")


async def called(function: Callable[..., Any], *args: Any, awaited: bool) -> Any:
    """What somebody's function gives, plain or async; on the awaited face it never holds up the loop."""
    if awaited and is_async(function):
        return await function(*args)
    if awaited:
        return await given(await asyncio.to_thread(function, *args))
    result = function(*args)
    return _on_a_loop(result) if inspect.isawaitable(result) else result


def _on_a_loop(result: Awaitable[Any]) -> Any:
    """Await from plain code; in a thread, if the loop of this one is in use."""

    async def waiting() -> Any:
        return await result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(waiting())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, waiting()).result()
