"""The shipped suite on `jsonl`, durable and fast; what is stored is read with a parser of the test's own."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import ClassVar

import pytest

from memwell.config import settings_from
from memwell.store import Drop
from memwell.store.index import Doc
from memwell.store.jsonl import Jsonl
from memwell.testing import BackendTests, forgetting, frozen_clock, model, opened, promise
from memwell.testing.driver import NOW, OTHER, SCOPE, Driver, a_drop, a_put

FAST = settings_from(durability="fast")
SHAPES = ("fact", "record", "record")
STEPS = 40


def made(path, **options):
    return Jsonl(str(path), settings_from(**{"durability": "fast", **options}))


def lines_of(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def state(backend):
    """All that a backend holds in memory, once it has read the file."""
    backend.read(lambda view: None, 1)
    scopes = {
        scope: (
            (held.floor, held.horizon, held.horizon_at),
            held.events,
            {name: (row.cell, row.version, row.events) for name, row in held.rows.items()},
        )
        for scope, held in backend._scopes.items()
        if held.events or held.floor or held.horizon
    }
    docs = {space: held for space, held in backend._spaces.items() if held}
    numbers = [number for held in docs.values() for number, _ in held.values()]
    assert len(numbers) == len({*numbers})
    return scopes, backend._rev, docs, backend._vectors


class TestJsonl(BackendTests):
    def make(self, tmp_path):
        return made(tmp_path / "memory.jsonl", **{"durability": "full", **self.options})

    def raw(self, backend, scope, key):
        found = [line for line in lines_of(backend.path) if (line.get("scope"), line.get("id")) == (scope, key)]
        return json.dumps(found[-1]["value"]).encode() if "value" in found[-1] else None


class TestJsonlFast(TestJsonl):
    options: ClassVar = {"durability": "fast"}

    def make(self, tmp_path):
        return f"jsonl:{tmp_path / 'memory.jsonl'}"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "memory.jsonl"


@pytest.fixture
def backend(log):
    backend = made(log)
    yield backend
    backend.close()


def write(backend, job):
    return backend.write(job, 5)


def remember(key="r", **body):
    return a_put(key, {"content": "likes tea", **body}, shape="record", op="record.remember")


@promise("jsonl:line")
def test_a_line_says_who_wrote_what_and_when(backend, log):
    write(backend, lambda view: view.put(a_put("k", [1, "é"], expires=NOW + 5)))
    head, line = lines_of(log)
    assert head["op"] == "head"
    assert list(line)[:4] == ["op", "scope", "id", "version"]
    assert len(line.pop("sum")) == 16
    assert line == {
        "op": "upsert",
        "scope": SCOPE,
        "id": "k",
        "version": 1,
        "at": "2030-03-17T17:46:40Z",
        "by": "tester",
        "event": "fact.set",
        "shape": "fact",
        "expires": "2030-03-17T17:46:40.000005Z",
        "value": [1, "é"],
    }
    assert "é" in log.read_text(), "text is readable"


@promise("jsonl:line")
def test_records_stand_in_upsert_supersede_and_delete_lines(backend, log):
    for put in (
        remember("old"),
        remember("new", supersedes=["old"]),
        remember("new", supersedes=["old"], pinned=True),
        remember("new", status="deleted", reason="wrong"),
    ):
        write(backend, lambda view, put=put: view.put(put))
    write(backend, lambda view: view.drop(Drop(SCOPE, "record", "old", NOW, "tester", "record.forget")))
    _, *lines = lines_of(log)
    assert [line["op"] for line in lines] == ["upsert", "supersede", "upsert", "delete", "delete"]
    assert lines[3]["record"] == {"content": "likes tea", "status": "deleted", "reason": "wrong"}
    assert "record" not in lines[4]
    assert all("shape" not in line for line in lines)
    again = made(log)
    assert state(again) == state(backend)
    again.close()


@promise("jsonl:transaction")
def test_the_lines_of_a_transaction_name_each_other(backend, log):
    write(backend, lambda view: view.put_all([a_put(key) for key in "abc"]))
    assert [line.get("more", False) for line in lines_of(log)[1:]] == [True, True, False]
    assert lines_of(log)[-1]["lines"] == 3


def a_step(rng, now):
    """Something that a job may do, by chance."""
    scope, shape, key = rng.choice((SCOPE, OTHER)), rng.choice(SHAPES), rng.choice("abc")
    kind = rng.choice(("put", "put", "put", "put", "expiring", "drop", "clear", "erase", "redact", "unindex", "load"))
    body = {"content": str(rng.random()), "status": rng.choice(("active", "deleted")), "supersedes": ["x"]}
    put = a_put(key, body, scope=scope, shape=shape, now=now)
    if kind in ("put", "expiring", "load"):
        expires = now + rng.randrange(1, 9) if kind == "expiring" else None
        put = put._replace(expires=expires, version=rng.choice((None, 7)) if kind == "load" else None)
        return lambda view: _indexed(view, put, rng)
    return {
        "drop": lambda view: view.drop(a_drop(key, scope, now)._replace(shape=shape)),
        "clear": lambda view: view.drop(a_drop(None, scope, now)._replace(shape=shape)),
        "erase": lambda view: view.erase(scope, now, "tester", "scope.delete"),
        "redact": lambda view: view.redact(scope, shape, key),
        "unindex": lambda view: view.unindex(scope, shape, key),
    }[kind]


def _indexed(view, put, rng):
    cell = view.put(put)
    if put.shape == "record" and rng.random() < 0.8:
        made_from = rng.randbytes(4)
        marks = ("kind:note",) * rng.randrange(2)
        view.index([Doc(put.scope, "record", put.key, cell.rev, cell.created, None, marks, " tea ", 1, made_from)])
        if rng.random() < 0.5:
            view.save_vectors("m", [(put.scope, "record", put.key, made_from, rng.randbytes(8))])


class Refused(Exception):
    pass


@pytest.mark.parametrize("seed", range(12))
@promise("jsonl:reopen", "jsonl:shared")
def test_whoever_reads_the_file_sees_the_same(log, seed):
    """Two that write in turn, one that only reads, and one that opens the file anew after every step."""
    rng = random.Random(seed)
    writers, reader = [made(log), made(log)], made(log)
    for step in range(STEPS):
        now, writer = NOW + step, rng.choice(writers)
        jobs = [a_step(rng, now) for _ in range(rng.randrange(1, 4))]
        fails = rng.random() < 0.2

        def job(view, jobs=jobs, fails=fails):
            for each in jobs:
                each(view)
            if fails:
                raise Refused

        try:
            write(writer, job)
        except Refused:
            assert fails
        if rng.random() < 0.2:
            writer.sweep(now, rng.choice((None, now - 5)), 100)
        if rng.random() < 0.05:
            with frozen_clock():
                writer.compact()
        fresh = made(log)
        seen = state(fresh)
        fresh.close()
        assert [state(each) for each in (*writers, reader)] == [seen] * 3
        assert writer.check(None).damage == []
    for each in (*writers, reader):
        each.close()


@promise("model:facts")
def test_jsonl_answers_as_the_list_of_its_writes_does(log):
    with opened("sync", made(log, sweep_seconds=1_000_000)) as store:
        assert model.run(store, 60) >= 60


@promise("model:forgetting")
def test_a_log_that_forgets_keeps_what_is_current(log):
    options = {"history_seconds": forgetting.HISTORY_S, "sweep_seconds": 1_000_000}
    with opened("sync", made(log, **options), **options) as store:
        assert forgetting.run(store, 40) >= 40


@promise("jsonl:reopen")
def test_what_was_indexed_twice_in_one_transaction_is_found_again(backend, log):
    def job(view):
        doc = Doc(SCOPE, "record", "r", view.put(remember()).rev, NOW, None, (), " tea ", 1, b"made")
        view.index([doc])
        view.unindex(SCOPE, "record", "r")
        view.index([doc._replace(text=" coffee ")])
        return view.save_vectors("m", [(SCOPE, "record", "r", b"made", b"data"), (SCOPE, "record", "r", b"old", b"")])

    assert write(backend, job) == 1
    again = made(log)
    assert state(again) == state(backend)
    assert again.holding(SCOPE, "record", [["coffee"]], 9) == [again.doc_id(SCOPE, "record", "r")]
    assert [vector.data for vector in again.vectors(SCOPE, "record", "m", 0, 10)] == [b"data"]
    again.close()


# What is gone is gone from the file


@pytest.mark.parametrize("way", ["erase", "redact", "sweep", "compact"])
@promise("jsonl:gone")
def test_what_is_gone_is_not_in_the_file(backend, log, way):
    write(backend, lambda view: view.put(a_put("k", "a secret", expires=NOW + 1)))
    write(backend, lambda view: view.put(a_put("k", "open")))
    write(backend, lambda view: view.put(a_put("other", "kept", scope=OTHER)))
    assert "a secret" in log.read_text()
    {
        "erase": lambda: write(backend, lambda view: view.erase(SCOPE, NOW, "tester", "scope.delete")),
        "redact": lambda: write(backend, lambda view: view.redact(SCOPE, "fact", "k")),
        "sweep": lambda: backend.sweep(NOW + 1, None, 100),
        "compact": backend.compact,
    }[way]()
    assert "a secret" not in log.read_text()
    assert "kept" in log.read_text()
    again = made(log)
    assert state(again) == state(backend)
    again.close()
    assert sorted(path.name for path in log.parent.iterdir()) == ["memory.jsonl", "memory.jsonl.lock"]


@promise("jsonl:gone", "jsonl:torn")
def test_what_was_torn_goes_with_what_is_erased(backend, log):
    driver = Driver(backend)
    driver.made()
    with log.open("ab") as file:
        file.write(b'{"op":"upsert","scope":"agent:a","id":"k","value":"a sec')
    driver.made()
    assert backend.describe()["torn"]["bytes"] > 0
    driver.erase()
    assert not log.with_name("memory.jsonl.torn").exists()
    assert "torn" not in backend.describe()


@promise("jsonl:compact")
def test_compacting_keeps_what_is_current_and_says_what_was_forgotten(backend, log):
    driver = Driver(backend)
    for number in range(50):
        driver.made("k", number)
        driver.made("gone", number)
    driver.drop("gone")
    kept, reached = driver.cell(), driver.position().rev
    size = log.stat().st_size
    assert backend.compact() == size - log.stat().st_size > 0
    assert driver.cell() == kept
    assert driver.keys() == ["k"]
    assert [event.rev for event in driver.changes()] == [kept.rev]
    assert driver.position().horizon == reached
    again = Driver(made(log))
    assert again.put("gone", if_version=50) is None
    assert again.made("gone").version == 51
    assert again.made("k").version == 51
    assert again.changes()[-1].rev == reached + 2
    again.backend.close()


@promise("jsonl:compact")
def test_forgetting_by_itself_makes_a_new_file_only_when_most_lines_are_dead(backend, log):
    driver = Driver(backend)
    for number in range(150):
        driver.made("k", number)
    inode = log.stat().st_ino
    backend.sweep(NOW + 10, NOW + 10, 100)
    assert log.stat().st_ino == inode
    assert lines_of(log)[-1]["op"] == "sweep"
    for number in range(150):
        driver.made("k", number, now=NOW + 11)
    backend.sweep(NOW + 20, NOW + 20, 100)
    assert [line["op"] for line in lines_of(log)] == ["head", "upsert", "scope"]
    again = made(log)
    assert state(again) == state(backend)
    again.close()
