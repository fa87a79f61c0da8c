"""A process that does one chore over and over until it is killed: `chore KIND STORE FOLDER`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import memwell

SCOPE = "user:opener"


def backup(path: str, folder: Path) -> None:
    with memwell.open(path) as store:
        print("working", flush=True)
        for number in count():
            store.backup(str(folder / f"{os.getpid()}-{number}.db"))


def export(path: str, folder: Path) -> None:
    with memwell.open(path) as store:
        print("working", flush=True)
        for number in count():
            store.export(str(folder / f"{os.getpid()}-{number}.ndjson"))


def sweep(path: str, folder: Path) -> None:
    with memwell.open(path, durability="fast") as store:
        print("working", flush=True)
        mem = store.scope("session:fleeting")
        for number in count():
            mem.set_many({f"{number}-{each}": "x" * 500 for each in range(50)}, ttl=0.001)
            store.sweep()


def checkpoint(path: str, folder: Path) -> None:
    with memwell.open(path) as store:
        print("working", flush=True)
        while True:
            store._door.engine.backend.tend()


def create(path: str, folder: Path) -> None:
    """Make new files one after the other, several of these processes at once; each acknowledges what it wrote."""
    for number in count():
        fresh = folder / f"{number}.db"
        with memwell.open(fresh) as store:
            store.scope(SCOPE).set(f"{os.getpid()}", number)
        with Path(path).open("a") as acknowledged:
            acknowledged.write(f"{fresh.name} {os.getpid()}\n")
        if number == 0:
            print("working", flush=True)  # from here on, nothing is slow for being the first time


CHORES: dict[str, Callable[[str, Path], None]] = {
    "backup": backup,
    "checkpoint": checkpoint,
    "create": create,
    "export": export,
    "sweep": sweep,
}

if __name__ == "__main__":
    CHORES[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
