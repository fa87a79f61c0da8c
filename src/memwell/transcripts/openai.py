"""Messages as OpenAI's chat completions have them, which most other providers take as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from memwell.codec import to_json
from memwell.ops import NewMessage
from memwell.transcripts import media
from memwell.transcripts.fields import (
    ELSEWHERE,
    SUMMARY,
    Fields,
    Kept,
    kept,
    kind_of,
    more,
    objects,
    paired,
    parts,
    place_of,
    refusal,
    summed_up,
    text,
)
from memwell.types import Message, ToolCall

FORM = "openai"
ROLES = ("system", "developer", "user", "assistant", "tool")
_OWN = ("role", "content", "name", "tool_calls", "tool_call_id")
_PARTS = {
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
}
_WRITTEN_THEIR_WAY: dict[str, Callable[[Fields, str], Fields]] = {
    "image": media.to_image_url,
    "document": media.to_file,
}


def from_openai(messages: Sequence[Fields]) -> list[NewMessage]:
    """Messages for `thread.extend`; what is no message is an Invalid that names its place."""
    found = objects(messages, "messages")
    return [read_message(message, f"messages[{number}]") for number, message in enumerate(found)]


def read_message(message: Fields, place: str) -> NewMessage:
    """One message."""
    role = message.get("role")
    if role not in ROLES:
        raise refusal(place, f"the role is {role!r}", f"use one of {', '.join(ROLES)}")
    if message.get("function_call") is not None:
        raise refusal(place, "function_call is the old form", "use tool_calls, and the role tool for the result")
    calls, of_calls = _read_calls(message, role, place)
    rest = more(message, _OWN)
    content = _read_content(message, place)
    if content is None and not calls:
        if not rest:
            raise refusal(place, "there is no content", "give text, a list of parts, or tool calls")
        content, rest["content"] = "", None  # a refusal or sound: what it says stands in another field
    return NewMessage(
        role=role,
        content=content,
        name=None if message.get("name") is None else text(message, "name", place),
        tool_calls=calls,
        tool_call_id=_read_answered(message, role, place),
        metadata=kept(FORM, message=rest, calls=of_calls),
    )


def _read_content(message: Fields, place: str) -> str | list[Fields] | None:
    content = message.get("content")
    return content if content is None or isinstance(content, str) else parts(content, f"{place}.content")


def _read_answered(message: Fields, role: str, place: str) -> str | None:
    if role == "tool":
        return text(message, "tool_call_id", place)
    if message.get("tool_call_id") is not None:
        raise refusal(place, f"a message of the {role} answers no call", "give it the role tool")
    return None


def _read_calls(message: Fields, role: str, place: str) -> tuple[list[ToolCall], Fields]:
    """The calls, and by their ids what else is said of them."""
    found = objects(message.get("tool_calls") or [], f"{place}.tool_calls", "calls")
    if found and role != "assistant":
        raise refusal(place, f"a message of the {role} calls no tools", "only the assistant does")
    calls, others = [], {}
    for number, call in enumerate(found):
        at = f"{place}.tool_calls[{number}]"
        kind = str(call.get("type") or "function")
        body, field = call.get(kind), {"function": "arguments", "custom": "input"}.get(kind)
        if field is None or not isinstance(body, dict) or not isinstance(body.get(field), str):
            raise refusal(at, "this is no call", 'give {"id", "type": "function", "function": {"name", "arguments"}}')
        name = text(call, "id", at)
        calls.append(ToolCall(name, text(body, "name", at), body[field]))
        inner = more(body, ("name", field))
        rest = {**more(call, ("id", "type", kind)), **({kind: inner} if inner else {})}
        if kind == "custom":
            rest["type"] = kind
        if rest:
            others[name] = rest
    return calls, others


def to_openai(messages: Iterable[Message]) -> list[Fields]:
    """What a request may have as its `messages`; a summary is a message of the system."""
    return [write_message(message) for message in paired(messages)]


def write_message(message: Message, exact: bool = False) -> Fields:
    """One message. Parts become what the format has, and missing arguments an empty object, unless it is `exact`."""
    if message.role == SUMMARY:
        return {"role": "system", "content": summed_up(message)}
    own, place = Kept(message, FORM), place_of(message)
    rest = own.fields()
    made: Fields = {name: value for name, value in rest.items() if name not in _OWN}
    made |= {"role": message.role, "content": message.content}
    if isinstance(message.content, list) and not exact:
        written = [_write_part(part, message.role, f"{place}, part {n}") for n, part in enumerate(message.content)]
        made["content"] = written or (None if message.tool_calls else "")
    elif message.content == "" and "content" in rest:
        made["content"] = None
    if message.name is not None:
        made["name"] = message.name
    if message.tool_calls:
        made["tool_calls"] = [_write_call(call, own.call(call.id), exact) for call in message.tool_calls]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made


def _write_call(call: ToolCall, rest: Fields, exact: bool) -> Fields:
    kind, field = ("custom", "input") if rest.get("type") == "custom" else ("function", "arguments")
    inner = rest.get(kind)
    given = call.arguments if isinstance(call.arguments, str) else to_json(call.arguments).decode()
    if kind == "function" and not given and not exact:
        given = "{}"
    said = {**(inner if isinstance(inner, dict) else {}), "name": call.name, field: given}
    return {**rest, "id": call.id, "type": kind, kind: said}


def _write_part(part: Fields, role: str, place: str) -> Fields:
    kind = kind_of(part, place)
    if kind in _WRITTEN_THEIR_WAY and role == "user":
        return _WRITTEN_THEIR_WAY[kind](part, place)
    if kind not in _PARTS.get(role, {"text"}):
        raise refusal(place, f"OpenAI has no {kind!r} in a message of the {role}", ELSEWHERE)
    if kind != "text":
        return part
    if more(part, ("type", "text", "cache_control")):
        raise refusal(place, "OpenAI's text has no such notes as citations", ELSEWHERE)
    return {"type": "text", "text": part["text"]}
