"""SQLite: one connection a thread, write-ahead log, group commit, safe across fork and kill."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from errno import EIO
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memwell.config import Settings
from memwell.errors import Busy, MemwellError, Unavailable
from memwell.parts import flush
from memwell.store import Done, Progress, PutJob, ReadJob, Traits, WriteJob
from memwell.store.sqlite import inspect, upkeep, verify
from memwell.store.sqlite.commit import Commits, Ticket
from memwell.store.sqlite.connect import (
    CLOSED,
    DRIVER,
    connect,
    migrate,
    patiently,
    prepare,
    snapshot,
    transact,
    translate,
)
from memwell.store.sqlite.fork import at_fork
from memwell.store.sqlite.rows import Rows
from memwell.types import Health

T = TypeVar("T")
WAL_PAGES = 4000  # when the log is this long, upkeep moves it into the file
WAL_PAGES_MOST = 10 * WAL_PAGES  # when upkeep does not keep up, the writer does it


_LATER = object()


def _idle() -> None:
    pass


class Sqlite:
    """A store in one file."""

    def __init__(self, path: str, settings: Settings) -> None:
        self.path = str(Path(path).expanduser().absolute())
        self.settings = settings
        self.poke: Callable[[], None] = _idle
        self._closed = False
        self._sweep_cursor = 0
        self._log_suspect = False
        self.begin_process()
        prepare(self.path)
        try:
            self._calmly(lambda: migrate(self._mine().connection, self.path))
        except BaseException:
            self.close()
            raise
        at_fork(self)

    def begin_process(self) -> None:
        """Start with no connection: at first, and again in the child after a fork."""
        self._local = threading.local()
        self._opening = threading.Lock()
        self._gate: threading.Event | None = None
        self._group_rows: Rows | None = None
        self._all_rows: weakref.WeakSet[Rows] = weakref.WeakSet()
        durable = self.settings.durability == "full"
        self._commits = Commits(self._alone, self._together, self._wait_for_disk, durable)

    # Connections

    def _mine(self) -> Rows:
        """This thread's connection."""
        if self._gate is not None:
            self._gate.wait()
        try:
            return self._local.rows  # type: ignore[no-any-return]
        except AttributeError:
            rows = self._local.rows = self._open()
            return rows

    def _open(self) -> Rows:
        with self._opening:
            if self._closed:
                raise Unavailable("the store is closed", hint="open it again")
            connection = connect(self.path, self.settings, self.settings.busy_timeout)
            connection.set_wal_hook(self._logged)
            rows = Rows(connection)
            self._all_rows.add(rows)
            return rows

    def _groups(self) -> Rows:
        """The connection that groups share, whoever leads: its page cache stays warm. It leaves waiting to `Flush`."""
        rows = self._group_rows
        if rows is None:
            rows = self._group_rows = self._open()
            rows.connection.pragma("synchronous", "NORMAL")
        return rows

    def _forget_connections(self) -> None:
        self._local.__dict__.pop("rows", None)
        self._group_rows = None

    def before_fork(self, patience: float) -> None:
        """Finish what is being written, hold everyone else at the gate, and close every connection."""
        self._commits.pause(patience)
        self._gate = threading.Event()
        self._opening.acquire(timeout=patience)
        self._close_connections(patience)

    def after_fork(self) -> None:
        """In the parent: open the gate."""
        gate, self._gate = self._gate, None
        with suppress(RuntimeError):
            self._opening.release()
        if gate is not None:
            gate.set()
        self._commits.resume()

    def _close_connections(self, patience: float) -> None:
        for rows in list(self._all_rows):
            upkeep.close(rows.connection, patience)
        self._all_rows.clear()

    # Reading and writing

    @property
    def traits(self) -> Traits:
        full = self._calmly(lambda: self._mine().connection.pragma("synchronous")) >= 2
        durability = "power-safe" if full else "crash-safe"
        return Traits("sqlite", inline=True, inline_writes=not full, shared=True, durability=durability)

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:
        if not snapshot:
            result = self._at_once(job)
            if result is not _LATER:
                return result  # type: ignore[return-value]
        return self._patiently(lambda: self._snapshot(job), wait)

    def _at_once(self, job: Callable[[Any], T]) -> T | object:
        """The way of nearly every call; _LATER if it has to wait, or to open anew."""
        try:
            return job(self._mine())
        except (apsw.BusyError, *CLOSED):
            return _LATER
        except DRIVER as error:
            raise translate(error, self.path) from None

    def _snapshot(self, job: ReadJob[T]) -> T:
        rows = self._mine()
        return snapshot(rows.connection, lambda: job(rows))

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:
        return self._commits.write(job, wait, single)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        self._commits.submit(job, wait, single, done)

    def _alone(self, job: WriteJob[T], single: bool, wait: float) -> T:
        if self._log_suspect:
            self._translated(self._make_safe)
        if single:
            result = self._at_once(job)
            if result is not _LATER:
                return result  # type: ignore[return-value]
        return self._patiently(lambda: self._transact(job), wait)

    def _transact(self, job: WriteJob[T]) -> T:
        rows = self._mine()
        return transact(rows.connection, lambda: job(rows))

    def _together(self, tickets: list[Ticket]) -> None:
        """Commit a group. A job that refuses is undone alone; if the disk fails, each is tried alone."""
        try:
            wait = min(ticket.deadline for ticket in tickets) - time.monotonic()
            self._patiently(lambda: self._group(tickets), max(0.0, wait))
        except Busy as error:
            for ticket in tickets:
                if ticket.deadline <= time.monotonic():
                    ticket.error = error
        except MemwellError:
            for ticket in tickets:
                wait = max(0.0, ticket.deadline - time.monotonic())
                ticket.run(lambda job, single=ticket.single, wait=wait: self._alone(job, single, wait))  # type: ignore[misc]
                ticket.committed = True

    def _group(self, tickets: list[Ticket]) -> None:
        rows = self._groups()

        def committed() -> None:
            for ticket in tickets:
                ticket.committed = True

        transact(rows.connection, lambda: _run_all(rows, tickets), committed)

    def _wait_for_disk(self) -> None:
        """As a commit with synchronous=FULL does at its end. A log that is gone was moved into the file and synced."""
        if self.settings.durability == "full":
            self._make_safe()
            with suppress(FileNotFoundError):
                log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CLOEXEC)
                try:
                    flush(log)
                except OSError:
                    self._log_suspect = True
                    raise
                finally:
                    os.close(log)

    def _make_safe(self) -> None:
        """After a failed sync the next one may succeed without having written anything: trust only the file itself."""
        if self._log_suspect:
            connection = self._mine().connection
            try:
                patiently(lambda: upkeep.checkpoint_whole(connection), self.settings.busy_timeout, self.path)
            except (apsw.Error, Busy) as error:
                raise OSError(EIO, f"the log could not be moved into the file: {error}") from None
            self._log_suspect = False

    def _patiently(self, attempt: Callable[[], T], wait: float) -> T:
        def once_more() -> T:
            try:
                return patiently(attempt, wait, self.path)
            except CLOSED:
                self._forget_connections()  # another thread forked, which closes every connection first
                return patiently(attempt, wait, self.path)

        return self._translated(once_more)

    def _calmly(self, work: Callable[[], T]) -> T:
        """Even a look at the file can find it locked, while another process closes or recovers it."""
        return self._patiently(work, self.settings.busy_timeout)

    def _translated(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except DRIVER as error:
            raise translate(error, self.path) from None

    # Upkeep

    def _logged(self, connection: apsw.Connection, _: str, pages: int) -> int:
        """After a commit; it must not raise, because the commit has happened."""
        if pages >= WAL_PAGES:
            self.poke()
            if pages >= WAL_PAGES_MOST:
                upkeep.checkpoint(connection)
        return apsw.SQLITE_OK

    def tend(self) -> None:
        self._translated(lambda: upkeep.checkpoint(self._mine().connection, restart=True))

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:
        def job(rows: Any) -> upkeep.Swept:
            return upkeep.sweep(rows, now, before, limit, self._sweep_cursor)

        swept = self.write(job, self.settings.busy_timeout)
        self._sweep_cursor = swept.cursor
        return swept.expired, swept.more

    def next_expiry(self) -> int | None:
        return self._calmly(lambda: upkeep.next_expiry(self._mine()))

    def check(self, progress: Progress | None) -> Health:
        return self._calmly(lambda: verify.check(self._mine(), progress))

    def backup(self, path: str, progress: Progress | None) -> int:
        return self._calmly(lambda: inspect.backup(self._mine(), path, progress))

    def describe(self) -> dict[str, Any]:
        return self._calmly(lambda: inspect.describe(self._mine().connection, self.path))

    def close(self) -> None:
        if not self._closed:
            self._commits.close()
            self._closed = True
            self._close_connections(self.settings.busy_timeout)


def _run_all(rows: Rows, tickets: list[Ticket]) -> None:
    """Plain puts by few statements; then the others, each undone alone if it fails."""
    puts = [(ticket, ticket.job.put()) for ticket in tickets if isinstance(ticket.job, PutJob)]
    plain = [(ticket, put) for ticket, put in puts if put.if_version is None]
    if plain:
        for (ticket, _), cell in zip(plain, rows.put_all([put for _, put in plain]), strict=True):
            ticket.result = ticket.job.done(cell)  # type: ignore[attr-defined]
    if len(plain) < len(tickets):
        written = {id(ticket) for ticket, _ in plain}
        for ticket in tickets:
            if id(ticket) not in written:
                ticket.run(rows.run if ticket.single else rows.run_undoable, fatal=(apsw.Error, UnicodeDecodeError))
