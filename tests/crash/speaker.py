"""A process that appends to a thread, covers what it said and forks it until it is killed: `speaker STORE BOOK`.

The book has a line for all that was acknowledged, written before the next thing is begun.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import memwell
from memwell.engine.spoken import fingerprint
from memwell.ops import NewMessage

SCOPE, THREAD = "workflow:talk", "t"
BATCH, FORK_EVERY, LONGEST_FORK = 3, 4, 20


def rounds(thread: memwell.threads.Thread) -> Iterator[str]:
    """What was done, one thing after the other."""
    for number in count():
        name = f"{os.getpid()}-{number}"
        one = thread.append("user", f"one {name}", id=name)
        yield f"said {name} {one.seq}"
        batch = thread.extend([NewMessage(role="user", content=f"{place} of {name}") for place in range(BATCH)])
        first, last = batch[0].seq, batch[-1].seq
        yield f"batch {name} {first}"
        thread.cover(first, last, f"sum of {name}", fingerprint(batch))
        yield f"covered {first} {last}"
        if number % FORK_EVERY == 0:
            at = min(last, LONGEST_FORK)
            yield f"forked {thread.fork(at).id} {at}"


def main(path: str, book: str) -> None:
    with memwell.open(path, by=str(os.getpid())) as store, Path(book).open("a", buffering=1) as told:
        thread = store.scope(SCOPE).threads.get(THREAD)
        assert thread is not None
        print("working", flush=True)
        for line in rounds(thread):
            told.write(f"{line}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
