"""How good a ranking is, by the ids it lists and the ids it should have listed. Every gain is 1 or 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from memwell.errors import Invalid

Answers = set[str] | frozenset[str]
Metric = Callable[[Sequence[str], Answers], float]


def recall(ranked: Sequence[str], answers: Answers, depth: int) -> float:
    """The part of the answers among the first `depth` of a ranking."""
    return len(answers.intersection(ranked[:depth])) / _count(answers)


def ndcg(ranked: Sequence[str], answers: Answers, depth: int) -> float:
    """Gains discounted by the logarithm of their rank, as a part of what the best ranking of this depth would have."""
    best = sum(map(_discount, range(1, min(_count(answers), depth) + 1)))
    return sum(_discount(rank) for rank in _found(ranked[:depth], answers)) / best


def reciprocal_rank(ranked: Sequence[str], answers: Answers) -> float:
    """1 over the rank of the first answer; 0 if there is none."""
    _count(answers)
    return 1 / next(iter(_found(ranked, answers)), math.inf)


def recall_at_5(ranked: Sequence[str], answers: Answers) -> float:
    """The part of the answers among the first five."""
    return recall(ranked, answers, 5)


def recall_at_10(ranked: Sequence[str], answers: Answers) -> float:
    """The part of the answers among the first ten."""
    return recall(ranked, answers, 10)


def ndcg_at_10(ranked: Sequence[str], answers: Answers) -> float:
    """Discounted gain of the first ten."""
    return ndcg(ranked, answers, 10)


METRICS: dict[str, Metric] = {
    "recall@5": recall_at_5,
    "recall@10": recall_at_10,
    "nDCG@10": ndcg_at_10,
    "MRR": reciprocal_rank,
}


def means(results: Iterable[tuple[Sequence[str], Answers]]) -> dict[str, float]:
    """Each metric's mean over (ranking, answers) of many questions."""
    kept = list(results)
    return {name: fmean(metric(*result) for result in kept) for name, metric in METRICS.items()}


def _found(ranked: Sequence[str], answers: Answers) -> list[int]:
    """The ranks, from 1, where answers stand; an id listed twice counts once."""
    first = {name: rank for rank, name in reversed(list(enumerate(ranked, 1)))}
    return sorted(first[name] for name in answers if name in first)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _count(answers: Answers) -> int:
    """How many answers; a question without any can't be scored, and must not pass for a perfect or a bad one."""
    if not answers:
        raise Invalid("a question needs at least one answer", hint="leave it out of the run, or label it")
    return len(answers)
