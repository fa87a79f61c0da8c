"""Compacts a thread in a fork that kills itself before a given SQL statement, or while the model is at work.

`compactor` reads lines `KIND STEP STORE` and answers `killed`, or `ended` and how many statements it took; a STEP of 0
is never reached, -1 is when all is done but nobody was told, -2 is inside the model's call.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import apsw

import memwell
from memwell.agent.processors import Pipeline, Processor, Summarizer, TokenLimiter
from memwell.ops import NewMessage
from memwell.types import Message, ToolCall

SCOPE, THREAD = "agent:a", "talk"
FIRST, SECOND = "They spoke of tea. ", "They spoke of tea, again. "
KINDS = ("sum-sync", "sum-async", "again-sync", "limit-sync", "both-async")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def said(start: int, end: int) -> list[NewMessage]:
    """Turns, each with two tool calls at once."""
    messages = []
    for number in range(start, end):
        calls = [ToolCall(f"{number}{name}", "brew", name) for name in "ab"]
        messages += [
            NewMessage(role="user", content=f"tea number {number}, " + "please " * 20),
            NewMessage(role="assistant", tool_calls=calls),
            *(NewMessage(role="tool", tool_call_id=call.id, content="hot " * 30) for call in reversed(calls)),
            NewMessage(role="assistant", content=f"here is number {number}"),
        ]
    return messages


def fill(path: object) -> None:
    """A thread with an old summary and much after it."""
    with memwell.open(str(path), by="author") as store:
        mem = store.scope(SCOPE)
        thread = mem.threads.create(id=THREAD)
        thread.append("system", "You make tea.")
        thread.extend(said(0, 6))
        Summarizer(lambda _: FIRST, max_tokens=50, keep=0).process(mem, THREAD)
        thread.extend(said(6, 20))


def processor(kind: str, step: int) -> Processor:
    """What is to be done."""

    def run(messages: list[Message]) -> str:
        if step == -2:
            die()
        return f"{SECOND}{len(messages)}"

    again = Summarizer(run, max_tokens=50, keep=0)
    sums = Summarizer(run, max_tokens=50, keep=20)
    limits = TokenLimiter(300)
    return {"sum": sums, "again": again, "limit": limits, "both": Pipeline([sums, limits])}[kind]


async def compact_async(kind: str, step: int, path: str, trace: Any) -> None:
    async with memwell.open_async(path) as store:
        watched(trace)
        await processor(kind, step).process(store.scope(SCOPE), THREAD)
        if step:  # done, or there were fewer statements than in the run before: threads share them out by chance
            die()


def compact(kind: str, step: int, path: str, trace: Any) -> None:
    with memwell.open(path) as store:
        watched(trace)
        processor(kind, step).process(store.scope(SCOPE), THREAD)
        if step:  # done, or there were fewer statements than in the run before: threads share them out by chance
            die()


def watched(trace: Any) -> None:
    """Every statement from here on, also of connections that a thread opens later."""
    for connection in apsw.connections():
        connection.exec_trace = trace
    apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))


def do(named: str, step: int, path: str) -> None:
    """Open, compact, close; the process ends before its statement number `step`."""
    count = 0

    def trace(cursor: Any, sql: str, bindings: Any) -> bool:
        nonlocal count
        count += 1
        if count == step:
            die()
        return True

    kind, face = named.split("-")
    if face == "async":
        asyncio.run(compact_async(kind, step, path, trace))
    else:
        compact(kind, step, path, trace)
    print("ended", count, flush=True)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        kind, step, path = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if child == 0:
            do(kind, int(step), path)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, status
        if killed:
            print("killed", flush=True)


if __name__ == "__main__":
    main()
