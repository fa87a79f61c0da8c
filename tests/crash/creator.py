"""A process that opens each store it is told of and writes to it: `creator`."""

from __future__ import annotations

import os
import sys

import memwell
from memwell.store import sqlite  # noqa: F401 - imported beforehand, so that all begin at the same moment


def main() -> None:
    print("ready", flush=True)
    while path := sys.stdin.readline().strip():
        with memwell.open(path) as store:
            store.scope("agent:a").set(f"{os.getpid()}", 1)
        print("opened", flush=True)


if __name__ == "__main__":
    main()
