"""A disk that fails at any one call of a write: a typed error, nothing half done, and the next call works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import memwell
import memwell.store.sqlite
from memwell.errors import Unavailable

from . import audit
from .failing_disk import Faults, each_fault, failing_disk
from .scale import PATIENCE_S

SCOPE = "agent:a"
THREADS = 8


def batch(mem: memwell.Memory) -> None:
    with mem.batch() as batch:
        batch.set("new", "x" * 9000)
        batch.delete("b")
        batch.set("a", 2)


CALLS: dict[str, Callable[[memwell.Memory], object]] = {
    "set": lambda mem: mem.set("a", 2),
    "cas": lambda mem: mem.set("a", 2, if_version=version(mem)),
    "large": lambda mem: mem.set("new", "x" * 60_000),
    "ttl": lambda mem: mem.set("new", 1, ttl=60),
    "set_many": lambda mem: mem.set_many({f"many-{number}": "x" * 1000 for number in range(12)}),
    "delete": lambda mem: mem.delete("a"),
    "clear": lambda mem: mem.clear(),
    "revert": lambda mem: mem.revert("a", version(mem) - 1),
    "batch": batch,
    "delete_scope": lambda mem: mem.delete_scope(),
}


def version(mem: memwell.Memory) -> int:
    entry = mem.entry("a")
    assert entry is not None
    return entry.version


def prepare(mem: memwell.Memory) -> None:
    mem.set_many({"a": 0, "b": 0})
    mem.set("a", 1)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    with failing_disk(monkeypatch) as faults:
        yield faults


@pytest.mark.parametrize("kind", ["write", "full", "flush"])
@pytest.mark.parametrize("call", CALLS)
def test_a_write_fails_whole(tmp_path: Path, faults: Faults, call: str, kind: str) -> None:
    path = tmp_path / "memory.db"
    forgetful = call == "delete_scope"
    failed = 0
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        for fault in each_fault(faults, kind):
            prepare(mem)
            before = audit.rows(path)
            try:
                with fault:
                    CALLS[call](mem)
            except Unavailable as error:
                failed += 1
                audit.assert_helpful(error)
                assert fault.struck
                assert audit.rows(path) == before
                audit.assert_sound(audit.as_after_a_crash(path, tmp_path / "copy"), forgetful=forgetful)
                mem.set("next", failed)
            else:
                assert audit.rows(path) != before
    assert failed > 0
    with memwell.open(path) as store:
        assert store.scope(SCOPE).get("next", failed) == failed
    audit.assert_sound(path, forgetful=forgetful)


@pytest.mark.parametrize("kind", ["read", "write", "full", "flush"])
def test_a_writer_whose_checkpoint_fails_is_still_told_that_it_wrote(
    tmp_path: Path, faults: Faults, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit comes before the log is moved into the file: an error there must not be taken for the write's."""
    monkeypatch.setattr(memwell.store.sqlite, "WAL_PAGES_MOST", 1)
    path = tmp_path / "memory.db"
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        for fault in each_fault(faults, kind):
            versions = len(mem.history("a"))
            try:
                with fault:
                    mem.set("a", 1)
            except Unavailable:
                assert len(mem.history("a")) == versions
            else:
                assert len(mem.history("a")) == versions + 1
    audit.assert_sound(path)


@pytest.mark.parametrize("kind", ["write", "full", "flush"])
def test_a_group_whose_commit_fails_is_tried_one_by_one(tmp_path: Path, faults: Faults, kind: str) -> None:
    """Whatever is acknowledged is there, once; only a flush that fails after the commit may leave more than that."""
    path = tmp_path / "memory.db"
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        for nth in range(1, 40):
            faults.order(kind, nth)
            told = together(mem, f"{nth}")
            faults.heal()
            kept = {entry.key: entry.version for entry in mem.entries(prefix=f"{nth}-")}
            assert told.items() <= kept.items()
            assert kept == told or kind == "flush"
            assert set(kept.values()) <= {1}
    audit.assert_sound(path)


def test_a_disk_that_stays_broken_refuses_the_whole_group_and_recovers(tmp_path: Path, faults: Faults) -> None:
    path = tmp_path / "memory.db"
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        faults.order("flush", 1, lasting=True)
        assert together(mem, "broken") == {}
        faults.heal()
        assert len(together(mem, "whole")) == THREADS
    audit.assert_sound(path)


def together(mem: memwell.Memory, name: str) -> dict[str, int]:
    """Set one key a thread, all at once; the versions that were acknowledged."""
    told: dict[str, int] = {}
    start = threading.Barrier(THREADS, timeout=PATIENCE_S)

    def write(number: int) -> None:
        start.wait()
        with suppress(Unavailable):
            told[f"{name}-{number}"] = mem.set(f"{name}-{number}", number, if_version=0).version

    running = [threading.Thread(target=write, args=(number,)) for number in range(THREADS)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    return told
