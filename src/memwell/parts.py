"""Making files safe: on disk, and under their name only once they are complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "darwin":
    import fcntl

    def flush(handle: int) -> None:
        """Wait until the bytes are on the disk itself, which fsync does not do there."""
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)

else:

    def flush(handle: int) -> None:
        """Wait until the bytes are on disk."""
        getattr(os, "fdatasync", os.fsync)(handle)


@contextmanager
def part_file(target: Path) -> Iterator[Path]:
    """An empty file with 0600, in a folder of its own beside the target that goes at the end with all that is in it."""
    import tempfile  # here, because few need it and it brings much along

    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".part") as folder:
        part = Path(folder) / target.name
        part.touch(mode=0o600)
        yield part


def flush_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
