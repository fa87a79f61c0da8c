"""The part of a record that shows why it was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from memwell import words

WIDTH = 160
BEFORE = 30  # the most that is shown before the first word


def snippet(content: str, terms: Collection[str], width: int = WIDTH) -> tuple[str, list[tuple[int, int]]]:
    """The stretch with the most different words of the question, and where they stand in it."""
    places = [(stem, start, end) for stem, start, end in words.spans(content) if stem in terms]
    if len(content) <= width:
        return content, [(start, end) for _, start, end in places]
    begin = _best(places, width)
    if begin > 0:
        blank = content.find(" ", max(0, begin - (BEFORE - 10)), begin + 1)
        begin = blank + 1 if blank >= 0 else begin
    end = min(len(content), begin + width)
    before, after = "…" if begin else "", "…" if end < len(content) else ""
    shift = len(before) - begin
    inside = [(start + shift, stop + shift) for _, start, stop in places if begin <= start and stop <= end]
    return f"{before}{content[begin:end]}{after}", inside


def _best(places: list[tuple[str, int, int]], width: int) -> int:
    """Where a window of that width sees the most different words; each word enters it and leaves it once."""
    best, most, reach = 0, 0, 0
    inside: Counter[str] = Counter()
    for index, (stem, start, _) in enumerate(places):
        while reach < len(places) and (reach <= index or places[reach][2] <= start + width - BEFORE):
            inside[places[reach][0]] += 1
            reach += 1
        if len(inside) > most:
            best, most = max(0, start - 10), len(inside)
        inside[stem] -= 1
        if not inside[stem]:
            del inside[stem]
    return best
