"""SQLite: one connection a thread, write-ahead log, group commit, safe across fork and kill."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memwell.config import Settings
from memwell.errors import Unavailable
from memwell.store import Done, Progress, ReadJob, Traits, WriteJob
from memwell.store.sqlite import inspect, upkeep
from memwell.store.sqlite.commit import Commits, Ticket
from memwell.store.sqlite.connect import connect, migrate, patiently, prepare, transaction, translate
from memwell.store.sqlite.fork import at_fork
from memwell.store.sqlite.rows import Rows
from memwell.types import Health

T = TypeVar("T")
WAL_PAGES = 4000  # when the log is this long, upkeep moves it into the file
WAL_PAGES_MOST = 10 * WAL_PAGES  # when upkeep does not keep up, the writer does it


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
        self.begin_process()
        prepare(self.path)
        try:
            rows = self._open()
            migrate(rows.connection, settings.busy_timeout, self.path)
        except apsw.Error as error:
            raise translate(error, self.path) from None
        at_fork(self)

    def begin_process(self) -> None:
        """Start with no connection: at first, and again in the child after a fork."""
        self._local = threading.local()
        self._all_rows: weakref.WeakSet[Rows] = weakref.WeakSet()
        self.commits = Commits(self._alone, self._together)

    def _open(self) -> Rows:
        if self._closed:
            raise Unavailable("the store is closed", hint="open it again")
        connection = connect(self.path, self.settings, self.settings.busy_timeout)
        connection.set_wal_hook(self._logged)
        rows: Rows = Rows(connection)
        self._all_rows.add(rows)
        self._local.rows = rows
        return rows

    def _mine(self) -> Rows:
        """This thread's connection."""
        try:
            return self._local.rows  # type: ignore[no-any-return]
        except AttributeError:
            return self._open()

    @property
    def traits(self) -> Traits:
        full = self._mine().connection.pragma("synchronous") >= 2
        durability = "power-safe" if full else "crash-safe"
        return Traits("sqlite", inline=True, inline_writes=not full, shared=True, durability=durability)

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:
        if not snapshot:
            try:
                return job(self._mine())
            except (apsw.BusyError, apsw.ConnectionClosedError):
                pass  # below it waits, or opens anew
            except apsw.Error as error:
                raise translate(error, self.path) from None
        return self._patiently(lambda: self._snapshot(job), wait)

    def _snapshot(self, job: ReadJob[T]) -> T:
        rows = self._mine()
        rows.execute("BEGIN")
        try:
            return job(rows)
        finally:
            rows.execute("COMMIT")

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:
        return self.commits.write(job, wait, single)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        self.commits.submit(job, wait, single, done)

    def _alone(self, job: WriteJob[T], single: bool, wait: float) -> T:
        if single:
            try:
                return job(self._mine())
            except (apsw.BusyError, apsw.ConnectionClosedError):
                pass  # below it waits, or opens anew
            except apsw.Error as error:
                raise translate(error, self.path) from None
        return self._patiently(lambda: self._transact(job), wait)

    def _transact(self, job: WriteJob[T]) -> T:
        rows = self._mine()
        with transaction(rows.connection):
            return job(rows)

    def _together(self, tickets: list[Ticket], wait: float) -> None:
        """A group in one transaction. A job that refuses is undone alone; if the disk fails, each is tried alone."""
        try:
            if len(tickets) > 1:
                self._patiently(lambda: self._group(tickets), wait)
        except Exception:  # noqa: BLE001 - each gets its own error below
            group_failed = True
        else:
            group_failed = len(tickets) == 1
        for ticket in tickets:
            if group_failed:
                ticket.run(lambda job, single=ticket.single: self._alone(job, single, wait))  # type: ignore[misc]
            ticket.finish()

    def _group(self, tickets: list[Ticket]) -> None:
        rows = self._mine()
        with transaction(rows.connection):
            for ticket in tickets:
                ticket.run(rows.run if ticket.single else rows.run_undoable, fatal=apsw.Error)

    def _patiently(self, attempt: Callable[[], T], wait: float) -> T:
        try:
            try:
                return patiently(attempt, wait, self.path)
            except apsw.ConnectionClosedError:
                self._open()  # another thread forked, which closes every connection first
                return patiently(attempt, wait, self.path)
        except apsw.Error as error:
            raise translate(error, self.path) from None

    def _logged(self, connection: apsw.Connection, _: str, pages: int) -> int:
        if pages >= WAL_PAGES:
            self.poke()
            if pages >= WAL_PAGES_MOST:
                upkeep.checkpoint(connection)
        return apsw.SQLITE_OK

    def tend(self) -> None:
        upkeep.checkpoint(self._mine().connection, restart=True)

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:
        def job(rows: Any) -> upkeep.Swept:
            return upkeep.sweep(rows, now, before, limit, self._sweep_cursor)

        swept = self.write(job, self.settings.busy_timeout)
        self._sweep_cursor = swept.cursor
        return swept.expired, swept.more

    def next_expiry(self) -> int | None:
        return self.read(upkeep.next_expiry, self.settings.busy_timeout)  # type: ignore[arg-type]

    def check(self, progress: Progress | None) -> Health:
        return inspect.check(self._mine(), progress)

    def backup(self, path: str, progress: Progress | None) -> int:
        try:
            return inspect.backup(self._mine(), path, progress)
        except apsw.Error as error:
            raise translate(error, path) from None

    def describe(self) -> dict[str, Any]:
        return inspect.describe(self._mine().connection, self.path)

    def close_connections(self, patience: float) -> None:
        """Close the connections of every thread; one in use is waited for."""
        for rows in list(self._all_rows):
            upkeep.close(rows.connection, patience)
        self._all_rows.clear()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.commits.close()
            self.close_connections(self.settings.busy_timeout)
