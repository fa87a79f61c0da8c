"""A log of JSON lines that is torn, killed, full or shared: nothing acknowledged is lost, nothing counts by half."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import memwell.store.jsonl_log
from memwell.config import settings_from
from memwell.errors import Unavailable
from memwell.store.jsonl import Jsonl
from memwell.testing import opened, promise
from memwell.testing.driver import SCOPE, Driver, a_put

from .children import Child
from .disks import Disk, mounted
from .jsonl_child import ACTS
from .scale import PATIENCE_S, scaled, until_a_random_moment

APPENDS = scaled(300, 1000)
LIVES = scaled(4, 100)
LONGEST_LIFE_S = 0.4


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


def made(path: Path, durability: Any = "fast") -> Jsonl:
    return Jsonl(str(path), settings_from(durability=durability))


def values(backend: Jsonl) -> dict[str, bytes]:
    return {cell.key: cell.data for cell in Driver(backend).cells()}


@promise("jsonl:torn")
def test_a_torn_end_of_any_length_is_recovered(log: Path) -> None:
    backend = made(log)
    Driver(backend).made("kept")
    backend.write(lambda view: view.put_all([a_put("a", "é" * 9), a_put("b")]), 5)
    backend.close()
    whole = log.read_bytes()
    kept = whole.index(b"\n", whole.index(b'"kept"')) + 1
    beside = Path(f"{log}.torn")
    for length in range(kept, len(whole) + 1):
        log.write_bytes(whole[:length])
        beside.unlink(missing_ok=True)
        backend = made(log)
        expected = ["kept"] if length < len(whole) else ["a", "b", "kept"]
        assert list(values(backend)) == expected, length
        assert log.read_bytes() == whole[:length], "a read changes nothing"
        torn = length - kept if length < len(whole) else 0
        _assert_said(backend, torn)
        Driver(backend).made("next")
        assert list(values(backend)) == sorted([*expected, "next"])
        assert (beside.read_bytes() if torn else b"") == whole[kept : kept + torn]
        _assert_said(backend, torn)
        assert all(json.loads(line) for line in log.read_text().splitlines())
        backend.close()


def _assert_said(backend: Jsonl, torn: int) -> None:
    said = backend.describe().get("torn")
    assert said == ({"bytes": torn, "kept_in": f"{backend.path}.torn"} if torn else None)
    assert len(backend.check(None).damage) == bool(torn)


@promise("jsonl:torn")
def test_a_torn_end_beside_a_running_store_is_recovered(log: Path) -> None:
    one, other = made(log), made(log)
    Driver(one).made("a")
    assert list(values(other)) == ["a"]
    with log.open("ab") as file:
        file.write(b'{"op":"upsert","scope":"agent:a","id":"never","value":1,"sha')
    assert list(values(other)) == list(values(one)) == ["a"]
    Driver(other).made("b")
    assert list(values(other)) == list(values(one)) == ["a", "b"]
    for backend in (one, other):
        backend.close()


@pytest.mark.parametrize("junk", [b"\0" * 300, b"\0" * 30 + b"\n", b'{"op":\n\xff\xfe\n{"a', b"]\n"])
@promise("jsonl:torn")
def test_junk_at_the_end_is_torn_too(log: Path, junk: bytes) -> None:
    backend = made(log)
    Driver(backend).made("a")
    with log.open("ab") as file:
        file.write(junk)
    assert list(values(backend)) == ["a"]
    Driver(backend).made("b")
    assert Path(f"{log}.torn").read_bytes() == junk
    backend.close()
    again = made(log)
    assert list(values(again)) == ["a", "b"]
    again.close()


@pytest.mark.campaign
@promise("jsonl:shared")
def test_processes_that_append_at_once_lose_nothing(log: Path, figure: Callable[[str], None]) -> None:
    watching = made(log)
    with ExitStack() as stack:
        children = [stack.enter_context(Child("jsonl_child", "append", log, f"p{n}", APPENDS)) for n in range(2)]
        for child in children:
            child.expect("ready")
        for child in children:
            child.tell("go")
        seen = _watched(watching, 2 * APPENDS)
        assert [int(child.expect("appended")) for child in children] == [APPENDS, APPENDS]
        for child in children:
            child.finish()
    lines = [json.loads(line) for line in log.read_text().splitlines()][1:]
    assert len(lines) == len(seen) == len(set(seen)) == 2 * APPENDS
    assert [line["id"] for line in lines] == seen
    watching.close()
    figure(f"jsonl: 2 processes x {APPENDS} appends: {len(lines)} lines, 0 lost, watched in order by a third")


def _watched(backend: Jsonl, most: int) -> list[str]:
    """The keys of every change, as another process sees them come."""
    seen: list[str] = []
    after = 0
    while len(seen) < most:
        changes = Driver(backend).changes(after)
        assert [change.rev for change in changes] == list(range(after + 1, after + 1 + len(changes)))
        seen += [change.key for change in changes]
        after += len(changes)
    return seen


@pytest.mark.campaign
@promise("jsonl:kill")
def test_nothing_acknowledged_is_lost_by_kill_9(
    log: Path, tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    book, found = tmp_path / "book", 0
    for life in range(LIVES):
        with ExitStack() as stack:
            children = [
                stack.enter_context(Child("jsonl_child", "forever", log, f"{life}{how}", book, how))
                for how in ("fast", "full")
            ]
            children.append(stack.enter_context(Child("jsonl_child", "compact", log)))
            for child in children:
                child.expect("writing")
            until_a_random_moment(rng, LONGEST_LIFE_S)
            rng.shuffle(children)
            for child in children:
                child.kill()
        told = set(book.read_text().split()) if book.exists() else set()
        backend = made(log)
        there = values(backend)
        pairs = {key[:-2] for key in there}
        assert told <= pairs, "lost"
        assert all(there[f"{pair}-a"] == there[f"{pair}-b"] for pair in pairs), "half a transaction"
        assert [each for each in backend.check(None).damage if "torn" not in each.problem + each.where] == []
        backend.close()
        found = len(told)
    assert found > LIVES
    figure(f"jsonl, kill -9: {LIVES} lives of 2 writers and a compactor: {found} acknowledged pairs, 0 lost, 0 torn")


@pytest.mark.parametrize("act", ACTS)
@promise("jsonl:kill", "jsonl:compact")
def test_killed_before_any_line_of_its_code_it_is_whole(log: Path, act: str, figure: Callable[[str], None]) -> None:
    with Child("jsonl_child", "forks", log, act) as child:
        kills = int(child.expect("killed"))
        child.finish()
    assert kills > 50
    figure(f"jsonl, kill -9 before each line of code of {act}: {kills} kills, whole each time")


@pytest.mark.parametrize("act", ACTS)
@promise("jsonl:kill")
def test_interrupted_before_any_line_of_its_code_it_is_whole(
    log: Path, act: str, figure: Callable[[str], None]
) -> None:
    with Child("jsonl_child", "interrupts", log, act) as child:
        times = int(child.expect("interrupted"))
        child.finish()
    assert times > 50
    figure(f"jsonl, interrupted before each line of code of {act}: {times} times, whole each time")


@promise("jsonl:fork")
def test_children_write_with_what_they_inherit_while_threads_write(log: Path) -> None:
    stop = threading.Event()
    with opened("sync", made(log)) as store:
        mem = store.scope(SCOPE)
        mem.set("fixed", 1)

        def work() -> None:
            while not stop.is_set():
                mem.set_many({"m0": 1, "m1": 1})

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(scaled(10, 100)):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    mem.set(f"child-{number}", mem.get("fixed"))
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(pid, 0)[1] == 0
            assert mem.get(f"child-{number}") == 1
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        assert store.check().damage == []


# Disks that are full or fail


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk", "1m") as disk:
        yield disk


@pytest.mark.parametrize("durability", ["full", "fast"])
@promise("jsonl:full")
def test_a_full_disk_loses_nothing_and_leaves_nothing_half(disk: Disk, durability: Any) -> None:
    log = disk.folder / "memory.jsonl"
    driver = Driver(made(log, durability))
    kept = [driver.made(f"{number}", "x" * 700).key for number in range(20)]
    disk.fill()
    kept += _until_full(driver)
    sound = log.read_bytes()
    with pytest.raises(Unavailable):
        driver.backend.write(lambda view: view.put_all([a_put(f"too-much-{n}", "x" * 7000) for n in range(9)]), 5)
    for change in (driver.erase, driver.backend.compact):  # type: ignore[attr-defined]
        with pytest.raises(Unavailable, match="full"):
            change()
    assert log.read_bytes() == sound
    assert driver.keys() == sorted(kept)
    assert {path.name for path in disk.folder.iterdir()} == {"ballast", "memory.jsonl", "memory.jsonl.lock"}
    disk.free()
    kept.append(driver.made("again").key)
    driver.backend.close()
    again = made(log)
    assert sorted(values(again)) == sorted(kept)
    assert again.check(None).damage == []
    again.close()


def _until_full(driver: Driver) -> list[str]:
    """What still found room in the last block of the file."""
    kept: list[str] = []

    def write() -> None:
        while True:
            kept.append(driver.made(f"more-{len(kept)}", "x" * 700).key)

    with pytest.raises(Unavailable, match="full") as refused:
        write()
    assert refused.value.hint
    return kept


@promise("jsonl:full")
def test_a_write_that_is_cut_short_leaves_nothing(log: Path) -> None:
    backend = made(log)
    driver = Driver(backend)
    driver.made("a")
    before, limits = log.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, limits[1]))
    try:
        with pytest.raises(Unavailable):
            driver.put("b", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert log.read_bytes() == before
    assert driver.keys() == ["a"]
    assert driver.made("b").rev == 2
    backend.close()


@pytest.mark.parametrize("call", ["put", "erase", "compact"])
@promise("jsonl:full")
def test_a_disk_that_fails_to_flush_acknowledges_nothing(log: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, other = made(log, "full"), made(log)
    driver = Driver(backend)
    driver.made("a")
    before = values(other)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(memwell.store.jsonl_log, "flush", fail)
        broken.setattr(os, "fsync", fail)
        with pytest.raises(Unavailable, match="failed"):
            {"put": lambda: driver.put("b"), "erase": driver.erase, "compact": backend.compact}[call]()
    assert values(other) == before == values(backend)
    assert driver.made("b").rev == 2
    for each in (backend, other):
        each.close()
