"""What a fact does: set, get, compare-and-swap, delete, list, batch, stats."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memwell.codec import ABSENT
from memwell.errors import Conflict, Invalid, MemwellError, NotFound, TooLarge
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals

KEYS = [
    "USER_1",
    "a",
    "cache.a",
    "cache.a.b",
    "cache/x",
    "cache/x/y",
    "user%",
    "userX1",
    "user_",
    "user_1",
    "user_2",
    "é",
]
REFUSED: dict[Callable[[Any], Any], type[MemwellError]] = {
    lambda batch: batch.set("k", 9, if_version=7): Conflict,
    lambda batch: batch.delete("k", if_version=7): Conflict,
    lambda batch: batch.revert("k", 7): NotFound,
    lambda batch: batch.set("bad\n", 1): Invalid,
    lambda batch: batch.set("k", float("nan")): Invalid,
}


class FactTests:
    """Facts as they stand."""

    @promise("fact:get")
    def test_get_gives_the_value_or_the_default(self, mem: Any) -> None:
        assert mem.get("k") is None
        assert mem.get("k", 5) == 5
        assert mem.get("k", default="none") == "none"
        mem.set("k", 1)
        assert mem.get("k", 5) == 1

    @promise("fact:entry")
    def test_an_entry_tells_all(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a", by="anna")
        made = mem.set("k", {"a": 1}, ttl=60)
        assert (made.key, made.value, made.version, made.written_by) == ("k", {"a": 1}, 1, "anna")
        assert (made.created_at, made.updated_at) == (clock.time, clock.time)
        assert (made.expires_at - clock.time).total_seconds() == 60
        assert made.rev >= 1
        assert mem.entry("k") == made
        assert mem.entries() == [made]
        assert store.scope(agent="a", by="bob").set("k", 2).written_by == "bob"

    @promise("fact:many")
    def test_many_at_once(self, mem: Any) -> None:
        made = mem.set_many({"b": 1, "a": [2]}, ttl=60)
        assert {key: entry.value for key, entry in made.items()} == {"b": 1, "a": [2]}
        assert all(entry == mem.entry(key) and entry.expires_at for key, entry in made.items())
        assert mem.get_many(["a", "nothing", "b", "a"]) == {"a": [2], "b": 1}
        assert mem.get_many([]) == mem.set_many({}) == {}

    @promise("fact:many")
    def test_set_many_is_one_transaction(self, mem: Any) -> None:
        mem.set("kept", 1)
        with pytest.raises(Invalid):
            mem.set_many({"new": 1, "kept": 2, "bad\n": 3})
        assert mem.entries()[0].version == 1
        assert mem.list() == ["kept"]

    @promise("fact:version")
    def test_a_version_grows_by_one_with_every_write_of_that_key(self, mem: Any) -> None:
        assert [mem.set("k", value).version for value in ("a", "a", None, "b")] == [1, 2, 3, 4]
        assert mem.set("other", 1).version == 1
        assert mem.entry("k").version == 4

    @promise("fact:created")
    def test_created_at_survives_overwrites_and_not_a_delete(self, mem: Any, clock: FrozenClock) -> None:
        start = mem.set("k", 1).created_at
        clock.advance(10)
        second = mem.set("k", 2)
        assert second.created_at == start == mem.entry("k").created_at
        assert second.updated_at == clock.time
        clock.advance(10)
        assert mem.set("k", 3, if_version=2).created_at == start
        mem.delete("k")
        assert mem.set("k", 4).created_at == clock.time

    @promise("fact:cas")
    def test_compare_and_swap(self, mem: Any) -> None:
        assert mem.set("k", "a", if_version=0).version == 1
        assert mem.set("k", "b", if_version=1).version == 2
        assert mem.delete("k", if_version=2) is True

    @pytest.mark.parametrize("guess", [0, 1, 3, 99])
    @promise("fact:cas:refused")
    def test_a_refusal_carries_the_current_entry_and_changes_nothing(self, mem: Any, guess: int) -> None:
        mem.set("k", 1)
        current = mem.set("k", {"winner": True})
        for conflict in refusals(
            Conflict,
            lambda: mem.set("k", "late", if_version=guess),
            lambda: mem.delete("k", if_version=guess),
            lambda: mem.revert("k", 1, if_version=guess),
        ):
            assert conflict.current == current
        assert mem.entry("k") == current
        assert len(mem.history("k")) == 2

    @promise("fact:cas:absent")
    def test_version_zero_means_absent_and_absent_has_no_other(self, mem: Any) -> None:
        stale = (lambda: mem.set("k", 1, if_version=1), lambda: mem.delete("k", if_version=1))
        assert [conflict.current for conflict in refusals(Conflict, *stale)] == [None, None]
        assert mem.delete("k", if_version=0) is False
        assert mem.list() == []

    @promise("fact:cas:counter", "trap:version:back")
    def test_a_deleted_key_goes_on_after_its_last_version(self, mem: Any) -> None:
        mem.set("k", "old")
        stale = mem.set("k", "seen by the stale writer").version
        mem.delete("k")
        assert mem.set("k", "new", if_version=0).version == stale + 1
        with pytest.raises(Conflict) as conflict:
            mem.set("k", "stale", if_version=stale)
        assert conflict.value.current.value == "new"
        mem.clear()
        assert mem.set("k", "newer").version == stale + 2

    @promise("fact:cas:counter", "trap:version:back")
    def test_an_expired_key_goes_on_after_its_last_version(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        stale = mem.set("k", 1, ttl=5).version
        clock.advance(5)
        with pytest.raises(Conflict) as conflict:
            mem.set("k", "stale", if_version=stale)
        assert conflict.value.current is None
        store.sweep()
        assert mem.set("k", 2, if_version=0).version == stale + 1

    @promise("fact:delete")
    def test_delete_says_whether_it_was_there(self, mem: Any) -> None:
        assert mem.delete("k") is False
        mem.set("k", None)
        assert mem.delete("k") is True
        assert mem.delete("k") is False
        assert mem.get("k", "absent") == "absent"
        assert mem.list() == []

    @promise("fact:list")
    def test_a_list_is_sorted_and_pages(self, mem: Any) -> None:
        mem.set_many(dict.fromkeys(reversed(KEYS), 0))
        assert mem.list() == KEYS
        assert [entry.key for entry in mem.entries()] == KEYS
        paged: list[str] = []
        for _ in KEYS:
            paged += mem.list(limit=5, after=paged[-1] if paged else None)
        assert paged == KEYS
        assert mem.list(after="cache.b") == [key for key in KEYS if key > "cache.b"]
        assert [entry.key for entry in mem.entries("user", limit=2, after="userX1")] == ["user_", "user_1"]

    @pytest.mark.parametrize("prefix", ["user_", "USER", "user", "user%", "_", "%", "*", "cache.", "é", "user_1x", ""])
    @promise("fact:list:prefix", "trap:list:wildcard")
    def test_a_prefix_is_literal_and_case_sensitive(self, mem: Any, prefix: str) -> None:
        mem.set_many(dict.fromkeys(KEYS, 0))
        expected = [key for key in KEYS if key.startswith(prefix)]
        assert mem.list(prefix) == mem.list(prefix=prefix) == [entry.key for entry in mem.entries(prefix)] == expected

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("cache.*", ["cache.a", "cache.a.b"]),
            ("cache/*", ["cache/x"]),
            ("cache/**", ["cache/x", "cache/x/y"]),
            ("**", KEYS),
            ("*", KEYS),
            ("user_?", ["user_1", "user_2"]),
            ("user[_X]1", ["userX1", "user_1"]),
            ("user%", ["user%"]),
            ("user_", ["user_"]),
            ("?", ["a", "é"]),
            ("cache?x", []),
            ("A", []),
            ("cache.a.b", ["cache.a.b"]),
            ("cache.(a|b)", []),
        ],
    )
    @promise("fact:list:pattern", "trap:list:wildcard")
    def test_a_pattern_is_a_glob(self, mem: Any, pattern: str, expected: list[str]) -> None:
        mem.set_many(dict.fromkeys(KEYS, 0))
        assert mem.list(pattern=pattern) == [entry.key for entry in mem.entries(pattern=pattern)] == expected
        assert mem.list(pattern=pattern, limit=1) == expected[:1]
        assert mem.list("c", pattern=pattern) == [key for key in expected if key.startswith("c")]

    @promise("fact:batch")
    def test_a_batch_is_in_order(self, mem: Any) -> None:
        mem.set("old", 1)
        with mem.batch() as batch:
            batch.get("k")
            batch.set("k", 1)
            batch.set("k", 2, if_version=1)
            batch.get("k")
            batch.delete("k")
            batch.set("k", 3, if_version=0, ttl=60)
            batch.revert("k", 1, if_version=3)
            batch.delete("nothing")
        absent, one, two, read, deleted, three, back, nothing = batch.results
        assert absent is ABSENT
        assert (one.version, two.version, three.version, back.version) == (1, 2, 3, 4)
        assert (read, deleted, nothing) == (2, True, False)
        assert mem.entry("k") == back
        assert back.value == 1
        assert [event.version for event in mem.history("k")] == [4, 3, 2, 2, 1]

    @promise("fact:batch")
    def test_a_batch_can_clear_and_go_on(self, mem: Any) -> None:
        mem.set_many({"a": 1, "b": 2})
        batch = mem.batch()
        batch.clear()
        batch.set("b", 3)
        assert [batch.results, mem.list()] == [[], ["a", "b"]]
        cleared, made = batch.commit()
        assert (cleared, made.version, mem.list()) == (2, 2, ["b"])

    @promise("fact:batch:atomic")
    def test_a_batch_that_fails_leaves_nothing(self, mem: Any) -> None:
        mem.set("k", 1)
        before = (mem.entries(), mem.history("k"))
        for refuse, error in REFUSED.items():
            batch = mem.batch()
            batch.set("new", 1)
            batch.delete("k")
            batch.set("k", 2)
            refuse(batch)
            batch.clear()
            with pytest.raises(error):
                batch.commit()
            assert (mem.entries(), mem.history("k")) == before
        assert mem.set("new", 1).version == 1

    @promise("fact:batch:atomic")
    def test_a_batch_left_by_an_error_writes_nothing(self, mem: Any) -> None:
        with pytest.raises(ZeroDivisionError), mem.batch() as batch:
            batch.set("k", 1)
            raise ZeroDivisionError
        assert mem.list() == []

    @promise("fact:threads")
    def test_writers_that_meet_each_get_their_own_version(self, mem: Any) -> None:
        with ThreadPoolExecutor(8) as pool:
            shared = list(pool.map(lambda number: mem.set("shared", number), range(64)))
            own = list(pool.map(lambda number: mem.set(f"own {number % 8}", number), range(64)))
        assert sorted(entry.version for entry in shared) == list(range(1, 65))
        assert {event.version: event.value for event in mem.history("shared")} == {
            entry.version: entry.value for entry in shared
        }
        assert [entry.value for entry in shared + own] == [*range(64), *range(64)]
        assert len({entry.rev for entry in shared + own}) == 128
        assert [entry.version for entry in mem.entries("own")] == [8] * 8

    @promise("fact:limits")
    def test_a_batch_has_a_limit(self, opener: Any) -> None:
        mem = opener(max_batch=2).scope(agent="a")
        mem.set_many({"a": 1, "b": 2})
        three = (lambda: mem.set_many({"a": 2, "b": 3, "c": 4}), lambda: mem.get_many(["a", "b", "c"]))
        assert [refusal.limit for refusal in refusals(TooLarge, *three)] == [2, 2]
        assert mem.get_many(["a", "b"]) == {"a": 1, "b": 2}
