"""Interrupts a write or a read at every place where Python can deliver a signal: `everywhere STORE SCENARIO`.

CPython looks for signals when a function begins, when a loop goes round, and after a call of C returns. A trace
function raises at the first such place, then at the second, and so on, and after each the store must be as good as new.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any

import apsw

import memwell

SCOPE = "agent:everywhere"
END_S = 20.0
_LOOKS = {"RESUME", "JUMP_BACKWARD", "CALL", "CALL_FUNCTION_EX", "CALL_KW"}


class Interrupt(KeyboardInterrupt):
    """As if by Ctrl-C."""


@cache
def _names(code: CodeType) -> dict[int, str]:
    return {instruction.offset: instruction.opname for instruction in dis.get_instructions(code)}


class Tracer:
    """Raises at the n-th place within the store's own code."""

    def __init__(self, nth: int) -> None:
        self._left = nth
        self._last: dict[FrameType, str] = {}
        self.place = ""

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_back in self._last:
            self._last[frame.f_back] = ""  # a call of Python code: its end is no such place
        if "store/sqlite" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        self._last[frame] = ""
        return self._within

    def _within(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            looked = self._last[frame] in _LOOKS
            self._last[frame] = _names(frame.f_code).get(frame.f_lasti, "")
            if looked:
                self._left -= 1
                if self._left == 0:
                    self.place = f"{frame.f_code.co_filename}:{frame.f_lineno} ({frame.f_code.co_name})"
                    raise Interrupt
        elif event == "return":
            self._last.pop(frame, None)
        return self._within


class Crowd:
    """Another thread that writes at this moment, and one that comes after: the main thread must queue, and lead."""

    def __init__(self, store: memwell.Store, nth: int) -> None:
        self._nth, self._followed = nth, False
        self._backend = store._door.engine.backend
        self._mem = store.scope(SCOPE)
        self._inside, self._release = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._hold, self._follow)]
        for thread in self._threads:
            thread.start()
        assert self._inside.wait(END_S)

    def _hold(self) -> None:
        def job(_: object) -> None:
            self._inside.set()
            self._release.wait(0.01)  # meanwhile the main thread queues, unless it is interrupted before

        self._backend.write(job, END_S)

    def _follow(self) -> None:
        self._inside.wait(END_S)
        self._mem.set(f"once-follower-{self._nth}", 1, if_version=0)
        self._followed = True

    def end(self, place: str) -> None:
        self._release.set()
        for thread in self._threads:
            thread.join(END_S)
            assert not thread.is_alive(), f"another writer hangs after an interrupt at {place}"
        assert self._followed, f"another writer got a wrong answer after an interrupt at {place}"


def assert_as_good_as_new(store: memwell.Store, path: str, nth: int, place: str) -> None:
    """Another thread and another connection can write, and this thread sees what they wrote."""
    mem = store.scope(SCOPE)
    thread = threading.Thread(target=mem.set, args=("other", nth), daemon=True)
    thread.start()
    thread.join(END_S)
    assert not thread.is_alive(), f"writers hang after an interrupt at {place}"
    assert mem.get("other") == nth, f"this thread reads the past after an interrupt at {place}"
    mem.set("this", nth)
    mem.set_many({"this": nth, "that": nth})
    other = apsw.Connection(path)
    other.execute("BEGIN IMMEDIATE; ROLLBACK")
    assert other.execute("SELECT value FROM cells WHERE key = 'that'").get == f"{nth}".encode(), place
    other.close()


SCENARIOS: dict[str, tuple[bool, Callable[[memwell.Memory, int], object]]] = {
    "set": (False, lambda mem, nth: mem.set(f"once-{nth}", 1, if_version=0)),
    "set_many": (False, lambda mem, nth: mem.set_many({f"once-{nth}": 1, f"once-{nth}-b": 1})),
    "get": (False, lambda mem, nth: mem.get("that")),
    "get_many": (False, lambda mem, nth: mem.get_many(["this", "that"])),
    "queued set": (True, lambda mem, nth: mem.set(f"once-{nth}", 1, if_version=0)),
    "queued set_many": (True, lambda mem, nth: mem.set_many({f"once-{nth}": 1, f"once-{nth}-b": 1})),
}


def main(path: str, scenario: str) -> None:
    crowded, call = SCENARIOS[scenario]
    store = memwell.open(path)
    mem = store.scope(SCOPE)
    mem.set_many({"this": 0, "that": 0})
    interrupted = nth = 0
    while interrupted == nth:
        nth += 1
        tracer = Tracer(nth)
        crowd = Crowd(store, nth) if crowded else None
        sys.settrace(tracer)
        try:
            call(mem, nth)
        except Interrupt:
            interrupted += 1
        finally:
            sys.settrace(None)
        if crowd:
            crowd.end(tracer.place)
        assert_as_good_as_new(store, path, nth, tracer.place)
    versions = {entry.version for entry in mem.entries(prefix="once-")}
    assert versions <= {1}, "a write was made twice"
    store.close()
    print("interrupted", interrupted, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
