"""A process that adds to a shared number by compare-and-swap: `counter STORE TIMES`."""

from __future__ import annotations

import sys
import time

import memwell
from memwell.errors import Busy, Conflict

SCOPE, KEY = "workflow:count", "n"


def increment(mem: memwell.Memory) -> int:
    """Add one, however often another is faster; how often the store was busy."""
    busy = 0
    while True:
        entry = mem.entry(KEY)
        try:
            mem.set(KEY, entry.value + 1 if entry else 1, if_version=entry.version if entry else 0)
        except Conflict:
            continue
        except Busy:
            busy += 1
        else:
            return busy


def main(path: str, times: str) -> None:
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        print("ready", flush=True)
        sys.stdin.readline()
        start = time.monotonic()
        busy = sum(increment(mem) for _ in range(int(times)))
        print("counted", busy, time.monotonic() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
