"""What the formats share: refusals that name the place, fields that are checked, and what only one format can say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memwell.errors import Invalid
from memwell.types import Message

Fields = dict[str, Any]
SUMMARY = "summary"  # the role of what stands in the place of messages
ELSEWHERE = "jsonl takes every message as it is"


def refusal(place: str, problem: str, hint: str) -> Invalid:
    """An error that says where."""
    return Invalid(f"{place}: {problem}", hint=hint)


def place_of(message: Message) -> str:
    """Where a stored message is."""
    return f"message {message.seq}"


def summed_up(message: Message) -> str:
    """What a summary says to a model, which must not take it for a message."""
    left_out = message.metadata.get("kind") == "limit"  # it sums nothing up, and says so itself
    return str(message.content) if left_out else f"Summary of earlier messages: {message.content}"


def objects(value: object, place: str, what: str = "messages") -> list[Fields]:
    """A list of objects."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise refusal(place, f"here is a list of {what}, not {type(value).__name__}", "look at the format's own manual")
    for number, one in enumerate(value):
        if not isinstance(one, dict) or not all(isinstance(name, str) for name in one):
            raise refusal(f"{place}[{number}]", "this is no object", f"{what} are objects")
    return list(value)


def text(fields: Fields, name: str, place: str) -> str:
    """A field that is text, and there."""
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise refusal(place, f"{name} is {value!r}", f"{name} is text")
    return value


def parts(value: object, place: str) -> list[Fields]:
    """Content that is a list of parts, each with its type."""
    found = objects(value, place, "parts")
    for number, part in enumerate(found):
        kind_of(part, f"{place}[{number}]")
    return found


def kind_of(part: Fields, place: str) -> str:
    """The type of a part; one of text has its text."""
    kind = text(part, "type", place)
    if kind == "text" and not isinstance(part.get("text"), str):
        raise refusal(place, "a part of text has no text", "give it as text")
    return kind


def more(fields: Fields, known: Iterable[str]) -> Fields:
    """The fields besides the known ones; one that is null says nothing."""
    return {name: value for name, value in fields.items() if name not in known and value is not None}


class Kept:
    """What only one format can say of a message; it lies in the metadata, under the name of the format."""

    def __init__(self, message: Message, form: str) -> None:
        held = message.metadata.get(form)
        self._held = held if isinstance(held, dict) else {}

    def fields(self) -> Fields:
        """Of the message itself."""
        return self._object(self._held.get("message"))

    def call(self, id: str) -> Fields:
        """Of one of its calls."""
        return self._object(self._object(self._held.get("calls")).get(id))

    def places(self) -> list[int]:
        """Where among the blocks its calls stand."""
        places = self._held.get("places")
        return [one for one in places if isinstance(one, int)] if isinstance(places, list) else []

    @staticmethod
    def _object(value: object) -> Fields:
        return value if isinstance(value, dict) else {}


def kept(form: str, **told: Any) -> Fields:
    """Metadata that keeps what only one format can say, or none."""
    held = {name: value for name, value in told.items() if value}
    return {form: held} if held else {}


def paired(messages: Iterable[Message]) -> list[Message]:
    """The messages, with the results of tools right after the message that called them, as every format wants it.

    Calls without a result are only taken at the end, where the results may be still to come.
    """
    groups: list[list[Message]] = []
    waiting: dict[str | None, list[Message]] = {}
    for message in messages:
        if message.role == "tool":
            group = waiting.pop(message.tool_call_id, None)
            if group is None:
                problem = f"it answers the call {message.tool_call_id!r}, which does not stand before it"
                raise refusal(place_of(message), problem, "begin further back, with the message that calls")
            group.append(message)
        else:
            groups.append([message])
            waiting.update({call.id: groups[-1] for call in message.tool_calls})
    for first, *results in groups[:-1]:
        open_ = {call.id for call in first.tool_calls} - {one.tool_call_id for one in results}
        if open_:
            raise refusal(place_of(first), f"the call {min(open_)!r} has no result", f"append it; {ELSEWHERE}")
    return [message for group in groups for message in group]
