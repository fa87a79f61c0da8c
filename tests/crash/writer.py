"""A process that writes until it is killed: `writer STORE LEDGERS NAME FACE DURABILITY SEED`."""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
import threading
from pathlib import Path
from typing import Any

import memwell
import memwell.store.sqlite
from memwell.errors import Conflict

from .ledger import Ledger, claims
from .steps import Lane, outcome

LANES = 3
COUNTER = "workflow:counter"


def scope_of(name: str, lane: int) -> str:
    return f"agent:{name}-{lane}"


def ledger_of(folder: Path, scope: str) -> Path:
    return folder / f"{scope.partition(':')[2]}.ndjson"


async def write(store: Any, folder: Path, scope: str, seed: str) -> None:
    """One lane, for ever; with the sync face every await below is on something that is already there."""
    path = ledger_of(folder, scope)
    number = claims(path)[-1].number + 1 if path.exists() and claims(path) else 0
    ledger, mem = Ledger(path), store.scope(scope)
    lane = Lane(scope, random.Random(f"{seed}/{scope}/{number}"))
    for key in "abcde":
        entry = await given(mem.entry(key))
        if entry is not None:
            lane.live[key] = entry.version
    while True:
        number += 1
        step = lane.next(number)
        ledger.intend(number, step.parts)
        try:
            result = await given(step.call(mem))
        except Conflict as refusal:
            assert step.refused
            result = refusal
        results = outcome(step, result)
        ledger.acknowledge(number, results)
        lane.settle(step, results)
        if number % 5 == 0:
            await count(store.scope(COUNTER), ledger)


async def count(mem: Any, ledger: Ledger) -> None:
    """Add one to the counter that every lane of every process shares."""
    entry = await given(mem.entry("count"))
    while True:
        value, version = (entry.value, entry.version) if entry else (0, 0)
        try:
            made = await given(mem.set("count", value + 1, if_version=version))
        except Conflict as refusal:
            entry = refusal.current
        else:
            ledger.counted(made.version, made.rev)
            return


async def given(result: Any) -> Any:
    """The result of a call of either face."""
    return await result if inspect.isawaitable(result) else result


def run_threads(store: memwell.Store, folder: Path, name: str, seed: str) -> None:
    def lane(scope: str) -> None:
        try:
            write(store, folder, scope, seed).send(None)
        finally:
            finished.set()  # lanes never end by themselves: this one failed, and the process with it

    finished = threading.Event()
    for number in range(LANES):
        threading.Thread(target=lane, args=(scope_of(name, number),), daemon=True).start()
    print("writing", flush=True)
    finished.wait()
    sys.exit(1)


async def run_tasks(path: str, folder: Path, name: str, seed: str, options: dict[str, Any]) -> None:
    async with memwell.open_async(path, by=name, **options) as store:
        print("writing", flush=True)
        async with asyncio.TaskGroup() as lanes:
            for number in range(LANES):
                lanes.create_task(write(store, folder, scope_of(name, number), seed))


def main(path: str, ledgers: str, name: str, face: str, durability: str, seed: str) -> None:
    # Small, so that checkpoints by the keeper and by writers happen all the time instead of every 16 MB.
    memwell.store.sqlite.WAL_PAGES, memwell.store.sqlite.WAL_PAGES_MOST = 40, 120
    options: dict[str, Any] = {"durability": durability, "sweep_seconds": 0.05}
    if face == "async":
        asyncio.run(run_tasks(path, Path(ledgers), name, seed, options))
    else:
        run_threads(memwell.open(path, by=name, **options), Path(ledgers), name, seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
