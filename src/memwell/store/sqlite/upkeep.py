"""Bounded upkeep: moving the log into the file, freeing what has expired, forgetting old history."""

from __future__ import annotations

import time
from errno import EIO
from typing import NamedTuple

import apsw

from memwell.store.sqlite.rows import Rows

_EXPIRED_DOCS = """
SELECT scope, shape, key FROM (SELECT scope, shape, key FROM cells WHERE expires <= ? LIMIT ?) WHERE shape <> 'fact'
"""
_EXPIRED_CELLS = """
UPDATE cells SET value = NULL, expires = NULL,
  digest = memwell_digest(scope, shape, key, op, "by", updated, NULL, x'')
WHERE (scope, shape, key) IN (SELECT scope, shape, key FROM cells WHERE expires <= ? LIMIT ?)
"""
_EXPIRED_EVENTS = """
UPDATE events SET value = NULL, digest = memwell_digest(scope, shape, key, op, "by", at, expires, x'')
WHERE rev IN (SELECT rev FROM events WHERE expires <= ? AND value IS NOT NULL LIMIT ?)
"""
_OLD_EVENTS = """
SELECT e.rev, e.scope, e.shape, e.key, e.at, c.rev = e.rev, c.value IS NULL, c.version
FROM events AS e LEFT JOIN cells AS c ON c.scope = e.scope AND c.shape = e.shape AND c.key = e.key
WHERE e.rev > ? ORDER BY e.rev LIMIT ?
"""


class Swept(NamedTuple):
    """What one step freed, where the walk over old events stands, and whether there is more to do."""

    expired: int
    cursor: int
    more: bool


def sweep(rows: Rows, now: int, before: int | None, limit: int, cursor: int) -> Swept:
    """One bounded step."""
    for scope, shape, key in rows.execute(_EXPIRED_DOCS, (now, limit)).fetchall():
        rows.unindex(scope, shape, key)
    rows.execute(_EXPIRED_CELLS, (now, limit))
    cells = rows.connection.changes()
    rows.execute(_EXPIRED_EVENTS, (now, limit))
    events = rows.connection.changes()
    cursor = 0 if before is None else _forget(rows, before, limit, cursor)
    return Swept(cells, cursor, max(cells, events) == limit or cursor > 0)


def _forget(rows: Rows, before: int, limit: int, cursor: int) -> int:
    """Remove old events that are not current, and tombstones; the newest event stays, so that no rev comes twice."""
    newest = rows.execute("SELECT max(rev) FROM events").get
    walked = 0
    for rev, scope, shape, key, at, current, absent, version in rows.execute(_OLD_EVENTS, (cursor, limit)).fetchall():
        if at >= before or rev == newest:
            return 0
        walked = rev
        if current and not absent:
            continue
        rows.execute("DELETE FROM events WHERE rev = ?", (rev,))
        if current:
            rows.execute("DELETE FROM cells WHERE scope = ? AND shape = ? AND key = ?", (scope, shape, key))
        rows.forget(scope, version if current else 0, rev, at)
    return walked


def next_expiry(rows: Rows) -> int | None:
    """When the next cell or event value expires."""
    cell = rows.execute("SELECT min(expires) FROM cells WHERE expires IS NOT NULL").get
    event = rows.execute("SELECT min(expires) FROM events WHERE expires IS NOT NULL AND value IS NOT NULL").get
    return min((moment for moment in (cell, event) if isinstance(moment, int)), default=None)  # damaged: not a number


def checkpoint(connection: apsw.Connection, restart: bool = False) -> None:
    """Move the log into the file; with `restart`, hold writers off at the end so that the log can start over."""
    modes = [apsw.SQLITE_CHECKPOINT_PASSIVE] + [apsw.SQLITE_CHECKPOINT_RESTART] * restart
    for mode in modes:
        try:
            connection.wal_checkpoint(mode=mode)
        except apsw.Error:
            return  # somebody is in the way, or the disk is full: the log keeps everything, the next turn tries again


def checkpoint_whole(connection: apsw.Connection) -> None:
    """Move all of the log into the file, or raise."""
    logged, moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    if moved < logged:
        raise OSError(EIO, "the log could not be moved into the file")


def close(connection: apsw.Connection, patience: float) -> None:
    """Close a connection that another thread may be using at this moment."""
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.close()
        except (apsw.ThreadingViolationError, apsw.BusyError, apsw.ConnectionNotClosedError):
            if time.monotonic() > deadline:
                return
            time.sleep(0.001)
        else:
            return
