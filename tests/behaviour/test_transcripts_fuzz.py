"""Whatever comes, it is read or refused, and whatever is stored is written or refused: nothing else is ever raised."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memwell import Invalid
from memwell.ops import NewMessage
from memwell.testing import promise
from memwell.transcripts import from_anthropic, from_jsonl, from_openai, parse, to_anthropic, to_jsonl, to_openai
from memwell.types import ToolCall

from .talk import stored

FIELDS = st.sampled_from([
    "role", "content", "type", "text", "name", "id", "tool_calls", "tool_call_id", "function", "arguments", "custom",
    "input", "refusal", "image_url", "url", "file", "file_data", "source", "data", "media_type", "tool_use_id",
    "messages", "system", "memwell", "metadata", "covers", "parsed", "openai", "anthropic", "message", "calls",
    "places",
])  # fmt: skip
KINDS = st.sampled_from([
    "text", "image", "document", "tool_use", "tool_result", "base64", "refusal", "image_url", "file", "thinking",
])  # fmt: skip
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | FIELDS | KINDS | ROLES


def deeper(inner):
    return st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5)


ANYTHING = st.recursive(LEAVES, deeper, max_leaves=12)
OBJECTS = st.dictionaries(FIELDS, ANYTHING, max_size=4)
TYPED = st.builds(lambda kind, fields: {**fields, "type": kind}, KINDS, OBJECTS)
CONTENTS = st.text(max_size=3) | st.lists(TYPED, max_size=3)
MESSAGES = st.builds(
    lambda role, content, fields: {**fields, "role": role, "content": content}, ROLES, CONTENTS | ANYTHING, OBJECTS
)


def attempted(convert, given):
    """What came of it, or the refusal."""
    try:
        return convert(given), None
    except Invalid as refused:
        return None, refused


def lines(messages):
    return from_jsonl([json.dumps(one) for one in messages])


@promise("transcript:place")
@given(st.lists(MESSAGES | OBJECTS | ANYTHING, max_size=3))
def test_whatever_comes_in_is_read_or_refused(messages):
    for read in (from_openai, from_anthropic, lines, lambda given: parse(json.dumps(given).encode())[1]):
        new, refused = attempted(read, messages)
        if refused is None:
            again = from_jsonl(to_jsonl(stored(new)))
            assert stored(again) == stored(new)
        else:
            assert refused.hint


def said(role, content, metadata, arguments):
    calls = [ToolCall("c", "f", arguments)] if role == "assistant" else []
    answered = "c" if role == "tool" else None
    return NewMessage(role=role, content=content, metadata=metadata, tool_calls=calls, tool_call_id=answered)


@promise("transcript:place")
@given(st.lists(st.builds(said, ROLES, CONTENTS | st.lists(OBJECTS, max_size=2), OBJECTS, ANYTHING), max_size=4))
def test_whatever_is_stored_is_written_or_refused(new):
    for write in (to_openai, to_anthropic):
        made, refused = attempted(write, stored(new))
        assert json.dumps(made) if refused is None else refused.message.startswith("message ")
    assert len(to_jsonl(stored(new))) == len(new)
