"""How many tokens a message takes: by its own count, or by any function from text to a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memwell.codec import to_json
from memwell.engine.packing import estimate
from memwell.errors import Invalid
from memwell.types import Message

Count = Callable[[str], int]


class Tokens:
    """Counts messages. `count` is asked for what says nothing about itself; the default is an offline estimate.

    >>> Tokens().of_text("about five tokens here")
    6
    """

    def __init__(self, count: Count = estimate) -> None:
        given: object = count
        if not callable(given):
            hint = "give a function from text to a number, or leave it out for the estimate"
            raise Invalid(f"count is {type(given).__name__}, which can't be called", hint=hint)
        self._count = count

    def of(self, message: Message) -> int:
        """The tokens of a message: those it was appended with, else those of its text."""
        return self.of_text(text_of(message)) if message.tokens is None else message.tokens

    def of_text(self, text: str) -> int:
        """The tokens of a text."""
        number: Any = self._count(text)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            hint = "it must return a whole number from 0, e.g. lambda text: len(encode(text))"
            raise Invalid(f"the token counter gave {number!r}", hint=hint)
        return number


def text_of(message: Message) -> str:
    """All that a model is shown of a message, as text: parts that are no text, and tool calls, as JSON."""
    content = message.content
    said = [content] if isinstance(content, str) else [_part(part) for part in content or []]
    called = [f"{call.name}({_plain(call.arguments)})" for call in message.tool_calls]
    return "\n".join([*said, *called])


def _part(part: dict[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else _plain(part)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
