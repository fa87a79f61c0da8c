"""How well a record fits a question: words by BM25 over weighted fields, meaning by cosine, blended and explained.

Every backend's candidates are scored here, by the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from math import exp, log
from typing import NamedTuple

from memwell.store import Read
from memwell.store.index import Found, Terms

K1, B = 1.2, 0.5
FIELD_WEIGHTS = (2.0, 1.0, 1.5)  # title, content, tags
ENOUGH = 300  # candidates that are scored exactly
POSTINGS_MOST = 40_000  # entries of word lists that a search reads before it looks only where rare words are
PINNED, RECENT, SURE = 0.02, 0.02, 0.02  # the most that each can add
RECENT_DAYS = 30.0


class Weighted(NamedTuple):
    """The terms of a question that records hold, rarest first, with what each is worth; and the question as a whole."""

    terms: dict[str, float]
    question: float
    mean_length: float


def weigh(stats: Terms) -> Weighted:
    """A term that few records hold says more; one that none holds says nothing."""
    ordered = sorted((count, term) for term, count in stats.holding.items())
    worth = {term: log(1 + (stats.docs - count + 0.5) / (count + 0.5)) for count, term in ordered}
    held = {term: worth[term] for count, term in ordered if count}
    return Weighted(held, sum(worth.values()), max(1.0, stats.length / stats.docs) if stats.docs else 1.0)


def candidates(view: Read, scope: str, shape: str, stats: Terms, weighted: Weighted) -> dict[int, float]:
    """Records that may be among the best, with the sum of what their terms are worth.

    Rare words first: once there are enough records that no other could overtake by the words that are left, or the
    lists become long, the remaining words count only for records that hold a rare one.
    """
    found: dict[int, float] = {}
    rest, read = sum(weighted.terms.values()), 0
    taken: list[str] = []
    for term, worth in weighted.terms.items():
        length = stats.holding[term]
        if len(found) >= ENOUGH and (read + length > POSTINGS_MOST or _kth(found) >= rest):
            break
        if read + length > POSTINGS_MOST:
            _common(view, scope, shape, weighted, taken, found)
            return found
        for number in view.holding(scope, shape, [[term]], length + 1):
            found[number] = found.get(number, 0.0) + worth
        read, rest = read + length, rest - worth
        taken.append(term)
    for term in list(weighted.terms)[len(taken) :]:
        for number in view.holding(scope, shape, [[term, rare] for rare in taken], POSTINGS_MOST):
            if number in found:
                found[number] += weighted.terms[term]
    return found


def _common(view: Read, scope: str, shape: str, weighted: Weighted, taken: list[str], found: dict[int, float]) -> None:
    """Few records hold rare words and the other lists are long: take those that hold several of the common words."""
    rest = [term for term in weighted.terms if term not in taken]
    for size in range(len(rest), 0, -1):
        group = rest[:size]
        for number in view.holding(scope, shape, [group], POSTINGS_MOST // 4):
            found[number] = max(found.get(number, 0.0), sum(weighted.terms[term] for term in group))
        if len(found) >= ENOUGH:
            return


def _kth(found: dict[int, float]) -> float:
    return nlargest(ENOUGH, found.values())[-1]


class Words:
    """BM25 of one record after the other; a match in the title or a tag counts for more."""

    def __init__(self, weighted: Weighted) -> None:
        self._terms = [(f" {term} ", worth * (K1 + 1)) for term, worth in weighted.terms.items()]
        self._base, self._slope = K1 * (1 - B), K1 * B / weighted.mean_length

    def __call__(self, found: Found) -> float:
        text = found.text
        if not text:
            return 0.0
        norm = self._base + self._slope * found.length
        if text.startswith(_NO_TITLE) and text.endswith(_NO_TAGS):
            counts: list[float] = [text.count(term) for term, _ in self._terms]
        else:
            counts = [_weighted_count(text.split("\n"), term) for term, _ in self._terms]
        return sum(
            worth * count / (count + norm) for count, (_, worth) in zip(counts, self._terms, strict=True) if count
        )


_NO_TITLE, _NO_TAGS = "  \n", "\n  "


def _weighted_count(fields: list[str], term: str) -> float:
    return sum(weight * field.count(term) for weight, field in zip(FIELD_WEIGHTS, fields, strict=False))


class Blend(NamedTuple):
    """How much each channel counts, once both are brought to the same scale; and what a neighbour lends.

    An answer often has no word of the question, which stands before it: so what stands before lends more.
    """

    words: float = 0.5
    meaning: float = 0.5
    before: tuple[float, ...] = (0.4, 0.1)
    after: tuple[float, ...] = (0.2, 0.05)


BLEND = Blend()


class Scales:
    """Brings both channels of one search to one scale, so that their sum means something.

    Words count by the share of the question they cover, so that a poor match by words can't outvote a good one by
    meaning. A cosine has no such measure: the nearest record counts 1, what is as far as the last candidate 0.
    """

    def __init__(self, question: float, cosines: Iterable[float] | None) -> None:
        self._question = question
        self._floor = self._span = 0.0
        self.by_meaning = cosines is not None
        if cosines:
            ordered = sorted(cosines)
            self._floor, self._span = ordered[0], ordered[-1] - ordered[0]

    def parts(self, words: float, cosine: float | None) -> dict[str, float]:
        """What each channel adds to a score."""
        covered = words / self._question if self._question else 0.0
        if not self.by_meaning:
            return {"words": covered}
        near = 0.0 if cosine is None or not self._span else max(0.0, (cosine - self._floor) / self._span)
        if cosine is not None and not self._span:
            near = 1.0
        return {"words": BLEND.words * covered, "meaning": BLEND.meaning * near}


def lend(parts: Mapping[int, dict[str, float]], near: Mapping[int, tuple[Sequence[int], Sequence[int]]]) -> None:
    """Each of the best lends a part of its score to those that stand next to it in a conversation."""
    totals = {number: sum(own.values()) for number, own in parts.items()}
    for lender, (before, after) in near.items():
        for others, shares in ((after, BLEND.before), (before, BLEND.after)):
            for other, share in zip(others, shares, strict=False):
                own = parts.get(other)
                if own is not None:
                    own["neighbours"] = own.get("neighbours", 0.0) + share * totals[lender]


def small_parts(found: Found, pinned: bool, confidence: float | None, now: int) -> dict[str, float]:
    """What counts besides the question: enough to settle a tie, too little to decide."""
    days = max(0.0, (now - found.at) / 86_400e6)
    parts = {"recency": RECENT * exp(-days / RECENT_DAYS)}
    if pinned:
        parts["pinned"] = PINNED
    if confidence is not None:
        parts["confidence"] = SURE * (confidence - 0.5)
    return parts
