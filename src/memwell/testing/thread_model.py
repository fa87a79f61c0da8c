"""Any sequence of ops on threads, on a store and on plain lists: both must answer the same. Needs Hypothesis."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memwell.engine.spoken import fingerprint
from memwell.errors import Conflict, Invalid, MemwellError, NotFound
from memwell.ops import NewMessage
from memwell.testing.clocks import START, frozen_clock
from memwell.testing.model import drive
from memwell.testing.thread_book import Change, Said, Talk, Threads
from memwell.types import Message, ToolCall

WORDS = ("alpha", "beta", "gamma")
CONTENTS = st.sampled_from((*WORDS, "alpha beta", "beta gamma", "delta", "delta", ""))
IDS = st.sampled_from((*[""] * 30, "m", "own"))
PLAIN = st.builds(Said, st.sampled_from(("user", "assistant")), CONTENTS, IDS)
CALL = st.builds(Said, st.just("assistant"), st.just("delta"), IDS, st.sampled_from((("c",), ("c", "d"), ("d",))))
ANSWER = st.builds(Said, st.just("tool"), CONTENTS, IDS, st.just(()), st.sampled_from(("c", "d")))
NAMED = st.sampled_from((Said("user", "alpha", "m"), Said("user", "beta", "n")))
SAID = st.sampled_from((PLAIN, PLAIN, PLAIN, PLAIN, CALL, CALL, ANSWER, ANSWER, NAMED)).flatmap(lambda kind: kind)
PICKS = st.integers(0, 30)
GUESSES = st.sampled_from((None, None, None, "right", "right", "right", "stale"))
LIMITS = st.sampled_from((None, 1, 2, 3, 100, 0))
EDGES = st.none() | PICKS
RARELY = st.integers(0, 5).map(lambda number: number == 3)


def run(store: Any, sequences: int, steps: int = 30, *, random: bool = False) -> int:
    """Drive a store through sequences of ops on threads; how many there were. It must be empty and nobody else's."""
    return drive(ThreadMachine, store, sequences, steps, random=random)


class ThreadMachine(RuleBasedStateMachine):
    """The threads of one scope beside plain lists; each sequence has a scope of its own and removes it at its end."""

    store: ClassVar[Any]
    sequences: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self._context = ExitStack()
        self.clock = self._context.enter_context(frozen_clock(START + timedelta(hours=self.sequences)))
        self.mem = self.store.scope(agent=str(self.sequences))
        self.threads = self.mem.threads
        self.book = Threads()
        self.handles: dict[str, Any] = {}

    def teardown(self) -> None:
        with self._context:
            try:
                if sys.exc_info()[0] is None:
                    for word in WORDS:
                        self._search(None, word, None)
            finally:
                self.mem.delete_scope()

    # What every rule needs

    def _pick(self, pick: int) -> tuple[str, Any, Talk]:
        """One of the newest threads; now and then any that ever was."""
        names = [*self.handles] if pick % 10 == 9 else [*self.book.all][-3:] or [*self.handles]
        name = names[-1 - pick % len(names)]
        return name, self.handles[name], self.book.all.get(name) or Talk(0)

    def _seq(self, talk: Talk, pick: int) -> int:
        """A number that a message has; now and then one that it had or may get."""
        return 1 + pick % (talk.last + 1) if pick % 6 == 5 or not talk.said else [*talk.said][pick % len(talk.said)]

    def _do(self, call: Callable[[], Any], model: Change) -> tuple[Any, Any]:
        """Make a write on both; what both say."""
        self.clock.advance(0.000001)
        trial = self.book.copy()
        try:
            expected = model(trial)
        except (Conflict, NotFound, Invalid) as refusal:
            _refused(refusal, call)
            return None, None
        answer = call()
        self.book = trial
        return answer, expected

    # Writes

    @initialize(said=st.lists(SAID, min_size=3, max_size=8))
    def begin(self, said: list[Said]) -> None:
        self._create("t")
        self._append(0, said, None, 0)

    @rule(name=st.sampled_from(("t", "u", "v")))
    def create(self, name: str) -> None:
        self._create(name)

    def _create(self, name: str) -> None:
        handle, _ = self._do(lambda: self.threads.create(id=name), lambda book: book.create(name, self.clock.us))
        if handle is not None:
            self.handles.pop(name, None)
            self.handles[name] = handle

    @rule(pick=PICKS, said=SAID, guess=GUESSES, own=PICKS)
    def append(self, pick: int, said: Said, guess: str | None, own: int) -> None:
        self._append(pick, [said], guess, own)

    @rule(pick=PICKS, said=st.lists(SAID, max_size=5), own=PICKS)
    def extend(self, pick: int, said: list[Said], own: int) -> None:
        self._append(pick, said, None, own)

    @rule(pick=PICKS, said=st.lists(SAID, min_size=2, max_size=5), guess=GUESSES, own=PICKS)
    def extend_after(self, pick: int, said: list[Said], guess: str | None, own: int) -> None:
        self._append(pick, said, guess, own)

    def _append(self, pick: int, said: list[Said], guess: str | None, own: int) -> None:
        name, thread, talk = self._pick(pick)
        drafts = [_renamed(one, f"{name}-{self._seq(talk, own)}") for one in said]
        if_last = {None: None, "right": talk.last, "stale": talk.last + 1}[guess]
        answer, expected = self._do(
            lambda: thread.extend([_new(one) for one in drafts], if_last=if_last),
            lambda book: book.append(name, drafts, if_last),
        )
        if expected is not None:
            assert [_told(message) for message in answer] == expected

    def _edit(self, pick: int, place: int, content: str, guess: str | None) -> None:
        name, thread, talk = self._pick(pick)
        seq = self._seq(talk, place)
        version = talk.said[seq].version if seq in talk.said else 1
        wanted = {None: None, "right": version, "stale": version + 1}[guess]
        answer, expected = self._do(
            lambda: thread.edit(seq, content=content, if_version=wanted),
            lambda book: book.edit(name, seq, content, wanted),
        )
        assert (answer and _told(answer)) == expected

    edit = rule(pick=PICKS, place=PICKS, content=CONTENTS, guess=GUESSES)(_edit)
    edit_newest = rule(pick=st.just(0), place=PICKS, content=CONTENTS, guess=st.none())(_edit)

    @rule(pick=PICKS, places=st.lists(PICKS, max_size=3), rarely=RARELY)
    def delete_messages(self, pick: int, places: list[int], rarely: bool) -> None:
        name, thread, talk = self._pick(pick)
        seqs = None if rarely else [self._seq(talk, place) for place in places]
        answer, expected = self._do(lambda: thread.delete_messages(seqs), lambda book: book.delete_messages(name, seqs))
        assert answer == expected

    @rule(pick=PICKS, at=EDGES)
    def fork(self, pick: int, at: int | None) -> None:
        name, thread, talk = self._pick(pick)
        place = None if at is None else at % (talk.last + 2)
        made: list[Any] = []

        def forked() -> str:
            made.append(thread.fork(place))
            return str(made[0].id)

        self.clock.advance(0.000001)
        try:
            self.book.copy().fork(name, place, "trial", 0)
        except NotFound as refusal:
            _refused(refusal, forked)
            return
        new = forked()
        self.book.fork(name, place, new, self.clock.us)
        self.handles[new] = made[0]

    def _cover(self, pick: int, begin: int, length: int, stale: bool) -> None:
        name, thread, talk = self._pick(pick)
        first = self._seq(talk, begin)
        last = max(first, self._seq(talk, length))
        text = f"sum of {first} to {last}"
        digest = "stale"
        if name in self.book.all and not stale:
            digest = fingerprint(thread.messages(None, after=first - 1, before=last + 1, raw=True))
        self._do(
            lambda: thread.cover(first, last, text, digest),
            lambda book: book.cover(name, first, last, text, stale),
        )

    # Rules are chosen evenly: what happens most in life stands here most often.
    cover = rule(pick=PICKS, begin=PICKS, length=PICKS, stale=RARELY)(_cover)
    cover_newest = rule(pick=st.just(0), begin=PICKS, length=PICKS, stale=st.just(False))(_cover)

    @rule(pick=PICKS, begin=PICKS)
    def uncover(self, pick: int, begin: int) -> None:
        name, thread, talk = self._pick(pick)
        firsts = sorted(talk.covers)
        first = firsts[begin % len(firsts)] if firsts and begin % 4 else self._seq(talk, begin)
        answer, expected = self._do(lambda: thread.uncover(first), lambda book: book.uncover(name, first))
        assert answer == expected

    @rule(pick=PICKS, rarely=RARELY)
    def delete(self, pick: int, rarely: bool) -> None:
        if not rarely:
            return
        name, thread, _ = self._pick(pick)
        answer, expected = self._do(thread.delete, lambda book: book.delete(name))
        assert answer == expected

    @rule()
    def sweep(self) -> None:
        self.store.sweep()

    # Reads

    @invariant()
    def every_thread_is_the_same(self) -> None:
        order = sorted(self.book.all, key=lambda name: (self.book.all[name].created, name), reverse=True)
        listed = self.threads.list()
        assert [info.id for info in listed] == order
        for info in listed:
            talk, thread = self.book.all[info.id], self.handles[info.id]
            assert (info.last, info.forked_from) == (talk.last, talk.origin)
            assert [_told(message) for message in thread.messages(None, raw=True)] == [
                talk.said[seq] for seq in sorted(talk.said)
            ]
            assert _shown(thread.messages(None)) == talk.shown()
            assert [(one.first, (one.last, one.content)) for one in thread.overlays()] == sorted(talk.tops().items())
            assert thread.count() == len(talk.said)
        for name in self.handles.keys() - self.book.all.keys():
            assert self.threads.get(name) is None

    @rule(pick=PICKS, limit=LIMITS, after=EDGES, before=EDGES, raw=st.booleans())
    def page(self, pick: int, limit: int | None, after: int | None, before: int | None, raw: bool) -> None:
        name, thread, talk = self._pick(pick)
        if name not in self.book.all:
            return
        whole = [
            line
            for line in talk.shown(raw)
            if (after is None or line[0] > after) and (before is None or line[0] < before)
        ]
        oldest = after is not None and before is None
        expected = whole[:limit] if oldest else whole[max(0, len(whole) - limit) :] if limit is not None else whole
        assert _shown(thread.messages(limit, after=after, before=before, raw=raw)) == expected

    @rule(pick=EDGES, word=st.sampled_from(WORDS), role=st.sampled_from((None, None, "user", "tool")))
    def search(self, pick: int | None, word: str, role: str | None) -> None:
        self._search(None if pick is None else self._pick(pick)[0], word, role)

    def _search(self, only: str | None, word: str, role: str | None) -> None:
        def fits(place: tuple[str, int]) -> bool:
            return only in (None, place[0]) and role in (None, self.book.all[place[0]].said[place[1]].role)

        holding, near = ({*filter(fits, places)} for places in self.book.holding(word))
        hits = self.threads.search(word, thread=only, roles=role and [role], limit=1000)
        found = {(hit.message.thread, hit.message.seq) for hit in hits}
        assert holding <= found <= near
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            talk = self.book.all[hit.message.thread]
            assert _told(hit.message) == talk.said[hit.message.seq]
            order = sorted(talk.said)
            place = order.index(hit.message.seq)
            around = [*order[max(0, place - 1) : place], *order[place + 1 : place + 2]]
            assert [message.seq for message in hit.context] == around


def _renamed(said: Said, own: str) -> Said:
    return Said(said.role, said.content, own if said.id == "own" else said.id, said.calls, said.answers)


def _new(said: Said) -> NewMessage:
    calls = [ToolCall(name, "look") for name in said.calls]
    return NewMessage(
        role=said.role, content=said.content, id=said.id or None, tool_calls=calls, tool_call_id=said.answers
    )


def _told(message: Message) -> Said:
    """A message of the store, as the lists have it."""
    calls = tuple(call.id for call in message.tool_calls)
    content = str(message.content)
    return Said(message.role, content, message.id, calls, message.tool_call_id, message.seq, message.version)


def _shown(messages: list[Message]) -> list[tuple[int, Any, Any]]:
    return [(message.seq, message.covers, message.content) for message in messages]


def _refused(refusal: MemwellError, call: Callable[[], Any]) -> None:
    try:
        answer = call()
    except type(refusal) as error:
        assert isinstance(error, MemwellError)
        assert error.hint or error.message
    else:
        raise AssertionError(f"it should have been refused ({refusal!r}), and gave {answer!r}")
