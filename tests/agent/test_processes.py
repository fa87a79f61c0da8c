"""The life of a process: its id, its end, its event loop, and the closing of its kernel."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.agent import kernel as kernel_module
from memwell.agent.kernel import Kernel
from memwell.errors import Busy, Conflict, Invalid, Unavailable

from .dicts import Dicts
from .given import SOON, count

# Processes


def test_ids_are_unique_unless_given() -> None:
    with Kernel() as kernel:
        ids = {kernel.spawn(lambda ctx: ctx.id).wait(SOON) for _ in range(20)}
        assert len(ids) == 20
        assert all(len(name) == 32 for name in ids)


def test_an_id_that_is_running_is_refused_and_the_first_goes_on() -> None:
    go = threading.Event()

    def body(ctx: Any) -> str:
        ctx.memory.set("key", 1)
        go.wait(SOON)
        return "first" if ctx.memory.get("key") == 1 else "disturbed"

    with Kernel() as kernel:
        first = kernel.spawn(body, id="a")
        with pytest.raises(Conflict, match="process a is running") as refusal:
            kernel.spawn(body, id="a")
        assert refusal.value.current is first
        assert first.status == "running"
        assert first.result is None
        go.set()
        assert first.wait(SOON) == "first"
        assert kernel.spawn(body, id="a").wait(SOON) == "first"


@pytest.mark.parametrize("id", ["", 7, "\ud800", "x" * 3000])
def test_a_bad_id_starts_nothing(id: Any) -> None:
    with Kernel() as kernel:
        with pytest.raises(ValueError, match="scope"):
            kernel.spawn(count, id=id)
        assert kernel.processes() == []


def test_a_handler_must_be_callable() -> None:
    with Kernel() as kernel, pytest.raises(Invalid, match="a handler is a function, not str"):
        kernel.spawn("count")  # type: ignore[arg-type]


def test_a_plain_handler_that_gives_a_coroutine_is_told_so() -> None:
    with Kernel() as kernel, pytest.raises(Invalid, match="async def"):
        kernel.spawn(lambda ctx: count(ctx)).wait(SOON)


class Counter:
    async def __call__(self, ctx: Any) -> int:
        return await count(ctx)

    def plain(self, ctx: Any) -> int:
        return ctx.memory.set("count", 1).value


@pytest.mark.parametrize("handler", [Counter(), Counter().plain, partial(count), Counter().__call__])
def test_any_callable_is_a_handler(handler: Any) -> None:
    with Kernel() as kernel:
        assert kernel.spawn(handler).wait(SOON) == 1


def test_a_failure_is_kept_and_told(caplog: pytest.LogCaptureFixture, colour: Any) -> None:
    async def body(ctx: Any) -> None:
        raise KeyError("lost")

    with Kernel() as kernel:
        process = kernel.spawn(colour(body), id="a")
        with pytest.raises(KeyError, match="lost"):
            process.wait(SOON)
        assert (process.status, process.result, type(process.error)) == ("failed", None, KeyError)
        assert repr(process) == "<Process a failed>"
        assert "process a failed: KeyError('lost')" in caplog.text


def test_exiting_ends_the_process_not_the_program(colour: Any) -> None:
    async def body(ctx: Any) -> None:
        raise SystemExit(3)

    with Kernel() as kernel:
        with pytest.raises(SystemExit):
            kernel.spawn(colour(body), id="a").wait(SOON)
        assert kernel.spawn(count, id="a").wait(SOON) == 1


def test_if_its_memory_cannot_be_cleared_the_process_has_failed(colour: Any) -> None:
    class Stuck(Dicts):
        def delete_scope(self, scope: str) -> None:
            raise OSError("no")

    with Kernel(Stuck()) as kernel:
        process = kernel.spawn(colour(count))
        with pytest.raises(Unavailable, match="delete_scope"):
            process.wait(SOON)
        assert process.status == "failed"


def test_waiting_is_bounded_when_asked() -> None:
    go = threading.Event()
    with Kernel() as kernel:
        process = kernel.spawn(lambda ctx: go.wait(SOON), id="slow")
        with pytest.raises(TimeoutError, match="process slow still runs"):
            process.wait(0.01)
        go.set()
        assert process.wait(SOON) is True


def test_processes_lists_them_in_the_order_of_their_start() -> None:
    go = threading.Event()
    with Kernel() as kernel:
        kernel.spawn(count, id="done").wait(SOON)
        kernel.spawn(lambda ctx: go.wait(SOON), id="slow", persistent=True)
        listed = [(process.id, process.persistent, process.status) for process in kernel.processes()]
        assert listed == [("done", False, "done"), ("slow", True, "running")]
        go.set()


def test_the_table_of_ended_processes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_module, "ENDED_KEPT", 5)
    go = threading.Event()
    with Kernel() as kernel:
        kernel.spawn(lambda ctx: go.wait(SOON), id="slow")
        for number in range(30):
            kernel.spawn(lambda ctx: None, id=str(number)).wait(SOON)
            listed = [process.id for process in kernel.processes()]
            newest = [str(n) for n in range(max(0, number - 4), number + 1)]
            assert listed[0] == "slow"  # what runs is never dropped
            assert listed[-len(newest) :] == newest
            assert len(listed) <= 11
        go.set()


# Event loops


async def test_on_a_running_loop_an_async_handler_is_a_task_of_that_loop(backend: Any) -> None:
    async def body(ctx: Any) -> Any:
        await ctx.memory.set("key", 1)
        return asyncio.get_running_loop(), threading.current_thread()

    async with Kernel(backend) as kernel:
        assert await kernel.spawn(body) == (asyncio.get_running_loop(), threading.current_thread())


async def test_a_plain_handler_does_not_hold_the_loop(backend: Any) -> None:
    go = threading.Event()
    async with Kernel(backend) as kernel:
        process = kernel.spawn(lambda ctx: go.wait(SOON))
        await asyncio.sleep(0)
        go.set()
        assert await process is True


async def test_a_failed_task_raises_where_it_is_awaited() -> None:
    async def body(ctx: Any) -> None:
        raise KeyError("lost")

    async with Kernel() as kernel:
        with pytest.raises(KeyError, match="lost"):
            await kernel.spawn(body)


async def test_waiting_on_its_own_loop_is_refused_not_a_deadlock() -> None:
    go = asyncio.Event()

    async def body(ctx: Any) -> int:
        await go.wait()
        return 1

    async with Kernel() as kernel:
        process = kernel.spawn(body)
        with pytest.raises(Invalid, match="await it"):
            process.wait()
        with pytest.raises(Invalid, match="close_async"):
            kernel.close()
        go.set()
        assert await process == 1
        assert process.wait() == 1


async def test_who_stops_waiting_does_not_stop_the_process() -> None:
    go = asyncio.Event()

    async def body(ctx: Any) -> int:
        await go.wait()
        return 1

    async with Kernel() as kernel:
        process = kernel.spawn(body)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(process, 0.01)
        assert process.status == "running"
        go.set()
        assert await process == 1


@pytest.mark.parametrize("begun", [False, True])
def test_a_loop_that_ends_takes_its_processes_with_it(begun: bool) -> None:
    async def forever(ctx: Any) -> None:
        await ctx.memory.set("key", 1)
        await asyncio.Event().wait()

    async def main() -> None:
        kernel.spawn(forever, id="a")
        if begun:
            while not (await kernel.stats_async()).entries:
                pass

    with Kernel() as kernel:
        asyncio.run(main())
        (process,) = kernel.processes()
        assert process.status == "failed"
        assert isinstance(process.error, asyncio.CancelledError)
        assert kernel.memory.scopes() == []


def test_context_variables_reach_the_handler(colour: Any) -> None:
    trace: ContextVar[str] = ContextVar("trace", default="none")

    async def body(ctx: Any) -> str:
        return trace.get()

    with Kernel() as kernel:
        trace.set("abc")
        assert kernel.spawn(colour(body)).wait(SOON) == "abc"


# Closing


def test_closing_waits_for_those_that_run(tmp_path: Path) -> None:
    go, wrote = threading.Event(), threading.Event()

    def body(ctx: Any) -> None:
        wrote.set()
        go.wait(SOON)
        ctx.memory.set("last", "words")

    with Kernel(tmp_path / "memory.db") as kernel:
        kernel.spawn(body, id="a", persistent=True)
        wrote.wait(SOON)
        threading.Timer(0.01, go.set).start()
    with memwell.open(tmp_path / "memory.db") as store:
        assert store.scope(process="a").get("last") == "words"


def test_closing_is_bounded_when_asked_and_can_be_done_again() -> None:
    go = threading.Event()
    kernel = Kernel()
    process = kernel.spawn(lambda ctx: (go.wait(SOON), ctx.memory.set("key", 1)), id="slow")
    with pytest.raises(Busy, match="1 process still runs: slow"):
        kernel.close(timeout=0.01)
    with pytest.raises(Unavailable, match="closed"):
        kernel.spawn(count)
    go.set()
    kernel.close()
    kernel.close()
    assert process.status == "done"
    with pytest.raises(Unavailable, match="closed"):
        kernel.shared().get("key")


async def test_a_handler_that_loops_can_see_that_it_should_stop() -> None:
    async def awaited(ctx: Any) -> str:
        while not ctx.stopping:
            await asyncio.sleep(0)
        return "stopped"

    def plain(ctx: Any) -> str:
        while not ctx.stopping:
            pass
        return "stopped"

    async with Kernel() as kernel:
        processes = [kernel.spawn(awaited), kernel.spawn(plain)]
    assert [process.result for process in processes] == ["stopped", "stopped"]


def test_no_thread_is_left_behind(backend: Any, colour: Any) -> None:
    before = set(threading.enumerate())
    with Kernel(backend) as kernel:
        kernel.spawn(colour(count)).wait(SOON)
    assert set(threading.enumerate()) - before == set()
