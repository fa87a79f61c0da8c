"""Transcripts: one message a line, in OpenAI's form, with what Memwell knows of it under `memwell`. Nothing is lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell.codec import check_text, to_json
from memwell.errors import Invalid, NotFound, Unavailable
from memwell.ops import NewMessage
from memwell.parts import flush, flush_folder, part_file
from memwell.transcripts.fields import Fields
from memwell.transcripts.openai import read_message, write_message
from memwell.types import Message

OURS = "memwell"
MOST_NAMED = 20


class Ours(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What stands under `memwell`. `parsed` are the calls whose arguments were no text."""

    seq: int | None = None
    id: str | None = None
    created_at: str | None = None
    by: str | None = None
    metadata: dict[str, Any] = {}
    tokens: int | None = None
    covers: tuple[int, int] | None = None
    parsed: list[str] = []


def to_jsonl(messages: Iterable[Message]) -> list[str]:
    """The lines of a transcript."""
    return [to_json(_line(message)).decode() for message in messages]


def _line(message: Message) -> Fields:
    ours = Ours(
        seq=message.seq,
        id=message.id,
        created_at=message.created_at.isoformat(),
        by=message.by,
        metadata=message.metadata,
        tokens=message.tokens,
        covers=message.covers,
        parsed=[call.id for call in message.tool_calls if not isinstance(call.arguments, str)],
    )
    return {**write_message(message, exact=True), OURS: ours}


def from_jsonl(lines: Iterable[str | bytes]) -> list[NewMessage]:
    """Messages for `thread.extend`. If lines are bad, nothing is read, and the error has their numbers."""
    made, bad = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            made.append(_read(line))
        except Invalid as error:
            bad.append((number, error))
    if bad:
        first, reason = bad[0]
        others = ", ".join(str(number) for number, _ in bad[1:MOST_NAMED]) + (", …" if bad[MOST_NAMED:] else "")
        problem = f"line {first}: {reason.message}" + (f" (also bad: {others})" if others else "")
        raise Invalid(problem, hint=reason.hint)
    return made


def _read(line: str | bytes) -> NewMessage:
    try:
        fields = msgspec.json.decode(line)
        held = fields.pop(OURS, None) if isinstance(fields, dict) else None
        ours = Ours() if held is None else msgspec.convert(held, Ours)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Invalid(f"this is no line of a transcript: {error}", hint="one message a line, as JSON") from None
    if not isinstance(fields, dict):
        raise Invalid("this is no message", hint="one message a line, as a JSON object")
    told = {"covers": [*ours.covers]} if ours.covers else {}
    new = read_message(fields, "the message")
    calls = [
        replace(call, arguments=_parsed(call.arguments)) if call.id in ours.parsed else call for call in new.tool_calls
    ]
    return replace(
        new, id=ours.id, tokens=ours.tokens, tool_calls=calls, metadata={**new.metadata, **told, **ours.metadata}
    )


def _parsed(arguments: str) -> Any:
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Invalid("the arguments of a call are not JSON", hint="'parsed' names calls whose arguments are") from None


def read(path: str | Path) -> list[NewMessage]:
    """The messages of a file."""
    return from_jsonl(load(path).splitlines())


def write(path: str | Path, messages: Iterable[Message]) -> int:
    """Write a file, which has its name only once it is complete; how many messages."""
    lines = to_jsonl(messages)
    save(path, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)


def load(path: str | Path) -> bytes:
    """The bytes of a file."""
    source = Path(check_text(str(path), "a path")).expanduser()
    try:
        return source.read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no file {source}", hint="check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unavailable(f"{source} can't be read: {reason}", hint="check the path") from None


def save(path: str | Path, data: bytes) -> None:
    """Make a file that is there as a whole, or not at all."""
    target = Path(check_text(str(path), "a path")).expanduser().absolute()
    try:
        with part_file(target) as part:
            with part.open("wb") as out:
                out.write(data)
                out.flush()
                flush(out.fileno())
            part.replace(target)
        flush_folder(target.parent)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unavailable(f"{target} can't be written: {reason}", hint="choose another folder") from None
