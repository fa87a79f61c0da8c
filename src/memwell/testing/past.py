"""What a fact was: history, reads in the past, reverting, and what retention may forget."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.errors import Conflict, Invalid, NotFound
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals


class PastTests:
    """Facts as they were."""

    @promise("fact:history")
    def test_history_has_who_when_and_what_newest_first(self, store: Any, clock: FrozenClock) -> None:
        anna, bob = store.scope(agent="a", by="anna"), store.scope(agent="a", by="bob")
        start = clock.time
        anna.set("k", 1)
        anna.set("other", 0)
        clock.advance(1)
        bob.set("k", None, ttl=60)
        anna.delete("k")
        anna.set("k", 3)
        anna.revert("k", 1)
        bob.clear()
        events = anna.history("k")
        assert [(event.op, event.version, event.value, event.by, event.deleted) for event in events] == [
            ("fact.clear", 4, None, "bob", True),
            ("fact.revert", 4, 1, "anna", False),
            ("fact.set", 3, 3, "anna", False),
            ("fact.delete", 2, None, "anna", True),
            ("fact.set", 2, None, "bob", False),
            ("fact.set", 1, 1, "anna", False),
        ]
        assert [event.rev for event in events] == sorted({event.rev for event in events}, reverse=True)
        assert {event.scope for event in events} == {"agent:a"}
        assert [events[-1].at, events[-2].at] == [start, clock.time]
        assert anna.history("k", limit=2) == events[:2]
        assert anna.history("nothing") == []

    @promise("fact:past:rev")
    def test_a_rev_reads_the_past(self, mem: Any) -> None:
        first = mem.set("k", "one")
        mem.set("other", "x")
        second = mem.set("k", "two")
        mem.delete("k")
        gone = mem.history("k")[0].rev
        third = mem.set("k", "three")
        assert [mem.get("k", "absent", at=rev) for rev in (first.rev, second.rev - 1, second.rev)] == [
            "one",
            "one",
            "two",
        ]
        assert mem.get("k", "absent", at=gone) == mem.get("k", "absent", at=third.rev - 1) == "absent"
        assert mem.get("k", at=third.rev) == mem.get("k", at=third.rev + 1000) == "three"
        assert mem.get("k", "absent", at=first.rev - 1) == "absent"
        assert [mem.entry("k", at=entry.rev) for entry in (first, second, third)] == [first, second, third]
        assert mem.entry("k", at=gone) is None

    @promise("fact:past:time")
    def test_a_time_reads_the_past(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        start = clock.time
        mem.set("k", "one")
        clock.advance(10)
        middle = clock.time
        mem.set("k", "two")
        clock.advance(10)
        mem.delete("k")
        assert mem.get("k", at=start) == mem.get("k", at=start.timestamp() + 9.5) == "one"
        assert mem.get("k", at=middle) == mem.get("k", at=middle.timestamp()) == "two"
        assert mem.get("k", "absent", at=clock.time) == "absent"
        assert mem.get("k", "absent", at=start.timestamp() - 1.0) == "absent"
        assert mem.entry("k", at=middle).created_at == start

    @promise("fact:past:rev")
    def test_the_present_read_as_the_past_is_the_same(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        mem.set("k", 1, ttl=10)
        clock.advance(5)
        current = mem.set("k", 2)
        clock.advance(10)
        assert mem.entry("k") == mem.entry("k", at=current.rev) == mem.entry("k", at=clock.time) == current

    @pytest.mark.parametrize("at", [True, "yesterday", float("nan"), float("inf"), [1]])
    @promise("fact:past:rev")
    def test_what_is_no_moment_is_refused(self, mem: Any, at: Any) -> None:
        with pytest.raises(Invalid):
            mem.get("k", at=at)

    @promise("fact:revert")
    def test_revert_writes_an_old_value_as_a_new_version(self, mem: Any) -> None:
        mem.set("k", {"a": 1})
        mem.set("k", 2)
        back = mem.revert("k", 1, if_version=2)
        assert (back.value, back.version) == ({"a": 1}, 3)
        mem.delete("k")
        assert mem.revert("k", 2, if_version=0).version == 4
        assert mem.get("k") == 2
        assert [event.value for event in mem.history("k")] == [2, None, {"a": 1}, 2, {"a": 1}]

    @promise("fact:revert")
    def test_revert_to_what_never_was_changes_nothing(self, mem: Any) -> None:
        before = mem.set("k", 1)
        refusals(NotFound, lambda: mem.revert("k", 2), lambda: mem.revert("k", 99), lambda: mem.revert("nothing", 1))
        refusals(Conflict, lambda: mem.revert("k", 1, if_version=9))
        for version in (0, -1, 1.0, True, None):
            refusals(Invalid, lambda version=version: mem.revert("k", version))  # type: ignore[misc]
        assert mem.entry("k") == before
        assert len(mem.history("k")) == 1

    @promise("fact:retention")
    def test_retention_forgets_the_old_and_never_the_current(self, opener: Any, clock: FrozenClock) -> None:
        store = opener(history_seconds=100)
        mem = store.scope(agent="a")
        kept = mem.set("kept", "old but current")
        mem.set("k", 1)
        mem.set("k", 2)
        first = mem.set("gone", 1)
        mem.delete("gone")
        clock.advance(101)
        recent = mem.set("k", 3)
        store.sweep()
        assert mem.entry("kept") == kept == mem.entry("kept", at=kept.rev)
        assert [event.value for event in mem.history("kept")] == ["old but current"]
        assert [event.value for event in mem.history("k")] == [3]
        assert mem.entry("k").created_at == kept.created_at
        assert mem.set("k", 4).version == 4
        assert mem.set("gone", 2).version > first.version
        clock.advance(99)
        store.sweep()
        assert [event.version for event in mem.history("k")] == [4, recent.version]

    @promise("fact:retention")
    def test_a_forgotten_past_is_an_error_and_not_absence(self, opener: Any, clock: FrozenClock) -> None:
        store = opener(history_seconds=100)
        mem = store.scope(agent="a")
        old = mem.set("k", 1)
        start = clock.time
        clock.advance(101)
        mem.set("k", 2)
        store.sweep()
        for at in (old.rev, start):
            with pytest.raises(NotFound, match="forgotten"):
                mem.get("k", at=at)
        with pytest.raises(NotFound):
            mem.revert("k", 1)

    @promise("fact:retention")
    def test_so_is_the_forgotten_past_of_a_deleted_key(self, opener: Any, clock: FrozenClock) -> None:
        store = opener(history_seconds=100)
        mem = store.scope(agent="a")
        old = mem.set("k", 1)
        mem.delete("k")
        clock.advance(101)
        store.sweep()
        with pytest.raises(NotFound, match="forgotten"):
            mem.get("k", at=old.rev)
        assert mem.get("k", "absent") == "absent"
