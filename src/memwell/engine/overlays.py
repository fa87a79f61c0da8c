"""Compaction: a summary lies over a range of messages, and nothing below it is lost."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from memwell import clock, codec, ops
from memwell.engine.context import Context
from memwell.engine.spoken import backwards, fingerprint, originals
from memwell.engine.threads import OVERLAY, check_seq, check_thread, held, message_key, within
from memwell.errors import Conflict, Corrupt, Invalid, NotFound
from memwell.store import Drop, Put, Read, ReadJob, Write, WriteJob
from memwell.types import Message, Overlay

_decode = msgspec.json.Decoder(Overlay).decode
AROUND = 100
_WHOLE = "begin before the call, end after the result"
SUMMARY = "summary"  # the role of what stands in the place of messages


def _overlay(thread: str, data: bytes) -> Overlay:
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise Corrupt(f"a summary of {thread!r} is damaged: {error}", hint="run 'memwell check'") from None


def overlays(view: Read, scope: str, thread: str, now: int) -> list[Overlay]:
    """The summaries that lie on top: one that a larger one covers is below it."""
    tops: list[Overlay] = []
    for data in view.newest_data(scope, OVERLAY, within(thread), None, now)[::-1]:  # in the order of their beginnings
        one = _overlay(thread, data)
        if not tops or one.last > tops[-1].last:
            tops.append(one)
    return tops


def laid_over(
    view: Read, scope: str, thread: str, after: int | None, before: int | None, limit: int | None, now: int
) -> list[Message] | None:
    """Messages with summaries in the place of what they cover; None where nothing is covered."""
    tops = overlays(view, scope, thread, now)
    if not tops:
        return None
    inside = [one for one in tops if one.last > (after or 0) and (before is None or one.last < before)]
    if after is not None and before is None:
        below = originals(view, scope, thread, after, None, None, now)
        return list(islice(_woven(below, inside, tops, forward=True), limit))
    later = backwards(view, scope, thread, after, before, now)
    return list(islice(_woven(later, inside[::-1], tops, forward=False), limit))[::-1]


def _woven(messages: Iterable[Message], inside: list[Overlay], tops: list[Overlay], forward: bool) -> Iterator[Message]:
    """Summaries take their place also where nothing is left below them."""
    waiting = deque(inside)
    firsts = [one.first for one in tops]
    for message in messages:
        while waiting and (waiting[0].first <= message.seq if forward else waiting[0].last >= message.seq):
            yield summary(waiting.popleft())
        place = bisect_right(firsts, message.seq)
        if place == 0 or tops[place - 1].last < message.seq:
            yield message
    yield from map(summary, waiting)


def summary(overlay: Overlay) -> Message:
    """What is shown in the place of messages."""
    return Message(
        thread=overlay.thread,
        seq=overlay.last,
        id=f"{overlay.thread}-{overlay.first}-{overlay.last}",
        role=SUMMARY,
        content=overlay.content,
        metadata=overlay.metadata,
        created_at=overlay.created_at,
        by=overlay.by,
        covers=(overlay.first, overlay.last),
    )


def cover(op: ops.Cover, context: Context) -> WriteJob[Overlay]:
    thread = check_thread(op.thread, context)
    check_seq(op.first, "first")
    check_seq(op.last, "last", op.first)
    limit = context.settings.max_value_bytes
    _, content = codec.encode(codec.check_text(op.content, "content"), limit)
    if not isinstance(op.metadata, dict | None):
        raise Invalid("metadata is a dict", hint='e.g. {"model": "small"}')
    _, metadata = codec.encode(op.metadata or {}, limit)

    def job(view: Write) -> Overlay:
        now = clock.now()
        held(view, op.scope, thread, now)
        covered = originals(view, op.scope, thread, op.first - 1, op.last + 1, None, now)
        if not covered or covered[0].seq != op.first or covered[-1].seq != op.last:
            raise NotFound(f"{thread!r} has no messages {op.first} and {op.last}", hint="list its messages")
        if fingerprint(covered) != op.digest:
            raise Conflict(
                f"messages {op.first} to {op.last} of {thread!r} have changed meanwhile",
                current=None,
                hint="read them again and sum them up anew",
            )
        _refuse_cut(view, op.scope, thread, covered, now)
        _refuse_crossing(view, op, thread, now)
        made = Overlay(
            thread=thread,
            first=op.first,
            last=op.last,
            content=content,
            digest=op.digest,
            metadata=metadata,
            created_at=clock.moment(now),
            by=context.caller.name,
        )
        key, data = message_key(thread, op.first), codec.to_json(made)
        view.put(Put(op.scope, OVERLAY, key, data, now, None, context.caller.name, "message.cover"))
        return made

    return job


def _refuse_cut(view: Read, scope: str, thread: str, covered: list[Message], now: int) -> None:
    """A tool call and its result are both below a summary, or neither; a call that waits for its result is neither."""
    first, last = covered[0].seq, covered[-1].seq
    called: dict[str | None, bool] = {}  # by id, which some models use again: whether the last such call is covered
    waiting: set[str | None] = set()
    around = _calls_far_off(covered)
    before = originals(view, scope, thread, None, first, around, now)
    for message in [*before, *covered, *originals(view, scope, thread, last, None, around, now)]:
        inside = first <= message.seq <= last
        if message.role == "tool":
            waiting.discard(message.tool_call_id)
            if called.get(message.tool_call_id, inside) != inside:
                raise Invalid("the range cuts a tool call from its result", hint=_WHOLE)
        else:
            waiting = {call.id for call in message.tool_calls if inside}
        called.update((call.id, inside) for call in message.tool_calls)
    if waiting:
        raise Invalid("the range ends with a tool call that waits for its result", hint=_WHOLE)


def _calls_far_off(covered: list[Message]) -> int | None:
    """How many messages around a range to look at: all, if one of its calls or results has no counterpart in it."""
    calls = {call.id for message in covered for call in message.tool_calls}
    results = {message.tool_call_id for message in covered if message.role == "tool"}
    return AROUND if calls == results else None


def _refuse_crossing(view: Read, op: ops.Cover, thread: str, now: int) -> None:
    for other in overlays(view, op.scope, thread, now):
        apart = other.last < op.first or op.last < other.first
        nested = op.first <= other.first and other.last <= op.last
        if not apart and not nested:
            raise Conflict(
                f"a summary lies over {other.first} to {other.last} already",
                current=other,
                hint="cover all of it, or take it away first",
            )


def uncover(op: ops.Uncover, context: Context) -> WriteJob[bool]:
    thread = check_thread(op.thread, context)
    check_seq(op.first, "first")

    def job(view: Write) -> bool:
        now = clock.now()
        held(view, op.scope, thread, now)
        key = message_key(thread, op.first)
        return view.drop(Drop(op.scope, OVERLAY, key, now, context.caller.name, "message.uncover")) > 0

    return job


def listing(op: ops.Overlays, context: Context) -> ReadJob[list[Overlay]]:
    thread = check_thread(op.thread, context)

    def job(view: Read) -> list[Overlay]:
        now = clock.now()
        held(view, op.scope, thread, now)
        return overlays(view, op.scope, thread, now)

    return job
