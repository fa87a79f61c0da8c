"""A disk that fails on order: SQLite's own file layer, with a fault at the n-th call."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import apsw
import pytest

NAME = "memwell-failing-disk"
MOST = 500  # calls of the disk in one transaction, by far
FAULTS = {
    "write": apsw.SQLITE_IOERR_WRITE,
    "full": apsw.SQLITE_FULL,
    "flush": apsw.SQLITE_IOERR_FSYNC,
    "truncate": apsw.SQLITE_IOERR_TRUNCATE,
    "delete": apsw.SQLITE_IOERR_DELETE,
    "read": apsw.SQLITE_IOERR_READ,
}


class Faults:
    """Which call is to fail: the n-th of a kind, once or from then on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.heal()

    def order(self, kind: str, nth: int, lasting: bool = False) -> None:
        with self._lock:
            self._kind, self._left, self._lasting, self.struck = kind, nth, lasting, False

    def heal(self) -> None:
        """No fault is to come."""
        with self._lock:
            self._kind, self._left, self._lasting, self.struck = "", 0, False, False

    def strike(self, *kinds: str) -> None:
        """Count a call, and fail if it is the one."""
        with self._lock:
            if self._kind not in kinds:
                return
            self._left -= 1
            if self._left == 0 or (self._left < 0 and self._lasting):
                self.struck = True
                error = apsw.exception_for(FAULTS[self._kind])
                error.args = ("disk I/O error",)
                raise error


class Fault:
    """One fault, which may strike within the `with`; afterwards it says whether it did."""

    def __init__(self, faults: Faults, kind: str, nth: int) -> None:
        self._faults, self._kind, self._nth = faults, kind, nth
        self.struck = False

    def __enter__(self) -> None:
        self._faults.order(self._kind, self._nth)

    def __exit__(self, *_: object) -> None:
        self.struck = self._faults.struck
        self._faults.heal()


def each_fault(faults: Faults, kind: str) -> Iterator[Fault]:
    """The first call of the disk fails, then the second, until the work is done before its turn comes."""
    for nth in range(1, MOST):
        fault = Fault(faults, kind, nth)
        yield fault
        if not fault.struck:
            return
    raise AssertionError(f"more than {MOST} calls of the disk")


class _File(apsw.VFSFile):
    def __init__(self, faults: Faults, name: Any, flags: Any) -> None:
        self._faults = faults
        super().__init__("", name, flags)

    def excepthook(self, *_: object) -> bool:
        """The fault is told to SQLite; nobody else needs to hear of it."""
        return True

    def xWrite(self, data: Any, offset: int) -> None:
        self._faults.strike("write", "full")
        super().xWrite(data, offset)

    def xRead(self, amount: int, offset: int) -> Any:
        self._faults.strike("read")
        return super().xRead(amount, offset)

    def xSync(self, flags: int) -> None:
        self._faults.strike("flush")
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:
        self._faults.strike("truncate")
        super().xTruncate(size)


class _Disk(apsw.VFS):
    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        super().__init__(NAME, "")

    def excepthook(self, *_: object) -> bool:
        """As above."""
        return True

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:
        return _File(self._faults, name, flags)

    def xDelete(self, name: str, flush: bool) -> None:
        self._faults.strike("delete")
        super().xDelete(name, flush)


@cache
def _disk() -> tuple[Faults, _Disk]:
    """Made once and never taken away: a connection that a failed test left open may still be on it."""
    faults = Faults()
    return faults, _Disk(faults)


@contextmanager
def failing_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Faults]:
    """Every connection made from here on is to a disk that fails on order."""
    faults, _ = _disk()
    flush = os.fdatasync

    def failing_flush(descriptor: int) -> None:
        try:
            faults.strike("flush")
        except apsw.Error as error:
            raise OSError(errno.EIO, os.strerror(errno.EIO)) from error
        flush(descriptor)

    monkeypatch.setattr(os, "fdatasync", failing_flush)
    monkeypatch.setattr(apsw, "Connection", partial(apsw.Connection, vfs=NAME))
    try:
        yield faults
    finally:
        faults.heal()
