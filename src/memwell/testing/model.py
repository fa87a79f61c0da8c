"""Any sequence of ops, on a store and on a ledger: both must answer the same. Needs Hypothesis."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memwell import clock, ops
from memwell.codec import ABSENT
from memwell.errors import Conflict, NotFound
from memwell.testing.clocks import START, frozen_clock
from memwell.testing.comparing import absent_or_forgotten, chosen, compare, compare_event, must_refuse, refused
from memwell.testing.ledger import WHOLE_SCOPE, Ledger

NAMES = ("a", "a_", "aX", "A", "b/c", "b/c/d", "é")
SCOPES = st.sampled_from(("agent:{}", "agent:{}/user:u"))
KEYS = st.sampled_from((*NAMES[:1] * 6, *NAMES))  # mostly one key, so that its writes meet
VALUES = st.sampled_from((None, True, 1, 1.0, 0, "", "text", [], [1, [None]], {}, {"a": {"b": "é"}}))
TTLS = st.sampled_from((5, None, 1, None, 60))
SECONDS = st.sampled_from((5, 60, 1, 4, 0.000001))
PAUSES = st.sampled_from((0, 1, 0, 5))  # time passes between two writes, too
GUESSES = st.sampled_from((None, "last", "current", None, None, 0, 1))
VERSIONS = st.integers(1, 5)
PREFIXES = st.sampled_from((None, "", "a", "a_", "A", "b/", "é", "zzz"))
PATTERNS = st.sampled_from((None, "*", "**", "a*", "a?", "a[_X]", "b?c", "b/*", "b/**", "**/d", "?", "A", "*_*"))
LIMITS = st.sampled_from((None, 1, 2, 5))
PICKS = st.integers(0, 30)
STEPS = st.tuples(st.sampled_from(("get", "set", "set", "delete", "revert", "clear")), KEYS, VALUES, TTLS, GUESSES)
PAGES_MOST = 1000
MANY = st.dictionaries(KEYS, VALUES, max_size=4)


def run(store: Any, sequences: int, steps: int = 20, *, random: bool = False) -> int:
    """Drive a store through sequences of ops, always the same ones unless `random`; how many there were.

    The store must be empty and nobody else's; open it with a long `sweep_seconds`.
    """
    return drive(Facts, store, sequences, steps, random=random)


def drive(machine: type[Any], store: Any, sequences: int, steps: int, *, random: bool) -> int:
    """Run a state machine on a store; how many sequences there were."""
    bound: Any = type(machine.__name__, (machine,), {"store": store, "sequences": 0})
    limits = settings(
        max_examples=sequences,
        stateful_step_count=steps,
        deadline=None,
        derandomize=not random,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(bound, settings=limits)
    return int(bound.sequences)


class Facts(RuleBasedStateMachine):
    """Two scopes of a store beside two ledgers; each sequence has scopes of its own and removes them at its end."""

    store: ClassVar[Any]
    sequences: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self._context = ExitStack()
        self.clock = self._context.enter_context(frozen_clock(START + timedelta(hours=self.sequences)))
        self.ledgers: dict[str, Ledger] = {}
        self.history = self.store.stats().history

    def teardown(self) -> None:
        with self._context:
            try:
                if sys.exc_info()[0] is None:  # a rule that failed has already said what is wrong
                    self._all_is_the_same()
                    self.clock.advance(60)
                    self._all_is_the_same()
            finally:
                for name in self.ledgers:
                    self.store.scope(name).delete_scope()

    def _all_is_the_same(self) -> None:
        """Everything that can be read, at the end of a sequence."""
        self.the_entries_are_the_same()
        self._count()
        for name, ledger in self.ledgers.items():
            mem = self.store.scope(name)
            self._follow(name, ledger, ledger.horizon)
            for key in {write.key for write in ledger.writes} - {WHOLE_SCOPE}:
                self._look_back(mem, ledger, key)
                for write in ledger.of(key):
                    value = write if write.alive(self.clock.us) else None
                    compare(mem.entry(key, at=write.rev), value, ledger)

    # What every rule needs

    def _at(self, scope: str) -> tuple[Any, Ledger]:
        name = scope.format(self.sequences)
        return self.store.scope(name, by="tester"), self.ledgers.setdefault(name, Ledger())

    def _guess(self, guess: int | str | None, ledger: Ledger, key: str) -> int | None:
        """A version to insist on: the current one, the one a stale writer saw last, or any."""
        if guess == "current":
            live = ledger.live(key, self.clock.us)
            return live.version if live else 0
        if guess == "last":
            return next((write.version for write in ledger.of(key)), 1)
        return guess  # type: ignore[return-value]

    def _do(self, mem: Any, ledger: Ledger, call: Callable[[], Any], model: Callable[[Ledger], Any]) -> None:
        """Make a write on both, and compare what they say and the events they leave."""
        trial = ledger.copy()
        try:
            expected = model(trial)
        except (Conflict, NotFound) as refusal:
            refused(refusal, call, trial)
            return
        answer = call()
        self._settle(mem.name, trial)
        self.ledgers[mem.name] = trial
        compare(answer, expected, trial)

    def _settle(self, name: str, ledger: Ledger) -> None:
        """The events of the newest writes, which tell their revs."""
        pending = [write for write in ledger.writes if not write.rev]
        after = max([ledger.horizon, *(write.rev for write in ledger.writes)])
        events = self.store.apply(ops.Changes(name, after, limit=1000)).events
        assert len(events) == len(pending), (events, pending)
        for event, write in zip(events, pending, strict=True):
            assert event.rev > after
            write.rev = after = event.rev
            compare_event(event, write, self.clock.us)

    # Writes

    @initialize(scope=SCOPES, values=MANY)
    def fill(self, scope: str, values: dict[str, Any]) -> None:
        self._set_many(scope, values, None)

    def _set(self, scope: str, key: str, value: Any, ttl: float | None, guess: int | str | None, pause: float) -> None:
        self.clock.advance(pause)
        mem, ledger = self._at(scope)
        wanted, now = self._guess(guess, ledger, key), self.clock.us
        self._do(
            mem,
            ledger,
            lambda: mem.set(key, value, ttl=ttl, if_version=wanted),
            lambda model: model.set(key, value, "tester", now, ttl, wanted),
        )

    # Rules are chosen evenly: what happens most in life stands here most often.
    set = rule(scope=SCOPES, key=KEYS, value=VALUES, ttl=TTLS, guess=GUESSES, pause=PAUSES)(_set)
    set_again = rule(scope=SCOPES, key=KEYS, value=VALUES, ttl=TTLS, guess=GUESSES, pause=PAUSES)(_set)
    set_once_more = rule(scope=SCOPES, key=KEYS, value=VALUES, ttl=TTLS, guess=GUESSES, pause=PAUSES)(_set)

    @rule(scope=SCOPES, values=MANY, ttl=TTLS)
    def set_many(self, scope: str, values: dict[str, Any], ttl: float | None) -> None:
        self._set_many(scope, values, ttl)

    def _set_many(self, scope: str, values: dict[str, Any], ttl: float | None) -> None:
        mem, ledger = self._at(scope)
        now = self.clock.us
        self._do(
            mem,
            ledger,
            lambda: mem.set_many(values, ttl=ttl),
            lambda model: {key: model.set(key, value, "tester", now, ttl, None) for key, value in values.items()},
        )

    @rule(scope=SCOPES, key=KEYS, guess=GUESSES, pause=PAUSES)
    def delete(self, scope: str, key: str, guess: int | str | None, pause: float) -> None:
        self.clock.advance(pause)
        mem, ledger = self._at(scope)
        wanted, now = self._guess(guess, ledger, key), self.clock.us
        self._do(
            mem,
            ledger,
            lambda: mem.delete(key, if_version=wanted),
            lambda model: model.delete(key, "tester", now, wanted),
        )

    @rule(scope=SCOPES, key=KEYS, version=VERSIONS, guess=GUESSES)
    def revert(self, scope: str, key: str, version: int, guess: int | str | None) -> None:
        mem, ledger = self._at(scope)
        wanted, now = self._guess(guess, ledger, key), self.clock.us
        self._do(
            mem,
            ledger,
            lambda: mem.revert(key, version, if_version=wanted),
            lambda model: model.revert(key, version, "tester", now, wanted),
        )

    @rule(scope=SCOPES, kind=st.sampled_from(("clear", "delete_scope", "sweep", "sweep")))
    def tidy(self, scope: str, kind: str) -> None:
        mem, ledger = self._at(scope)
        now = self.clock.us
        if kind == "clear":
            self._do(mem, ledger, mem.clear, lambda model: model.clear("tester", now))
        elif kind == "delete_scope":
            self._do(mem, ledger, mem.delete_scope, lambda model: model.erase("tester", now))
        else:
            # The store's own upkeep may have been there before; how many there were is for the suite to count.
            assert 0 <= self.store.sweep() <= sum(ledger.expired(now) for ledger in self.ledgers.values())

    @rule(scope=SCOPES, steps=st.lists(STEPS, min_size=1, max_size=5))
    def batch(self, scope: str, steps: list[tuple[str, str, Any, float | None, int | str | None]]) -> None:
        mem, ledger = self._at(scope)
        batch, now = mem.batch(), self.clock.us
        models: list[Callable[[Ledger], Any]] = []
        for kind, key, value, ttl, guess in steps:
            wanted = self._guess(guess, ledger, key)
            models.append(_step(batch, kind, key, value, ttl, wanted, now))
        self._do(mem, ledger, batch.commit, lambda model: [each(model) for each in models])

    @rule(seconds=SECONDS)
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # Reads

    @invariant()
    def the_entries_are_the_same(self) -> None:
        for name, ledger in self.ledgers.items():
            expected = [ledger.live(key, self.clock.us) for key in ledger.keys(self.clock.us)]
            compare(self.store.scope(name).entries(), expected, ledger)

    @rule(scope=SCOPES, key=KEYS)
    def read(self, scope: str, key: str) -> None:
        mem, ledger = self._at(scope)
        live = ledger.live(key, self.clock.us)
        compare(mem.entry(key), live, ledger)
        assert repr(mem.get(key, ABSENT)) == repr(live.value if live else ABSENT)
        found = {name: ledger.live(name, self.clock.us) for name in NAMES}
        expected = {name: write.value for name, write in found.items() if write}
        assert repr(mem.get_many(NAMES)) == repr(expected)

    @rule(scope=SCOPES, prefix=PREFIXES, pattern=PATTERNS, limit=LIMITS, after=st.none() | KEYS)
    def listing(
        self, scope: str, prefix: str | None, pattern: str | None, limit: int | None, after: str | None
    ) -> None:
        mem, ledger = self._at(scope)
        keys = [key for key in ledger.keys(self.clock.us) if chosen(key, prefix, pattern)]
        keys = [key for key in keys if after is None or key > after][:limit]
        options = {"pattern": pattern, "limit": limit, "after": after}
        assert mem.list(prefix, **options) == keys
        compare(mem.entries(prefix, **options), [ledger.live(key, self.clock.us) for key in keys], ledger)

    @rule(scope=SCOPES, key=KEYS, limit=LIMITS)
    def look_back(self, scope: str, key: str, limit: int | None) -> None:
        self._look_back(*self._at(scope), key, limit)

    def _look_back(self, mem: Any, ledger: Ledger, key: str, limit: int | None = None) -> None:
        events, writes = mem.history(key, limit=limit), ledger.of(key)[:limit]
        assert len(events) == len(writes)
        for event, write in zip(events, writes, strict=True):
            compare_event(event, write, self.clock.us)

    @rule(scope=SCOPES, key=KEYS, pick=PICKS, by_time=st.booleans())
    def read_the_past(self, scope: str, key: str, pick: int, by_time: bool) -> None:
        mem, ledger = self._at(scope)
        moments = [write.at if by_time else write.rev for write in ledger.writes] or [self.clock.us if by_time else 1]
        moment = moments[pick % len(moments)] - pick % 2
        at = clock.moment(moment) if by_time else max(0, moment)
        write = ledger.at_time(key, moment) if by_time else ledger.at_rev(key, moment)
        if write is None and ledger.horizon and not by_time and moment < ledger.horizon:
            must_refuse(lambda: mem.entry(key, at=at))
        elif write is None and ledger.horizon:
            absent_or_forgotten(lambda: mem.entry(key, at=at))
        else:
            compare(mem.entry(key, at=at), write if write and write.alive(self.clock.us) else None, ledger)

    @rule(scope=SCOPES, pick=PICKS, prefix=PREFIXES, pattern=PATTERNS, limit=st.sampled_from((1, 3, 100)))
    def follow(self, scope: str, pick: int, prefix: str | None, pattern: str | None, limit: int) -> None:
        mem, ledger = self._at(scope)
        revs = [ledger.horizon, *(write.rev for write in ledger.writes)]
        self._follow(mem.name, ledger, revs[pick % len(revs)], prefix, pattern, limit)

    def _follow(
        self,
        name: str,
        ledger: Ledger,
        since: int,
        prefix: str | None = None,
        pattern: str | None = None,
        limit: int = 100,
    ) -> None:
        seen, after = [], since
        for _ in range(PAGES_MOST):
            page = self.store.apply(ops.Changes(name, after, prefix, pattern, limit))
            seen += [event.rev for event in page.events if event.key]
            after = page.rev
            if not page.more:
                break
        writes = [write for write in ledger.since(since) if write.key != WHOLE_SCOPE]
        assert seen == [write.rev for write in writes if chosen(write.key, prefix, pattern)]
        if ledger.horizon:
            must_refuse(lambda: self.store.apply(ops.Changes(name, ledger.horizon - 1)))

    def _count(self) -> None:
        now, ledgers = self.clock.us, self.ledgers.values()
        held = {name: ledger.keys(now) for name, ledger in self.ledgers.items() if ledger.keys(now)}
        stats = self.store.stats()
        assert (stats.scopes, stats.facts) == (len(held), sum(map(len, held.values())))
        assert stats.entries == stats.facts
        live = [ledger.live(key, now) for ledger in ledgers for key in ledger.keys(now)]
        assert stats.bytes == sum(len(_json(write.value)) for write in live if write)
        assert stats.history - self.history == sum(len(ledger.writes) for ledger in ledgers)
        assert self.store.scopes() == sorted(held)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _step(
    batch: Any, kind: str, key: str, value: Any, ttl: float | None, wanted: int | None, now: int
) -> Callable[[Ledger], Any]:
    """Add one step to a batch; the same for a ledger."""
    if kind == "get":
        batch.get(key)
        return lambda model: getattr(model.live(key, now), "value", ABSENT)
    if kind == "set":
        batch.set(key, value, ttl=ttl, if_version=wanted)
        return lambda model: model.set(key, value, "tester", now, ttl, wanted)
    if kind == "delete":
        batch.delete(key, if_version=wanted)
        return lambda model: model.delete(key, "tester", now, wanted)
    if kind == "revert":
        batch.revert(key, ttl or 1, if_version=wanted)
        return lambda model: model.revert(key, int(ttl or 1), "tester", now, wanted)
    batch.clear()
    return lambda model: model.clear("tester", now)
