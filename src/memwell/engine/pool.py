"""The candidates of a search in one scope: fetched as they are needed, kept if they pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from memwell.engine.body import SHAPE, Body, glance
from memwell.engine.filters import Test
from memwell.engine.links import is_superseded
from memwell.engine.meaning import Meaning
from memwell.store import Read
from memwell.store.index import Found

NEAREST = (200, 2000)  # how many the vectors propose, and how many if too few of those pass
MARKED_MOST = 2000
CHUNK = 200  # candidates that are fetched at a time
SPARE = 20


class Question(NamedTuple):
    """A search, prepared."""

    terms: list[str]
    vector: Any
    test: Test
    marks: list[list[str]]
    limit: int
    explain: bool


class Pool:
    """The records of one scope that passed the filters of one question."""

    def __init__(self, view: Read, scope: str, question: Question, meaning: Meaning | None, now: int) -> None:
        self.passed: dict[int, tuple[Found, Body]] = {}
        self._view, self._scope, self._question, self._now = view, scope, question, now
        self._meaning = meaning if question.vector is not None else None
        self._allowed = self._with_rare_marks()

    def _with_rare_marks(self) -> set[int] | None:
        """The docs that have one mark of each list that is short; a common mark is seen when a doc is fetched."""
        allowed: set[int] | None = None
        for marks in self._question.marks:
            having = {*self._view.marked(self._scope, SHAPE, marks, MARKED_MOST)}
            if len(having) < MARKED_MOST:
                allowed = having if allowed is None else allowed & having
        return allowed

    def take(self, ids: Iterable[int]) -> list[int]:
        """Look at these; the numbers of those that are new and pass."""
        fresh = [one for one in dict.fromkeys(ids) if one not in self.passed]
        if self._allowed is not None:
            fresh = [one for one in fresh if one in self._allowed]
        new = {found.id: (found, body) for found, body in self._passing(fresh)}
        self.passed.update(new)
        return list(new)

    def take_best(self, rough: dict[int, float]) -> None:
        """In chunks, best first, until more than enough have passed."""
        order = sorted(rough, key=lambda number: (-rough[number], -number))
        if self._allowed is not None:
            order = [number for number in order if number in self._allowed]
        for start in range(0, len(order), CHUNK):
            self.take(order[start : start + CHUNK])
            if len(self.passed) >= self._question.limit + SPARE:
                return

    def take_nearest(self) -> dict[int, float] | None:
        """The cosines of what is nearest in meaning and of what words found; None without vectors."""
        if self._meaning is None:
            return None
        if self._allowed is not None:
            nearest = self._cosines(0, list(self._allowed))
            self.take(nearest)
        else:
            nearest = self._widening(list(self.passed))
        return {number: cosine for number, cosine in nearest.items() if number in self.passed}

    def _widening(self, worded: list[int]) -> dict[int, float]:
        """A filter that few records pass needs more proposals."""
        nearest: dict[int, float] = {}
        for most in NEAREST:
            nearest = self._cosines(most, worded)
            if len(self.take(nearest)) >= self._question.limit or len(nearest) < most:
                break
        return nearest

    def cosines(self, ids: list[int]) -> dict[int, float]:
        """The cosines of these."""
        return {} if self._meaning is None else self._cosines(0, ids)

    def _cosines(self, most: int, also: list[int]) -> dict[int, float]:
        assert self._meaning is not None
        place = (self._scope, SHAPE, self._meaning.model)
        return self._meaning.vectors.nearest(self._view, place, self._question.vector, most, also)

    def _passing(self, ids: list[int]) -> Iterator[tuple[Found, Body]]:
        for found in self._view.docs(self._scope, SHAPE, ids, self._now) if ids else ():
            body = glance(self._scope, found.cell)
            marked = all(has_mark(body, marks) for marks in self._question.marks)
            if body.status == "active" and marked and self._question.test(found.cell, body):
                hidden = found.linked and is_superseded(self._view, self._scope, found.cell.key, self._now)
                if not hidden:
                    yield found, body


def has_mark(body: Body, marks: list[str]) -> bool:
    """Whether a record has one of the marks of kind or tag."""
    return any(mark == f"kind:{body.kind}" or (mark.startswith("tag:") and mark[4:] in body.tags) for mark in marks)
