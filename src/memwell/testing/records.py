"""What a record is: what is kept of it, what is refused, how it is changed, listed, exported, and when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from memwell.errors import Conflict, Denied, Invalid, NotFound, TooLarge
from memwell.ops import NewRecord
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals

NOON = datetime(2031, 1, 31, 12, tzinfo=UTC)
WHOLE: dict[str, Any] = {
    "kind": "profile",
    "title": "Reviews",
    "tags": ["style", "Größe"],
    "metadata": {"n": 1, "deep": {"list": [None, True, 1.5]}},
    "pinned": True,
    "confidence": 0.75,
    "valid_from": NOON,
    "valid_to": NOON + timedelta(days=1),
}
REFUSED: dict[str, dict[str, Any]] = {
    "no content": {"content": " \n"},
    "content that is no text": {"content": 5},
    "a lone surrogate": {"content": "a\ud800"},
    "an empty kind": {"kind": ""},
    "a kind with a line break": {"kind": "a\nb"},
    "a kind that is no text": {"kind": 5},
    "tags that are one text": {"tags": "style"},
    "an empty tag": {"tags": ["style", " "]},
    "a tag that is no text": {"tags": [1]},
    "a title that is no text": {"title": 1},
    "metadata that is a list": {"metadata": [1]},
    "metadata that is not JSON": {"metadata": {"a": {1, 2}}},
    "metadata with NaN": {"metadata": {"a": float("nan")}},
    "confidence above 1": {"confidence": 1.01},
    "confidence below 0": {"confidence": -0.01},
    "confidence that is no number": {"confidence": float("nan")},
    "confidence as text": {"confidence": "0.5"},
    "a ttl of nothing": {"ttl": 0},
    "a negative ttl": {"ttl": -1},
    "a time without its zone": {"valid_from": datetime(2031, 1, 1)},  # noqa: DTZ001
    "a time that is text": {"valid_to": "2031-01-01T00:00:00Z"},
    "an end before the beginning": {"valid_from": NOON, "valid_to": NOON},
    "an id with a line break": {"id": "a\nb"},
    "an empty id": {"id": ""},
    "an unknown trust": {"trust": "absolute"},
    "a claim that is not JSON": {"claimed": {"a": b"bytes"}},
    "an empty source": {"source": " "},
}


class RecordTests:
    """Records one by one."""

    @promise("record:fields")
    def test_a_record_comes_back_as_it_was_kept(self, library: Any, clock: FrozenClock) -> None:
        mem = library.scope(agent="a", user="u")
        made = mem.records.remember("Prefers concise reviews", ttl=60, **WHOLE)
        assert {name: getattr(made, name) for name in WHOLE} == WHOLE
        assert (made.content, made.scope, made.store) == ("Prefers concise reviews", "agent:a/user:u", "memory")
        assert (made.status, made.version, made.supersedes, made.similar) == ("active", 1, [], [])
        assert (made.created_at, made.updated_at) == (clock.time, clock.time)
        assert made.expires_at == clock.time + timedelta(seconds=60)
        assert made.digest.startswith("sha256:")
        assert mem.records.read(made.id) == made
        assert mem.records.list() == [made]
        assert [hit.record for hit in mem.search("concise")] == [made]

    @promise("record:fields")
    def test_what_is_not_said_has_a_plain_default(self, records: Any) -> None:
        made = records.remember("plain")
        assert (made.kind, made.title, made.tags, made.metadata, made.pinned) == ("semantic", None, [], {}, False)
        assert (made.confidence, made.expires_at, made.valid_from, made.valid_to) == (None, None, None, None)
        assert made.id != records.remember("another").id

    @promise("record:kinds")
    def test_a_kind_is_one_of_four_or_any_other_name(self, records: Any) -> None:
        for kind in ("episodic", "procedural", "profile", "semantic", "my own kind", "種類"):
            assert records.remember(f"about {kind}", kind=kind).kind == kind
            assert [record.kind for record in records.list(kinds=[kind])] == [kind]

    @pytest.mark.parametrize("wrong", REFUSED)
    @promise("record:refused")
    def test_what_is_no_record_is_refused_and_leaves_nothing(self, records: Any, wrong: str) -> None:
        fields = {"content": "some content", **REFUSED[wrong]}
        many = [NewRecord(content="sound"), NewRecord(**fields)]
        refusals(Invalid, lambda: records.remember(**fields), lambda: records.remember_many(many))
        assert records.list(status="all") == []

    @promise("record:refused")
    def test_what_is_too_large_is_refused(self, opener: Callable[..., Any]) -> None:
        records = opener(max_value_bytes=100, max_batch=2).scope(agent="a").records
        assert records.remember("x" * 100).content == "x" * 100
        for error in refusals(
            TooLarge,
            lambda: records.remember("é" * 51),
            lambda: records.remember("y", metadata={"a": "x" * 100}),
            lambda: records.remember("y", tags=[f"{number}" for number in range(257)]),
            lambda: records.remember("y", id="x" * 513),
            lambda: records.remember_many(["a", "b", "c"]),
        ):
            assert error.limit
        assert len(records.list(status="all")) == 1

    @promise("record:metadata")
    def test_metadata_is_the_callers_own_copy(self, records: Any) -> None:
        given: dict[str, Any] = {"list": [1]}
        made = records.remember("a note", metadata=given)
        given["list"].append(2)
        made.metadata["list"].append(3)
        assert records.read(made.id).metadata == {"list": [1]}

    @promise("record:id")
    def test_an_id_may_be_chosen_once(self, records: Any) -> None:
        made = records.remember("the first", id="my id")
        assert made.id == "my id"
        (conflict,) = refusals(Conflict, lambda: records.remember("the second", id="my id"))
        assert conflict.current == made == records.read("my id")
        refusals(
            Conflict,
            lambda: records.remember_many(
                [NewRecord(content="one", id="twice"), NewRecord(content="other", id="twice")]
            ),
        )
        assert records.read("twice") is None

    @promise("record:read")
    def test_what_is_not_there_reads_as_none(self, records: Any) -> None:
        assert records.read("nothing") is None
        assert records.history("nothing") == []

    @promise("record:many")
    def test_many_are_kept_in_one_transaction(self, records: Any) -> None:
        made = records.remember_many(["one", NewRecord(content="two", kind="profile"), "three"])
        assert [record.content for record in made] == ["one", "two", "three"]
        assert [records.read(record.id) for record in made] == made
        refusals(NotFound, lambda: records.remember_many(["four", NewRecord(content="five", supersedes=["nobody"])]))
        assert sorted(record.content for record in records.list()) == ["one", "three", "two"]
        assert records.remember_many([]) == []

    @promise("record:update")
    def test_an_update_changes_what_is_given_and_is_the_next_version(self, records: Any, clock: FrozenClock) -> None:
        first = records.remember("a note about tea", **WHOLE)
        clock.advance(5)
        second = records.update(first.id, content="a note about coffee", tags=["drinks"])
        assert (second.version, second.content, second.tags) == (2, "a note about coffee", ["drinks"])
        assert (second.created_at, second.updated_at) == (first.created_at, clock.time)
        same = set(WHOLE) - {"tags"}
        assert {name: getattr(second, name) for name in same} == {name: WHOLE[name] for name in same}
        assert second.digest != first.digest
        assert records.read(first.id) == second
        assert [hit.record for hit in records.search("coffee")] == [second]
        assert not records.search("tea")
        assert not records.list(tags=["style"])
        assert records.list(tags=["drinks"]) == [second]

    @promise("record:update")
    def test_an_update_can_take_things_back(self, records: Any) -> None:
        made = records.remember("a note", **WHOLE)
        bare = records.update(made.id, title=None, confidence=None, valid_from=None, valid_to=None, pinned=False)
        assert (bare.title, bare.confidence, bare.valid_from, bare.valid_to, bare.pinned) == (*[None] * 4, False)

    @promise("record:update")
    def test_an_update_is_refused_where_it_makes_no_sense(self, records: Any) -> None:
        made = records.remember("a note")
        for name in REFUSED.keys() - {"an id with a line break", "an empty id"}:
            fields = REFUSED[name]
            refusals(Invalid, partial(records.update, made.id, **fields))
        for fields in ({}, {"status": "deleted"}, {"provenance": {}}, {"digest": ""}, {"trust": "human"}):
            refusals(Invalid, partial(records.update, made.id, **fields))
        refusals(NotFound, lambda: records.update("nothing", content="x"))
        assert records.read(made.id) == made

    @promise("record:cas")
    def test_a_stale_change_is_refused_with_what_is_there(self, records: Any) -> None:
        made = records.remember("a note")
        current = records.update(made.id, pinned=True, if_version=1)
        for conflict in refusals(
            Conflict,
            lambda: records.update(made.id, pinned=False, if_version=1),
            lambda: records.supersede(made.id, "a better note", if_version=1),
            lambda: records.delete(made.id, if_version=1),
            lambda: records.delete(made.id, if_version=3),
        ):
            assert conflict.current == current
        assert records.list(status="all") == [current]
        refusals(Invalid, lambda: records.update(made.id, pinned=False, if_version=0))
        assert records.delete(made.id, if_version=2).version == 3

    @promise("record:history")
    def test_history_tells_who_did_what(self, library: Any) -> None:
        anna, bob = (library.scope(agent="a", by=name).records for name in ("anna", "bob"))
        made = anna.remember("a note")
        bob.update(made.id, pinned=True)
        anna.delete(made.id, reason="asked to")
        bob.restore(made.id)
        events = anna.history(made.id)
        assert [(event.op, event.by, event.version) for event in events] == [
            ("record.restore", "bob", 4),
            ("record.delete", "anna", 3),
            ("record.update", "bob", 2),
            ("record.remember", "anna", 1),
        ]
        assert [event.deleted for event in events] == [False, True, False, False]
        assert anna.history(made.id, limit=1) == events[:1]
        refusals(Invalid, lambda: anna.history(made.id, limit=0))

    @promise("record:ttl")
    def test_an_expired_record_is_gone_at_once_and_everywhere(self, library: Any, clock: FrozenClock) -> None:
        mem = library.scope(agent="a")
        made = mem.remember("a fleeting note", ttl=5, tags=["t"], source="s")
        waiting = mem.remember("a fleeting wish", ttl=5, pending=True)
        clock.advance(4.999999)
        assert mem.records.read(made.id) == made
        clock.advance(0.000001)
        assert mem.records.read(made.id) is None
        assert mem.records.list(status="all") == mem.records.pending() == library.pending() == []
        assert not mem.search("fleeting")
        assert not mem.search()
        assert mem.context("fleeting").text == ""
        assert list(mem.records.export()) == []
        assert library.stats().records == 0
        assert mem.records.forget("s").records == 0
        other = library.scope(agent="a", by="reviewer").records
        refusals(
            NotFound,
            lambda: mem.records.update(made.id, pinned=True),
            lambda: mem.records.supersede(made.id, "x"),
            lambda: mem.records.delete(made.id),
            lambda: other.approve(waiting.id),
        )
        assert library.sweep() == 2
        assert mem.records.remember("a fleeting note").reinforced == 0

    @promise("record:ttl")
    def test_an_update_keeps_the_expiry_unless_it_sets_one(self, records: Any, clock: FrozenClock) -> None:
        made = records.remember("a note", ttl=60)
        clock.advance(10)
        assert records.update(made.id, pinned=True).expires_at == made.expires_at
        assert records.update(made.id, ttl=60).expires_at == clock.time + timedelta(seconds=60)

    @promise("record:list")
    def test_a_listing_is_newest_first_and_goes_on_after_a_cursor(self, records: Any, clock: FrozenClock) -> None:
        made = []
        for number in range(7):
            clock.advance(number % 2)  # some were made at the same moment
            made.append(records.remember(f"note number {number}", kind="a" if number % 3 else "b"))
        made.reverse()
        assert records.list() == made
        records.update(made[3].id, pinned=True)
        ids = [record.id for record in made]
        assert [record.id for record in records.list(limit=3)] == ids[:3]
        assert [record.id for record in records.list(limit=3, cursor=ids[2])] == ids[3:6]
        assert [record.id for record in records.list(cursor=ids[5])] == ids[6:]
        assert records.list(cursor=ids[6]) == []
        assert [record.id for record in records.list(kinds=["b"])] == [ids[0], ids[3], ids[6]]
        refusals(Invalid, lambda: records.list(limit=0), lambda: records.list(status="gone"))
        refusals(NotFound, lambda: records.list(cursor="nothing"))

    @promise("record:list")
    def test_a_listing_can_be_narrowed(self, records: Any, clock: FrozenClock) -> None:
        start = clock.time
        old = records.remember("old", tags=["x"])
        clock.advance(10)
        new = records.remember("new", tags=["y", "z"], confidence=0.9)
        assert records.list(tags=["x", "z"]) == [new, old]
        assert records.list(tags=["z", "nothing"]) == [new]
        assert records.list(after=start) == [new, old]
        assert records.list(after=clock.time) == [new]
        assert records.list(before=clock.time) == [old]
        assert records.list(filter={"confidence": {"gt": 0.5}}) == [new]
        assert records.list(kinds=[]) == records.list(tags=["nothing"]) == []

    @promise("record:export")
    def test_an_export_has_every_record_that_is_not_deleted(self, opener: Callable[..., Any]) -> None:
        store = opener()
        records = store.scope(agent="a").records
        made = [records.remember(f"note number {number}") for number in range(5)]
        made.append(records.remember("waits", pending=True))
        made.append(records.supersede(made[0].id, "in its place"))
        records.delete(made[1].id)
        store.scope(agent="b").remember("another's")
        expected = [record.id for record in reversed(made) if record is not made[1]]
        for page in (1, 2, 3, 6, 1000):
            assert [record.id for record in records.export(page=page)] == expected
        statuses = {record.id: record.status for record in records.export()}
        assert (statuses[made[0].id], statuses[made[5].id]) == ("superseded", "pending")

    @promise("record:export", "record:hard_delete")
    def test_retention_decides_about_export_and_hard_delete(self, opener: Callable[..., Any]) -> None:
        records = opener(allow_export=False).scope(agent="a").records
        made = records.remember("a note")
        for error in refusals(
            Denied,
            lambda: list(records.export()),
            lambda: records.hard_delete(made.id),
            lambda: records.hard_delete("x"),
        ):
            assert error.capability.startswith("record.")
            assert error.hint
        assert records.read(made.id) == made

    @promise("record:hard_delete")
    def test_a_hard_delete_leaves_no_content_anywhere(self, opener: Callable[..., Any]) -> None:
        store = opener(allow_hard_delete=True)
        records = store.scope(agent="a").records
        made = records.remember("a secret", id="k")
        records.update("k", content="another secret")
        records.delete("k")
        assert records.hard_delete("k") is True
        assert records.read("k") is None
        assert records.list(status="all") == []
        assert records.history("k")[0].op == "record.hard_delete"
        assert {str(event.value) for event in records.history("k")} == {"None"}
        assert not records.search("secret")
        refusals(NotFound, lambda: records.hard_delete("k"), lambda: records.restore("k"))
        assert store.stats().records == 0
        assert records.remember("a new one", id="k").version > made.version
