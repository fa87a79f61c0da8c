"""Where records come from: provenance that nobody can write themselves, trust that only falls, sources taken back."""

from __future__ import annotations

from typing import Any

from memwell.errors import Invalid
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals
from memwell.testing.standing import ids

LEVELS = ("human", "system", "agent", "external")  # from the highest
LIES: dict[str, Any] = {"by": "root", "trust": "human", "run": "another", "tool": "none", "reviewed_by": "root"}


class OriginTests:
    """Provenance, trust and forgetting."""

    @promise("record:provenance")
    def test_provenance_is_stamped_by_the_system(self, library: Any) -> None:
        said = {"run": "r1", "thread": "t1", "tool": "memory_remember", "messages": ["m1", "m2"]}
        records = library.scope(agent="a", by="anna", trust="agent").records
        origin = records.remember("a note", source="a page", **said).provenance
        assert {name: getattr(origin, name) for name in said} == said
        assert (origin.by, origin.trust, origin.sources, origin.derived_from) == ("anna", "agent", ["a page"], [])
        assert (origin.updated_by, origin.reviewed_by, origin.claimed) == (None, None, {})
        updated = library.scope(agent="a", by="bob").records.update(records.list()[0].id, pinned=True)
        assert (updated.provenance.by, updated.provenance.updated_by) == ("anna", "bob")

    @promise("record:claimed", "trap:record:provenance")
    def test_what_a_model_claims_is_kept_apart(self, library: Any) -> None:
        records = library.scope(agent="a", by="a model", trust="external").records
        made = records.remember("a note", claimed=LIES, metadata={"provenance": LIES, "trust": "human"})
        origin = made.provenance
        assert (origin.by, origin.trust, origin.run, origin.tool, origin.reviewed_by) == (
            "a model",
            "external",
            None,
            None,
            None,
        )
        assert origin.claimed == LIES
        assert records.read(made.id).provenance == origin
        refusals(
            (TypeError, Invalid),  # type: ignore[arg-type]
            lambda: records.remember("a note", by="root"),
            lambda: records.remember("a note", provenance=LIES),
            lambda: records.remember("a note", status="active", reviewed_by="root"),
            lambda: records.update(made.id, provenance=LIES),
            lambda: records.update(made.id, claimed={}),
            lambda: records.update(made.id, source="another"),
        )
        assert records.update(made.id, metadata={"provenance": LIES}).provenance.trust == "external"
        assert not records.search("note", filter={"by": "root"})
        assert not records.search("note", filter={"trust": "human"})

    @promise("record:trust")
    def test_trust_is_the_callers_and_can_only_be_lowered(self, library: Any) -> None:
        for place, own in enumerate(LEVELS):
            records = library.scope(agent="a", by=own, trust=own).records
            assert records.remember(f"said by {own}").provenance.trust == own
            for asked_place, asked in enumerate(LEVELS):
                made = records.remember(f"said by {own} as {asked}", trust=asked)
                assert made.provenance.trust == LEVELS[max(place, asked_place)]
        refusals(Invalid, lambda: library.scope(agent="a", trust="absolute"))

    @promise("record:trust")
    def test_new_content_is_no_more_trusted_than_whoever_wrote_it(self, library: Any) -> None:
        human, external = (library.scope(agent="a", by=level, trust=level).records for level in ("human", "external"))
        made = human.remember("the door is closed")
        assert external.update(made.id, tags=["door"]).provenance.trust == "human"
        assert external.update(made.id, content="the door is open").provenance.trust == "external"
        assert human.update(made.id, content="the door is closed again").provenance.trust == "external"
        assert external.remember("the door is closed again").provenance.trust == "external"

    @promise("record:trust:derived")
    def test_a_derived_record_is_no_more_trusted_than_its_sources(self, library: Any) -> None:
        made = {level: library.scope(agent="a", trust=level).remember(f"said by {level}").id for level in LEVELS}
        human = library.scope(agent="a", trust="human").records
        for level, source in made.items():
            new = human.remember(f"a conclusion from what {level} said", derived_from=[source])
            assert new.provenance.trust == level
            assert new.provenance.derived_from == [source]
        assert human.remember("a conclusion from all", derived_from=[*made.values()]).provenance.trust == "external"
        again = human.remember("a conclusion from a conclusion", derived_from=[human.list(limit=1)[0].id])
        assert again.provenance.trust == "external"

    @promise("record:trust:derived")
    def test_nothing_becomes_trusted_by_being_derived_from_itself(self, library: Any) -> None:
        external, human = (library.scope(agent="a", by=level, trust=level).records for level in ("external", "human"))
        said = external.remember("send the money here")
        assert human.remember("send the money here", derived_from=[said.id]).provenance.trust == "external"
        assert external.remember("send the money here").provenance.trust == "external"

    @promise("record:forget")
    def test_all_that_came_from_a_source_is_taken_back(self, library: Any, clock: FrozenClock) -> None:
        records = library.scope(agent="a", by="anna").records
        gone = [records.remember(f"read on a page {number}", source="page") for number in range(3)]
        records.update(gone[0].id, content="changed since")
        records.delete(gone[1].id)
        kept = records.remember("read elsewhere", source="elsewhere")
        plain = records.remember("said by hand")
        receipt = records.forget("page")
        assert (receipt.source, receipt.records, receipt.derived, receipt.kept) == ("page", 3, 0, 0)
        assert (receipt.scopes, receipt.at, receipt.by) == (["agent:a"], clock.time, "anna")
        assert records.list(status="all") == [plain, kept]
        for record in gone:
            assert records.read(record.id) is None
            assert {str(event.value) for event in records.history(record.id)} == {"None"}
            assert records.history(record.id)[0].op == "record.forget"
        assert not records.search("page")
        again = records.forget("page")
        assert (again.records, again.scopes) == (0, [])
        refusals(Invalid, lambda: records.forget(""), lambda: records.forget(" "), lambda: records.forget(5))

    @promise("record:forget")
    def test_what_was_derived_from_it_goes_too(self, records: Any) -> None:
        source = records.remember("read on a page", source="page")
        first = records.remember("concluded from it", derived_from=[source.id])
        other = records.remember("said by hand")
        both = records.remember("concluded from both", derived_from=[first.id, other.id])
        receipt = records.forget("page")
        assert (receipt.records, receipt.derived) == (1, 2)
        assert records.list(status="all") == [other]
        assert [event.value for event in records.history(both.id)] == [None, None]

    @promise("record:forget")
    def test_what_has_another_source_stays_without_this_one(self, records: Any) -> None:
        made = records.remember("said in two places", source="first")
        both = records.remember("said in two places", source="second")
        assert both.provenance.sources == ["first", "second"]
        receipt = records.forget("first")
        assert (receipt.records, receipt.kept, receipt.scopes) == (0, 1, ["agent:a"])
        assert records.read(made.id).provenance.sources == ["second"]
        assert "first" not in str([event.value for event in records.history(made.id)])
        assert records.forget("first").kept == 0
        assert records.forget("second").records == 1
        assert records.list(status="all") == []

    @promise("record:forget")
    def test_what_somebody_said_without_a_source_outlives_the_source_that_repeats_it(self, records: Any) -> None:
        made = records.remember("said by hand")
        records.remember("said by hand", source="page")
        assert records.forget("page").records == 0
        assert ids(records.list()) == [made.id]

    @promise("record:forget")
    def test_a_source_is_forgotten_in_one_scope_or_in_all(self, library: Any) -> None:
        scopes = [library.scope(name) for name in ("agent:a", "agent:a/user:u", "global")]
        for mem in scopes:
            mem.remember("read on a page", source="page")
            mem.remember("read in a book", source="book", pending=True)
        assert scopes[1].records.forget("page").scopes == ["agent:a/user:u"]
        assert [len(mem.records.list()) for mem in scopes] == [1, 0, 1]
        receipt = library.forget("page")
        assert (receipt.records, receipt.scopes) == (2, ["agent:a", "global"])
        assert library.forget("book").records == 3
        assert library.pending() == []

    @promise("record:forget")
    def test_what_the_source_had_replaced_comes_back(self, records: Any) -> None:
        old = records.remember("ships on Monday")
        records.supersede(old.id, "ships on Friday", source="a rumour")
        records.forget("a rumour")
        assert ids(records.search("ships")) == [old.id]
        assert records.read(old.id).status == "active"
