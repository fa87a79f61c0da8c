"""Exports: whole, checked before anything is written, and the same in every backend."""

from __future__ import annotations

import json

import pytest

import memwell
from memwell import Corrupt, Invalid, NotFound, Unavailable, ops
from memwell.testing import opened, promise
from memwell.types import Line


@pytest.fixture
def exported(store, clock, tmp_path):
    """An export with something of everything, and the store it came from."""
    mem = store.scope(agent="a", by="anna")
    mem.set("k", 1)
    clock.advance(10)
    mem.set("k", {"é": [1.5, None, "😀"]})
    mem.set("brief", "ends", ttl=60)
    mem.set("ended", "gone", ttl=1)
    mem.set("deleted", 1)
    mem.delete("deleted")
    store.scope(user="a/b", by="bob").set("k", [])
    store.shared().set("none", None)
    clock.advance(1)
    path = tmp_path / "export.jsonl"
    assert store.export(str(path)) == 4
    return path


def all_of(store):
    """The entries of every scope, without their revs, which belong to one store."""
    return {
        name: [(entry.key, entry.value, entry.version, *_times(entry), entry.written_by) for entry in found]
        for name in store.scopes()
        if (found := store.scope(name).entries())
    }


def _times(entry):
    return entry.created_at, entry.updated_at, entry.expires_at


@promise("transfer:round")
def test_an_export_loaded_elsewhere_gives_the_same_entries(store, exported, face, tmp_path):
    with opened(face, tmp_path / "other.db") as other:
        loaded = other.load(str(exported))
        assert (loaded.written, loaded.kept) == (4, 0)
        assert all_of(other) == all_of(store)
        assert other.export(str(tmp_path / "again")) == 4
        assert other.scope(agent="a").history("k")[0].op == "fact.load"
    assert (tmp_path / "again").read_bytes() == exported.read_bytes()


@promise("transfer:round")
def test_an_export_loaded_into_the_same_backend_gives_the_same_entries(opener, store, exported, backend):
    before = all_of(store)
    for name in store.scopes():
        store.scope(name).clear()
    assert store.load(str(exported)).written == 4
    after = all_of(store)
    assert {name: [entry[:2] for entry in found] for name, found in after.items()} == {
        name: [entry[:2] for entry in found] for name, found in before.items()
    }
    assert after["agent:a"][1][2] > before["agent:a"][1][2], "a version came back"


@promise("transfer:keep")
def test_keys_that_are_taken_keep_their_value_unless_replaced(store, exported):
    mem = store.scope(agent="a")
    mem.set("k", "newer")
    kept = store.load(str(exported))
    assert (kept.written, kept.kept) == (0, 4)
    assert mem.get("k") == "newer"
    replaced = store.load(str(exported), replace=True)
    assert (replaced.written, replaced.kept) == (4, 0)
    assert mem.get("k") == {"é": [1.5, None, "😀"]}
    assert mem.entry("k").version == 4


@promise("transfer:scope")
def test_one_scope_can_be_exported(store, exported, tmp_path):
    assert store.export(str(tmp_path / "one"), scope="user:a%2fb") == 1
    assert store.export(str(tmp_path / "none"), scope="agent:nobody") == 0
    with pytest.raises(Invalid):
        store.export(str(tmp_path / "bad"), scope="nobody")
    assert not (tmp_path / "bad").exists()


@promise("transfer:expired")
def test_what_has_expired_on_the_way_is_not_loaded(store, exported, clock):
    clock.advance(60)
    store.scope(agent="a").delete_scope()
    loaded = store.load(str(exported))
    assert loaded.kept >= 1
    assert store.scope(agent="a").get("brief") is None


DAMAGE = {
    "a changed value": lambda data, lines: data.replace(b"1.5", b"2.5"),
    "a changed key": lambda data, lines: data.replace(b'"brief"', b'"Brief"'),
    "a lost line": lambda data, lines: b"".join(lines[:2] + lines[3:]),
    "a doubled line": lambda data, lines: b"".join([*lines[:2], *lines[1:]]),
    "two lines exchanged": lambda data, lines: b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
    "no last line": lambda data, lines: b"".join(lines[:-1]),
    "half a last line": lambda data, lines: data[:-20],
    "cut in the middle": lambda data, lines: data[: len(data) // 2],
    "a line that is not JSON": lambda data, lines: b"".join([*lines[:2], b"{oops\n", *lines[2:]]),
    "a blank line": lambda data, lines: b"".join([*lines[:2], b"\n", *lines[2:]]),
    "more after the end": lambda data, lines: data + lines[1],
    "only the first line": lambda data, lines: lines[0],
}


@pytest.mark.parametrize("how", DAMAGE)
@promise("transfer:checked")
def test_a_damaged_export_is_refused_before_anything_is_written(store, exported, how):
    data = exported.read_bytes()
    exported.write_bytes(DAMAGE[how](data, data.splitlines(keepends=True)))
    store.scope(agent="a").clear()
    before = store.stats()
    with pytest.raises(Corrupt) as error:
        store.load(str(exported), replace=True)
    assert "nothing was imported" in error.value.hint
    assert store.stats() == before


@pytest.mark.parametrize("content", [b"", b"hello\n", b"[]\n", b'{"memwell":2}\n', b"\xff\xfe\n", b'{"entries":0}\n'])
@promise("transfer:checked")
def test_what_is_no_export_is_refused(store, tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(Invalid):
        store.load(str(tmp_path / "file"))
    assert store.stats().entries == 0


@pytest.mark.parametrize(
    "change",
    [{"scope": "everyone"}, {"scope": ""}, {"key": "a\nb"}, {"version": 0}, {"created": -1}, {"shape": "dream"}],
    ids=repr,
)
@promise("transfer:checked")
def test_a_line_that_no_store_could_have_written_is_refused(store, change):

    line = {
        "scope": "agent:a",
        "shape": "fact",
        "key": "k",
        "value": 1,
        "version": 1,
        "created": 1,
        "updated": 1,
        "by": "x",
    }
    good = Line(**{**line, "key": "good"})
    with pytest.raises(Invalid):
        store.apply(ops.Load([good, Line(**{**line, **change})]))
    assert store.stats().entries == 0


@promise("transfer:file")
def test_an_export_has_its_name_only_when_it_is_whole(store, tmp_path):
    store.scope(agent="a").set("k", 1)
    with pytest.raises(Unavailable):
        store.export(str(tmp_path / "no" / "folder"))
    with pytest.raises(NotFound):
        store.load(str(tmp_path / "nothing"))

    def interrupted(done, total):
        raise ZeroDivisionError

    (tmp_path / "export").write_text("the one from yesterday")
    with pytest.raises(ZeroDivisionError):
        store.export(str(tmp_path / "export"), progress=interrupted)
    assert (tmp_path / "export").read_text() == "the one from yesterday"
    assert not [file for file in tmp_path.iterdir() if "part" in file.name]


@promise("transfer:pages")
def test_many_entries_and_scopes_go_through_in_pages(store, tmp_path):
    for number in range(3):
        store.scope(agent=f"a{number}").set_many({f"k{key:04}": key for key in range(700)})
    steps = []
    assert store.export(str(tmp_path / "export"), progress=lambda done, total: steps.append((done, total))) == 2100
    assert steps[-1] == (2100, 2100)
    with memwell.open(":memory:") as other:
        done = []
        assert other.load(str(tmp_path / "export"), progress=lambda *step: done.append(step)).written == 2100
        assert done[-1] == (2100, 2100)
        assert other.scopes() == store.scopes()
        assert other.scope(agent="a2").list() == store.scope(agent="a2").list()


@promise("transfer:format")
def test_an_export_is_json_lines_that_people_can_read(exported):
    first, *entries, last = [json.loads(line) for line in exported.read_text().splitlines()]
    assert first == {"memwell": 1}
    assert last["entries"] == len(entries) == 4
    assert [(entry["scope"], entry["key"]) for entry in entries] == [
        ("agent:a", "brief"),
        ("agent:a", "k"),
        ("global", "none"),
        ("user:a%2Fb", "k"),
    ]
