"""Messages as they are stored: what is stored is the answer itself, so that reading decodes and does nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import msgspec

from memwell import codec
from memwell.engine.threads import MESSAGE, within
from memwell.errors import Corrupt
from memwell.store import Read
from memwell.types import Message

decode_all = msgspec.json.Decoder(list[Message]).decode


def decoded(data: Sequence[bytes], thread: str) -> list[Message]:
    """Stored messages, all in one go."""
    try:
        return decode_all(b"[" + b",".join(data) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise Corrupt(f"a message of {thread!r} is damaged: {error}", hint="run 'memwell check'") from None


def originals(
    view: Read, scope: str, thread: str, after: int | None, before: int | None, limit: int | None, now: int
) -> list[Message]:
    """Messages as they were written: the oldest after a number, else the newest; always oldest first."""
    span = within(thread, after, before)
    if after is not None and before is None:
        return decoded([cell.data for cell in view.cells(scope, MESSAGE, span, limit, now)], thread)
    return decoded(view.newest_data(scope, MESSAGE, span, limit, now)[::-1], thread)


def backwards(
    view: Read, scope: str, thread: str, after: int | None, before: int | None, now: int, page: int = 200
) -> Iterator[Message]:
    """All messages of a range from its end, so many at a time."""
    while True:
        found = decoded(view.newest_data(scope, MESSAGE, within(thread, after, before), page, now), thread)
        yield from found
        if len(found) < page:
            return
        before = found[-1].seq


def fingerprint(messages: Sequence[Message]) -> str:
    """Tells whether a range of messages is still what somebody has read."""
    return sha256(b"\n".join(codec.to_json(message) for message in messages)).hexdigest()
