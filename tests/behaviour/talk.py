"""Conversations for the tests of transcripts: what each format can say, and one that a real thread has had."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import strategies as st

from memwell.engine.spoken import fingerprint
from memwell.ops import NewMessage
from memwell.types import Message, ToolCall

WHEN = datetime(2031, 1, 31, tzinfo=UTC)
PNG = "data:image/png;base64,iVBORw0KGgo="


def stored(new: list[NewMessage]) -> list[Message]:
    """As a thread would give them back."""
    return [
        Message(
            thread="t",
            seq=seq,
            id=one.id or f"t-{seq}",
            role=one.role,
            content=one.content,
            name=one.name,
            tool_calls=one.tool_calls,
            tool_call_id=one.tool_call_id,
            metadata=one.metadata,
            tokens=one.tokens,
            created_at=WHEN,
            by="ann",
        )
        for seq, one in enumerate(new, 1)
    ]


# What can be said in each format

words = st.text(min_size=1, max_size=8).filter(str.strip)
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | words, st.lists, max_leaves=4)
arguments = st.dictionaries(names, values, max_size=3)
notes = st.fixed_dictionaries({}, optional={"cache_control": st.just({"type": "ephemeral"})})


def numbered(draw, count):
    number = draw(st.integers(0, 1))  # some providers begin with the same ids in every turn
    return [f"call_{number}{at}" for at in range(count)]


openai_text = st.builds(lambda text: {"type": "text", "text": text}, words)
openai_user = openai_text | st.just({"type": "image_url", "image_url": {"url": PNG, "detail": "low"}})


@st.composite
def openai_turn(draw):
    """A message, or calls of tools with their results in any order."""
    role = draw(st.sampled_from(["system", "developer", "user", "assistant", "calls"]))
    if role != "calls":
        part = openai_user if role == "user" else openai_text
        message = {"role": role, "content": draw(words | st.lists(part, min_size=1, max_size=3))}
        message |= {"name": draw(names)} if draw(st.booleans()) else {}
        return [message]
    ids = numbered(draw, draw(st.integers(1, 3)))
    calls = [
        {"id": one, "type": "function", "function": {"name": draw(names), "arguments": json.dumps(draw(arguments))}}
        for one in ids
    ]
    results = [{"role": "tool", "tool_call_id": one, "content": draw(words)} for one in draw(st.permutations(ids))]
    return [{"role": "assistant", "content": draw(words | st.none()), "tool_calls": calls}, *results]


openai_lists = st.lists(openai_turn(), min_size=1, max_size=6).map(lambda turns: [m for turn in turns for m in turn])
block_text = st.builds(lambda text, more: {"type": "text", "text": text, **more}, words, notes)
block_image = st.just({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}})
block_thought = st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, words)


@st.composite
def anthropic_bodies(draw):
    """A conversation of which each turn answers all calls of the one before."""
    messages, called = [], []
    for _ in range(draw(st.integers(1, 4))):
        results = [
            {
                "type": "tool_result",
                "tool_use_id": one,
                "content": draw(words | st.lists(block_text, max_size=2)),
                **more,
            }
            for one in called
            for more in [draw(st.just({}) | st.just({"is_error": True}))]
        ]
        spoken = draw(st.lists(block_text | block_image, min_size=0 if results else 1, max_size=2))
        plain = draw(words) if not results and draw(st.booleans()) else None
        messages.append({"role": "user", "content": plain or [*results, *spoken]})
        called = numbered(draw, draw(st.integers(0, 2)))
        calls = [
            {"type": "tool_use", "id": one, "name": "look", "input": draw(arguments), **draw(notes)} for one in called
        ]
        said = draw(st.lists(block_text | block_thought, min_size=0 if calls else 1, max_size=2))
        messages.append({"role": "assistant", "content": draw(st.permutations([*said, *calls]))})
    if called:
        last = [{"type": "tool_result", "tool_use_id": one, "content": "done"} for one in called]
        messages.append({"role": "user", "content": last})
    system = draw(st.none() | words | st.lists(block_text, min_size=1, max_size=2))
    return {"messages": messages, **({"system": system} if system else {})}


# A real thread


def conversation(thread):
    """Parallel calls, results in another order, instructions, images; 14 messages."""
    calls = [ToolCall("call_a", "weather", '{"city": "Oslo"}'), ToolCall("call_b", "weather", {"city": "Rome"})]
    thread.append("system", "Be brief.")
    thread.append("user", "What is the weather?", name="ann")
    thread.append("assistant", "Let me look.", tool_calls=calls)
    thread.append("tool", "19 degrees", tool_call_id="call_b")
    thread.append("tool", "2 degrees", tool_call_id="call_a")
    thread.append("assistant", "Oslo is cold, Rome is not.")
    thread.append("user", [{"type": "text", "text": "And here?"}, {"type": "image_url", "image_url": {"url": PNG}}])
    thread.append("assistant", tool_calls=[ToolCall("call_c", "locate", "")])
    thread.append("tool", "Bergen", tool_call_id="call_c")
    thread.append("assistant", None, tool_calls=[ToolCall("call_d", "weather", '{"city": "Bergen"}')])
    thread.append("user", "Hurry up")  # said while the tool still ran
    thread.append("tool", [{"type": "text", "text": "rain"}], tool_call_id="call_d")
    thread.append("assistant", "It rains.")
    thread.append("user", "Thanks")
    return thread


def cover(thread, first, last):
    below = [one for one in thread.messages(limit=None, raw=True) if first <= one.seq <= last]
    thread.cover(first, last, f"They spoke ({first} to {last})", fingerprint(below))
