"""Stores of both faces and conversations in them, for tests of what keeps threads small."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import memwell
from memwell.agent.colours import given
from memwell.agent.compaction import calls, results
from memwell.agent.tokens import Tokens
from memwell.ops import NewMessage
from memwell.types import Message, ToolCall

KINDS = ["ram-sync", "ram-async", "sqlite-sync", "sqlite-async"]
TOKENS = Tokens()


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Any]:
    """A store of a backend, in a face."""
    backend, face = kind.split("-")
    where = ":memory:" if backend == "ram" else str(folder / "memory.db")
    if face == "sync":
        with memwell.open(where) as store:
            yield store
    else:
        async with memwell.open_async(where) as opened:
            yield opened


def turn(number: int, words: int = 25) -> list[NewMessage]:
    """A question, three tool calls at once whose results come in another order, and an answer. Ids are used again."""
    names = ["a", "b", "c"]
    asked = [ToolCall(f"call_{name}", "look_up", {"city": f"{name}{number}"}) for name in names]
    answers = [
        NewMessage(role="tool", tool_call_id=f"call_{name}", content=f"{name}{number}: " + "sunny " * words)
        for name in ("c", "a", "b")
    ]
    return [
        NewMessage(role="user", content=f"Question {number}: " + "where is it warm? " * 4),
        NewMessage(role="assistant", tool_calls=asked),
        *answers,
        NewMessage(role="assistant", content=f"Answer {number}: " + "it is warm there. " * 4),
    ]


async def conversation(mem: Any, turns: int, **more: Any) -> Any:
    """A thread that begins with the system's message."""
    thread = await given(mem.threads.create(**more))
    await given(thread.append("system", "You are a guide."))
    for number in range(turns):
        await given(thread.extend(turn(number)))
    return thread


async def shown(thread: Any) -> list[Message]:
    return await given(thread.messages(limit=None))  # type: ignore[no-any-return]


async def raw(thread: Any) -> list[Message]:
    return await given(thread.messages(limit=None, raw=True))  # type: ignore[no-any-return]


def size(messages: list[Message]) -> int:
    return sum(map(TOKENS.of, messages))


def assert_unbroken(messages: list[Message]) -> None:
    """Every result that is shown follows its call, and every call that is shown has its results."""
    waiting: set[str] = set()
    for message in messages:
        found = set(results(message))
        assert found <= waiting, f"{message.seq} is a result without its call"
        waiting -= found
        assert not (waiting and calls(message)), f"{message.seq} calls before the results are there"
        waiting |= set(calls(message))
    assert not waiting, f"no results of {waiting}"


def scripted(messages: list[Message]) -> str:
    """A summary that says what it was made of."""
    return f"Summary of {len(messages)} from {messages[0].seq} to {messages[-1].seq}."
