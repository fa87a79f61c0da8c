"""Does one thing with records in a fork that kills itself before a given SQL statement.

`felled` reads lines `KIND STEP STORE` and answers `killed`, or `ended` and how many statements the thing took; a STEP
of 0 is never reached, and one of -1 is when the thing is done but nobody was told.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import apsw

import memwell

SCOPE = "agent:a"
QUERIES = ("", "tea", "page", "berlin", "repeated")
KINDS: dict[str, Callable[[Any], Any]] = {
    "remember": lambda records: records.remember("fresh tea from Assam", id="fresh", tags=["t"], thread="th"),
    "reinforce": lambda records: records.remember("repeated words about tea", tags=["again"]),
    "remember_many": lambda records: records.remember_many([f"tea number {number}" for number in range(5)]),
    "update": lambda records: records.update("old", content="the tea is in Munich", tags=["moved"]),
    "supersede": lambda records: records.supersede("old", "the tea is in Hamburg", id="new"),
    "delete": lambda records: records.delete("old", reason="asked to"),
    "restore": lambda records: records.restore("deleted"),
    "approve": lambda records: records.approve("waiting"),
    "hard_delete": lambda records: records.hard_delete("old"),
    "forget": lambda records: records.forget("page"),
}


def fill(path: object) -> None:
    """A store on which each of them has something to do."""
    with memwell.open(str(path), by="author") as store:
        records = store.scope(SCOPE).records
        records.remember("the tea is in Berlin", id="old", tags=["place"], thread="th")
        records.remember("repeated words about tea", id="repeated")
        records.remember("deleted tea", id="deleted")
        records.delete("deleted")
        records.remember("tea that waits", id="waiting", pending=True, supersedes=["old"])
        for number in range(3):
            records.remember(f"read on a page {number} about tea", id=f"page{number}", source="page")
        records.remember("a conclusion about tea", id="derived", derived_from=["page1"])
        records.remember("said in two places, also about tea", id="both", source="page")
        records.remember("said in two places, also about tea", source="book")
        store.scope("agent:b").remember("the tea of another in Berlin, read on a page", source="page")


def do(kind: str, step: int, path: str) -> None:
    """Open, do it, close; the process ends before its statement number `step`."""
    count = 0

    def trace(cursor: Any, sql: str, bindings: Any) -> bool:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    with memwell.open(path, by="reviewer", allow_hard_delete=True) as store:
        for connection in apsw.connections():
            connection.exec_trace = trace
        KINDS[kind](store.scope(SCOPE).records)
        if step < 0:
            os.kill(os.getpid(), signal.SIGKILL)
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
