"""Files that have their name only once they are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def part_file(target: Path) -> Iterator[Path]:
    """An empty file with 0600 beside the target, under a name of its own, removed at the end if it is still there."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
