"""A process that forks while its threads read and write: `forker STORE fork|multiprocessing TIMES`."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable

import memwell

SCOPE = "agent:forker"
CHILD_S = 60  # a child that is not done by then hangs: the alarm ends it, and the parent sees that


class Threads:
    """Threads that read and write all the time, and what they were told."""

    def __init__(self, store: memwell.Store) -> None:
        self.acknowledged: dict[str, int] = {}
        self.failed: list[str] = []
        self._stop = False
        mem = store.scope(SCOPE)
        works: list[Callable[[int], object]] = [lambda n: self._write(mem, "w0", n), lambda n: self._write_many(mem, n)]
        works += [
            lambda n: mem.get("fixed"),
            lambda n: mem.list(),
            lambda n: (mem.get_many(["fixed", "w0"]), mem.history("w0", limit=5)),
        ]
        self._running = [threading.Thread(target=self._repeat, args=(work,), daemon=True) for work in works]
        for thread in self._running:
            thread.start()

    def _repeat(self, work: Callable[[int], object]) -> None:
        number = 0
        while not self._stop:
            number += 1
            try:
                work(number)
            except Exception as error:  # noqa: BLE001 - whatever a thread is told because another one forked
                self.failed.append(repr(error))

    def _write(self, mem: memwell.Memory, key: str, number: int) -> None:
        mem.set(key, number, ttl=3600 if number % 2 else None)
        self.acknowledged[key] = number

    def _write_many(self, mem: memwell.Memory, number: int) -> None:
        mem.set_many({"m0": number, "m1": number})
        self.acknowledged["m0"] = self.acknowledged["m1"] = number

    def stop(self) -> None:
        self._stop = True
        for thread in self._running:
            thread.join(CHILD_S)
            assert not thread.is_alive(), "a thread hangs after the forks"


def in_child(mem: memwell.Memory, number: int) -> None:
    """What a child does with the handle that it inherited."""
    mem.set(f"child-{number}", number)
    mem.set_many({f"child-{number}-a": number, f"child-{number}-b": number})
    assert mem.get("fixed") == "fixed"
    assert f"child-{number}" in mem.list()


def forked(work: Callable[[], object]) -> Callable[[], None]:
    """Do the work in a forked child; what is returned waits for it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(CHILD_S)
            work()
            code = 0
        finally:
            os._exit(code)

    def wait() -> None:
        _, status = os.waitpid(pid, 0)
        assert status == 0, f"a forked child ended with status {status}"

    return wait


def spawned(work: Callable[[], object]) -> Callable[[], None]:
    """The same by multiprocessing."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()

    def wait() -> None:
        process.join(CHILD_S)
        assert process.exitcode == 0, f"a child process ended with {process.exitcode}"
        process.close()

    return wait


def outlive(store: memwell.Store, fork: Callable[[Callable[[], object]], Callable[[], None]], number: int) -> None:
    """A child that writes only after its parent has closed the store."""
    mem = store.scope(SCOPE)
    closed, close = os.pipe()

    def work() -> None:
        os.close(close)
        os.read(closed, 1)
        in_child(mem, number)

    wait = fork(work)
    store.close()
    os.close(close)
    wait()
    os.close(closed)


def main(path: str, way: str, times: str) -> None:
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork.*", DeprecationWarning)  # newer Pythons warn of it
    fork = forked if way == "fork" else spawned
    store = memwell.open(path, busy_timeout=20)
    mem = store.scope(SCOPE)
    mem.set("fixed", "fixed")
    threads = Threads(store)
    for number in range(int(times)):
        waits = [fork(lambda: in_child(mem, 2 * number)), fork(lambda: in_child(mem, 2 * number + 1))]  # noqa: B023
        for wait in waits:
            wait()
    threads.stop()
    assert threads.failed == [], threads.failed[:3]
    outlive(store, fork, 2 * int(times))
    print("forked", json.dumps(threads.acknowledged), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
