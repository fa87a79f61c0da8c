"""The candidates of a search in one scope: fetched as they are needed, kept if they pass, and scored together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from typing import Any, Generic, NamedTuple, TypeVar

from memwell.engine.meaning import Meaning
from memwell.engine.rank import Scales, Weighted, Words, candidates, lend, small_parts, weigh
from memwell.store import Read
from memwell.store.index import Found

T = TypeVar("T")
NEAREST = (200, 2000)  # how many the vectors propose, and how many if too few of those pass
MARKED_MOST = 2000
CHUNK = 200  # candidates that are fetched at a time
SPARE = 20
LENDERS = 60  # how many of the best lend to their neighbours
REACH = 2


class Question(NamedTuple):
    """What is asked: words, a vector or none, and the marks of which a doc must have one of each list."""

    terms: list[str]
    vector: Any
    marks: list[list[str]]
    limit: int
    explain: bool = False


class Candidate(NamedTuple, Generic[T]):
    """Something that passed, with the parts of its score."""

    found: Found
    thing: T
    parts: dict[str, float]

    @property
    def score(self) -> float:
        return sum(self.parts.values())


class Pool(Generic[T]):
    """The things of one scope and shape that `accept` takes, which gives None for what is not wanted."""

    def __init__(
        self,
        view: Read,
        place: tuple[str, str],
        question: Question,
        accept: Callable[[Found], T | None],
        meaning: Meaning | None,
        now: int,
    ) -> None:
        self.passed: dict[int, tuple[Found, T]] = {}
        self._view, self._place, self._question, self._accept = view, place, question, accept
        self._now = now
        self._meaning = meaning if question.vector is not None else None
        self._allowed = self._with_rare_marks()
        self._weighted = Weighted({}, 0.0, 1.0)
        self._near: dict[int, float] | None = None

    def _with_rare_marks(self) -> set[int] | None:
        """The docs that have one mark of each list that is short; a common mark is seen when a doc is fetched."""
        allowed: set[int] | None = None
        for marks in self._question.marks:
            having = {*self._view.marked(*self._place, marks, MARKED_MOST)}
            if len(having) < MARKED_MOST:
                allowed = having if allowed is None else allowed & having
        return allowed

    def gather(self) -> list[float] | None:
        """Take what words and meaning propose; the cosines of what passed, or None without vectors."""
        stats = self._view.terms(*self._place, self._question.terms)
        self._weighted = weigh(stats)
        self._take_best(candidates(self._view, *self._place, stats, self._weighted))
        self._near = self._take_nearest()
        return None if self._near is None else list(self._near.values())

    def ranked(
        self, cosines: list[float] | None, about: Callable[[T], tuple[bool, float | None]]
    ) -> Iterator[Candidate[T]]:
        """The best of what was gathered and of what stands next to it.

        The cosines are those of all scopes that are searched; `about` says if something is pinned, and how sure it is.
        """
        words, scales = Words(self._weighted), Scales(self._weighted.question, cosines)

        def parts_of(ids: Iterable[int], cosines: dict[int, float]) -> dict[int, dict[str, float]]:
            return {number: scales.parts(words(self.passed[number][0]), cosines.get(number)) for number in ids}

        parts = parts_of(self.passed, self._near or {})
        spoken = [number for number in parts if self.passed[number][0].group is not None]
        if spoken:
            best = nlargest(LENDERS, spoken, lambda number: sum(parts[number].values()))
            near = self._view.neighbours(*self._place, best, REACH)
            beside = self._take(one for sides in near.values() for side in sides for one in side)
            parts.update(parts_of(beside, {} if self._meaning is None else self._cosines(0, beside)))
            lend(parts, near)
        for number, own in parts.items():
            found, thing = self.passed[number]
            own.update(small_parts(found, *about(thing), self._now))
            yield Candidate(found, thing, own)

    def _take(self, ids: Iterable[int]) -> list[int]:
        """Look at these; the numbers of those that are new and pass."""
        fresh = [one for one in dict.fromkeys(ids) if one not in self.passed]
        if self._allowed is not None:
            fresh = [one for one in fresh if one in self._allowed]
        new = {}
        for found in self._view.docs(*self._place, fresh, self._now) if fresh else ():
            thing = self._accept(found)
            if thing is not None:
                new[found.id] = (found, thing)
        self.passed.update(new)
        return list(new)

    def _take_best(self, rough: dict[int, float]) -> None:
        """In chunks, best first, until more than enough have passed."""
        order = sorted(rough, key=lambda number: (-rough[number], -number))
        if self._allowed is not None:
            order = [number for number in order if number in self._allowed]
        for start in range(0, len(order), CHUNK):
            self._take(order[start : start + CHUNK])
            if len(self.passed) >= self._question.limit + SPARE:
                return

    def _take_nearest(self) -> dict[int, float] | None:
        """The cosines of what is nearest in meaning and of what words found; None without vectors."""
        if self._meaning is None:
            return None
        if self._allowed is not None:
            nearest = self._cosines(0, list(self._allowed))
            self._take(nearest)
        else:
            nearest = self._widening(list(self.passed))
        return {number: cosine for number, cosine in nearest.items() if number in self.passed}

    def _widening(self, worded: list[int]) -> dict[int, float]:
        """A filter that few pass needs more proposals."""
        nearest: dict[int, float] = {}
        for most in NEAREST:
            nearest = self._cosines(most, worded)
            if len(self._take(nearest)) >= self._question.limit or len(nearest) < most:
                break
        return nearest

    def _cosines(self, most: int, also: list[int]) -> dict[int, float]:
        assert self._meaning is not None
        place = (*self._place, self._meaning.model)
        return self._meaning.vectors.nearest(self._view, place, self._question.vector, most, also)
