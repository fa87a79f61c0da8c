"""Any sequence of ops on records, on a store and on a plain list: both must answer the same. Needs Hypothesis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memwell import clock
from memwell.errors import Conflict, Denied, MemwellError, NotFound
from memwell.ops import NewRecord
from memwell.testing.clocks import START, frozen_clock
from memwell.testing.model import drive
from memwell.testing.record_book import Book, Change, Kept

WORDS = ("alpha", "beta", "gamma", "delta")  # no two have a stem in common
CALLERS = {"author": "system", "human": "human", "guest": "external"}
SCOPES = st.sampled_from(("agent:{}", "agent:{}", "agent:{}/user:u"))
CONTENTS = st.sampled_from(("alpha", "Alpha", "alpha beta", "beta  ALPHA", "gamma", "alpha gamma delta", "alpha  BETA"))
KINDS = st.sampled_from(("semantic", "semantic", "profile"))
TAGS = st.sampled_from(([], ["x"], ["x", "y"]))
TTLS = st.sampled_from((None, None, None, 5, 60))
SOURCES = st.sampled_from((None, None, "page", "book"))
BYS = st.sampled_from((*CALLERS,))
PICKS = st.integers(0, 30)
GUESSES = st.sampled_from((None, None, None, "current", "stale"))
DRAFTS = st.fixed_dictionaries(
    {"content": CONTENTS, "kind": KINDS, "tags": TAGS, "ttl": TTLS, "source": SOURCES},
    optional={"pinned": st.just(True), "pending": st.just(True)},
)
CHANGES = st.fixed_dictionaries(
    {}, optional={"content": CONTENTS, "tags": TAGS, "pinned": st.booleans(), "kind": KINDS}
)


def run(store: Any, sequences: int, steps: int = 20, *, random: bool = False) -> int:
    """Drive a store through sequences of ops on records; how many there were. It must be empty and nobody else's."""
    return drive(RecordMachine, store, sequences, steps, random=random)


class RecordMachine(RuleBasedStateMachine):
    """Two scopes of a store beside two books; each sequence has scopes of its own and removes them at its end."""

    store: ClassVar[Any]
    sequences: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self._context = ExitStack()
        self.clock = self._context.enter_context(frozen_clock(START + timedelta(hours=self.sequences)))
        self.books: dict[str, Book] = {}
        self.known: dict[str, list[str]] = {}

    def teardown(self) -> None:
        with self._context:
            try:
                if sys.exc_info()[0] is None:
                    self.clock.advance(60)
                    self.every_record_is_the_same()
            finally:
                for name in self.books:
                    self.store.scope(name).delete_scope()

    # What every rule needs

    def _at(self, scope: str, by: str = "author") -> tuple[str, Any]:
        name = scope.format(self.sequences)
        self.books.setdefault(name, Book())
        self.known.setdefault(name, [])
        return name, self.store.scope(name, by=by, trust=CALLERS[by]).records

    def _pick(self, name: str, pick: int) -> str:
        """Any record that ever was, or one that never was."""
        return ["nothing", *self.known[name]][-1 - pick % (len(self.known[name]) + 1)]

    def _new(self, fields: dict[str, Any], by: str, derived: list[str]) -> tuple[NewRecord, Kept]:
        now, ttl, source = self.clock.us, fields["ttl"], fields["source"]
        kept = Kept(
            fields["content"],
            fields["kind"],
            by,
            CALLERS[by],
            now,
            now,
            None if ttl is None else now + ttl * 1_000_000,
            tags=fields["tags"],
            pinned=fields.get("pinned", False),
            status="pending" if fields.get("pending") else "active",
            derived=derived,
            sources=[] if source is None else [source],
        )
        return NewRecord(**fields, derived_from=derived), kept

    def _version(self, name: str, id: str, guess: str | None) -> int | None:
        version = next((one.version for one in self.books[name].all if one.id == id), 1)
        return {None: None, "current": version, "stale": version + 1}[guess]

    def _do(self, name: str, call: Callable[[], Any], model: Change) -> None:
        """Make a write on both, and compare what they say."""
        trial = self.books[name].copy()
        try:
            expected = model(trial)
        except (Conflict, NotFound, Denied) as refusal:
            _refused(refusal, call)
            return
        answer = call()
        for one, wanted in _pairs(answer, expected):
            if not wanted.id:
                wanted.id = one.id
                self.known[name].append(one.id)
        self.books[name] = trial
        last = {wanted.id: (one, wanted) for one, wanted in _pairs(answer, expected)}  # said twice: as it is now
        for one, wanted in last.values():
            self._compare(name, one, wanted)
        if isinstance(expected, tuple):
            assert (answer.records, answer.derived, answer.kept) == expected

    def _compare(self, name: str, record: Any, kept: Kept) -> None:
        now, origin, us = self.clock.us, record.provenance, clock.microseconds
        assert (record.id, record.scope, record.content, record.kind) == (kept.id, name, kept.content, kept.kind)
        assert (record.tags, record.pinned, record.supersedes) == (kept.tags, kept.pinned, kept.supersedes)
        assert (record.status, record.reason) == (self.books[name].status(kept, now), kept.reason)
        assert (record.version, record.reinforced) == (kept.version, kept.reinforced)
        assert (us(record.created_at), us(record.updated_at)) == (kept.created, kept.updated)
        assert (None if record.expires_at is None else us(record.expires_at)) == kept.expires
        assert (origin.by, origin.trust, origin.sources) == (kept.by, kept.trust, kept.sources)
        assert (origin.derived_from, origin.updated_by) == (kept.derived, kept.updated_by)
        assert origin.reviewed_by == kept.reviewed_by

    def _same(self, name: str, records: Any, expected: list[Kept]) -> None:
        assert [record.id for record in records] == [kept.id for kept in expected]
        for record, kept in zip(records, expected, strict=True):
            self._compare(name, record, kept)

    # Writes

    @initialize(scope=SCOPES, fields=DRAFTS)
    def fill(self, scope: str, fields: dict[str, Any]) -> None:
        self._remember(scope, fields, "author", None)

    def _remember(self, scope: str, fields: dict[str, Any], by: str, parent: int | None) -> None:
        name, records = self._at(scope, by)
        derived = [] if parent is None else [self._pick(name, parent)]
        _, kept = self._new(fields, by, derived)
        self._do(
            name,
            lambda: records.remember(**fields, derived_from=derived),
            lambda book: book.remember(kept, self.clock.us),
        )

    # Rules are chosen evenly: what happens most in life stands here most often.
    remember = rule(scope=SCOPES, fields=DRAFTS, by=BYS, parent=st.none())(_remember)
    remember_again = rule(scope=SCOPES, fields=DRAFTS, by=BYS, parent=st.none())(_remember)
    derive = rule(scope=SCOPES, fields=DRAFTS, by=BYS, parent=PICKS)(_remember)

    @rule(scope=SCOPES, drafts=st.lists(DRAFTS, max_size=4), by=BYS)
    def remember_many(self, scope: str, drafts: list[dict[str, Any]], by: str) -> None:
        name, records = self._at(scope, by)
        pairs = [self._new(fields, by, []) for fields in drafts]
        self._do(
            name,
            lambda: records.remember_many([new for new, _ in pairs]),
            lambda book: [book.remember(kept, self.clock.us) for _, kept in pairs],
        )

    @rule(scope=SCOPES, pick=PICKS, changes=CHANGES, ttl=TTLS, by=BYS, guess=GUESSES)
    def update(
        self, scope: str, pick: int, changes: dict[str, Any], ttl: int | None, by: str, guess: str | None
    ) -> None:
        name, records = self._at(scope, by)
        key, now = self._pick(name, pick), self.clock.us
        wanted = self._version(name, key, guess)
        changes = changes or {"pinned": True}
        more = {} if ttl is None else {"ttl": ttl}
        modelled = changes if ttl is None else {**changes, "expires": now + ttl * 1_000_000}
        self._do(
            name,
            lambda: records.update(key, if_version=wanted, **changes, **more),
            lambda book: book.update(key, modelled, by, CALLERS[by], now, wanted),
        )

    @rule(scope=SCOPES, pick=PICKS, fields=DRAFTS, by=BYS, guess=GUESSES)
    def supersede(self, scope: str, pick: int, fields: dict[str, Any], by: str, guess: str | None) -> None:
        name, records = self._at(scope, by)
        key, now = self._pick(name, pick), self.clock.us
        wanted = self._version(name, key, guess)
        _, kept = self._new(fields, by, [])
        content, rest = fields["content"], {key: value for key, value in fields.items() if key != "content"}
        self._do(
            name,
            lambda: records.supersede(key, content, if_version=wanted, **rest),
            lambda book: book.supersede(key, kept, now, wanted),
        )

    @rule(scope=SCOPES, pick=PICKS, kind=st.sampled_from(("delete", "delete", "restore")))
    def bury(self, scope: str, pick: int, kind: str) -> None:
        name, records = self._at(scope)
        key, now = self._pick(name, pick), self.clock.us
        if kind == "delete":
            model: Change = lambda book: book.turn(key, "active", "deleted", "asked to", now)  # noqa: E731
            self._do(name, lambda: records.delete(key, reason="asked to"), model)
        else:
            model = lambda book: book.turn(key, "deleted", "active", None, now)  # noqa: E731
            self._do(name, lambda: records.restore(key), model)

    @rule(scope=SCOPES, pick=PICKS, approve=st.booleans(), by=BYS)
    def review(self, scope: str, pick: int, approve: bool, by: str) -> None:
        name, records = self._at(scope, by)
        waiting = [one.id for one in self.books[name].live(self.clock.us) if one.status == "pending"]
        key = waiting[pick % len(waiting)] if waiting and pick % 4 else self._pick(name, pick)
        self._do(
            name,
            lambda: (records.approve if approve else records.reject)(key),
            lambda book: book.review(key, approve, by, self.clock.us),
        )

    @rule(scope=SCOPES, source=st.sampled_from(("page", "book", "nowhere")))
    def forget(self, scope: str, source: str) -> None:
        name, records = self._at(scope)
        self._do(name, lambda: records.forget(source), lambda book: book.forget(source, self.clock.us))

    @rule(seconds=st.sampled_from((0.000001, 1, 5, 60)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def sweep(self) -> None:
        self.store.sweep()

    # Reads

    @invariant()
    def every_record_is_the_same(self) -> None:
        now = self.clock.us
        for name, book in self.books.items():
            records = self.store.scope(name).records
            shown = book.shown(now)
            self._same(name, records.list(), shown)
            self._same(name, [hit.record for hit in records.search(limit=100)], shown)
            self._same(name, records.list(status="all", limit=1000), book.live(now)[::-1])
            waiting = [one for one in book.live(now) if one.status == "pending"]
            assert {one.id for one in records.pending()} == {one.id for one in waiting}
            for key in self.known[name]:
                found, kept = records.read(key), [one for one in book.live(now) if one.id == key]
                assert (found is not None) == bool(kept and kept[0].status == "active")
                if found is not None:
                    self._compare(name, found, kept[0])
        assert self.store.stats().records == sum(len(book.live(now)) for book in self.books.values())

    @rule(scope=SCOPES, word=st.sampled_from(WORDS), kind=st.none() | KINDS, tag=st.sampled_from((None, "x", "y")))
    def search(self, scope: str, word: str, kind: str | None, tag: str | None) -> None:
        name, records = self._at(scope)
        options = {"kinds": kind and [kind], "tags": tag and [tag]}
        expected = [
            one
            for one in self.books[name].shown(self.clock.us)
            if (word in one.content.casefold() or word in one.tags)
            and kind in (None, one.kind)
            and tag in (None, *one.tags)
        ]
        hits = records.search(word, limit=100, **options)
        assert {hit.record.id for hit in hits} == {one.id for one in expected}
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert {record.id for record in records.list(**options)} >= {one.id for one in expected}

    @rule(word=st.sampled_from((*WORDS, "")))
    def search_wider(self, word: str) -> None:
        name, records = self._at("agent:{}/user:u")
        wide, _ = self._at("agent:{}")
        expected = [one for each in (name, wide) for one in self.books[each].shown(self.clock.us)]
        found = {hit.record.id for hit in records.search(word, limit=100, inherit=True)}
        assert found == {one.id for one in expected if word in one.content.casefold()}


def _pairs(answer: Any, expected: Any) -> list[tuple[Any, Kept]]:
    """Records of the answer with those of the model."""
    if isinstance(expected, Kept):
        return [(answer, expected)]
    return list(zip(answer, expected, strict=True)) if isinstance(expected, list) else []


def _refused(refusal: MemwellError, call: Callable[[], Any]) -> None:
    try:
        answer = call()
    except type(refusal) as error:
        if isinstance(refusal, Conflict):
            assert getattr(error, "current", None) is not None
    else:
        raise AssertionError(f"it should have been refused ({refusal!r}), and gave {answer!r}")
