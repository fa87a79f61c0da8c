"""A process whose main thread is interrupted while others write: `interrupted STORE NAME TIMES SEED`."""

from __future__ import annotations

import json
import random
import signal
import sys
import threading
from collections.abc import Callable

import memwell

SCOPE = "agent:interrupted"
THREADS = 4
LONGEST_S = 0.004
END_S = 60.0


class Interrupt(KeyboardInterrupt):
    """As if by Ctrl-C."""


class Main:
    """The main thread's calls, cut short by a timer."""

    def __init__(self, mem: memwell.Memory, name: str, rng: random.Random) -> None:
        self._mem, self._name, self._rng = mem, name, rng
        self._armed = False
        self.interrupted = self._calls = 0
        self.acknowledged: list[str] = []
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, *_: object) -> None:
        if self._armed:
            raise Interrupt

    def step(self) -> None:
        """One call; if the timer rings during it, it is as if the user had pressed Ctrl-C."""
        self._calls += 1
        key = f"{self._name}-main-{self._calls}"
        call = self._rng.choice((self._set, self._set_many, self._read))
        signal.setitimer(signal.ITIMER_REAL, self._rng.uniform(1e-6, LONGEST_S))
        try:
            self._armed = True
            call(key)
            self._armed = False
        except Interrupt:
            self._armed = False
            self.interrupted += 1
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _set(self, key: str) -> None:
        self._mem.set(key, 1, if_version=0)
        self.acknowledged.append(key)

    def _set_many(self, key: str) -> None:
        with self._mem.batch() as batch:
            batch.set(key, 1, if_version=0)
            batch.set(f"{key}-twin", 1, if_version=0)
        self.acknowledged += [key, f"{key}-twin"]

    def _read(self, key: str) -> None:
        assert self._mem.get_many([key, "none"]) == {}
        self._mem.list(prefix=key)
        self._mem.get(key)


class Others:
    """Threads that write all the time; a key that is written twice would be refused."""

    def __init__(self, mem: memwell.Memory, name: str) -> None:
        self.acknowledged: list[list[str]] = [[] for _ in range(THREADS)]
        self._stop = False
        self._threads = [
            threading.Thread(target=self._write, args=(mem, f"{name}-{number}", self.acknowledged[number]), daemon=True)
            for number in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, mem: memwell.Memory, name: str, acknowledged: list[str]) -> None:
        while not self._stop:
            acknowledged.append(mem.set(f"{name}-{len(acknowledged)}", 1, if_version=0).key)

    def stop(self) -> None:
        """Each must be seen to write once more, and end."""
        before = [len(each) for each in self.acknowledged]
        wait_for(lambda: all(len(now) > then for now, then in zip(self.acknowledged, before, strict=True)))
        self._stop = True
        for thread in self._threads:
            thread.join(END_S)
            assert not thread.is_alive()


def wait_for(condition: Callable[[], bool]) -> None:
    never = threading.Event()
    for _ in range(int(END_S / 0.01)):
        if condition():
            return
        never.wait(0.01)
    raise AssertionError("the other threads hang since the main thread was interrupted")


def main(path: str, name: str, times: str, seed: str) -> None:
    with memwell.open(path, by=name) as store:
        mem = store.scope(SCOPE)
        others = Others(mem, name)
        main = Main(mem, name, random.Random(seed))
        while main.interrupted < int(times):
            main.step()
        others.stop()
        mem.set(f"{name}-last", 1)
        told = [*main.acknowledged, *(key for keys in others.acknowledged for key in keys)]
    print("interrupted", json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
