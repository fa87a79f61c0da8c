"""Lines that people write, edit or damage: what is well-formed counts, what is not is named by its number."""

from __future__ import annotations

import json
import os

import pytest

from memwell.errors import Corrupt, Unsupported
from memwell.store.index import Doc
from memwell.testing import promise
from memwell.testing.driver import SCOPE, Driver, a_put

from .test_jsonl import lines_of, made, write


@pytest.fixture
def log(tmp_path):
    return tmp_path / "memory.jsonl"


@pytest.fixture
def backend(log):
    backend = made(log)
    yield backend
    backend.close()


@promise("jsonl:hand")
def test_lines_written_by_hand_count(backend, log):
    log.write_text(
        '{"op":"upsert","scope":"agent:a","id":"x","record":{"content": "likes tea"}}\n\n'
        '{"op": "upsert", "scope": "agent:a", "id": "x", "record": {"content": "likes coffee"}, "by": "ann"}\n'
        '{"op":"upsert","scope":"agent:a","id":"theme","value":"dark","at":"2026-03-04T05:06:07+01:00"}\n'
        '{"op":"delete","scope":"agent:a","id":"nothing"}'
    )
    driver = Driver(backend)
    cell = driver.cell("x", shape="record")
    assert (cell.data, cell.version, cell.by) == (b'{"content":"likes coffee"}', 2, "ann")
    assert cell.updated == log.stat().st_mtime_ns // 1000
    assert driver.changes()[0].by == "hand"
    assert driver.cell("theme").updated == 1772597167000000
    driver.made("k")
    assert backend.check(None).damage == []
    assert log.read_text().count("\n") == 6
    again = made(log)
    assert [event.rev for event in Driver(again).changes()] == [1, 2, 3, 4]
    again.close()


@promise("jsonl:hand", "jsonl:shared")
@pytest.mark.parametrize("in_place", [True, False])
def test_an_edit_beside_a_running_store_is_seen(backend, log, in_place):
    driver = Driver(backend)
    driver.made("a", "dark")
    driver.made("b", "dark")
    text = log.read_text().replace('"dark"', '"a light one"', 1)
    edited = "".join(
        line if "light" not in line else line[: line.index(',"sum"')] + "}\n" for line in text.splitlines(1)
    )
    if not in_place:
        log.unlink()
    log.write_text(edited)
    assert driver.cell("a").data == b'"a light one"'
    assert driver.cell("b").data == b'"dark"'
    assert driver.made("a").version == 2


@promise("jsonl:hand", "jsonl:shared")
def test_an_edit_that_leaves_the_length_or_cuts_lines_is_seen(backend, log):
    log.write_text('{"op":"upsert","scope":"agent:a","id":"a","value":"dark"}\n' * 3)
    driver = Driver(backend)
    assert driver.cell("a").version == 3
    log.write_text(log.read_text().replace("dark", "dusk", 1))
    os.utime(log, ns=(0, 0))
    assert [event.data for event in driver.past("a")] == [b'"dark"', b'"dark"', b'"dusk"']
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    assert driver.cell("a").version == 1


@pytest.mark.parametrize("which", [0, 1, 2])
@promise("jsonl:hand")
def test_any_line_of_a_transaction_can_be_edited(backend, log, which):
    write(backend, lambda view: view.put_all([a_put(key, "dark") for key in "abc"]))
    lines = log.read_text().splitlines(keepends=True)
    edited = json.loads(lines[1 + which])
    edited |= {"value": "light"}
    del edited["sum"]
    lines[1 + which] = json.dumps(edited) + "\n"
    log.write_text("".join(lines))
    assert [cell.data for cell in Driver(backend).cells()].index(b'"light"') == which


@promise("jsonl:hand", "jsonl:torn")
def test_a_line_added_by_hand_after_a_torn_write_does_not_complete_it(backend, log):
    write(backend, lambda view: view.put_all([a_put(key) for key in "ab"]))
    head, first, _ = log.read_text().splitlines(keepends=True)
    log.write_text(head + first + '{"op":"upsert","scope":"agent:a","id":"c","value":1}\n')
    with pytest.raises(Corrupt, match=r"line 2 .* never finished"):
        Driver(backend).keys()
    log.write_text(head + log.read_text().splitlines()[-1])
    assert Driver(backend).keys() == ["c"]


@promise("jsonl:hand")
def test_what_search_finds_follows_from_a_line_written_by_hand(backend, log):
    def derive(scope, shape, cell):
        words = json.loads(cell.data)["content"]
        return Doc(scope, shape, cell.key, cell.rev, cell.created, None, (), f" {words} ", 1)

    backend.derive_by(derive)
    log.write_text('{"op":"upsert","scope":"agent:a","id":"x","record":{"content": "tea", "digest": "old"}}\n')
    held = backend.read(lambda view: view.holding(SCOPE, "record", [["tea"]], 9), 1)
    assert held == [backend.doc_id(SCOPE, "record", "x")]
    assert b"digest" not in Driver(backend).cell("x", shape="record").data
    put = a_put("y", {"content": "coffee"}, shape="record")
    write(backend, lambda view: view.index([derive(SCOPE, "record", view.put(put))]))
    assert lines_of(log)[-1]["n"] == 2
    assert "index" not in lines_of(log)[-1]
    unaware = made(log)  # cannot tell how, and loses nothing
    unaware.compact()
    unaware.close()
    assert backend.read(lambda view: view.holding(SCOPE, "record", [["coffee"]], 9), 1) == [2]


BAD = {
    "not JSON": "{op: upsert}",
    "an unknown op": '{"op":"insert","scope":"agent:a","id":"x","record":{}}',
    "an unknown field": '{"op":"upsert","scope":"agent:a","id":"x","record":{},"contents":1}',
    "no id": '{"op":"upsert","scope":"agent:a","record":{}}',
    "no value": '{"op":"upsert","scope":"agent:a","id":"x"}',
    "no scope": '{"op":"upsert","id":"x","record":{}}',
    "a bad scope": '{"op":"upsert","scope":"agent","id":"x","record":{}}',
    "a time without a zone": '{"op":"upsert","scope":"agent:a","id":"x","record":{},"at":"2026-03-04T05:06:07"}',
    "a wrong sum": '{"op":"upsert","scope":"agent:a","id":"x","record":{},"sum":"0123456789abcdef"}',
    "a rev that goes back": '{"op":"upsert","scope":"agent:a","id":"x","record":{},"rev":1}',
}


@pytest.mark.parametrize("name", BAD)
@promise("jsonl:corrupt")
def test_a_bad_line_is_named_and_nothing_is_changed(backend, log, name):
    driver = Driver(backend)
    driver.made("a")
    driver.made("b")
    lines = log.read_text().splitlines(keepends=True)
    lines.insert(2, BAD[name] + "\n")
    log.write_text("".join(lines))
    damaged = log.read_bytes()
    for attempt in (driver.cell, driver.put, backend.compact, driver.counts):
        with pytest.raises(Corrupt, match="line 3") as error:
            attempt()
        assert error.value.hint
    (damage,) = backend.check(None).damage
    assert "line 3" in damage.where + damage.problem
    assert "line 3" in backend.describe()["damage"]
    assert backend.next_expiry() is None
    assert log.read_bytes() == damaged
    log.write_text("".join(line for number, line in enumerate(lines) if number != 2))
    assert driver.keys() == ["a", "b"]


@promise("jsonl:corrupt")
def test_check_names_every_bad_line(backend, log):
    write(backend, lambda view: view.put_all([a_put(f"k{number}") for number in range(9)]))
    lines = log.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace('"k1"', '"k7"')
    lines[5] = "\0" * 40 + "\n"
    log.write_text("".join(lines))
    assert [damage.where.split(" of")[0] for damage in backend.check(None).damage] == ["line 3", "line 6"]


@promise("jsonl:corrupt")
def test_every_flipped_bit_of_a_line_is_found(log):
    backend = made(log)
    Driver(backend).made("k", "value")
    Driver(backend).made("k2")
    backend.close()
    sound = log.read_bytes()
    first = sound.index(b"\n") + 1
    for place in range(first, sound.index(b"\n", first)):
        log.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        damaged = made(log)
        with pytest.raises(Corrupt, match=r"line [23]"):
            Driver(damaged).cell()
        damaged.close()


@promise("jsonl:corrupt")
def test_a_newer_format_is_refused(backend, log):
    log.write_text('{"op":"head","format":2}\n{"op":"something new"}\n')
    with pytest.raises(Unsupported, match="format 2"):
        Driver(backend).cell()
