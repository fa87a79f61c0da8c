"""The file of a JSONL store: who may read it, who holds its lock, what others do to it, and copies of it."""

from __future__ import annotations

import pytest

from memwell.errors import Busy, Invalid, Unavailable
from memwell.store.jsonl import Jsonl
from memwell.testing import promise
from memwell.testing.driver import NOW, SCOPE, Driver, a_put

from .test_jsonl import FAST, made, state, write


@pytest.fixture
def log(tmp_path):
    return tmp_path / "memory.jsonl"


@pytest.fixture
def backend(log):
    backend = made(log)
    yield backend
    backend.close()


@promise("file:private")
def test_all_files_are_private(tmp_path):
    log = tmp_path / "new" / "folder" / "memory.jsonl"
    backend = made(log, durability="full")
    Driver(backend).made()
    backend.compact()
    with log.open("ab") as file:
        file.write(b'{"torn')
    Driver(backend).made()
    backend.close()
    assert {path.name for path in log.parent.iterdir()} == {f"memory.jsonl{end}" for end in ("", ".lock", ".torn")}
    assert {path.stat().st_mode & 0o777 for path in log.parent.iterdir()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (log.parent, log.parent.parent)} == {0o700}


@promise("file:unwritable")
def test_a_path_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "memory.jsonl", tmp_path):
        with pytest.raises(Unavailable) as error:
            made(path)
        assert error.value.hint
    with pytest.raises(Invalid):
        Jsonl("", FAST)


@promise("jsonl:shared")
def test_a_lock_that_is_held_is_busy_after_the_wait(backend, log):
    driver, other = Driver(backend), made(log)
    driver.made()

    def job(view):
        with pytest.raises(Busy):
            other.write(lambda theirs: theirs.put(a_put("late")), 0.01)
        return other.read(lambda theirs: theirs.cell(SCOPE, "fact", "k", NOW), 0.05)

    with pytest.raises(Busy):
        write(backend, job)  # the other has not read yet, and has to wait for its first look
    assert other.read(lambda theirs: theirs.cell(SCOPE, "fact", "k", NOW), 0.05) == driver.cell()
    assert write(backend, job) == driver.cell()  # now it has: reads that find nothing new need no lock
    other.close()


@promise("jsonl:shared")
def test_a_lock_file_that_somebody_removed_locks_nobody_out_and_nobody_in(backend, log):
    driver, other = Driver(backend), Driver(made(log))
    driver.made("a")
    log.with_name("memory.jsonl.lock").unlink()
    other.made("b")
    driver.made("c")
    assert driver.keys() == other.keys() == ["a", "b", "c"]
    other.backend.close()


@pytest.mark.parametrize("commit", ["append", "erase"])
@promise("jsonl:shared", "jsonl:hand")
def test_what_somebody_adds_without_the_lock_is_not_overwritten(backend, log, commit):
    driver = Driver(backend)
    driver.made("a")

    def job(view):
        with log.open("a") as file:
            file.write('{"op":"upsert","scope":"agent:a","id":"theirs","value":1}\n')
        return view.put(a_put("ours")) if commit == "append" else view.erase(SCOPE, NOW, "tester", "scope.delete")

    with pytest.raises(Busy, match="without its lock"):
        write(backend, job)
    assert driver.keys() == ["a", "theirs"]
    assert driver.made("ours").rev == 3


@promise("jsonl:shared")
def test_a_file_that_is_gone_is_said_to_be(backend, log):
    driver = Driver(backend)
    driver.made()
    log.unlink()
    for attempt in (driver.cell, driver.put):
        with pytest.raises(Unavailable, match="gone"):
            attempt()


@promise("file:backup")
def test_a_backup_is_a_store_and_never_overwrites(backend, tmp_path):
    driver = Driver(backend)
    driver.made()
    copy = tmp_path / "copy.jsonl"
    assert backend.backup(str(copy), None) == copy.stat().st_size
    again = made(copy)
    assert state(again) == state(backend)
    again.close()
    with pytest.raises(Invalid, match="exists"):
        backend.backup(str(copy), None)


@promise("file:describe")
def test_it_says_where_and_how_safely(backend, log):
    Driver(backend).made()
    found = backend.describe()
    assert (found["path"], found["mode"], found["lines"]) == (str(log), "0o600", 2)
    assert found["bytes"] == log.stat().st_size
    assert "torn" not in found
    assert backend.traits.durability == "crash-safe"
    durable = made(log, durability="full")
    assert durable.traits.durability == "power-safe"
    durable.close()
