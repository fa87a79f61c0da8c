"""Messages as Anthropic's API has them: two roles that alternate, blocks of content, and instructions apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

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

FORM = "anthropic"
Content = str | list[Fields]
_ID = re.compile(r"[A-Za-z0-9_-]+")
_SPOKEN = {
    "user": {"text", "image", "document", "search_result", "container_upload"},
    "assistant": {"text", "thinking", "redacted_thinking", "server_tool_use"},
}
_RESULT = "_tool_result"  # how the types of results of tools that the provider runs end
_WRITTEN_THEIR_WAY: dict[str, Callable[[Fields, str], Fields]] = {
    "image_url": media.to_image,
    "file": media.to_document,
}


# From their messages


def from_anthropic(messages: Sequence[Fields], system: Content | None = None) -> list[NewMessage]:
    """Messages for `thread.extend`; what is no message is an Invalid that names its place."""
    made = []
    if system:
        made.append(NewMessage(role="system", content=_read_content(system, "system")))
    for number, message in enumerate(objects(messages, "messages")):
        made += _read_message(message, f"messages[{number}]")
    return made


def _read_content(content: object, place: str) -> Content:
    return content if isinstance(content, str) else parts(content, place)


def _read_message(message: Fields, place: str) -> list[NewMessage]:
    role = message.get("role")
    if role not in ("user", "assistant"):
        raise refusal(place, f"the role is {role!r}", "use user or assistant; instructions are given as system")
    if unknown := more(message, ("role", "content")):
        raise refusal(place, f"a message has no {min(unknown)!r}", "give role and content alone")
    content = _read_content(message.get("content"), f"{place}.content")
    if isinstance(content, str):
        return [NewMessage(role=role, content=content)]
    return _read_user(content, place) if role == "user" else [_read_assistant(content, place)]


def _read_user(blocks: list[Fields], place: str) -> list[NewMessage]:
    """Results of tools are messages of their own; they stand before anything else that the user says."""
    count = sum(block["type"] == "tool_result" for block in blocks)
    results, rest = blocks[:count], blocks[count:]
    for number, block in enumerate(blocks):
        if block["type"] == "tool_use" or (number < count and block["type"] != "tool_result"):
            hint = "results of tools come first, then text; only the assistant calls"
            raise refusal(f"{place}.content[{number}]", f"a {block['type']} can't stand here", hint)
    made = [_read_result(block, f"{place}.content[{number}]") for number, block in enumerate(results)]
    return [*made, NewMessage(role="user", content=rest)] if rest or not made else made


def _read_result(block: Fields, place: str) -> NewMessage:
    content = block.get("content")
    return NewMessage(
        role="tool",
        content="" if content is None else _read_content(content, f"{place}.content"),
        tool_call_id=text(block, "tool_use_id", place),
        metadata=kept(FORM, message=more(block, ("type", "tool_use_id", "content"))),
    )


def _read_assistant(blocks: list[Fields], place: str) -> NewMessage:
    calls, others, places = [], {}, []
    for number, block in enumerate(blocks):
        at = f"{place}.content[{number}]"
        if block["type"] == "tool_result":
            raise refusal(at, "a tool_result can't stand here", "results of tools are the user's")
        if block["type"] == "tool_use":
            call = _read_call(block, at)
            calls.append(call)
            places.append(number)
            if rest := more(block, ("type", "id", "name", "input")):
                others[call.id] = rest
    said = [block for block in blocks if block["type"] != "tool_use"]
    at_end = places == list(range(len(said), len(blocks)))
    return NewMessage(
        role="assistant",
        content=said if said or not calls else None,
        tool_calls=calls,
        metadata=kept(FORM, calls=others, places=[] if at_end else places),
    )


def _read_call(block: Fields, place: str) -> ToolCall:
    if not isinstance(block.get("input"), dict):
        raise refusal(place, "a tool_use has no input", "input is an object")
    return ToolCall(text(block, "id", place), text(block, "name", place), block["input"])


# To their messages


def to_anthropic(messages: Iterable[Message]) -> Fields:
    """What a request may have as its `system` and `messages`.

    Instructions, wherever they stand, are gathered in `system`, which is left out where there are none. A summary is
    said by the user. Messages of one role that follow each other become one.
    """
    system: list[Content] = []
    turns: list[tuple[str, list[Content]]] = []
    for message in paired(messages):
        content = _write_content(message)
        role = {"tool": "user", SUMMARY: "user"}.get(message.role, message.role)
        if not content or (isinstance(content, str) and not content.strip()):
            continue  # nothing is said, and blank text is refused
        if role in ("system", "developer"):
            system.append(content)
        elif turns and turns[-1][0] == role:
            turns[-1][1].append(content)
        elif turns or role == "user":
            turns.append((role, [content]))
        else:
            problem = "Anthropic's messages begin with one of the user"
            raise refusal(place_of(message), problem, f"begin further back; {ELSEWHERE}")
    body: Fields = {"messages": [{"role": role, "content": _joined(contents)} for role, contents in turns]}
    return {"system": _joined(system), **body} if system else body


def _joined(contents: list[Content]) -> Content:
    if len(contents) == 1:
        return contents[0]
    return [block for content in contents for block in _blocks(content)]


def _blocks(content: Content | None) -> list[Fields]:
    if not isinstance(content, str):
        return content or []
    return [{"type": "text", "text": content}] if content.strip() else []


def _write_content(message: Message) -> Content:
    if message.role == SUMMARY:
        return summed_up(message)
    place = place_of(message)
    if message.role == "tool":
        return [_write_result(message, place)]
    said = _write_parts(message, message.role, place)
    return _woven(message, _blocks(said), place) if message.tool_calls else said


def _write_result(message: Message, place: str) -> Fields:
    own = more(Kept(message, FORM).fields(), ("type", "tool_use_id", "content"))
    return {
        "type": "tool_result",
        "tool_use_id": _checked_id(message.tool_call_id or "", place),
        "content": _write_parts(message, "user", place),
        **own,
    }


def _write_parts(message: Message, role: str, place: str) -> Content:
    content = message.content
    if isinstance(content, list):
        made = (_write_part(part, role, f"{place}, part {number}") for number, part in enumerate(content))
        return [block for block in made if block["type"] != "text" or block["text"].strip()]
    if not content:
        content = Kept(message, "openai").fields().get("refusal")
    return content if isinstance(content, str) else ""


def _write_part(part: Fields, role: str, place: str) -> Fields:
    kind = kind_of(part, place)
    if kind in _WRITTEN_THEIR_WAY and role == "user":
        return _WRITTEN_THEIR_WAY[kind](part, place)
    if kind == "refusal":
        return {"type": "text", "text": text(part, "refusal", place)}
    provided = role == "assistant" and kind.endswith(_RESULT)
    if kind not in _SPOKEN.get(role, {"text"}) and not provided:
        raise refusal(place, f"Anthropic has no {kind!r} in a message of the {role}", ELSEWHERE)
    return part


def _woven(message: Message, said: list[Fields], place: str) -> list[Fields]:
    """What is said and the calls, which stand at the end unless it is known that they stood elsewhere."""
    own = Kept(message, FORM)
    calls = [_write_call(call, own.call(call.id), place) for call in message.tool_calls]
    places, length = own.places(), len(said) + len(calls)
    if len(places) != len(calls) or not all(0 <= at < length for at in places) or sorted({*places}) != places:
        return [*said, *calls]
    spoken, called = iter(said), iter(calls)
    return [next(called if at in places else spoken) for at in range(length)]


def _write_call(call: ToolCall, rest: Fields, place: str) -> Fields:
    given = _input(call.arguments)
    if not isinstance(given, dict):
        problem = f"the arguments of the call {call.id!r} are no JSON object"
        raise refusal(place, problem, f"Anthropic takes nothing else; {ELSEWHERE}")
    return {**rest, "type": "tool_use", "id": _checked_id(call.id, place), "name": call.name, "input": given}


def _input(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else {}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _checked_id(id: str, place: str) -> str:
    if not _ID.fullmatch(id):
        raise refusal(
            place, f"{id!r} is no id of a call for Anthropic", f"it takes letters, digits, _ and -; {ELSEWHERE}"
        )
    return id
