"""A disk that remembers what has been flushed, and shows what would be left of it if the power failed now.

What was written but not flushed may be there in part: each sector of it by chance, old or new, in any order.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import apsw
import pytest

NAME = "memwell-power"
SECTOR = 512


@dataclass
class Image:
    """One file: what is safe, and what was written since."""

    safe: bytearray
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # place and bytes; None cuts the file there
    flushed: int = 0

    @property
    def written(self) -> int:
        """How many writes there were."""
        return self.flushed + len(self.pending)

    def flush(self, upto: int) -> None:
        """Make the first so many writes safe."""
        count = max(0, upto - self.flushed)
        for place, data in self.pending[:count]:
            _apply(self.safe, place, data)
        del self.pending[:count]
        self.flushed += count

    def left(self, rng: random.Random) -> bytes:
        """What a power cut leaves."""
        image = bytearray(self.safe)
        luck = rng.choice((0.0, 0.5, 0.9, 1.0))
        for place, data in self.pending:
            if data is None:
                if rng.random() < luck:
                    _apply(image, place, None)
                continue
            for start in range(0, len(data), SECTOR):
                if rng.random() < luck:
                    _apply(image, place + start, data[start : start + SECTOR])
        return bytes(image)


def _apply(image: bytearray, place: int, data: bytes | None) -> None:
    if data is None:
        del image[place:]
    else:
        image.extend(bytes(max(0, place - len(image))))
        image[place : place + len(data)] = data


class Power:
    """All files, by path."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._images: dict[str, Image] = {}

    def opened(self, path: str) -> None:
        with self._lock:
            if path not in self._images:
                self._images[path] = Image(bytearray(Path(path).read_bytes()))

    def written(self, path: str, place: int, data: bytes | None) -> None:
        with self._lock:
            self._images[path].pending.append((place, data))

    @contextmanager
    def flushing(self, path: str) -> Iterator[None]:
        """What was written before this began is safe when it ends."""
        image = self._images.get(path)
        with self._lock:
            written = image.written if image else 0
        yield
        with self._lock:
            if image:
                image.flush(written)

    def deleted(self, path: str) -> None:
        with self._lock:
            self._images.pop(path, None)

    def forget(self) -> None:
        self._images.clear()

    def cut(self, path: Path, folder: Path, rng: random.Random) -> Path:
        """The file and its log as they would be found after a power cut at this moment."""
        folder.mkdir()
        with self._lock:
            for suffix in ("", "-wal"):
                image = self._images.get(f"{path}{suffix}")
                if image is not None:
                    (folder / f"{path.name}{suffix}").write_bytes(image.left(rng))
        return folder / path.name


class _File(apsw.VFSFile):
    def __init__(self, power: Power, name: Any, flags: Any) -> None:
        self._power = power
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name
        super().__init__("", name, flags)
        self._power.opened(self._path)

    def xWrite(self, data: Any, offset: int) -> None:
        super().xWrite(data, offset)
        self._power.written(self._path, offset, bytes(data))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._power.written(self._path, size, None)

    def xSync(self, flags: int) -> None:
        with self._power.flushing(self._path):
            super().xSync(flags)


class _Disk(apsw.VFS):
    def __init__(self, power: Power) -> None:
        self._power = power
        super().__init__(NAME, "")

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:
        return _File(self._power, name, flags)

    def xDelete(self, name: str, flush: bool) -> None:
        super().xDelete(name, flush)
        self._power.deleted(name)


@cache
def _disk() -> tuple[Power, _Disk]:
    power = Power()
    return power, _Disk(power)


@contextmanager
def watched_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Power]:
    """Every connection made within is to a disk whose power may fail."""
    power, _ = _disk()
    power.forget()
    flush = os.fdatasync

    def watched_flush(descriptor: int) -> None:
        with power.flushing(os.readlink(f"/proc/self/fd/{descriptor}")):
            flush(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", watched_flush)
        patch.setattr(apsw, "Connection", partial(apsw.Connection, vfs=NAME))
        yield power
