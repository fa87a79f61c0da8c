"""Any sequence of writes on a store that forgets: what is current stays, no version comes back, no past is made up."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memwell import ops
from memwell.errors import NotFound
from memwell.testing.clocks import START, frozen_clock
from memwell.testing.ledger import WHOLE_SCOPE, Ledger, Written
from memwell.testing.model import drive

HISTORY_S = 10
KEYS = st.sampled_from(("a", "a", "b"))
TTLS = st.sampled_from((None, None, 1, HISTORY_S, 30))
SECONDS = st.sampled_from((1, HISTORY_S, 30, 30))


def run(store: Any, sequences: int, steps: int = 20, *, random: bool = False) -> int:
    """Drive a store opened with `history_seconds=HISTORY_S` through sequences of writes; how many there were."""
    return drive(Forgetting, store, sequences, steps, random=random)


class Forgetting(RuleBasedStateMachine):
    """One scope of a store with retention beside a ledger that forgets nothing."""

    store: ClassVar[Any]
    sequences: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self._context = ExitStack()
        self.clock = self._context.enter_context(frozen_clock(START + timedelta(hours=self.sequences)))
        self.mem = self.store.scope(agent=f"forgetful {self.sequences}", by="tester")
        self.ledger = Ledger()
        self.tops: dict[str, int] = {}

    def teardown(self) -> None:
        with self._context:
            self.mem.delete_scope()

    def _settle(self) -> None:
        pending = [write for write in self.ledger.writes if not write.rev]
        after = max([self.ledger.horizon, *(write.rev for write in self.ledger.writes)])
        events = self.store.apply(ops.Changes(self.mem.name, after)).events
        assert [event.key for event in events] == [write.key for write in pending]
        for event, write in zip(events, pending, strict=True):
            write.rev, write.version = event.rev, event.version

    def _certain(self, write: Written) -> bool:
        """Whether this write must still be there; what is old may go at any time, by the store's own upkeep."""
        old = self.clock.us - HISTORY_S * 1_000_000
        return write.at >= old or self.ledger.live(write.key, self.clock.us) is write

    @rule(key=KEYS, value=st.integers(0, 9), ttl=TTLS)
    def set(self, key: str, value: int, ttl: float | None) -> None:
        live = self.ledger.live(key, self.clock.us)
        entry = self.mem.set(key, value, ttl=ttl)
        write = self.ledger.set(key, value, "tester", self.clock.us, ttl, None)
        assert entry.version >= write.version
        assert entry.version == live.version + 1 if live else entry.version > self.tops.get(key, 0)
        self.tops[key] = entry.version
        self._settle()

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        assert self.mem.delete(key) == self.ledger.delete(key, "tester", self.clock.us, None)
        self._settle()

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(kind=st.sampled_from(("sweep", "sweep", "sweep", "delete_scope")))
    def tidy(self, kind: str) -> None:
        if kind == "sweep":
            self.store.sweep()
            return
        # Tombstones that were forgotten leave nothing to delete, and then there is no event of it.
        before = self.store.apply(ops.Changes(self.mem.name)).rev
        assert self.mem.delete_scope() == len(self.ledger.keys(self.clock.us))
        if self.store.apply(ops.Changes(self.mem.name)).rev > before:
            self.ledger.erase("tester", self.clock.us)
            self._settle()

    @invariant()
    def what_is_current_stays(self) -> None:
        now = self.clock.us
        live = [self.ledger.live(key, now) for key in self.ledger.keys(now)]
        expected = [(write.key, write.value, write.version, write.rev) for write in live if write]
        assert [(entry.key, entry.value, entry.version, entry.rev) for entry in self.mem.entries()] == expected

    @invariant()
    def history_is_cut_only_at_its_old_end(self) -> None:
        for key in ("a", "b"):
            revs = [event.rev for event in self.mem.history(key)]
            writes = self.ledger.of(key)
            assert revs == [write.rev for write in writes][: len(revs)]
            assert len(revs) >= sum(map(self._certain, writes))

    @invariant()
    def no_past_is_invented(self) -> None:
        for write in self.ledger.writes:
            if write.key == WHOLE_SCOPE:
                continue
            try:
                value = self.mem.get(write.key, None, at=write.rev)
            except NotFound:
                assert not self._certain(write)
            else:
                assert value == (write.value if write.alive(self.clock.us) else None)

    @invariant()
    def a_watcher_misses_nothing_unawares(self) -> None:
        for since in [self.ledger.horizon, *(write.rev for write in self.ledger.writes)]:
            expected = list(self.ledger.since(since))
            try:
                events = self.store.apply(ops.Changes(self.mem.name, since)).events
            except NotFound:
                assert not all(map(self._certain, expected))
            else:
                assert [event.rev for event in events] == [write.rev for write in expected]
