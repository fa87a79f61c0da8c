"""Message lists as others have them: OpenAI's, Anthropic's, and transcripts with one message a line.

`from_...` gives messages for `thread.extend`, `to_...` takes what `thread.messages` gives. Nothing is lost that the
format can say; what it can't say is an Invalid that names the message. Names, ids, times and metadata are ours and stay
behind, save in a transcript.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memwell.errors import Invalid
from memwell.ops import NewMessage
from memwell.transcripts.anthropic import from_anthropic, to_anthropic
from memwell.transcripts.jsonl import from_jsonl, to_jsonl
from memwell.transcripts.openai import from_openai, to_openai
from memwell.types import Message

FORMATS = ("openai", "anthropic", "jsonl")
_THEIRS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}

__all__ = [
    "FORMATS",
    "dump",
    "from_anthropic",
    "from_jsonl",
    "from_openai",
    "parse",
    "to_anthropic",
    "to_jsonl",
    "to_openai",
]


def dump(messages: Sequence[Message], format: str) -> bytes:
    """A file of one of the formats: a list, an object with `system` and `messages`, or lines."""
    _check(format, FORMATS)
    if format == "jsonl":
        return "".join(f"{line}\n" for line in to_jsonl(messages)).encode()
    document = to_openai(messages) if format == "openai" else to_anthropic(messages)
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def parse(data: bytes, format: str = "auto") -> tuple[str, list[NewMessage]]:
    """The messages of such a file, and which format it has."""
    _check(format, ("auto", *FORMATS))
    if format == "jsonl":
        return format, from_jsonl(data.splitlines())
    try:
        document = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        if format == "auto" and data.lstrip()[:1] == b"{":
            return "jsonl", from_jsonl(data.splitlines())
        raise Invalid(f"this is not JSON: {error}", hint="give a list of messages, or one message a line") from None
    if format == "auto" and isinstance(document, dict) and "role" in document:
        return "jsonl", from_jsonl(data.splitlines())
    held: Any = document.get("messages") if isinstance(document, dict) else document
    system = document.get("system") if isinstance(document, dict) else None
    if format == "anthropic" or (format == "auto" and (system is not None or _is_theirs(held))):
        return "anthropic", from_anthropic(held, system)
    return "openai", from_openai(held)


def _check(format: str, known: Sequence[str]) -> None:
    if format not in known:
        raise Invalid(f"{format!r} is no format of a transcript", hint=f"use one of {', '.join(known)}")


def _is_theirs(messages: Any) -> bool:
    """Whether a block stands there that only Anthropic's messages have."""
    contents = [one.get("content") for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return any(isinstance(block, dict) and block.get("type") in _THEIRS for block in blocks)
