"""How long an event loop stands still while it awaits sets: a ticker on the same loop measures its own lateness."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, NamedTuple

import memwell
from bench import data
from bench.lab import Lab
from bench.report import Report, Target

TICK_S = 0.001
HOLD_S = 0.2
TASKS = 8
LIMIT_MS = 20
_SPAWN = multiprocessing.get_context("spawn")


class Pause(NamedTuple):
    """The longest that the loop stood still, and how much the tasks got done meanwhile."""

    worst_ms: float
    done: int


def pauses(lab: Lab, report: Report) -> None:
    """The worst pause with another process holding the write lock, and with many awaited calls in flight."""
    with ProcessPoolExecutor(1, mp_context=_SPAWN) as pool:

        def worst(action: str, durability: str) -> Pause:
            path = str(lab.folder / f"loop-{durability}.db")
            return pool.submit(_measure, path, durability, action, lab.scale.loop_seconds).result()

        idle = worst("idle", "fast")
        report.notes.append(f"an event loop that only ticks stood still for {idle.worst_ms:.1f} ms at worst")
        for durability in ("full", "fast"):
            with _lock_held_by_another(lab.folder / f"loop-{durability}.db"):
                _judge(report, f"sets ({durability}) while another process holds the lock", worst("set", durability))
            _judge(report, f"{TASKS} tasks of sets ({durability})", worst("set", durability))
        _judge(report, f"{TASKS} tasks of gets", worst("get", "fast"))


def _judge(report: Report, about: str, pause: Pause) -> None:
    about = f"worst pause of the loop, {about}"
    report.targets.append(Target(about, pause.worst_ms, LIMIT_MS, unit=" ms", clock="wall"))
    report.notes.append(f"{about}: {pause.done:,} calls done")


def _measure(path: str, durability: Any, action: str, seconds: float) -> Pause:
    return asyncio.run(_run(path, durability, action, seconds))


async def _run(path: str, durability: Any, action: str, seconds: float) -> Pause:
    async with memwell.open_async(path, durability=durability) as store:
        memory = store.scope(agent="bench")
        await memory.set("warm", 1)
        begin = time.perf_counter()
        end = begin + seconds
        tasks = [] if action == "idle" else [_busy(memory, action, number, end) for number in range(TASKS)]
        late, done = await asyncio.gather(ticks(begin, end), asyncio.gather(*tasks))
    return Pause(late * 1000, sum(done))


async def ticks(begin: float, end: float) -> float:
    """The latest tick, in seconds. It counts from before any task began: one that never lets go would delay even the
    ticker's own start, and the pause would not be seen.
    """
    worst, last = 0.0, begin
    while last < end:
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        worst, last = max(worst, now - last - TICK_S), now
    return worst


async def _busy(memory: memwell.AsyncMemory, action: str, number: int, end: float) -> int:
    """One call after the other, with nothing in between that would let the loop go on."""
    done = 0
    while time.perf_counter() < end:
        key = data.flat(number * data.GROUP + done % data.GROUP)
        await (memory.set(key, data.value(done)) if action == "set" else memory.get(key))
        done += 1
    return done


@contextmanager
def _lock_held_by_another(path: Path) -> Iterator[None]:
    with memwell.open(path):
        pass  # so that there is a file to lock
    stop = _SPAWN.Event()
    holder = _SPAWN.Process(target=_hold, args=(str(path), stop), daemon=True)
    holder.start()
    try:
        yield
    finally:
        stop.set()
        holder.join()


def _hold(path: str, stop: Event) -> None:
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    while not stop.is_set():
        connection.execute("BEGIN IMMEDIATE")
        stop.wait(HOLD_S)
        connection.execute("ROLLBACK")
        stop.wait(HOLD_S / 10)
    connection.close()
