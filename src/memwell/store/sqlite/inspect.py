"""Looking at the file as a whole: verify it, copy it, describe it. Nothing here changes a row."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from memwell.codec import decode, digest
from memwell.errors import Corrupt, Invalid, Unavailable
from memwell.store import Progress
from memwell.store.sqlite.rows import Rows
from memwell.types import Damage, Health

_PAGE = 500
_MOST_FILE_PROBLEMS = 100
_TABLES = (("cells", "id"), ("events", "rev"))
_BACKUP_PAGES = 256


def check(rows: Rows, progress: Progress | None) -> Health:
    """Verify the structure of the file and the hash of every stored value."""
    damage = list(_structure(rows))
    lengths = [_last(rows, table, column) for table, column in _TABLES]
    checked = done = 0
    for (table, column), last in zip(_TABLES, lengths, strict=True):
        for number, found in _walk(rows, table, column, last):
            checked += 1
            if isinstance(found, Damage):
                damage.append(found)
            if progress and checked % _PAGE == 0:
                progress(done + number, sum(lengths))
        done += last
    if progress:
        progress(done, done)
    return Health(checked=checked, damage=damage)


def _structure(rows: Rows) -> Iterator[Damage]:
    try:
        for (line,) in rows.execute(f"PRAGMA integrity_check({_MOST_FILE_PROBLEMS})"):
            if line != "ok":
                yield Damage(where="file", problem=line)
    except apsw.Error as error:
        yield Damage(where="file", problem=str(error))


def _last(rows: Rows, table: str, column: str) -> int:
    try:
        return rows.execute(f"SELECT max({column}) FROM {table}").get or 0
    except apsw.Error:
        return 0  # the structure check has said why


def _walk(rows: Rows, table: str, column: str, last: int) -> Iterator[tuple[int, Damage | None]]:
    """Every row, page by page; a page that can't be read is tried row by row, to name only what is damaged."""
    select = f"SELECT {column}, scope, shape, key, version, digest, value FROM {table} WHERE {column} "
    number = 0
    while number < last:
        try:
            page = rows.execute(f"{select} > ? ORDER BY {column} LIMIT ?", (number, _PAGE)).fetchall()
        except apsw.Error:
            for one in range(number + 1, min(number + _PAGE, last) + 1):
                try:
                    row = rows.execute(f"{select} = ?", (one,)).fetchone()
                except apsw.Error as error:
                    yield one, Damage(where=f"{table} row {one}", problem=str(error))
                else:
                    if row is not None:
                        yield one, _verify(table, row)
            number += _PAGE
        else:
            if not page:
                return
            for row in page:
                yield row[0], _verify(table, row)
            number = page[-1][0]


def _verify(table: str, row: tuple[Any, ...]) -> Damage | None:
    number, scope, shape, key, version, stored, value = row
    if value is None:
        return None
    problem = None
    if not isinstance(value, bytes) or stored != digest(scope, shape, key, value):
        problem = "the stored value does not match its hash"
    else:
        try:
            decode(value)
        except Corrupt as error:
            problem = error.message
    if problem is None:
        return None
    return Damage(where=f"{shape} {key!r} of {scope}, version {version} ({table} row {number})", problem=problem)


def backup(rows: Rows, path: str, progress: Progress | None) -> int:
    """A copy of one moment, made beside running writers; it has its name only once it is complete and on disk."""
    target = Path(path).expanduser().absolute()
    if target.exists():
        raise Invalid(f"{target} exists already", hint="name a new file; a backup never overwrites")
    part = target.with_name(f"{target.name}.part")
    try:
        with suppress(FileNotFoundError):
            part.unlink()
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            _copy(rows, str(part), progress)
            part.rename(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        folder = os.open(target.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        return target.stat().st_size
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None


def _copy(rows: Rows, part: str, progress: Progress | None) -> None:
    copy = apsw.Connection(part)
    rows.execute("BEGIN")  # one snapshot for the whole copy, however long it takes and whoever writes meanwhile
    try:
        rows.execute("SELECT 1 FROM cells LIMIT 1").fetchall()
        with copy.backup("main", rows.connection, "main") as steps:
            while not steps.done:
                steps.step(_BACKUP_PAGES)
                if progress:
                    progress(steps.page_count - steps.remaining, steps.page_count)
        copy.pragma("journal_mode", "delete")  # everything in the one file
    finally:
        rows.execute("COMMIT")
        copy.close()


def describe(connection: apsw.Connection, path: str) -> dict[str, Any]:
    """What `doctor` shows."""
    file = Path(path)
    log = Path(f"{path}-wal")
    return {
        "path": path,
        "mode": oct(file.stat().st_mode & 0o777),
        "bytes": file.stat().st_size,
        "log_bytes": log.stat().st_size if log.exists() else 0,
        "schema": connection.pragma("user_version"),
        "journal": connection.pragma("journal_mode"),
        "sqlite": apsw.sqlite_lib_version(),
    }
