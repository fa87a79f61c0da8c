"""A process that gives its rights up and then tries to write: `stranger STORE`."""

from __future__ import annotations

import os
import sys

import memwell
from memwell import opening  # noqa: F401 - read now, because a stranger may not be allowed to
from memwell.errors import Unavailable
from memwell.store import sqlite  # noqa: F401 - likewise

NOBODY = 65534


def main(path: str) -> None:
    if os.geteuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        with memwell.open(path, by="stranger") as store:
            store.scope("agent:a").set("k", 2)
    except Unavailable as error:
        print("refused", error, flush=True)
    else:
        print("written", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
