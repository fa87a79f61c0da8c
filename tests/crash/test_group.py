"""Writers that share a commit: each gets its own answer, and one that is refused takes nobody with it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import memwell
from memwell.errors import Conflict, MemwellError, NotFound

from . import audit
from .scale import PATIENCE_S, scaled

SCOPE = "agent:a"
WRITERS, ROUNDS = 16, scaled(20, 300)


def call(mem: Any, number: int, round_: int) -> Any:
    """What each does: a quarter set, a quarter are refused at once, a quarter half-way through, a quarter batch."""
    key = f"{round_}-{number}"
    match number % 4:
        case 0:
            return mem.set(key, number)
        case 1:
            return mem.set("taken", key, if_version=99)
        case 2:
            batch = mem.batch()
            batch.set(key, "must not be seen")
            batch.revert("never written", 1)
            return batch.commit()
        case _:
            batch = mem.batch()
            batch.set(key, number)
            batch.set(f"{key}-b", number, if_version=0)
            return batch.commit()


def expected(number: int) -> type | None:
    return {1: Conflict, 2: NotFound}.get(number % 4)


def assert_each_has_its_own(path: Path, outcomes: dict[tuple[int, int], Any]) -> None:
    assert len(outcomes) == WRITERS * ROUNDS
    for (_, number), outcome in outcomes.items():
        assert (type(outcome) if isinstance(outcome, MemwellError) else None) == expected(number)
    with memwell.open(path) as store:
        keys = set(store.scope(SCOPE).list())
        assert {entry.version for entry in store.scope(SCOPE).entries()} == {1}
    kept = {f"{round_}-{number}" for round_, number in outcomes if number % 4 in (0, 3)}
    twins = {f"{round_}-{number}-b" for round_, number in outcomes if number % 4 == 3}
    assert keys == {"taken", *kept, *twins}
    audit.assert_sound(path)


def test_only_the_refused_are_refused_among_threads(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    outcomes: dict[tuple[int, int], Any] = {}

    def write(number: int) -> None:
        for round_ in range(ROUNDS):
            start.wait()
            try:
                outcomes[round_, number] = call(mem, number, round_)
            except MemwellError as error:
                outcomes[round_, number] = error

    start = threading.Barrier(WRITERS, timeout=PATIENCE_S)
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        mem.set("taken", 1)
        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    assert_each_has_its_own(path, outcomes)


async def test_only_the_refused_are_refused_among_tasks(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    outcomes: dict[tuple[int, int], Any] = {}
    async with memwell.open_async(path) as store, asyncio.timeout(PATIENCE_S):
        mem = store.scope(SCOPE)
        await mem.set("taken", 1)
        for round_ in range(ROUNDS):
            answers = await asyncio.gather(
                *(call(mem, each, round_) for each in range(WRITERS)), return_exceptions=True
            )
            outcomes |= {(round_, number): answer for number, answer in enumerate(answers)}
    assert_each_has_its_own(path, outcomes)


async def test_a_cancelled_wait_harms_nobody(tmp_path: Path) -> None:
    """Cancelling stops the waiting, not the write; whoever shares the commit gets its answer."""
    path = tmp_path / "memory.db"
    async with memwell.open_async(path) as store, asyncio.timeout(PATIENCE_S):
        mem = store.scope(SCOPE)
        for round_ in range(ROUNDS):
            tasks = [asyncio.create_task(mem.set(f"{round_}-{number}", number)) for number in range(WRITERS)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            assert [task.result().version for task in tasks[1::2]] == [1] * (WRITERS // 2)
    with memwell.open(path) as store:
        entries = store.scope(SCOPE).entries()
    assert {entry.version for entry in entries} == {1}
    assert len(entries) >= ROUNDS * WRITERS // 2
    audit.assert_sound(path)


def write_until_refused(mem: memwell.Memory, name: str, told: list[str], refused: list[MemwellError]) -> None:
    for each in range(10_000):
        try:
            told.append(mem.set(f"{name}-{each}", 1).key)
        except MemwellError as error:
            refused.append(error)
            return


def test_closing_lets_the_accepted_finish(tmp_path: Path) -> None:
    """Threads that write while the store is closed are told so, or their write is kept."""
    path = tmp_path / "memory.db"
    for round_ in range(scaled(5, 60)):
        store = memwell.open(path)
        acknowledged: list[str] = []
        refused: list[MemwellError] = []
        works = [(store.scope(SCOPE), f"{round_}-{number}", acknowledged, refused) for number in range(8)]
        threads = [threading.Thread(target=write_until_refused, args=work) for work in works]
        for thread in threads:
            thread.start()
        store.close()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        assert all("closed" in error.message for error in refused)
        with memwell.open(path) as again:
            assert set(acknowledged) <= set(again.scope(SCOPE).list(prefix=f"{round_}-"))
    audit.assert_sound(path)
