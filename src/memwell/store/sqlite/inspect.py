"""The file as a whole: copy it, describe it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw

from memwell.errors import Invalid, Unavailable
from memwell.parts import flush_folder, part_file
from memwell.store import Progress
from memwell.store.sqlite.connect import snapshot
from memwell.store.sqlite.rows import Rows

_PAGES = 256  # of the file, copied in one step


def backup(rows: Rows, path: str, progress: Progress | None) -> int:
    """A copy of one moment, made beside running writers; it has its name only once it is complete and on disk."""
    target = Path(path).expanduser().absolute()
    try:
        with part_file(target) as part:
            _copy(rows, part, progress)
            os.link(part, target)  # unlike a rename, this never overwrites
        flush_folder(target.parent)
        return target.stat().st_size
    except FileExistsError:
        raise Invalid(f"{target} exists already", hint="name a new file; a backup never overwrites") from None
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None


def _copy(rows: Rows, part: Path, progress: Progress | None) -> None:
    copy = apsw.Connection(str(part))

    def steps() -> None:
        rows.execute("SELECT 1 FROM cells LIMIT 1").fetchall()  # the moment that is copied, whoever writes meanwhile
        with copy.backup("main", rows.connection, "main") as backup:
            while not backup.done:
                backup.step(_PAGES)
                if progress:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        copy.pragma("journal_mode", "delete")  # everything in the one file

    try:
        snapshot(rows.connection, steps)
    finally:
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
