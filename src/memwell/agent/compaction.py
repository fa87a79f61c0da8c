"""What to cover in a thread: pure functions over its messages. Nothing here reads or writes a store."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from memwell.agent.tokens import Tokens
from memwell.engine.overlays import summary
from memwell.engine.spoken import fingerprint
from memwell.types import Message, Overlay

LIMIT = "limit"  # the kind of an overlay that only leaves out
_LEADING = ("system", "developer")


class Piece:
    """What is shown in one place of a thread: a message, or a summary with the originals that are below it."""

    def __init__(self, message: Message, below: Sequence[Message], overlay: Overlay | None = None) -> None:
        self.message, self.below, self.overlay = message, below, overlay
        self.first, self.last = (overlay.first, overlay.last) if overlay else (message.seq, message.seq)

    @property
    def leaves_out(self) -> bool:
        """Whether this is no summary but says only that something is left out."""
        return self.overlay is not None and self.overlay.metadata.get("kind") == LIMIT

    @property
    def sums_up(self) -> bool:
        """Whether this is a summary."""
        return self.overlay is not None and not self.leaves_out

    @property
    def coverable(self) -> bool:
        """Whether a range can begin or end here: its first and its last original are there."""
        return bool(self.below) and self.below[0].seq == self.first and self.below[-1].seq == self.last

    @cached_property
    def whole(self) -> bool:
        """Whether all originals are still as they were when they were covered."""
        return self.overlay is None or fingerprint(self.below) == self.overlay.digest


class Range:
    """Neighbouring pieces that one overlay is to cover."""

    def __init__(self, pieces: Sequence[Piece], tokens: int) -> None:
        self.pieces, self.tokens = pieces, tokens
        self.first, self.last = pieces[0].first, pieces[-1].last
        self.below = [message for piece in pieces for message in piece.below]

    @property
    def digest(self) -> str:
        """What tells whether the originals are still those that were read."""
        return fingerprint(self.below)

    def to_read(self) -> list[Message]:
        """What a summary has to be made of: messages and summaries, also those that were only left out."""
        return [message for piece in self.pieces for message in (piece.below if piece.leaves_out else [piece.message])]


def laid_out(originals: Sequence[Message], overlays: Iterable[Overlay]) -> list[Piece]:
    """A thread as it is shown; an overlay inside a larger one is below it, and a later one takes an earlier's place."""
    tops = list({overlay.first: overlay for overlay in overlays}.values())
    tops = [one for one in tops if not any(_inside(one, other) for other in tops)]
    numbers = [message.seq for message in originals]
    pieces, covered = [], set()
    for top in tops:
        below = originals[bisect_left(numbers, top.first) : bisect_right(numbers, top.last)]
        covered.update(message.seq for message in below)
        pieces.append(Piece(summary(top), below, top))
    pieces += [Piece(message, [message]) for message in originals if message.seq not in covered]
    return sorted(pieces, key=lambda piece: piece.first)


def _inside(one: Overlay, other: Overlay) -> bool:
    return one is not other and other.first <= one.first and one.last <= other.last


def left_out(count: int) -> str:
    """What stands in the place of messages that nobody summed up."""
    return "1 earlier message is left out here." if count == 1 else f"{count} earlier messages are left out here."


# Where a cut is safe


def cuts(pieces: Sequence[Piece]) -> list[int]:
    """The places, from 0 to the end, where no tool call stands before the cut with its result after it.

    Some models give each turn's calls the same ids: a result belongs to the last call of its id before it.
    """
    reach = list(range(len(pieces)))
    asked: dict[str, int] = {}
    for at, piece in enumerate(pieces):
        if piece.overlay is None:
            for id in results(piece.message):
                reach[asked.get(id, at)] = at
            asked |= dict.fromkeys(calls(piece.message), at)
    safe, furthest = [], -1
    for at, end in enumerate(reach):
        if at > furthest:
            safe.append(at)
        furthest = max(furthest, end)
    return [*safe, len(pieces)]


def calls(message: Message) -> list[str]:
    """The ids of the tool calls that a message makes."""
    return [call.id for call in message.tool_calls] + list(_named(message, "tool_use", "id"))


def results(message: Message) -> list[str]:
    """The ids of the calls whose results a message holds."""
    own = [message.tool_call_id] if message.role == "tool" and message.tool_call_id else []
    return own + list(_named(message, "tool_result", "tool_use_id"))


def _named(message: Message, kind: str, field: str) -> Iterator[str]:
    for part in message.content if isinstance(message.content, list) else []:
        if part.get("type") == kind and isinstance(part.get(field), str):
            yield part[field]


def start_of(pieces: Sequence[Piece]) -> int:
    """Where the system's messages at the beginning end."""
    return next((at for at, piece in enumerate(pieces) if piece.message.role not in _LEADING), len(pieces))


def last_turn(pieces: Sequence[Piece]) -> int:
    """Where the last user turn begins; without one, the last thing that was said."""
    said = [at for at, piece in enumerate(pieces) if piece.message.role == "user"]
    return said[-1] if said else cuts(pieces)[:-1][-1] if pieces else 0


# Plans


def limited(pieces: Sequence[Piece], most: int, tokens: Tokens) -> list[Range]:
    """The oldest part, as little of it as brings a thread within a limit; summaries go only if all else is too little.

    A summary whose originals are gone or changed is never covered.
    """
    total = sum(tokens.of(piece.message) for piece in pieces)
    if total <= most:
        return []
    spare, left = _hidden(pieces, total, most, tokens, summaries=False)
    if left > most:
        more, less = _hidden(pieces, total, most, tokens, summaries=True)
        spare = more if less < left else spare
    return spare


def _hidden(
    pieces: Sequence[Piece], total: int, most: int, tokens: Tokens, *, summaries: bool
) -> tuple[list[Range], int]:
    """Ranges from the oldest on until what is left fits, and how many tokens that is."""

    def may_go(piece: Piece) -> bool:
        if piece.sums_up:
            return summaries and piece.whole
        return piece.coverable

    spans: list[tuple[int, int]] = []
    for first, end in _units(pieces, start_of(pieces), last_turn(pieces)):
        if not all(map(may_go, pieces[first:end])):
            continue
        if spans and spans[-1][1] == first:
            first = spans.pop()[0]
        spans.append((first, end))
        ranges = _worthwhile(pieces, spans, tokens)
        left = total - sum(saved(each, tokens) for each in ranges)
        if left <= most:
            return ranges, left
    ranges = _worthwhile(pieces, spans, tokens)
    return ranges, total - sum(saved(each, tokens) for each in ranges)


def _worthwhile(pieces: Sequence[Piece], spans: list[tuple[int, int]], tokens: Tokens) -> list[Range]:
    ranges = [_range(pieces[first:end], tokens) for first, end in spans]
    return [each for each in ranges if saved(each, tokens) > 0]


def saved(each: Range, tokens: Tokens) -> int:
    """How many tokens fewer are shown once a range is left out."""
    return each.tokens - tokens.of_text(left_out(len(each.below)))


def summed_up(pieces: Sequence[Piece], most: int, keep: int, tokens: Tokens) -> Range | None:
    """What to sum up once a thread is over a limit: all but the newest `keep`, the last user turn and the system.

    An earlier summary is summed up again with what came after it, but never alone.
    """
    if sum(tokens.of(piece.message) for piece in pieces) <= most:
        return None
    runs: list[list[Piece]] = [[]]
    for first, end in _units(pieces, start_of(pieces), min(len(pieces) - keep, last_turn(pieces))):
        if all(piece.coverable for piece in pieces[first:end]):
            runs[-1] += pieces[first:end]
        else:
            runs.append([])  # what is below is gone: it stays as it is
    ranges = [_range(run, tokens) for run in runs if not all(piece.sums_up for piece in run)]
    return max(ranges, key=lambda each: each.tokens, default=None)


def _units(pieces: Sequence[Piece], start: int, end: int) -> list[tuple[int, int]]:
    """What can only be covered together, between two places."""
    return [(first, after) for first, after in pairwise(cuts(pieces)) if start <= first and after <= end]


def _range(pieces: Sequence[Piece], tokens: Tokens) -> Range:
    return Range(pieces, sum(tokens.of(piece.message) for piece in pieces))
