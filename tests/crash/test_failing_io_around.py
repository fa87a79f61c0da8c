"""A disk that fails at any one call around a write: while opening, reading, moving the log, closing, copying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import memwell
from memwell.errors import MemwellError, Unavailable

from . import audit
from .failing_disk import Faults, each_fault, failing_disk
from .test_failing_io import SCOPE, prepare

KINDS = ["read", "write", "full", "flush", "truncate", "delete"]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    with failing_disk(monkeypatch) as faults:
        yield faults


def close(store: memwell.Store) -> None:
    """Close on a failing disk. SQLite keeps quiet about it; only a disk written in Python lets the error out."""
    with suppress(apsw.Error):
        store.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fresh", [True, False], ids=["new", "after a crash"])
def test_opening_fails_with_an_error_of_ours_and_succeeds_the_next_time(
    tmp_path: Path, faults: Faults, kind: str, fresh: bool
) -> None:
    crashed = tmp_path / "crashed.db"
    with memwell.open(crashed) as store:
        prepare(store.scope(SCOPE))
        left = audit.as_after_a_crash(crashed, tmp_path / "left")
    for number, fault in enumerate(each_fault(faults, kind)):
        path = tmp_path / f"{number}.db" if fresh else audit.as_after_a_crash(left, tmp_path / f"{number}")
        try:
            with fault:
                close(memwell.open(path))
        except MemwellError as error:
            audit.assert_helpful(error)
            assert fault.struck
        with memwell.open(path) as store:
            assert store.scope(SCOPE).get("a") == (None if fresh else 1)
            store.scope(SCOPE).set("b", number)
        audit.assert_sound(path)


READS: dict[str, Callable[[memwell.Store, memwell.Memory], object]] = {
    "get": lambda store, mem: mem.get("a"),
    "list": lambda store, mem: mem.list(),
    "history": lambda store, mem: mem.history("a"),
    "get_many": lambda store, mem: mem.get_many(["a", "b"]),
    "stats": lambda store, mem: store.stats(),
    "scopes": lambda store, mem: store.scopes(),
    "watch": lambda store, mem: list(mem.watch(since=0, timeout=0.001)),
}


@pytest.mark.parametrize("read", READS)
def test_a_read_fails_with_an_error_of_ours_and_the_next_one_works(tmp_path: Path, faults: Faults, read: str) -> None:
    path = tmp_path / "memory.db"
    with memwell.open(path) as store:
        prepare(store.scope(SCOPE))
        expected = READS[read](store, store.scope(SCOPE))
    failed = 0
    for fault in each_fault(faults, "read"):
        with memwell.open(path) as store:
            mem = store.scope(SCOPE)
            try:
                with fault:
                    assert READS[read](store, mem) == expected
            except Unavailable:
                failed += 1
            assert READS[read](store, mem) == expected
            mem.set("b", 0)
            expected = READS[read](store, mem)
    assert failed > 0


@pytest.mark.parametrize("kind", KINDS)
def test_closing_and_upkeep_lose_nothing(tmp_path: Path, faults: Faults, kind: str) -> None:
    path = tmp_path / "memory.db"
    for number, fault in enumerate(each_fault(faults, kind)):
        store = memwell.open(path)
        prepare(store.scope(SCOPE))
        store.scope(SCOPE).set("round", number)
        with fault:
            with suppress(Unavailable):
                store._door.engine.backend.tend()
            close(store)
        audit.assert_sound(path)
        with memwell.open(path) as store:
            assert store.scope(SCOPE).get("round") == number


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_that_fails_is_not_there(tmp_path: Path, faults: Faults, kind: str) -> None:
    with memwell.open(tmp_path / "memory.db") as store:
        store.scope(SCOPE).set_many({f"{number}": "x" * 3000 for number in range(30)})
        for number, fault in enumerate(each_fault(faults, kind)):
            folder = tmp_path / f"{number}"
            folder.mkdir()
            try:
                with fault:
                    store.backup(str(folder / "copy.db"))
            except Unavailable:
                assert list(folder.iterdir()) == []
            else:
                audit.assert_sound(folder / "copy.db")
