"""A process that supersedes one record after the other until it is killed: `chainer STORE BOOK`."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

import memwell

SCOPE = "session:chain"


def told(book: Path) -> int:
    """The number of the last record that was acknowledged; -1 if there is none."""
    lines = book.read_text().split("\n")[:-1] if book.exists() else []
    return int(lines[-1]) if lines else -1


def main(path: str, book: str) -> None:
    with memwell.open(path) as store, Path(book).open("a") as out:
        records = store.scope(SCOPE).records
        shown = records.list()
        last = int(shown[0].id) if shown else -1
        print("working", flush=True)
        for number in count(last + 1):
            text = f"the tea is in place number {number}"
            if number:
                records.supersede(str(number - 1), text, id=str(number), source=f"s{number % 3}")
            else:
                records.remember(text, id="0")
            print(number, file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
