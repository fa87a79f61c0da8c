"""A writer that is stopped with the lock in its hand: others are told so in time, read on, and go on after it."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import Busy

from . import audit, holder
from .children import Child
from .scale import PATIENCE_S

SCOPE = "agent:other"
WAIT_S = 0.4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with memwell.open(path) as store:
        store.scope(SCOPE).set("k", 0)
    return path


@pytest.fixture
def stopped(path: Path) -> Iterator[Child]:
    """The child, stopped inside its transaction."""
    with Child("holder", path) as child:
        child.expect("holding")
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        yield child


def assert_helpful(error: Busy) -> None:
    assert error.retryable
    assert error.hint is not None
    assert "busy_timeout" in error.hint


def assert_proceeds(stopped: Child, path: Path) -> None:
    """After SIGCONT the stopped write is whole."""
    stopped.signal(signal.SIGCONT)
    stopped.expect("done")
    stopped.finish()
    with memwell.open(path) as store:
        assert store.scope(holder.SCOPE).get_many(["before", "during", "after"]) == {
            "before": 1,
            "during": 2,
            "after": 3,
        }
    audit.assert_sound(path)


def test_others_are_told_busy_read_on_and_proceed(path: Path, stopped: Child) -> None:
    with memwell.open(path, busy_timeout=WAIT_S) as store:
        mem = store.scope(SCOPE)
        for call in (lambda: mem.set("k", 1), lambda: mem.set_many({"k": 1, "l": 1}), lambda: mem.delete("k")):
            with pytest.raises(Busy) as refused:
                call()
            assert_helpful(refused.value)
        assert mem.get("k") == 0
        assert mem.list() == ["k"]
        assert len(mem.history("k")) == 1
        assert store.scope(holder.SCOPE).list() == []
        assert store.check().damage == []
        assert_proceeds(stopped, path)
        assert mem.set("k", 1).version == 2


def test_a_new_store_opens_and_reads(path: Path, stopped: Child) -> None:
    with memwell.open(path, busy_timeout=WAIT_S) as store:
        assert store.scope(SCOPE).get("k") == 0
    assert_proceeds(stopped, path)


def test_every_thread_of_a_group_is_told_in_its_own_time(path: Path, stopped: Child) -> None:
    """Sixteen waits of one wait's length, not one after the other."""
    threads = 16
    waited: list[float] = []

    def write(mem: memwell.Memory, number: int) -> None:
        start = time.monotonic()
        with pytest.raises(Busy) as refused:
            mem.set(f"k{number}", 1)
        assert_helpful(refused.value)
        waited.append(time.monotonic() - start)

    with memwell.open(path, busy_timeout=WAIT_S) as store:
        mem = store.scope(SCOPE)
        running = [threading.Thread(target=write, args=(mem, number)) for number in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(PATIENCE_S)
        assert len(waited) == threads
        assert max(waited) < WAIT_S * threads / 2
        assert_proceeds(stopped, path)
        assert [mem.set(f"k{number}", 1).version for number in range(threads)] == [1] * threads


@pytest.mark.parametrize("durability", ["full", "fast"])
async def test_the_event_loop_goes_on(path: Path, stopped: Child, durability: Any) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async with memwell.open_async(path, busy_timeout=WAIT_S, durability=durability) as store:
        mem = store.scope(SCOPE)
        ticker = asyncio.create_task(tick())
        async with asyncio.timeout(WAIT_S * 4):  # eight waits at once, not one after the other
            results = await asyncio.gather(*(mem.set(f"k{each}", 1) for each in range(8)), return_exceptions=True)
            assert [type(result) for result in results] == [Busy] * 8
            assert await mem.get("k") == 0
        assert ticks > 100  # a loop that waits for the lock ticks once or twice
        ticker.cancel()
        await asyncio.to_thread(assert_proceeds, stopped, path)
        assert (await mem.set("k", 1)).version == 2


async def test_writes_that_wait_go_through_when_it_goes_on(path: Path, stopped: Child) -> None:
    async with memwell.open_async(path, busy_timeout=PATIENCE_S) as store:
        mem = store.scope(SCOPE)
        writes = [asyncio.create_task(mem.set(f"k{each}", 1)) for each in range(8)]
        await asyncio.sleep(0)
        await asyncio.to_thread(assert_proceeds, stopped, path)
        async with asyncio.timeout(PATIENCE_S):
            assert [entry.version for entry in await asyncio.gather(*writes)] == [1] * 8
