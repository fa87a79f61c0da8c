"""Records from elsewhere: all that is there comes over once, and what does not is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell import importing
from memwell.engine.body import Body, seal
from memwell.errors import Invalid, NotFound
from memwell.importing.jsonl import export, line_of
from memwell.testing import frozen_clock, promise


@pytest.fixture
def store():
    with memwell.open(":memory:", by="ann", trust="human") as opened:
        yield opened


@pytest.fixture
def mem(store):
    return store.scope(agent="support")


def lines(path: Path, *things: Any) -> Path:
    path.write_text("".join((thing if isinstance(thing, str) else json.dumps(thing)) + "\n" for thing in things))
    return path


def told(mem):
    return sorted((record.title or "", record.content) for record in mem.records.list(limit=1000))


def reasons(done):
    return {one.where: one.reason for one in done.skipped}


def entity(name="Ann", *observations, kind="person"):
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


# MCP


@promise("import:mcp")
def test_observations_and_relations_become_records(mem, tmp_path):
    relation = {"type": "relation", "from": "Ann", "to": "Rex", "relationType": "owns"}
    path = lines(tmp_path / "memory.jsonl", entity("Ann", "likes tea", "works in Oslo"), relation)
    done = importing.load(mem, path)

    assert (done.format, done.read, done.written, done.repeated, done.skipped) == ("mcp", 2, 3, 0, [])
    assert told(mem) == [("", "Ann owns Rex"), ("Ann", "likes tea"), ("Ann", "works in Oslo")]
    record = mem.search("tea")[0].record
    assert (record.tags, record.kind, record.provenance.sources) == (["person"], "semantic", ["mcp:memory.jsonl"])
    assert (record.provenance.by, record.provenance.trust) == ("ann", "agent"), "an agent wrote it, a person brought it"


@promise("import:apart")
def test_the_same_said_of_two_things_stays_two_records(mem, tmp_path):
    path = lines(
        tmp_path / "memory.jsonl", entity("Ann", "likes tea", "Likes  tea"), entity("Rex", "likes tea", kind="dog")
    )
    assert importing.load(mem, path).written == 2
    assert told(mem) == [("Ann", "likes tea"), ("Rex", "likes tea (Rex)")]
    assert {record.title: record.tags for record in mem.records.list()} == {"Ann": ["person"], "Rex": ["dog"]}
    other = lines(tmp_path / "other.jsonl", entity("Bob", "likes tea"))
    assert importing.load(mem, other).written == 1
    assert ("Bob", "likes tea (Bob)") in told(mem)


@promise("import:named")
def test_a_bad_line_is_named_and_the_others_are_kept(mem, tmp_path):
    path = lines(
        tmp_path / "memory.jsonl",
        entity("Ann", "likes tea", " "),
        "not json",
        "",
        {"type": "planet"},
        entity("Bob"),
        {"type": "entity", "name": "Eve", "observations": [1]},
        entity("Zoe", "likes cake"),
        "[" * 100_000,
    )
    done = importing.load(mem, path, format="mcp")

    assert told(mem) == [("Ann", "likes tea"), ("Zoe", "likes cake")]
    assert (done.read, done.written) == (7, 2)
    assert {one.where: one.bad for one in done.skipped} == {
        "line 1": True, "line 2": True, "line 4": True, "line 5": False, "line 6": True, "line 8": True,
    }  # fmt: skip
    assert reasons(done)["line 5"] == "nothing was observed of 'Bob'"
    assert len(done.bad) == 5


@promise("import:mcp")
def test_names_that_are_no_titles_are_made_so(mem, tmp_path):
    path = lines(tmp_path / "memory.jsonl", entity("a\u200db\nc" + "x" * 2000, "fine", kind="t" * 200))
    importing.load(mem, path)
    record = mem.records.list()[0]

    assert record.title.startswith("ab cxx")
    assert len(record.title) == 1024
    assert len(record.tags[0]) == 128


# Again


@promise("import:again")
@pytest.mark.parametrize("change", ["nothing", "supersede", "edit", "delete"])
def test_a_second_run_writes_nothing_and_undoes_nothing(mem, tmp_path, change):
    path = lines(tmp_path / "memory.jsonl", entity("Ann", "likes tea", "works in Oslo"))
    importing.load(mem, path)
    tea = mem.search("tea")[0].record
    if change == "supersede":
        mem.records.supersede(tea.id, "likes coffee")
    elif change == "edit":
        mem.records.update(tea.id, content="likes green tea")
    elif change == "delete":
        mem.records.delete(tea.id)
    before = told(mem), mem.records.read(tea.id)
    done = importing.load(mem, path)

    assert (told(mem), mem.records.read(tea.id)) == before
    assert (done.written, done.repeated) == (0, 1 if change == "delete" else 2)
    assert [one.where for one in done.skipped] == (["line 1"] if change == "delete" else [])


@promise("import:again")
def test_what_was_forgotten_comes_again_when_it_is_imported_again(mem, tmp_path):
    path = lines(tmp_path / "memory.jsonl", entity("Ann", "likes tea"))
    importing.load(mem, path)
    mem.records.forget("mcp:memory.jsonl")
    assert told(mem) == []
    assert importing.load(mem, path).written == 1
    assert told(mem) == [("Ann", "likes tea")]


@promise("import:again")
def test_what_was_known_by_itself_is_confirmed(mem, tmp_path):
    known = mem.remember("Ann owns Rex")
    path = lines(tmp_path / "m.jsonl", {"type": "relation", "from": "Ann", "to": "Rex", "relationType": "owns"})
    done = importing.load(mem, path)

    assert (done.written, done.repeated) == (0, 1)
    assert mem.records.read(known.id).reinforced == 1


@promise("import:batches")
def test_many_go_in_batches_with_progress(mem, tmp_path):
    seen: list[tuple[int, int]] = []
    path = lines(tmp_path / "m.jsonl", *(entity(f"E{n}", f"observation {n}") for n in range(1201)))
    done = importing.load(mem, path, progress=lambda *step: seen.append(step))

    assert done.written == 1201
    assert seen == [(500, 1201), (1000, 1201), (1201, 1201)]


# JSON lines


@promise("import:jsonl")
def test_what_is_exported_is_imported_elsewhere(store, mem, tmp_path):
    old = mem.remember("Deploys on Tuesdays", kind="procedural", tags=["ops"], metadata={"a": 1}, source="chat:1")
    new = mem.records.supersede(old.id, "Deploys on Thursdays", title="When", pinned=True, confidence=0.5)
    last = mem.records.supersede(new.id, "Deploys on Fridays", valid_from=datetime(2031, 1, 1, tzinfo=UTC))
    gist = mem.remember("Never on Mondays", derived_from=[last.id])
    draft = mem.remember("Bob has the key", pending=True)
    gone = mem.remember("Tea at four")
    mem.records.delete(gone.id)
    file = str(tmp_path / "records.jsonl")
    assert export(mem.records.export(), file) == 5

    with memwell.open(":memory:", by="bob") as other:
        there = other.scope(user="42")
        done = importing.load(there, file)
        assert (done.format, done.read, done.written, done.skipped) == ("jsonl", 5, 5, [])
        assert [there.records.read(one.id).status for one in (old, new, last)] == ["superseded", "superseded", "active"]
        assert [one.id for one in there.records.pending()] == [draft.id]
        assert there.records.read(gist.id).provenance.derived_from == [last.id]
        copy = there.records.read(old.id)
        same = ("content", "kind", "tags", "metadata", "title", "pinned", "confidence", "valid_from")
        assert all(getattr(copy, name) == getattr(old, name) for name in same)
        assert (copy.provenance.by, copy.provenance.trust) == ("bob", "system"), "no line raises its own trust"
        assert copy.provenance.claimed["imported"]["by"] == "ann"
        again = importing.load(there, file)
        assert (again.written, again.repeated, again.skipped) == (0, 5, [])


@promise("import:jsonl")
def test_an_export_is_a_jsonl_store(mem, tmp_path):
    old = mem.remember("Deploys on Tuesdays")
    mem.records.supersede(old.id, "Deploys on Thursdays")
    export(mem.records.export(), str(tmp_path / "records.jsonl"))
    with memwell.open(f"jsonl:{tmp_path}/records.jsonl") as other:
        there = other.scope(agent="support")
        assert [hit.record.content for hit in there.search("when to deploy")] == ["Deploys on Thursdays"]
        assert there.records.read(old.id).created_at == old.created_at


@promise("import:jsonl")
def test_an_exported_line_holds_the_whole_record(mem):
    record = mem.remember("likes tea", kind="profile", tags=["a"], metadata={"n": [1]}, source="s", thread="t")
    line = line_of(record)
    assert seal(record.scope, record.id, line["record"])[0].digest == record.digest
    assert list(line)[:3] == ["op", "scope", "id"]
    assert isinstance(line["record"], Body)


@promise("import:jsonl")
def test_the_last_line_of_a_record_counts(mem, tmp_path):
    def line(key, content, op="upsert", **more):
        return {"op": op, "scope": "agent:a", "id": key, "record": {"content": content}, **more}

    path = lines(
        tmp_path / "m.jsonl",
        line("a", "first"),
        line("b", "stays"),
        line("a", "second"),
        {"op": "delete", "scope": "agent:a", "id": "b"},
        line("c", "old", expires="2020-01-01T00:00:00Z"),
        {**line("d", "no"), "record": {"content": "no", "status": "rejected"}},
        {"op": "upsert", "scope": "agent:a", "shape": "fact", "id": "k", "value": 1},
        {**line("e", "x"), "surprise": 1},
        {**line("f", "x"), "record": {"content": 5}},
        {**line("g", "linked"), "record": {"content": "linked", "supersedes": ["nowhere", "h"]}},
        {**line("h", "linked"), "record": {"content": "linking back", "supersedes": ["g"]}},
    )
    done = importing.load(mem, path)

    assert told(mem) == [("", "linking back"), ("", "second")]
    assert set(reasons(done)) == {"line 4", "line 5", "line 6", "line 7", "line 8", "line 9", "line 10"}
    assert {one.where for one in done.bad} == {"line 8", "line 9"}
    assert "expired" in reasons(done)["line 5"]


@promise("import:jsonl")
def test_what_was_superseded_and_then_said_again_is_not_lost(mem, tmp_path):
    tea = mem.remember("likes tea")
    coffee = mem.records.supersede(tea.id, "likes coffee")
    again = mem.remember("likes tea", title="Drinks")
    file = str(tmp_path / "m.jsonl")
    export(mem.records.export(), file)
    with memwell.open(":memory:") as other:
        there = other.shared()
        assert importing.load(there, file).written == 3
        assert {record.id for record in there.records.list()} == {coffee.id, again.id}
        assert there.records.read(again.id).content == "likes tea"


@promise("import:jsonl")
def test_of_several_scopes_only_the_one_asked_for_is_meant(store, tmp_path):
    path = lines(
        tmp_path / "m.jsonl",
        {"op": "upsert", "scope": "agent:a", "id": "1", "record": {"content": "of a"}},
        {"op": "upsert", "scope": "agent:b", "id": "2", "record": {"content": "of b"}},
    )
    done = importing.load(store.scope("agent:b"), path)

    assert told(store.scope("agent:b")) == [("", "of b")]
    assert reasons(done) == {"line 1": "it is of the scope agent:a, and the file has several"}


@promise("import:jsonl")
def test_what_is_left_of_its_time_comes_along(mem, tmp_path):
    with frozen_clock() as clock:
        mem.remember("soon gone", ttl=100)
        file = str(tmp_path / "m.jsonl")
        export(mem.records.export(), file)
        clock.advance(60)
        with memwell.open(":memory:") as other:
            there = other.shared()
            importing.load(there, file)
            clock.advance(39)
            assert told(there) == [("", "soon gone")]
            clock.advance(2)
            assert told(there) == []


# What can't be


@promise("import:named")
def test_a_path_that_is_not_there_or_says_nothing(mem, tmp_path):
    with pytest.raises(NotFound):
        importing.load(mem, tmp_path / "none.jsonl")
    for text in ("", "hello\n", '{"a": 1}\n[1]\n'):
        (tmp_path / "x").write_text(text)
        with pytest.raises(Invalid, match="no format"):
            importing.load(mem, tmp_path / "x")
    with pytest.raises(Invalid, match="no format to import"):
        importing.load(mem, tmp_path, format="docx")


@promise("record:trust")
def test_trust_is_lowered_when_told_and_never_raised(store, tmp_path):
    path = lines(tmp_path / "m.jsonl", entity("Ann", "likes tea"))
    for by, told_trust, trust in (("human", "external", "external"), ("agent", "human", "agent")):
        mem = store.scope(f"agent:{by}", trust=by)
        importing.load(mem, path, trust=told_trust)
        assert mem.records.list()[0].provenance.trust == trust
