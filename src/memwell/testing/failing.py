"""What an error leaves behind: nothing. Faults are ordered at every step of every write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memwell import ops
from memwell.store import Backend
from memwell.testing.faces import opened
from memwell.testing.faults import Broken, Faulty, Where
from memwell.testing.promise import promise

CALLS: dict[str, Callable[[Any], Any]] = {
    "set": lambda mem: mem.set("a", "changed"),
    "set if": lambda mem: mem.set("a", "changed", if_version=2),
    "set new": lambda mem: mem.set("new", 1, ttl=60, if_version=0),
    "set_many": lambda mem: mem.set_many({"new": 1, "a": 2, "b": 3}),
    "delete": lambda mem: mem.delete("a"),
    "clear": lambda mem: mem.clear(),
    "revert": lambda mem: mem.revert("a", 1),
    "delete_scope": lambda mem: mem.delete_scope(),
    "batch": lambda mem: _batch(mem).commit(),
}
READS: dict[str, Callable[[Any], Any]] = {
    "get": lambda mem: mem.get("a"),
    "entry at": lambda mem: mem.entry("a", at=10**6),
    "get_many": lambda mem: mem.get_many(["a", "b"]),
    "list": lambda mem: mem.list(),
    "history": lambda mem: mem.history("a"),
    "watch": lambda mem: next(mem.watch(since=0, timeout=0.0)),
}
# The job is done and not kept; then the first write of it fails, the second, and so on.
FAULTS: list[tuple[Where, int]] = [("commit", 1), *(("write", nth) for nth in range(1, 9))]


def _batch(mem: Any) -> Any:
    batch = mem.batch()
    batch.set("new", 1)
    batch.delete("a")
    batch.set("b", 2)
    batch.clear()
    batch.set("a", "again")
    return batch


def _seen(store: Any, mem: Any) -> tuple[Any, ...]:
    events = store.apply(ops.Changes(mem.name, 0)).events
    return mem.entries(), events, mem.history("a"), mem.history("new"), store.scopes(), store.stats()


class FailingTests:
    """Faults at every step, through the engine."""

    @pytest.fixture
    def faulty(self, backend: Backend) -> Faulty:
        """The backend, which fails when it is told to."""
        return Faulty(backend)

    @pytest.fixture
    def fragile(self, face: str, faulty: Faulty) -> Iterator[Any]:
        """A store over the backend that fails."""
        with opened(face, faulty) as store:
            mem = store.scope(agent="a")
            mem.set_many({"a": "first", "b": "first"})
            mem.set("a", "second")
            yield store

    @pytest.mark.parametrize("call", CALLS)
    @promise("fault:write")
    def test_a_write_that_fails_anywhere_leaves_nothing(self, fragile: Any, faulty: Faulty, call: str) -> None:
        mem = fragile.scope(agent="a")
        before = _seen(fragile, mem)
        for where, nth in FAULTS:
            faulty.fail(where, nth)
            try:
                CALLS[call](mem)
            except Broken:
                assert _seen(fragile, mem) == before
            else:
                break  # it makes fewer writes than that, and went through
        assert (where, nth) >= ("write", 2), "nothing failed"
        assert mem.entries() != before[0]

    @pytest.mark.parametrize("call", READS)
    @promise("fault:read")
    def test_a_read_that_fails_is_an_error_and_the_next_one_works(
        self, fragile: Any, faulty: Faulty, call: str
    ) -> None:
        mem = fragile.scope(agent="a")
        expected = READS[call](mem)
        faulty.fail("read")
        with pytest.raises(Broken):
            READS[call](mem)
        assert READS[call](mem) == expected
