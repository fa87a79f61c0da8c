"""The file of a JSONL store and the lock beside it: what is new, appending, cutting a torn end, replacing the whole.

One thread at a time uses it. A place in the file is trusted only while the file is the one that was read.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple
from weakref import ref

from memwell.errors import Busy, MemwellError, Unavailable
from memwell.parts import flush, flush_folder

_SLEEP_FIRST, _SLEEP_MOST = 0.0005, 0.01
_ENDING = 64  # bytes before the place reached that are read again: the checksum of the last line is among them


class Stamp(NamedTuple):
    """What tells that a file was changed."""

    inode: int
    size: int
    mtime: int


class Place(NamedTuple):
    """How far the file was read: bytes, lines, the last bytes before, and whether a newline ended them."""

    offset: int = 0
    lines: int = 0
    ending: bytes = b""
    ended: bool = True


def translate(error: OSError, path: str) -> MemwellError:
    """An error of the disk in our words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(
            f"the disk that holds {path} is full; nothing was written", hint="free some space, then retry"
        )
    if isinstance(error, FileNotFoundError):
        return Unavailable(f"{path} is gone", hint="put it back, or open the store again to start anew")
    return Unavailable(f"the disk that holds {path} failed: {error.strerror}", hint="check the disk, then retry")


class Log:
    """The file, its lock, and how far it was read."""

    def __init__(self, path: str, durable: bool) -> None:
        self.path, self.torn_path = path, f"{path}.torn"
        self._file, self._new, self._torn = (Path(f"{path}{ending}") for ending in ("", ".new", ".torn"))
        self._durable = durable
        self._handle: int | None = None
        self._lock_path = f"{path}.lock"
        self._lock: Callable[[], FileIO | None] = lambda: None
        self.forget()
        self._prepare()

    def _prepare(self) -> None:
        """Make the file and its lock with 0600 in a folder with 0700; what exists keeps its mode."""
        try:
            for folder in reversed([folder for folder in self._file.parents if not folder.exists()]):
                folder.mkdir(mode=0o700, exist_ok=True)
            for path in (self.path, self._lock_path):
                os.close(_private(path, os.O_RDWR | os.O_CREAT))
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unavailable(
                f"{self.path} can't be opened: {reason}", hint="choose a file in a folder you may write to"
            ) from None

    def _opened(self) -> int:
        if self._handle is None:
            self._handle = _private(self.path, os.O_RDWR | os.O_APPEND)
        return self._handle

    def close(self) -> None:
        """Close what is open; in a forked child, what the parent had open."""
        self.forget()
        lock = self._lock()
        if lock is not None:
            lock.close()

    def forget(self) -> None:
        """Begin at the start of the file that has the name now."""
        self.place, self._stamp, self.torn = Place(), Stamp(0, -1, 0), 0
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    # The lock

    @contextmanager
    def locked(self, deadline: float, exclusive: bool = True) -> Iterator[None]:
        """Hold the lock, or raise Busy; the wait is random, growing and bounded, so that nobody starves."""
        longest = _SLEEP_FIRST
        while True:
            # An object that unlocks when it goes: not even an interrupt in the midst of leaving can keep the lock.
            with self._open_lock() as lock:
                self._lock = ref(lock)
                if _lock(lock.fileno(), exclusive) and _names(self._lock_path, lock.fileno()):
                    try:
                        yield
                    finally:
                        fcntl.flock(lock, fcntl.LOCK_UN)  # by name: a child that is being forked may share the handle
                    return
            if time.monotonic() >= deadline:
                raise Busy(f"another writer holds {self.path}", hint="try again, or raise busy_timeout")
            time.sleep(random.uniform(0, longest))  # noqa: S311 - jitter, not a secret
            longest = min(longest * 2, _SLEEP_MOST)

    def _open_lock(self) -> FileIO:
        try:
            return FileIO(self._lock_path, "a", opener=_private)
        except OSError as error:
            raise translate(error, self._lock_path) from None

    # Reading

    def changed(self) -> bool:
        """Whether the file is no longer as it was read. What is torn may be replaced at any time."""
        return self.torn > 0 or _stamp(self._file.stat()) != self._stamp

    def rest(self) -> bytes | None:
        """What stands after the place reached; None if what stands before it is no longer what was read."""
        now, handle = _stamp(self._file.stat()), self._opened()
        offset, _, ending, _ = self.place
        if not _names(self.path, handle):
            return None
        if offset:
            edited = now.size == self._stamp.size and now.mtime != self._stamp.mtime and not self.torn
            if edited or _read(handle, offset - len(ending), offset) != ending:
                return None
        self._stamp = now
        return _read(handle, offset, now.size)

    def reached(self, data: bytes, end: int, lines: int, ended: bool) -> None:
        """So much of the rest is read; what is left over is torn."""
        if end:
            ending = (self.place.ending + data[:end])[-_ENDING:]
            self.place = Place(self.place.offset + end, lines, ending, ended)
        self.torn = len(data) - end

    def mtime(self) -> int:
        """When the file was last changed, in microseconds."""
        return self._stamp.mtime // 1000

    def whole(self) -> bytes:
        """All bytes of the file."""
        return self._file.read_bytes()

    # Writing, under the exclusive lock

    def _check_alone(self) -> None:
        """People who edit the file take no lock; what they add meanwhile must not be overwritten."""
        if not _names(self.path, self._opened()) or self._file.stat().st_size != self.place.offset + self.torn:
            raise Busy(f"somebody changed {self.path} without its lock", hint="try again")

    def cut(self) -> None:
        """Keep what is torn beside the file, then cut it off."""
        handle = self._opened()
        torn = _read(handle, self.place.offset, self.place.offset + self.torn)
        beside = os.open(self.torn_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _write(beside, torn)
            os.fsync(beside)
        finally:
            os.close(beside)
        os.ftruncate(handle, self.place.offset)
        self.torn = 0

    def append(self, data: bytes, lines: int) -> None:
        """Add complete lines after the place reached, on disk before this returns; if it fails, they are not there."""
        self._check_alone()
        if self.torn:
            self.cut()
        handle, (offset, count, ending, ended) = self._opened(), self.place
        data = data if ended else b"\n" + data
        try:
            _write(handle, data)
            if self._durable:
                flush(handle)
                if offset == 0:
                    flush_folder(self._file.parent)
        except BaseException:
            os.ftruncate(handle, offset)
            self._stamp = _stamp(os.fstat(handle))
            raise
        self.place = Place(offset + len(data), count + lines, (ending + data)[-_ENDING:], True)
        self._stamp = _stamp(os.fstat(handle))

    def replace(self, data: bytes, lines: int) -> None:
        """Put a new file in the place of this one: on disk first, then under its name."""
        self._check_alone()
        handle = _private(str(self._new), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW)
        try:
            os.fchmod(handle, self._file.stat().st_mode & 0o777)
            _write(handle, data)
            os.fsync(handle)  # however fast the store is to be: a rename must never put nothing in the place of all
            self._new.replace(self.path)
        except BaseException:
            os.close(handle)
            with suppress(OSError):
                self._new.unlink()
            raise
        self.forget()
        self._handle = handle
        self.place = Place(len(data), lines, data[-_ENDING:], True)
        self._stamp = _stamp(os.fstat(handle))
        flush_folder(self._file.parent)

    def tidy(self) -> None:
        """Remove what a replacement that was killed left behind."""
        with suppress(FileNotFoundError):
            self._new.unlink()

    def drop_torn(self) -> None:
        """Remove what was cut off."""
        with suppress(FileNotFoundError):
            self._torn.unlink()

    def cut_bytes(self) -> int:
        """How much was cut off and is kept."""
        try:
            return self._torn.stat().st_size
        except FileNotFoundError:
            return 0


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _lock(handle: int, exclusive: bool) -> bool:
    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _names(path: str, handle: int) -> bool:
    """Whether the path still leads to the file that is open."""
    try:
        return Path(path).stat().st_ino == os.fstat(handle).st_ino
    except FileNotFoundError:
        return False


def _read(handle: int, start: int, end: int) -> bytes:
    parts = []
    while start < end and (part := os.pread(handle, end - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
