"""What to cover in a thread: pure functions over its messages. Nothing here reads or writes a store."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

from memwell.agent.tokens import Tokens
from memwell.engine.overlays import summary
from memwell.engine.spoken import fingerprint
from memwell.types import Message, Overlay

LIMIT = "limit"  # the kind of an overlay that only leaves out
_LEADING = ("system", "developer")


class Piece:
    """What is shown in one place of a thread: a message, or a summary with the originals that are below it."""

    def __init__(self, message: Message, tokens: int, below: Sequence[Message], overlay: Overlay | None = None) -> None:
        self.message, self.tokens, self.below, self.overlay = message, tokens, below, overlay
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

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces, self.tokens = pieces, sum(piece.tokens for piece in pieces)
        self.first, self.last = pieces[0].first, pieces[-1].last
        self.below = [message for piece in pieces for message in piece.below]

    @property
    def digest(self) -> str:
        """What tells whether the originals are still those that were read."""
        return fingerprint(self.below)

    def to_read(self) -> list[Message]:
        """What a summary has to be made of: messages and summaries, also those that were only left out."""
        return [message for piece in self.pieces for message in (piece.below if piece.leaves_out else [piece.message])]


def laid_out(originals: Sequence[Message], overlays: Iterable[Overlay], tokens: Tokens) -> list[Piece]:
    """A thread as it is shown; an overlay inside a larger one is below it, and a later one takes an earlier's place."""
    tops = list({overlay.first: overlay for overlay in overlays}.values())
    tops = [one for one in tops if not any(_inside(one, other) for other in tops)]
    numbers = [message.seq for message in originals]
    pieces: list[Piece] = []
    covered: set[int] = set()
    for top in tops:
        below = originals[bisect_left(numbers, top.first) : bisect_right(numbers, top.last)]
        covered.update(message.seq for message in below)
        message = summary(top)
        pieces.append(Piece(message, tokens.of(message), below, top))
    plain = [message for message in originals if message.seq not in covered]
    pieces += [Piece(message, tokens.of(message), [message]) for message in plain]
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
            for call in results(piece.message):
                reach[asked.get(call, at)] = at
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


def shown(pieces: Iterable[Piece]) -> int:
    """The tokens of what is shown."""
    return sum(piece.tokens for piece in pieces)


def limited(pieces: Sequence[Piece], most: int, tokens: Tokens) -> list[Range]:
    """The oldest part, as little of it as brings a thread within a limit; summaries go only if all else is too little.

    A summary whose originals are gone or changed is never covered.
    """
    excess = shown(pieces) - most
    if excess <= 0:
        return []
    plain, spared = _spared(pieces, excess, tokens, summaries=False)
    if spared >= excess:
        return plain
    deeper, more = _spared(pieces, excess, tokens, summaries=True)
    return deeper if more > spared else plain


def _spared(pieces: Sequence[Piece], excess: int, tokens: Tokens, *, summaries: bool) -> tuple[list[Range], int]:
    """Ranges from the oldest on until enough is spared, and how many tokens that is."""
    shown_before = [0, *accumulate(piece.tokens for piece in pieces)]
    below_before = [0, *accumulate(len(piece.below) for piece in pieces)]
    spared: dict[tuple[int, int], int] = {}
    for first, end in _units(pieces, start_of(pieces), last_turn(pieces)):
        if sum(spared.values()) >= excess:
            break
        if all(_may_go(piece, summaries) for piece in pieces[first:end]):
            start = first
            if spared and (last := next(reversed(spared)))[1] == first:
                start = last[0]
                del spared[last]
            text = left_out(below_before[end] - below_before[start])
            spared[start, end] = max(0, shown_before[end] - shown_before[start] - tokens.of_text(text))
    ranges = [Range(pieces[start:end]) for (start, end), number in spared.items() if number]
    return ranges, sum(spared.values())


def _may_go(piece: Piece, summaries: bool) -> bool:
    return (summaries and piece.whole) if piece.sums_up else piece.coverable


def summed_up(pieces: Sequence[Piece], most: int, keep: int) -> Range | None:
    """What to sum up once a thread is over a limit: all but the newest `keep`, the last user turn and the system.

    An earlier summary is summed up again with what came after it, but never alone.
    """
    if shown(pieces) <= most:
        return None
    runs: list[list[Piece]] = [[]]
    start, stop = start_of(pieces), min(len(pieces) - keep, last_turn(pieces))
    turns = [at for at in cuts(pieces)[:-1] if start < at <= stop and pieces[at].message.role == "user"]
    for first, end in _units(pieces, start, max(turns, default=stop)):  # what is kept begins with a user's turn
        if all(piece.coverable for piece in pieces[first:end]):
            runs[-1] += pieces[first:end]
        else:
            runs.append([])  # what is below is gone: it stays as it is
    new = [run for run in runs if not all(piece.sums_up for piece in run)]
    return Range(max(new, key=shown)) if new else None


def _units(pieces: Sequence[Piece], start: int, end: int) -> list[tuple[int, int]]:
    """What can only be covered together, between two places."""
    return [(first, after) for first, after in pairwise(cuts(pieces)) if start <= first and after <= end]
