"""Strict readers of the two message formats, written from their public rules; they know nothing of Memwell."""

from __future__ import annotations

import json
import re
from typing import Any

OPENAI_KEYS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal", "audio"},
    "tool": {"role", "content", "tool_call_id"},
}
OPENAI_PARTS = {
    "text": {"type", "text"},
    "image_url": {"type", "image_url"},
    "input_audio": {"type", "input_audio"},
    "file": {"type", "file"},
    "refusal": {"type", "refusal"},
}
OPENAI_PARTS_OF = {"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "refusal"}}
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]+")
BLOCKS = {
    "text": ({"type", "text"}, {"cache_control", "citations"}),
    "image": ({"type", "source"}, {"cache_control"}),
    "document": ({"type", "source"}, {"title", "context", "citations", "cache_control"}),
    "thinking": ({"type", "thinking", "signature"}, set()),
    "redacted_thinking": ({"type", "data"}, set()),
    "tool_use": ({"type", "id", "name", "input"}, {"cache_control"}),
    "tool_result": ({"type", "tool_use_id"}, {"content", "is_error", "cache_control"}),
}
BLOCKS_OF = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
    "result": {"text", "image", "document"},
    "system": {"text"},
}
SOURCES = {
    "base64": {"type", "media_type", "data"},
    "url": {"type", "url"},
    "text": {"type", "media_type", "data"},
    "file": {"type", "file_id"},
}


class Broken(AssertionError):
    """A rule that is broken, and where."""


def rule(holds: object, where: str, what: str) -> None:
    if not holds:
        raise Broken(f"{where}: {what}")


# OpenAI


def check_openai(messages: Any) -> None:
    """A list that a chat completions request may have as its messages."""
    rule(isinstance(messages, list) and messages, "messages", "a list that is not empty")
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        rule(isinstance(message, dict) and message.get("role") in OPENAI_KEYS, where, "a role")
        role = message["role"]
        rule(set(message) <= OPENAI_KEYS[role], where, f"no unknown keys: {set(message) - OPENAI_KEYS[role]}")
        _openai_content(message, role, where)
        if role == "tool":
            rule(message.get("tool_call_id") in waiting, where, "answers a call of the message before the results")
            waiting.remove(message["tool_call_id"])
        else:
            rule(not waiting, where, f"these calls have no result: {waiting}")
            waiting = _openai_calls(message, where)
    rule(not waiting, "the end", f"these calls have no result: {waiting}")


def _openai_content(message: dict[str, Any], role: str, where: str) -> None:
    content = message.get("content")
    if "name" in message:
        rule(isinstance(message["name"], str) and message["name"], where, "a name is text")
    if content is None:
        says = message.get("tool_calls") or message.get("refusal") or message.get("audio")
        rule(role == "assistant" and says, where, "content, or calls of the assistant")
    elif not isinstance(content, str):
        rule(isinstance(content, list) and content, where, "content is text or parts")
        for part in content:
            kind = part.get("type")
            rule(kind in OPENAI_PARTS_OF.get(role, {"text"}), where, f"no {kind} in a message of the {role}")
            rule(set(part) == OPENAI_PARTS[kind], where, f"the keys of {kind}: {set(part)}")
            if kind == "image_url":
                rule(isinstance(part[kind], dict) and set(part[kind]) <= {"url", "detail"}, where, "an image has a URL")
            elif kind in ("text", "refusal"):
                rule(isinstance(part[kind], str), where, "text is text")


def _openai_calls(message: dict[str, Any], where: str) -> set[str]:
    if "tool_calls" not in message:
        return set()
    calls = message["tool_calls"]
    rule(isinstance(calls, list) and calls, where, "calls are a list that is not empty")
    for call in calls:
        rule(set(call) == {"id", "type", "function"} and call["type"] == "function", where, "a call of a function")
        rule(isinstance(call["id"], str) and call["id"], where, "a call has an id")
        rule(set(call["function"]) == {"name", "arguments"}, where, "a function has a name and arguments")
        rule(TOOL_NAME.fullmatch(call["function"]["name"]), where, "the name of a function")
        rule(isinstance(call["function"]["arguments"], str), where, "arguments are text")
        json.loads(call["function"]["arguments"])
    ids = {call["id"] for call in calls}
    rule(len(ids) == len(calls), where, "ids of calls differ")
    return ids


# Anthropic


def check_anthropic(body: Any) -> None:
    """An object that a messages request may have as its system and messages."""
    rule(isinstance(body, dict) and "messages" in body, "the body", "messages")
    rule(set(body) <= {"system", "messages"}, "the body", f"no unknown keys: {set(body)}")
    if "system" in body:
        _anthropic_content(body["system"], "system", "system")
    messages = body["messages"]
    rule(isinstance(messages, list) and messages, "messages", "a list that is not empty")
    called: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        rule(set(message) == {"role", "content"}, where, f"role and content alone: {set(message)}")
        rule(message["role"] == ("assistant" if number % 2 else "user"), where, "user and assistant alternate")
        blocks = _anthropic_content(message["content"], message["role"], where)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        rule(sorted(results) == sorted(called), where, f"results of exactly the calls before it: {called}, {results}")
        first = [block["type"] == "tool_result" for block in blocks[: len(results)]]
        rule(all(first), where, "results come first")
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        rule(len({*called}) == len(called), where, "ids of calls differ")
    rule(not called, "the end", f"these calls have no result: {called}")


def _anthropic_content(content: Any, role: str, where: str) -> list[dict[str, Any]]:
    if isinstance(content, str):
        rule(content.strip() or role == "result", where, "text is not blank")
        return []
    rule(isinstance(content, list) and content, where, "content is text or blocks")
    for block in content:
        kind = block.get("type")
        rule(kind in BLOCKS_OF[role], where, f"no {kind} in {role}")
        needed, allowed = BLOCKS[kind]
        rule(needed <= set(block) <= needed | allowed, where, f"the keys of {kind}: {set(block)}")
        if kind == "text":
            rule(isinstance(block["text"], str) and block["text"].strip(), where, "text is not blank")
        elif kind in ("image", "document"):
            source = block["source"]
            rule(set(source) == SOURCES.get(source.get("type")), where, f"the keys of a source: {set(source)}")
        elif kind == "tool_use":
            rule(ANTHROPIC_ID.fullmatch(block["id"]), where, "the id of a call")
            rule(TOOL_NAME.fullmatch(block["name"]), where, "the name of a tool")
            rule(isinstance(block["input"], dict), where, "input is an object")
        elif kind == "tool_result" and block.get("content") not in (None, []):
            _anthropic_content(block["content"], "result", where)
    return content
