"""A process that appends messages to a thread that others append to as well: `talker STORE NAME TIMES`."""

from __future__ import annotations

import sys
import time

import memwell

SCOPE, THREAD = "workflow:talk", "t"


def main(path: str, name: str, times: str) -> None:
    with memwell.open(path, by=name) as store:
        thread = store.scope(SCOPE).threads.get(THREAD)
        assert thread is not None
        print("ready", flush=True)
        sys.stdin.readline()
        start = time.monotonic()
        for number in range(int(times)):
            made = thread.append("user", f"{name} {number}", id=f"{name}-{number}")
            if number % 10 == 0:  # as somebody would whose answer was lost
                assert thread.append("user", f"{name} {number}", id=f"{name}-{number}") == made
        print("appended", time.monotonic() - start, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
