"""A process that writes, deletes and forgets history at once until it is killed: `forgetter STORE BOOK`."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path

import memwell

SCOPE = "session:forgetful"
KEYS = 7


def main(path: str, book: str) -> None:
    with memwell.open(path, history_seconds=1e-6) as store, Path(book).open("a") as out:
        mem = store.scope(SCOPE)
        print("working", flush=True)
        for number in count():
            key, value = f"{number % KEYS}", None if number % 5 == 0 else number
            print(json.dumps(["intend", key, value, 0]), file=out, flush=True)
            version = mem.delete(key) * 0 if value is None else mem.set(key, value).version
            print(json.dumps(["done", key, value, version]), file=out, flush=True)
            if number % 3 == 0:
                store.sweep()


def told(book: Path) -> dict[str, set[int | None]]:
    """For each key the values that may be there: what was acknowledged last, or what was in flight."""
    versions: dict[str, int] = {}
    possible: dict[str, set[int | None]] = {}
    for word, key, value, version in map(json.loads, book.read_text().splitlines()):
        if word == "intend":
            possible.setdefault(key, {None}).add(value)
        else:
            possible[key] = {value}
            assert value is None or version > versions.get(key, 0), f"the version of {key} went back to {version}"
            versions[key] = max(version, versions.get(key, 0))
    return possible


if __name__ == "__main__":
    main(*sys.argv[1:])
