"""Copies made at the same time as others, or beside writers: what has its name is whole, nothing is overwritten."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import memwell
from memwell.errors import Invalid, MemwellError

from . import audit
from .scale import PATIENCE_S

FACTS = 600
Copy = Callable[[memwell.Store, Path, Callable[[int, int], None]], object]


def backup(store: memwell.Store, target: Path, progress: Callable[[int, int], None]) -> object:
    return store.backup(str(target), progress)


def export(store: memwell.Store, target: Path, progress: Callable[[int, int], None]) -> object:
    return store.export(str(target), progress=progress)


def assert_whole(target: Path, folder: Path) -> None:
    """Whether it is a backup or an export, everything is in it."""
    if target.suffix == ".db":
        audit.assert_sound(target)
        loaded = target
    else:
        loaded = folder / "loaded.db"
        with memwell.open(loaded, durability="fast") as store:
            store.load(str(target), replace=True)
    with memwell.open(loaded) as store:
        assert len(store.scope("agent:a").list()) == FACTS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with memwell.open(path, durability="fast") as store:
        store.scope("agent:a").set_many({f"{number:04}": "x" * 2000 for number in range(FACTS)})
    return path


@pytest.mark.parametrize(("copy", "name"), [(backup, "copy.db"), (export, "all.ndjson")])
def test_two_to_the_same_name_at_once(path: Path, tmp_path: Path, copy: Copy, name: str) -> None:
    """The second begins when the first is half done, and is half done itself when the first ends."""
    target = tmp_path / name
    half, first_is_done = threading.Event(), threading.Event()
    refused: list[MemwellError] = []

    def wait(*_: int) -> None:
        half.set()
        assert first_is_done.wait(PATIENCE_S)

    def second() -> None:
        try:
            copy(store, target, wait)
        except MemwellError as error:
            refused.append(error)

    def start_second(*_: int) -> None:
        if not half.is_set():
            thread.start()
            assert half.wait(PATIENCE_S)

    thread = threading.Thread(target=second)
    with memwell.open(path) as store:
        copy(store, target, start_second)
        assert_whole(target, tmp_path)
        first_is_done.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert_whole(target, tmp_path)
    assert [type(error) for error in refused] == ([Invalid] if copy is backup else [])


def test_a_backup_never_overwrites(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    with memwell.open(path) as store, pytest.raises(Invalid, match="exists"):
        store.backup(str(target))
    assert target.read_text() == "precious"


def test_a_backup_beside_writers_is_one_moment(path: Path, tmp_path: Path) -> None:
    """Each write adds one to two numbers at once: in a copy they are the same."""
    stop = threading.Event()

    def write(mem: memwell.Memory) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            mem.set_many({"one": number, "other": number})

    with memwell.open(path, durability="fast") as store:
        mem = store.scope("agent:b")
        mem.set_many({"one": 0, "other": 0})
        thread = threading.Thread(target=write, args=(mem,))
        thread.start()
        for each in range(5):
            store.backup(str(tmp_path / f"{each}.db"))
        stop.set()
        thread.join(PATIENCE_S)
    for each in range(5):
        audit.assert_sound(tmp_path / f"{each}.db")
        with memwell.open(tmp_path / f"{each}.db") as copy:
            assert copy.scope("agent:b").get("one") == copy.scope("agent:b").get("other")
