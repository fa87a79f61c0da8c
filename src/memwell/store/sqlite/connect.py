"""Opening the file: permissions, journal mode, schema by number, and drivers' errors in our words."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memwell.codec import digest
from memwell.config import Settings
from memwell.errors import Busy, Corrupt, Invalid, MemwellError, Unavailable, Unsupported

T = TypeVar("T")
APPLICATION_ID = 0x4D574C31  # "MWL1"
SCHEMAS = (1, 2)
CLOSED = (apsw.ConnectionClosedError, apsw.CursorClosedError)  # by another thread that forks
DRIVER = (apsw.Error, UnicodeDecodeError, OSError)  # what reading and writing can raise that is not ours
_SLEEP_FIRST, _SLEEP_MOST = 0.0005, 0.01
_PRAGMAS = """
PRAGMA secure_delete = FAST; PRAGMA cache_size = -64000; PRAGMA temp_store = MEMORY; PRAGMA fullfsync = ON
"""


def _nothing() -> None:
    pass


def translate(error: Exception, path: str) -> MemwellError:
    """A driver's error as one of ours, with what to do next."""
    match error:
        case OSError():
            return Unavailable(
                f"the disk that holds {path} failed: {error.strerror}", hint="check the disk, then retry"
            )
        case UnicodeDecodeError():
            return Corrupt(
                f"{path} holds text that is damaged: {error}", hint="run 'memwell check', then restore a backup"
            )
        case apsw.BusyError() | apsw.LockedError():
            return Busy(f"another writer holds {path}", hint="try again, or raise busy_timeout")
        case apsw.FullError():
            return Unavailable(
                f"the disk that holds {path} is full; nothing was written", hint="free some space, then retry"
            )
        case apsw.NotADBError():
            return Corrupt(f"{path} is not a Memwell store, or its header is damaged", hint="restore a backup")
        case apsw.CorruptError():
            return Corrupt(f"{path} is damaged: {error}", hint="run 'memwell check', then restore a backup")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable(f"{path} can't be written", hint="check who owns the file and its folder")
        case apsw.CantOpenError():
            return Unavailable(
                f"{path} can't be opened", hint="check that its folder exists and that you may write there"
            )
        case apsw.TooBigError():
            return Invalid("a value is larger than SQLite can hold")
        case _:
            return Unavailable(f"{path}: {error}", hint="run 'memwell doctor'")


def patiently(attempt: Callable[[], T], wait: float, path: str) -> T:
    """Try until nobody holds the lock, sleeping a random, growing, bounded time: that is fair, and nobody starves."""
    deadline = time.monotonic() + wait
    longest = _SLEEP_FIRST
    while True:
        try:
            return attempt()
        except apsw.BusyError as error:
            if time.monotonic() >= deadline:
                raise translate(error, path) from None
        time.sleep(random.uniform(0, longest))  # noqa: S311 - jitter, not a secret
        longest = min(longest * 2, _SLEEP_MOST)


def _digest(*columns: Any) -> bytes:
    return digest(*columns)


def prepare(path: str) -> None:
    """Make the file with 0600 in a folder with 0700 before SQLite sees it; what exists keeps its mode."""
    file = Path(path)
    try:
        for folder in reversed([folder for folder in file.parents if not folder.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        reason = error.strerror or str(error)
        raise Unavailable(
            f"{path} can't be opened: {reason}", hint="choose a file in a folder you may write to"
        ) from None


def connect(path: str, settings: Settings, wait: float) -> apsw.Connection:
    """A connection with the settings of this store."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    # Without it every range of keys is planned anew for the values that are bound, which costs more than reading it.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.create_scalar_function("memwell_digest", _digest, 8, deterministic=True)
    try:
        patiently(lambda: _configure(connection, settings, path), wait, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: apsw.Connection, settings: Settings, path: str) -> None:
    mode = connection.pragma("journal_mode")
    if mode != "wal":
        _check_ours(connection, path)  # before the file is changed
        mode = connection.pragma("journal_mode", "wal")
    if mode != "wal":
        raise Unsupported(f"this file system gives no write-ahead log (journal mode {mode})", hint="use a local disk")
    connection.pragma("synchronous", "FULL" if settings.durability == "full" else "NORMAL")
    list(connection.execute(_PRAGMAS))


def migrate(connection: apsw.Connection, path: str) -> None:
    """Bring the schema up to date, one number at a time, in one transaction."""
    if connection.pragma("user_version") != SCHEMAS[-1]:
        _upgrade(connection, path)
        # The file itself says what it is from the start, not only its log: without the log it must not pass for new.
        with suppress(apsw.Error):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    else:
        _check_ours(connection, path)


def _upgrade(connection: apsw.Connection, path: str) -> None:
    def upgrade() -> None:
        found = int(connection.pragma("user_version"))
        if found > SCHEMAS[-1]:
            raise Unsupported(
                f"{path} has schema {found}; this version of Memwell knows up to {SCHEMAS[-1]}",
                hint="upgrade Memwell: pip install -U memwell",
            )
        _check_ours(connection, path)
        if not found and Path(path).stat().st_size > connection.pragma("page_size"):
            raise Corrupt(f"{path} has data but no tables: its log is missing", hint="restore a backup")
        for number in SCHEMAS:
            if number > found:
                list(connection.execute(_script(number)))
                connection.pragma("user_version", number)
        connection.pragma("application_id", APPLICATION_ID)

    transact(connection, upgrade)


def _script(number: int) -> str:
    return files(__package__).joinpath(f"schema_{number}.sql").read_text()


def schema() -> list[tuple[str, str, str]]:
    """What a store of this version is made of: type, name and SQL of everything in it."""
    connection = apsw.Connection(":memory:")
    for number in SCHEMAS:
        list(connection.execute(_script(number)))
    return list(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


_WHOSE = "SELECT (SELECT count(*) FROM sqlite_schema), (SELECT application_id FROM pragma_application_id)"


def _check_ours(connection: apsw.Connection, path: str) -> None:
    """A file that is not empty must carry our mark."""
    # One statement, because another process may be making the store at this moment.
    ((things, mark),) = connection.execute(_WHOSE).fetchall()
    if mark != (APPLICATION_ID if things else 0):
        raise Invalid(f"{path} is an SQLite file of another program", hint="choose another path for the memory")


def transact(connection: apsw.Connection, work: Callable[[], T], committed: Callable[[], None] = _nothing) -> T:
    """BEGIN IMMEDIATE, work, COMMIT; rolled back on anything that is raised. `committed` is called just if it was.

    BEGIN stands inside the try: an interrupt can arrive while it runs, and then the transaction is open.
    """
    committing = False
    try:
        connection.execute("BEGIN IMMEDIATE")
        result = work()
        committing = True
        connection.execute("COMMIT")
        committed()
    except BaseException as error:
        # A full disk ends the transaction by itself; then there is nothing left to roll back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        elif committing and not isinstance(error, apsw.Error):
            committed()
        raise
    return result


def snapshot(connection: apsw.Connection, work: Callable[[], T]) -> T:
    """BEGIN, work, COMMIT: everything that is read comes from one moment."""
    try:
        connection.execute("BEGIN")
        return work()
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")
