"""The threads of one scope as plain Python lists: what a store has to answer like."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from memwell.errors import Conflict, Invalid, NotFound

REACH = 2  # how far a message lends what it says to those around it


@dataclass
class Said:
    """A message: `calls` and `answers` are ids of tool calls."""

    role: str
    content: str
    id: str = ""
    calls: tuple[str, ...] = ()
    answers: str | None = None
    seq: int = 0
    version: int = 1

    def same(self, other: Self) -> bool:
        """Whether it says the same."""
        return (self.role, self.content, self.calls, self.answers) == (
            other.role,
            other.content,
            other.calls,
            other.answers,
        )


@dataclass
class Talk:
    """A thread: its messages by number, the last number ever given, and its summaries by where they begin."""

    created: int
    last: int = 0
    origin: tuple[str, int] | None = None
    said: dict[int, Said] = field(default_factory=dict)
    covers: dict[int, tuple[int, str]] = field(default_factory=dict)

    def tops(self) -> dict[int, tuple[int, str]]:
        """The summaries that no other lies over."""
        return {
            first: (last, text)
            for first, (last, text) in self.covers.items()
            if not any(other < first and last <= end for other, (end, _) in self.covers.items())
        }

    def shown(self, raw: bool = False) -> list[tuple[int, Any, Any]]:
        """Number, covered range and content of what a reader sees."""
        tops = {} if raw else self.tops()
        hidden = {seq for first, (last, _) in tops.items() for seq in range(first, last + 1)}
        found = [(seq, None, one.content) for seq, one in self.said.items() if seq not in hidden]
        return sorted([*found, *((last, (first, last), text) for first, (last, text) in tops.items())])

    def cuts(self, first: int, last: int) -> bool:
        """Whether a call and its result would be on two sides, or a call still waits for its result."""
        lines = [self.said[seq] for seq in sorted(self.said)]
        for place, one in enumerate(lines):
            calls = [line.seq for line in lines[:place] if one.answers in line.calls]
            if one.answers and calls and (first <= calls[-1] <= last) != (first <= one.seq <= last):
                return True
        place = max((place for place, one in enumerate(lines) if one.role != "tool"), default=0)
        open_calls = {*lines[place].calls} - {one.answers for one in lines[place + 1 :]}
        return bool(open_calls) and first <= lines[place].seq <= last


class Threads:
    """All threads of a scope. Each change gives what a store should answer, or raises what it should raise."""

    def __init__(self) -> None:
        self.all: dict[str, Talk] = {}
        self.gone: dict[str, int] = {}  # how far deleted threads had counted

    def copy(self) -> Threads:
        return deepcopy(self)

    def talk(self, name: str) -> Talk:
        if name not in self.all:
            raise NotFound("there is no such thread")
        return self.all[name]

    def create(self, name: str, now: int) -> None:
        if name in self.all:
            raise Conflict("it is there", current=None)
        self.all[name] = Talk(now, self.gone.get(name, 0))

    def append(self, name: str, drafts: list[Said], if_last: int | None) -> list[Said]:
        talk, fresh = self.talk(name), False
        before, done = talk.last, []
        for draft in drafts:
            known = self._known(name, talk, draft)
            if known is None:
                fresh, talk.last = True, talk.last + 1
                known = replace(draft, seq=talk.last, id=draft.id or f"{name}-{talk.last}")
                talk.said[known.seq] = known
            elif not known.same(draft):
                raise Conflict("it says something else", current=known)
            done.append(replace(known))
        if fresh and if_last not in (None, before):
            raise Conflict("somebody was faster", current=None)
        return done

    def _known(self, name: str, talk: Talk, draft: Said) -> Said | None:
        known = next((one for one in talk.said.values() if draft.id == one.id), None)
        if known is None and draft.id.startswith(f"{name}-"):
            raise Invalid("the thread gives such ids itself")
        return known

    def edit(self, name: str, seq: int, content: str, version: int | None) -> Said:
        one = self.talk(name).said.get(seq)
        if one is None:
            raise NotFound("there is no such message")
        if version not in (None, one.version):
            raise Conflict("it has changed", current=one)
        one.content, one.version = content, one.version + 1
        return replace(one)

    def delete_messages(self, name: str, seqs: list[int] | None) -> int:
        said = self.talk(name).said
        gone = {*said} if seqs is None else {*said} & {*seqs}
        for seq in gone:
            del said[seq]
        return len(gone)

    def delete(self, name: str) -> int:
        talk = self.talk(name)
        self.gone[name] = talk.last
        del self.all[name]
        return len(talk.said)

    def fork(self, name: str, at: int | None, new: str, now: int) -> Talk:
        old = self.talk(name)
        at = old.last if at is None else at
        if at > old.last:
            raise NotFound("it has no such message")
        said = {
            seq: replace(one, version=1, id=f"{new}-{seq}" if one.id == f"{name}-{seq}" else one.id)
            for seq, one in old.said.items()
            if seq <= at
        }
        covers = {first: cover for first, cover in old.covers.items() if cover[0] <= at}
        self.all[new] = Talk(now, at, (name, at), said, covers)
        return self.all[new]

    def cover(self, name: str, first: int, last: int, text: str, stale: bool) -> None:
        talk = self.talk(name)
        if first not in talk.said or last not in talk.said:
            raise NotFound("there are no such messages")
        if stale:
            raise Conflict("they have changed", current=None)
        if talk.cuts(first, last):
            raise Invalid("it cuts")
        for begin, (end, _) in talk.tops().items():
            if not (end < first or last < begin) and not (first <= begin and end <= last):
                raise Conflict("it crosses", current=None)
        talk.covers[first] = last, text

    def uncover(self, name: str, first: int) -> bool:
        return self.talk(name).covers.pop(first, None) is not None

    def holding(self, word: str) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
        """Messages that hold a word, and those together with what stands near them."""
        holding, near = set(), set()
        for name, talk in self.all.items():
            order = sorted(talk.said)
            for place, seq in enumerate(order):
                if word in talk.said[seq].content.split():
                    holding.add((name, seq))
                    near |= {(name, each) for each in order[max(0, place - REACH) : place + REACH + 1]}
        return holding, near


Change = Callable[[Threads], Any]
