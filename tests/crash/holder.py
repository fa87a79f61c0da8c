"""A process that stops itself inside a write, with the lock in its hand: `holder STORE`."""

from __future__ import annotations

import os
import signal
import sys

import memwell
from memwell import clock

SCOPE = "agent:holder"


class StoppingClock:
    """The time, which each write of a transaction asks for; whoever asks the second time is stopped."""

    def __init__(self) -> None:
        self._now, self._asked = clock.now, 0

    def __call__(self) -> int:
        self._asked += 1
        if self._asked == 2:
            os.kill(os.getpid(), signal.SIGSTOP)
        return self._now()


def main(path: str) -> None:
    with memwell.open(path) as store:
        clock.now = StoppingClock()
        print("holding", flush=True)
        with store.scope(SCOPE).batch() as batch:
            for number, key in enumerate(("before", "during", "after"), start=1):
                batch.set(key, number)
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
