"""How records stand: superseded, deleted, restored, waiting for a review, repeated, and apart from other scopes."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from memwell.errors import Denied, Invalid, NotFound
from memwell.ops import NewRecord
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals


def ids(found: Any) -> list[str]:
    """The ids of records, or of the records of hits."""
    return [getattr(one, "record", one).id for one in found]


class StandingTests:
    """Records beside each other."""

    @promise("record:supersede")
    def test_a_new_record_takes_the_place_of_an_old_one(self, records: Any) -> None:
        old = records.remember("ships on Monday")
        new = records.supersede(old.id, "ships on Friday", kind="episodic", if_version=1)
        assert (new.supersedes, new.status, new.version, new.kind) == ([old.id], "active", 1, "episodic")
        hidden = records.read(old.id)
        assert (hidden.status, hidden.content, hidden.version) == ("superseded", "ships on Monday", 1)
        assert records.list() == [new]
        assert ids(records.search("ships")) == ids(records.search()) == [new.id]
        assert not records.search("Monday")
        assert records.context("ships").records == [new]
        assert ids(records.list(status="superseded")) == [old.id]
        assert ids(records.list(status="all")) == [new.id, old.id]

    @promise("record:supersede:active")
    def test_a_superseder_hides_only_while_it_is_active(self, library: Any, clock: FrozenClock) -> None:
        records = library.scope(agent="a").records
        old = records.remember("ships on Monday")
        new = records.supersede(old.id, "ships on Friday")
        records.delete(new.id)
        assert records.read(old.id).status == "active"
        assert ids(records.search("ships")) == ids(records.list()) == [old.id]
        records.restore(new.id)
        assert ids(records.search("ships")) == ids(records.list()) == [new.id]
        records.delete(new.id)
        waiting = records.supersede(old.id, "ships on Sunday", pending=True)
        assert ids(records.search("ships")) == [old.id]
        library.scope(agent="a", by="reviewer").records.reject(waiting.id)
        assert ids(records.search("ships")) == [old.id]
        approved = records.supersede(old.id, "ships on Saturday", pending=True, ttl=5)
        library.scope(agent="a", by="reviewer").records.approve(approved.id)
        assert ids(records.search("ships")) == ids(records.list()) == [approved.id]
        clock.advance(5)
        assert ids(records.search("ships")) == ids(records.list()) == [old.id]

    @promise("record:supersede:active")
    def test_a_chain_shows_its_last_link(self, records: Any) -> None:
        first = records.remember("version one")
        second = records.supersede(first.id, "version two")
        third = records.supersede(second.id, "version three")
        assert ids(records.search("version")) == [third.id]
        records.delete(second.id)
        assert ids(records.search("version")) == ids(records.list()) == [third.id]
        records.delete(third.id)
        assert ids(records.search("version")) == ids(records.list()) == [first.id]

    @promise("record:supersede")
    def test_one_record_takes_the_place_of_several(self, records: Any) -> None:
        old = records.remember_many(["tea is green", "coffee is black", "milk is white"])
        records.remember("drinks have colours", supersedes=ids(old[:2]))
        assert sorted(record.content for record in records.list()) == ["drinks have colours", "milk is white"]
        new = records.supersede(old[2].id, "milk is not white", supersedes=[old[1].id])
        assert new.supersedes == [old[2].id, old[1].id]
        refusals(Invalid, lambda: records.supersede(new.id, "x", id=new.id))

    @promise("record:supersede")
    def test_a_record_that_takes_a_place_is_new_even_if_it_repeats_another(self, records: Any) -> None:
        wrong, known = records.remember("ships on Monday"), records.remember("ships on Friday")
        new = records.remember("ships on Friday", supersedes=[wrong.id])
        assert new.supersedes == [wrong.id]
        assert new.id != known.id
        assert records.read(wrong.id).status == "superseded"
        again = records.remember_many([NewRecord(content="ships on Friday", supersedes=[known.id])])[0]
        assert again.supersedes == [known.id]

    @promise("record:missing")
    def test_what_the_scope_does_not_hold_is_not_found(self, library: Any) -> None:
        mine, other = library.scope(agent="a").records, library.scope(agent="b").records
        theirs = other.remember("a note of theirs")
        gone = mine.remember("a note that goes")
        mine.delete(gone.id)
        for missing in ("nothing", theirs.id, gone.id):
            for error in refusals(
                NotFound,
                partial(mine.delete, missing),
                partial(mine.supersede, missing, "new"),
                partial(mine.update, missing, pinned=True),
                partial(mine.approve, missing),
                partial(mine.reject, missing),
                partial(mine.remember, "new", supersedes=[missing]),
                partial(mine.remember, "new", derived_from=[missing]),
            ):
                assert error.hint
        refusals(NotFound, lambda: mine.restore("nothing"), lambda: mine.restore(theirs.id))
        assert mine.list() == []
        assert other.list() == [theirs]

    @promise("record:delete")
    def test_a_deleted_record_reads_as_absent_and_keeps_its_reason(self, records: Any) -> None:
        made = records.remember("a note", tags=["t"])
        tomb = records.delete(made.id, reason="asked to")
        assert (tomb.status, tomb.reason, tomb.version) == ("deleted", "asked to", 2)
        assert records.read(made.id) is None
        assert records.list() == []
        assert not records.search("note")
        assert not records.search()
        assert not records.search(tags=["t"])
        assert records.context("note").text == ""
        assert records.list(status="deleted") == [tomb]

    @promise("record:restore")
    def test_a_deleted_record_can_be_restored(self, records: Any) -> None:
        made = records.remember("a note", tags=["t"])
        records.delete(made.id, reason="by mistake")
        back = records.restore(made.id)
        assert (back.status, back.reason, back.version, back.content) == ("active", None, 3, "a note")
        assert back.created_at == made.created_at
        assert ids(records.search("note")) == ids(records.list(tags=["t"])) == [made.id]
        refusals(NotFound, lambda: records.restore(made.id))

    @promise("record:pending")
    def test_a_pending_record_is_seen_only_in_the_inbox(self, library: Any) -> None:
        mem = library.scope(agent="a")
        waiting = mem.remember("a wish to be kept", pending=True, tags=["t"], pinned=True)
        assert waiting.status == "pending"
        assert mem.records.read(waiting.id) is None
        assert mem.records.list() == mem.records.list(tags=["t"]) == []
        assert not mem.search("wish")
        assert not mem.search()
        assert not mem.search("wish", filter={"status": "pending"})
        assert mem.context("wish").text == ""
        assert mem.records.pending() == library.pending() == mem.records.list(status="pending") == [waiting]
        refusals(
            NotFound,
            lambda: mem.records.update(waiting.id, content="changed"),
            lambda: mem.records.supersede(waiting.id, "another"),
            lambda: mem.records.delete(waiting.id),
            lambda: mem.remember("new", derived_from=[waiting.id]),
        )

    @promise("record:approve")
    def test_a_pending_record_is_approved_by_somebody_else(self, library: Any) -> None:
        author, reviewer = (library.scope(agent="a", by=name).records for name in ("author", "reviewer"))
        waiting = author.remember("a wish to be kept", pending=True)
        for error in refusals(Denied, lambda: author.approve(waiting.id), lambda: author.reject(waiting.id)):
            assert error.hint
        assert author.pending() == [waiting]
        kept = reviewer.approve(waiting.id, reason="makes sense")
        assert (kept.status, kept.reason, kept.version) == ("active", "makes sense", 2)
        assert (kept.provenance.by, kept.provenance.reviewed_by) == ("author", "reviewer")
        assert author.read(waiting.id) == kept
        assert ids(author.search("wish")) == ids(author.list()) == [waiting.id]
        assert author.pending() == []
        refusals(NotFound, lambda: reviewer.approve(waiting.id), lambda: reviewer.reject(waiting.id))

    @promise("record:approve")
    def test_a_pending_record_is_rejected_by_somebody_else(self, library: Any) -> None:
        author, reviewer = (library.scope(agent="a", by=name).records for name in ("author", "reviewer"))
        waiting = author.remember("a wish to be kept", pending=True)
        refused = reviewer.reject(waiting.id, reason="not true")
        assert (refused.status, refused.reason, refused.provenance.reviewed_by) == ("rejected", "not true", "reviewer")
        assert author.read(waiting.id) is None
        assert author.list() == author.pending() == []
        assert not author.search("wish")
        assert author.list(status="rejected") == [refused]
        refusals(NotFound, lambda: reviewer.approve(waiting.id))

    @promise("record:pending")
    def test_the_inbox_is_of_one_scope_or_of_all_and_oldest_first(self, library: Any, clock: FrozenClock) -> None:
        made: list[Any] = []
        for name in ("agent:b", "agent:a", "agent:b"):
            made.append(library.scope(name).remember(f"wish {len(made)}", pending=True))
            clock.advance(1)
        assert ids(library.pending()) == ids(made)
        assert ids(library.pending(limit=2)) == ids(made[:2])
        assert ids(library.scope("agent:b").records.pending()) == ids([made[0], made[2]])
        refusals(Invalid, lambda: library.pending(limit=0))

    @promise("record:duplicate")
    def test_what_says_exactly_the_same_reinforces_the_record(self, records: Any, clock: FrozenClock) -> None:
        first = records.remember("Likes  green tea", tags=["a"], confidence=0.5)
        clock.advance(5)
        again = records.remember("likes green\nTEA", tags=["b"], confidence=0.9, pinned=True)
        assert (again.id, again.version, again.reinforced) == (first.id, 2, 1)
        assert (again.content, again.tags, again.confidence, again.pinned) == (
            "Likes  green tea",
            ["a", "b"],
            0.9,
            True,
        )
        assert again.created_at == first.created_at
        assert records.remember("likes green tea", confidence=0.1).confidence == 0.9
        assert len(records.list()) == 1
        assert records.remember("likes green tea", kind="profile").id != first.id
        assert records.remember("likes green tea!").id != first.id
        many = records.remember_many(
            ["likes green tea", "LIKES green tea", "new", NewRecord(content="New", tags=["c"])]
        )
        assert ids(many)[:2] == [first.id, first.id]
        assert many[2] == many[3] == records.read(many[2].id)
        assert (many[2].version, many[2].reinforced, many[2].tags) == (1, 1, ["c"])
        assert len(records.list()) == 4

    @promise("record:duplicate")
    def test_a_repeat_in_one_call_waits_only_if_all_do(self, records: Any) -> None:
        wish, said = NewRecord(content="x", pending=True, tags=["wish"]), NewRecord(content="x", tags=["said"])
        assert [made.status for made in records.remember_many([wish, said, said])] == ["pending", "active", "active"]
        (made,), (waiting,) = records.list(), records.pending()
        assert (made.tags, waiting.tags) == (["said"], ["wish"])
        other = NewRecord(content="y"), NewRecord(content="y", pending=True, tags=["wish"])
        assert [(made.status, made.tags) for made in records.remember_many(other)] == [("active", [])] * 2

    @promise("record:duplicate")
    def test_what_is_repeated_lives_as_long_as_the_longer_of_both(self, records: Any, clock: FrozenClock) -> None:
        made = records.remember("stays")
        assert records.remember("stays", ttl=5).expires_at is None
        fleeting = records.remember("goes", ttl=60)
        assert records.remember("goes", ttl=5).expires_at == fleeting.expires_at
        assert records.remember("goes", ttl=90).expires_at == clock.time + timedelta(seconds=90)
        clock.advance(100)
        assert ids(records.list()) == [made.id]
        lasting = records.remember("lasts after all", ttl=5)
        assert records.remember("lasts after all").expires_at is None
        clock.advance(10)
        assert records.read(lasting.id) is not None

    @promise("record:duplicate")
    def test_only_what_is_in_force_is_reinforced(self, library: Any) -> None:
        records, reviewer = (library.scope(agent="a", by=name).records for name in ("author", "reviewer"))
        deleted = records.remember("same words")
        records.delete(deleted.id)
        superseded = records.remember("same words")
        assert superseded.id != deleted.id
        records.supersede(superseded.id, "other words")
        rejected = records.remember("same words", pending=True)
        assert rejected.id not in ids([deleted, superseded])
        assert records.remember("same words", pending=True) == rejected
        reviewer.reject(rejected.id)
        fresh = records.remember("same words")
        assert fresh.id not in ids([deleted, superseded, rejected])
        assert records.remember("same words", pending=True, pinned=True) == fresh

    @promise("record:similar")
    def test_what_says_nearly_the_same_is_named(self, library: Any) -> None:
        mem = library.scope(agent="a")
        first = mem.remember("The release is planned for the last Friday of March in Berlin")
        other = mem.remember("Nothing here resembles anything else that was ever written")
        library.scope(agent="b").remember("The release is planned for the last Friday of March in Hamburg")
        near = mem.remember("The release is planned for the last Friday of March in Munich")
        assert near.similar == [first.id]
        assert other.similar == []
        assert mem.records.read(near.id).similar == []
        mem.records.supersede(first.id, "It is all different now")
        mem.records.delete(near.id)
        assert mem.remember("The release is planned for the last Friday of March in Vienna").similar == []

    @promise("record:isolated")
    def test_nothing_of_a_record_is_seen_from_another_scope(self, library: Any) -> None:
        mine = library.scope("agent:a").records
        made = mine.remember("a private note", tags=["t"], source="s", id="k")
        waiting = mine.remember("a private wish", pending=True)
        for name in ("agent:b", "agent:a/user:u", "user:a", "agent:A", "agent:aa", "global", "process:a"):
            other = library.scope(name, by="other").records
            assert other.read("k") is None
            assert other.history("k") == other.list(status="all") == other.pending() == list(other.export()) == []
            assert not other.search("private")
            assert not other.search()
            assert not other.search("private", tags=["t"])
            assert other.context("private").records == []
            assert other.forget("s").records == 0
            assert other.remember("a private note").reinforced == 0
            assert other.remember("a private note, or nearly so").similar == []
            assert other.remember("their own", id="k").version == 1
            refusals(NotFound, partial(other.approve, waiting.id))
        assert mine.read("k") == made
        assert mine.pending() == [waiting]

    @promise("record:isolated", "scope:delete")
    def test_delete_scope_takes_the_records_too(self, library: Any) -> None:
        mem, other = library.scope(agent="a"), library.scope(agent="b")
        made = mem.remember("a note")
        mem.remember("a wish", pending=True)
        mem.set("fact", 1)
        kept = other.remember("a note")
        assert mem.clear() == 1
        assert mem.records.read(made.id) == made
        assert mem.delete_scope() == 2
        assert mem.records.list(status="all") == mem.records.history(made.id) == library.pending() == []
        assert not mem.search("note")
        assert ids(other.search("note")) == [kept.id]
        assert mem.remember("a note").reinforced == 0
