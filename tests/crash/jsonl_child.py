"""A process that writes to a log: `jsonl_child append|forever|compact|forks|interrupts STORE …`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

from memwell.config import settings_from
from memwell.store import Span
from memwell.store.jsonl import Jsonl
from memwell.testing import opened
from memwell.testing.driver import NOW, SCOPE, a_put

CODE = ("store/jsonl.py", "store/jsonl_log.py")
FACTS = 5


def made(path: str, durability: Any = "fast") -> Jsonl:
    return Jsonl(path, settings_from(durability=durability))


def append(path: str, name: str, times: str) -> None:
    """Write so many facts as soon as it is told to."""
    with opened("sync", made(path), by=name) as store:
        mem = store.scope(SCOPE)
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(times)):
            mem.set(f"{name}-{number}", number)
        print("appended", len(mem.list(prefix=f"{name}-")), flush=True)


def forever(path: str, name: str, book: str, durability: str) -> None:
    """Write two facts at once until it is killed, and note what was acknowledged."""
    noted = os.open(book, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with opened("sync", made(path, durability), by=name, durability=durability) as store:
        mem = store.scope(SCOPE)
        first = len(mem.list(prefix=f"{name}-"))
        print("writing", flush=True)
        for number in count(first):
            fill = "x" * (number * 7919 % 20_000)
            mem.set_many({f"{name}-{number:06}-a": fill, f"{name}-{number:06}-b": fill})
            os.write(noted, f"{name}-{number:06}\n".encode())


def compact(path: str) -> None:
    """Write the file anew, over and over, until it is killed."""
    backend = made(path)
    print("writing", flush=True)
    while True:
        backend.compact()


class Killer:
    """Kills this process before the n-th line of the store's own code."""

    def __init__(self, nth: int) -> None:
        self._left = nth

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(CODE):
            return None
        if event == "line":
            self._left -= 1
            if self._left == 0:
                self.strike()
        return self

    def strike(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def _erase(backend: Jsonl) -> None:
    backend.write(lambda view: view.erase("agent:other", NOW, "tester", "scope.delete"), 5)


def _tear(backend: Jsonl) -> None:
    with Path(backend.path).open("ab") as file:
        file.write(b'{"op":"upsert","sco')
    _write(backend)


def _write(backend: Jsonl) -> None:
    backend.write(lambda view: view.put_all([a_put("new-a", "x" * 9000), a_put("new-b", "x" * 9000)]), 5)


ACTS: dict[str, Callable[[Jsonl], Any]] = {
    "write": _write,
    "erase": _erase,
    "compact": Jsonl.compact,
    "sweep": lambda backend: backend.sweep(NOW + 2, None, 100),
    "torn": _tear,
}


def fill(path: str) -> None:
    filled = made(path)
    filled.write(lambda view: view.put_all([a_put(f"{number:02}", number) for number in range(FACTS)]), 5)
    filled.write(lambda view: view.put_all([a_put("k", "gone soon", scope="agent:other", expires=NOW + 1)]), 5)
    filled.close()


def forks(path: str, act: str) -> None:
    """Have a forked child do the act and be killed before its first line, its second, and so on, to the end."""
    fill(path)
    begun = Path(path).read_bytes()
    for nth in count(1):
        Path(path).write_bytes(begun)
        pid = os.fork()
        if pid == 0:
            backend = made(path)
            backend.read(lambda _: None, 5)
            sys.settrace(Killer(nth))
            ACTS[act](backend)
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        _assert_whole(path, nth)
        if status == 0:
            print("killed", nth - 1, flush=True)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL


class Interrupter(Killer):
    """As if by Ctrl-C, instead."""

    def strike(self) -> None:
        raise KeyboardInterrupt


def interrupts(path: str, act: str) -> None:
    """Do the act and be interrupted before the first line, the second, and so on, to the end."""
    fill(path)
    begun = Path(path).read_bytes()
    other = made(path)
    for nth in count(1):
        Path(path).write_bytes(begun)
        backend, through = made(path), False
        backend.read(lambda _: None, 5)
        sys.settrace(Interrupter(nth))
        with suppress(KeyboardInterrupt):
            ACTS[act](backend)
            through = True
        sys.settrace(None)
        seen = [each.read(lambda view: _seen(view), 5) for each in (backend, other)]  # type: ignore[attr-defined]
        assert seen[0] == seen[1], f"interrupted at {nth}"
        other.write(lambda view: view.put(a_put("theirs")), 5)
        thread = Thread(target=backend.write, args=(lambda view: view.put(a_put("ours")), 5), daemon=True)
        thread.start()
        thread.join(20)
        assert not thread.is_alive(), f"another thread hangs after an interrupt at {nth}"
        backend.close()
        _assert_whole(path, nth)
        if through:
            print("interrupted", nth - 1, flush=True)
            return


def _seen(view: Any) -> Any:
    scopes = (SCOPE, "agent:other")
    return [(list(view.cells(scope, "fact", Span(), None, NOW)), view.changes(scope, 0, 99, NOW)) for scope in scopes]


def _assert_whole(path: str, nth: int) -> None:
    backend = made(path)
    keys = backend.read(lambda view: [cell.key for cell in view.cells(SCOPE, "fact", Span(), None, NOW)], 5)
    assert keys[:FACTS] == [f"{number:02}" for number in range(FACTS)], nth
    new = [key for key in keys[FACTS:] if key.startswith("new")]
    assert new in ([], ["new-a", "new-b"]), f"struck at {nth}: {new}"
    backend.write(lambda view: view.put(a_put("after")), 5)
    backend.close()
    again = made(path)
    assert again.read(lambda view: view.data(SCOPE, "fact", "after", NOW), 5) == b"1"
    assert [damage for damage in again.check(None).damage if ".torn" not in damage.where] == []
    again.close()
    left = {name.name for name in Path(path).parent.iterdir()}
    assert left <= {"memory.jsonl", "memory.jsonl.lock", "memory.jsonl.torn"}, f"struck at {nth}: {left}"


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
