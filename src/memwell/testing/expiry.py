"""What a TTL does: each write sets it anew, and at its moment the fact is gone for everybody."""

from __future__ import annotations

from typing import Any

import pytest

from memwell import ops
from memwell.errors import Invalid, NotFound
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals


def _few(done: int, total: int) -> None:
    """An export whose pages repeat would never end."""
    assert done <= total <= 1, "the export does not come to an end"


class ExpiryTests:
    """Facts that end."""

    @promise("fact:ttl:anew")
    def test_each_write_sets_the_ttl_anew(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        mem.set("k", 1, ttl=10)
        clock.advance(9)
        mem.set("k", 2, ttl=10)
        clock.advance(9)
        assert mem.get("k") == 2
        assert mem.set("k", 3).expires_at is None
        clock.advance(1_000_000)
        assert mem.get("k") == 3
        mem.set("k", 4, ttl=10)
        assert mem.revert("k", 3).expires_at is None

    @pytest.mark.parametrize("ttl", [0.000001, 0.5, 1, 3600, 10**9])
    @promise("fact:ttl:moment")
    def test_it_is_gone_at_the_moment_and_not_before(self, store: Any, clock: FrozenClock, ttl: float) -> None:
        mem = store.scope(agent="a")
        mem.set("k", 1, ttl=ttl)
        clock.us += round(ttl * 1_000_000) - 1
        assert mem.get("k") == 1
        clock.us += 1
        assert mem.get("k") is None

    @promise("fact:ttl:gone", "trap:ttl:readable")
    def test_an_expired_fact_is_gone_for_every_read(self, store: Any, clock: FrozenClock, tmp_path: Any) -> None:
        mem, other = store.scope(agent="a"), store.scope(agent="b")
        made = mem.set("k", "secret", ttl=5)
        other.set("k", "kept")
        clock.advance(5)
        assert mem.get("k", "absent") == "absent"
        assert mem.entry("k") is None
        assert mem.get_many(["k"]) == {}
        assert mem.list() == mem.list("k") == mem.list(pattern="*") == mem.entries() == []
        assert mem.delete("k") is False
        assert mem.clear() == 0
        assert store.scopes() == ["agent:b"]
        stats = store.stats()
        assert (stats.scopes, stats.entries, stats.facts, stats.bytes) == (1, 1, 1, len('"kept"'))
        assert mem.get("k", "absent", at=made.rev) == "absent"
        assert store.export(str(tmp_path / "export"), progress=_few) == 1
        assert "secret" not in (tmp_path / "export").read_text()

    @promise("fact:ttl:gone", "trap:ttl:readable")
    def test_an_expired_value_is_gone_from_history_while_its_event_stays(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        mem.set("k", "secret", ttl=5)
        first = mem.history("k")[0]
        assert (first.value, first.expired) == ("secret", False)
        clock.advance(5)
        for _ in range(2):
            (event,) = mem.history("k")
            assert (event.value, event.expired, event.version) == (None, True, 1)
            assert (event.rev, event.at, event.by, event.expires_at) == (first.rev, first.at, first.by, clock.time)
            assert store.apply(ops.Changes(mem.name, 0)).events == [event]
            with pytest.raises(NotFound):
                mem.revert("k", 1)
            store.sweep()

    @promise("fact:ttl:sweep")
    def test_a_sweep_only_frees_space(self, store: Any, clock: FrozenClock) -> None:
        mem = store.scope(agent="a")
        mem.set_many({f"k{number}": number for number in range(7)}, ttl=5)
        mem.set("later", 1, ttl=50)
        mem.set("kept", 1)
        assert store.sweep() == 0
        clock.advance(5)
        before = (mem.entries(), store.scopes(), [mem.history(f"k{number}") for number in range(7)])
        assert store.sweep() == 7
        assert (mem.entries(), store.scopes(), [mem.history(f"k{number}") for number in range(7)]) == before
        assert store.sweep() == 0
        assert mem.list() == ["kept", "later"]

    @pytest.mark.parametrize("ttl", [0, -1, -0.5, float("inf"), float("nan"), True, "60", [], 1e300])
    @promise("fact:ttl:positive")
    def test_a_ttl_is_a_positive_number_of_seconds(self, mem: Any, ttl: Any) -> None:
        before = mem.set("k", 1)
        both = (lambda: mem.set("k", 2, ttl=ttl), lambda: mem.set_many({"k": 2}, ttl=ttl))
        assert all("ttl" in refusal.message for refusal in refusals(Invalid, *both))
        assert mem.entry("k") == before
