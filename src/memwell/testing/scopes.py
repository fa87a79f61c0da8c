"""What a scope owes: nobody else sees it, it can be emptied and ended, and the store counts right."""

from __future__ import annotations

from typing import Any

import pytest

from memwell import ops
from memwell.errors import NotFound
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise

NEIGHBOURS = ["agent:b", "agent:a/user:u", "user:a", "agent:A", "agent:a%2F", "agent:aa", "global", "process:a"]


class ScopeTests:
    """Scopes beside each other."""

    @pytest.mark.parametrize("name", NEIGHBOURS)
    @promise("scope:isolated")
    def test_nothing_is_seen_from_another_scope(self, store: Any, name: str) -> None:
        mine, other = store.scope("agent:a"), store.scope(name)
        made = mine.set("k", "mine")
        assert other.get("k") is other.entry("k") is None
        assert other.list() == other.entries() == other.history("k") == other.list(pattern="**") == []
        assert other.get_many(["k"]) == {}
        assert other.get("k", "absent", at=made.rev) == "absent"
        assert store.apply(ops.Changes(other.name, 0)).events == []
        assert other.delete("k") is False
        assert other.clear() == other.delete_scope() == 0
        with pytest.raises(NotFound):
            other.revert("k", 1)
        assert other.set("k", "theirs", if_version=0).version == 1
        assert mine.entry("k") == made
        assert other.delete_scope() == 1
        assert mine.entry("k") == made

    @promise("scope:shared")
    def test_shared_memory_is_the_scope_global(self, store: Any) -> None:
        store.shared().set("config", 1)
        assert store.scope("global").get("config") == 1
        assert store.shared().name == "global"
        assert store.scope(agent="a").get("config") is None

    @promise("scope:isolated")
    def test_one_scope_has_one_spelling(self, store: Any) -> None:
        store.scope(user="42", agent="support").set("k", 1)
        assert store.scope("user:42/agent:support").get("k") == 1
        assert store.apply(ops.Get("user:42/agent:support", "k")) == 1
        store.scope(user="a/b").set("k", 2)
        assert store.scope("user:a%2fb").get("k") == 2
        assert store.scopes() == ["agent:support/user:42", "user:a%2Fb"]

    @promise("fact:clear")
    def test_clear_empties_the_scope_and_keeps_its_history(self, store: Any) -> None:
        mem = store.scope(agent="a")
        mem.set_many({"a": 1, "b": 2})
        assert mem.clear() == 2
        assert mem.list() == []
        assert [event.op for event in mem.history("a")] == ["fact.clear", "fact.set"]
        assert mem.clear() == 0
        assert mem.set("a", 3).version == 2

    @promise("scope:delete")
    def test_delete_scope_removes_all_with_its_history(self, store: Any) -> None:
        mem = store.scope(agent="a")
        mem.set("a", 1)
        last = mem.set("a", 2)
        mem.set("b", 1)
        mem.delete("b")
        assert mem.delete_scope() == 1
        assert mem.list() == mem.history("a") == mem.history("b") == store.scopes() == []
        with pytest.raises(NotFound, match="forgotten"):
            mem.get("a", at=last.rev)
        with pytest.raises(NotFound):
            mem.revert("a", 1)
        assert mem.delete_scope() == 0

    @promise("scope:delete", "trap:version:back")
    def test_no_version_comes_back_after_delete_scope(self, mem: Any) -> None:
        stale = [mem.set("k", number).version for number in range(3)][-1]
        mem.delete_scope()
        assert mem.set("k", "new").version == stale + 1
        assert mem.set("unrelated", 1).version == stale + 1

    @promise("store:stats")
    def test_stats_are_right(self, store: Any, clock: FrozenClock) -> None:
        empty = store.stats()
        assert (empty.scopes, empty.entries, empty.facts, empty.bytes, empty.history) == (0, 0, 0, 0, 0)
        assert empty.backend
        assert empty.durability in {"power-safe", "crash-safe", "volatile"}
        mem = store.scope(agent="a")
        mem.set_many({"a": "four", "b": [1, 2]})
        mem.set("a", 1)
        store.shared().set("c", True, ttl=5)
        store.scope(user="u").set("d", 1)
        store.scope(user="u").delete("d")
        stats = store.stats()
        assert (stats.scopes, stats.entries, stats.facts, stats.bytes) == (2, 3, 3, len("1[1,2]true"))
        assert stats.history == 6
        clock.advance(5)
        assert (store.stats().scopes, store.stats().entries) == (1, 2)

    @promise("store:scopes")
    def test_the_scopes_that_hold_anything_are_listed(self, store: Any) -> None:
        names = ["agent:a", "agent:a/user:u", "global", "user:é"]
        for name in reversed(names):
            store.scope(name).set("k", 1)
        store.scope("agent:empty").set("k", 1)
        store.scope("agent:empty").delete("k")
        assert store.scopes() == names
        assert store.scopes(limit=2) == names[:2]
        assert store.scopes(after="agent:a/user:u") == names[2:]
