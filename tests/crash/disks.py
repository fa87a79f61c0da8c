"""A small disk of its own, which a test can fill and empty."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_ZEROS = bytes(4096)


class Disk:
    """A mounted tmpfs; the ballast is a file that takes all room that is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Take all room."""
        with self._ballast.open("ab", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(_ZEROS)
        assert os.statvfs(self.folder).f_bavail == 0

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink()

    def grow(self, size: str) -> None:
        """Be a larger disk from now on."""
        subprocess.run(["mount", "-o", f"remount,size={size}", self.folder], check=True)

    def protect(self) -> None:
        """Refuse every write from now on."""
        subprocess.run(["mount", "-o", "remount,ro", self.folder], check=True)


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Disk]:
    """Mount it, or skip and say why."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"NOT TESTED, no full disk: mounting a tmpfs is not permitted here ({made.stderr.strip()})")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
