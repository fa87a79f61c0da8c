"""A full disk: a clear error, nothing acknowledged is lost, reads go on, and writes too as soon as there is room."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import Busy, Unavailable

from . import audit
from .disks import Disk, mounted
from .scale import PATIENCE_S

THREADS = 16
SCOPE = "agent:a"
VALUE = "x" * 700


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk", "2m") as disk:
        yield disk


def assert_says_full(error: Unavailable) -> None:
    assert not isinstance(error, Busy)
    assert "full" in error.message
    assert error.hint is not None
    assert "space" in error.hint


def write_until_full(mem: memwell.Memory, name: str) -> list[str]:
    """The keys that were acknowledged before the disk was full."""
    kept: list[str] = []
    while True:
        key = f"{name}-{len(kept)}"
        try:
            mem.set(key, VALUE)
        except Unavailable as error:
            assert_says_full(error)
            return kept
        kept.append(key)


async def write_until_full_async(mem: Any, name: str) -> list[str]:
    kept: list[str] = []
    while True:
        key = f"{name}-{len(kept)}"
        try:
            await mem.set(key, VALUE)
        except Unavailable as error:
            assert_says_full(error)
            return kept
        kept.append(key)


def assert_kept(path: Path, kept: list[str]) -> None:
    """Exactly what was acknowledged is there; what was refused left no event."""
    audit.assert_sound(path)
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        assert mem.list() == sorted(kept)
        assert all(mem.get(key) == VALUE for key in kept)


@pytest.mark.parametrize("durability", ["full", "fast"])
def test_one_writer(disk: Disk, durability: Any) -> None:
    path = disk.folder / "memory.db"
    with memwell.open(path, durability=durability) as store:
        mem = store.scope(SCOPE)
        kept = write_until_full(mem, "k")
        assert len(kept) > 20
        for _ in range(3):
            with pytest.raises(Unavailable) as refused:
                mem.set_many({"more": VALUE * 50, "and more": VALUE * 50})
            assert_says_full(refused.value)
            assert mem.list() == sorted(kept)
            assert mem.get_many(kept) == dict.fromkeys(kept, VALUE)
            assert mem.history(kept[-1])[0].version == 1
    with memwell.open(path, durability=durability) as store:  # reads go on in a new process too
        assert store.scope(SCOPE).list() == sorted(kept)
    disk.grow("8m")
    with memwell.open(path, durability=durability) as store:
        kept.append(store.scope(SCOPE).set("again", VALUE).key)
    assert_kept(path, kept)


@pytest.mark.parametrize("durability", ["full", "fast"])
def test_writes_work_again_in_the_same_store_when_there_is_room(disk: Disk, durability: Any) -> None:
    path = disk.folder / "memory.db"
    with memwell.open(path, durability=durability) as store:
        mem = store.scope(SCOPE)
        mem.set("first", VALUE)
        disk.fill()
        kept = write_until_full(mem, "k")
        disk.free()
        more = [mem.set(f"more-{number}", VALUE).key for number in range(20)]
    assert_kept(path, ["first", *kept, *more])


def test_a_group_of_threads(disk: Disk) -> None:
    path = disk.folder / "memory.db"
    kept: dict[int, list[str]] = {}
    again: list[str] = []
    room = threading.Barrier(THREADS + 1, timeout=PATIENCE_S)

    def write(number: int, mem: memwell.Memory) -> None:
        kept[number] = write_until_full(mem, f"{number}")
        room.wait()
        room.wait()
        again.append(mem.set(f"again-{number}", VALUE).key)

    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        mem.set("first", VALUE)
        disk.fill()
        threads = [threading.Thread(target=write, args=(number, mem)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        room.wait()
        told = [key for keys in kept.values() for key in keys]
        assert mem.list() == sorted(["first", *told])
        disk.free()
        room.wait()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert len(again) == THREADS
    assert_kept(path, ["first", *told, *again])


@pytest.mark.parametrize("durability", ["full", "fast"])
async def test_tasks(disk: Disk, durability: Any) -> None:
    path = disk.folder / "memory.db"
    async with memwell.open_async(path, durability=durability) as store:
        mem = store.scope(SCOPE)
        await mem.set("first", VALUE)
        disk.fill()
        async with asyncio.timeout(PATIENCE_S):
            kept = await asyncio.gather(*(write_until_full_async(mem, f"{number}") for number in range(THREADS)))
            told = ["first", *(key for keys in kept for key in keys)]
            assert await mem.list() == sorted(told)
            disk.free()
            again = await asyncio.gather(*(mem.set(f"again-{number}", VALUE) for number in range(THREADS)))
    assert_kept(path, [*told, *(entry.key for entry in again)])


def test_a_store_can_be_neither_made_nor_left_half_made(disk: Disk) -> None:
    path = disk.folder / "memory.db"
    disk.fill()
    with pytest.raises(Unavailable) as refused:
        memwell.open(path)
    assert refused.value.hint
    disk.free()
    with memwell.open(path) as store:
        store.scope(SCOPE).set("k", VALUE)
    assert_kept(path, ["k"])


def test_a_copy_that_does_not_fit_is_not_there(disk: Disk, tmp_path: Path) -> None:
    with memwell.open(tmp_path / "memory.db", durability="fast") as store:
        store.scope(SCOPE).set_many({f"{number}": VALUE * 10 for number in range(500)})
        for name, call in (("copy.db", store.backup), ("all.ndjson", store.export)):
            with pytest.raises(Unavailable) as refused:
                call(str(disk.folder / name))
            assert "full" in refused.value.message or "No space left" in refused.value.message
            assert refused.value.hint
            assert list(disk.folder.iterdir()) == []


def test_upkeep_survives_a_full_disk(disk: Disk) -> None:
    """Moving the log into the file needs room too: the writer is not told, and nothing dies of it."""
    path = disk.folder / "memory.db"
    with memwell.open(path, sweep_seconds=0.01) as store:
        backend = store._door.engine.backend
        mem = store.scope(SCOPE)
        mem.set("fleeting", VALUE, ttl=0.001)
        kept = [mem.set(f"k{number}", VALUE).key for number in range(30)]
        disk.fill()
        for _ in range(3):
            try:
                backend.tend()
            except Unavailable as error:
                assert_says_full(error)
        assert mem.list() == sorted(kept)
        disk.free()
        backend.tend()
        kept.append(mem.set("after", VALUE).key)
    assert_kept(path, kept)
