"""Every SQL statement that reads or writes cells and events. Caller text is always bound, never put into the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memwell.store import Cell, Change, Counts, Drop, Position, Put, Span, WriteJob

if TYPE_CHECKING:
    import apsw

_LIVE = "value IS NOT NULL AND (expires IS NULL OR expires > ?)"
_CELL = 'SELECT key, value, version, rev, created, updated, expires, "by" FROM cells '
_NEXT_REV = "coalesce((SELECT max(rev) FROM events), 0) + 1"

GET = f"{_CELL} WHERE scope = ? AND shape = ? AND key = ? AND {_LIVE}"
_RANGE = f" FROM cells WHERE scope = ? AND shape = ? AND {_LIVE} AND key "
_COLUMNS = 'key, value, version, rev, created, updated, expires, "by"'

_INSERT = f"""
INSERT INTO cells(scope, shape, key, value, digest, created, updated, expires, "by", op, version, rev)
VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?10, ?6), ?6, ?7, ?8, ?9,
  max(coalesce(?11, 1), 1 + coalesce((SELECT floor FROM scopes WHERE scope = ?1), 0)), {_NEXT_REV})
ON CONFLICT(scope, shape, key) DO UPDATE SET
  created = CASE WHEN ?10 IS NULL AND value IS NOT NULL AND (expires IS NULL OR expires > excluded.updated)
    THEN created ELSE excluded.created END,
  value = excluded.value, digest = excluded.digest, updated = excluded.updated, expires = excluded.expires,
  "by" = excluded."by", op = excluded.op, version = max(coalesce(?11, 1), version + 1), rev = excluded.rev
"""
_RETURNING = " RETURNING version, rev, created"
PUT = _INSERT + _RETURNING
PUT_ABSENT = f"{_INSERT} WHERE value IS NULL OR expires <= excluded.updated {_RETURNING}"
PUT_IF = f"""
UPDATE cells SET value = ?4, digest = ?5, updated = ?6, expires = ?7, "by" = ?8, op = ?9,
  version = version + 1, rev = {_NEXT_REV}
WHERE scope = ?1 AND shape = ?2 AND key = ?3 AND version = ?10 AND value IS NOT NULL
  AND (expires IS NULL OR expires > ?6) {_RETURNING}
"""
_TOMBSTONE = 'value = NULL, digest = NULL, expires = NULL, updated = ?1, "by" = ?2, op = ?3'
DROP = f"""
UPDATE cells SET {_TOMBSTONE}, rev = {_NEXT_REV}
WHERE scope = ?4 AND shape = ?5 AND key = ?6 AND value IS NOT NULL AND (expires IS NULL OR expires > ?1)
  AND (?7 IS NULL OR version = ?7) RETURNING version
"""
DROP_ALL = f"""
UPDATE cells SET {_TOMBSTONE}, rev = n.rev
FROM (SELECT id, row_number() OVER (ORDER BY key) + coalesce((SELECT max(rev) FROM events), 0) AS rev
      FROM cells WHERE scope = ?4 AND shape = ?5 AND value IS NOT NULL AND (expires IS NULL OR expires > ?1)) AS n
WHERE cells.id = n.id
"""
_CHANGE = """
SELECT rev, scope, shape, key, op, version, CASE WHEN expires <= ? THEN NULL ELSE value END, at, expires, "by"
"""
_EVENT = f"{_CHANGE}, prev FROM events WHERE rev = ?"
_CHANGES = f"{_CHANGE} FROM events WHERE scope = ? AND rev > ? ORDER BY rev LIMIT ?"
_HORIZON = """
INSERT INTO scopes(scope, floor, horizon) VALUES (?1, ?2, ?3)
ON CONFLICT(scope) DO UPDATE SET floor = max(floor, excluded.floor), horizon = max(horizon, excluded.horizon)
"""


class Rows:
    """Reads and writes through one connection; a transaction is open when there is more than one statement."""

    __slots__ = ("__weakref__", "connection", "execute")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.execute: Any = connection.execute

    def run(self, job: WriteJob[Any]) -> Any:
        """A job of one statement, which undoes itself when it fails."""
        return job(self)

    def run_undoable(self, job: WriteJob[Any]) -> Any:
        """A job of several statements inside a larger transaction: it alone is undone when it fails."""
        self.execute("SAVEPOINT job")
        try:
            result = job(self)
        except BaseException:
            if self.connection.in_transaction:
                self.execute("ROLLBACK TO job")
                self.execute("RELEASE job")
            raise
        self.execute("RELEASE job")
        return result

    def cell(self, scope: str, shape: str, key: str, now: int) -> Cell | None:
        row = self.execute(GET, (scope, shape, key, now)).fetchone()
        return None if row is None else Cell._make(row)

    def cells(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[Cell]:
        return map(Cell._make, self._range(_COLUMNS, scope, shape, span, limit, now))

    def keys(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[str]:
        return (key for (key,) in self._range("key", scope, shape, span, limit, now))

    def _range(self, columns: str, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Any:
        # One lower bound, not two: given both, SQLite may seek to the wrong one.
        resumed = span.after is not None and span.after >= span.first
        sql = f"SELECT {columns}{_RANGE}{'> ?' if resumed else '>= ?'}"
        bound: list[Any] = [scope, shape, now, span.after if resumed else span.first]
        if span.end is not None:
            sql += " AND key < ?"
            bound.append(span.end)
        bound.append(-1 if limit is None else limit)
        return self.execute(f"{sql} ORDER BY key LIMIT ?", bound)

    def past(self, scope: str, shape: str, key: str, now: int) -> Iterator[Change]:
        last = self.execute("SELECT rev FROM cells WHERE scope = ? AND shape = ? AND key = ?", (scope, shape, key))
        rev = last.get
        while rev is not None:
            row = self.execute(_EVENT, (now, rev)).fetchone()
            if row is None:
                return
            yield Change._make(row[:-1])
            rev = row[-1]

    def changes(self, scope: str, after: int, limit: int, now: int) -> list[Change]:
        return [Change._make(row) for row in self.execute(_CHANGES, (now, scope, after, limit))]

    def position(self, scope: str) -> Position:
        rev = self.execute("SELECT max(rev) FROM events WHERE scope = ?", (scope,)).get
        horizon = self.execute("SELECT horizon FROM scopes WHERE scope = ?", (scope,)).get or 0
        return Position(max(rev or 0, horizon), horizon)

    def scopes(self, after: str, limit: int | None, now: int) -> list[str]:
        sql = f"SELECT DISTINCT scope FROM cells WHERE {_LIVE} AND scope > ? ORDER BY scope LIMIT ?"
        return [scope for (scope,) in self.execute(sql, (now, after, -1 if limit is None else limit))]

    def shapes(self, scope: str) -> list[str]:
        sql = "SELECT DISTINCT shape FROM cells WHERE scope = ? ORDER BY shape"
        return [shape for (shape,) in self.execute(sql, (scope,))]

    def counts(self, now: int) -> Counts:
        sql = f"SELECT shape, count(*), sum(length(value)) FROM cells WHERE {_LIVE} GROUP BY shape"
        shapes = self.execute(sql, (now,)).fetchall()
        scopes = self.execute(f"SELECT count(DISTINCT scope) FROM cells WHERE {_LIVE}", (now,)).get
        history = self.execute("SELECT count(*) FROM events").get
        return Counts(scopes, {shape: n for shape, n, _ in shapes}, sum(size for _, _, size in shapes), history)

    def put(self, put: Put) -> Cell | None:
        bound = put[:9]
        # fetchall, because an autocommit statement commits only when it has run to its end.
        if put.if_version is None:
            rows = self.execute(PUT, (*bound, put.created, put.version)).fetchall()
        elif put.if_version == 0:
            rows = self.execute(PUT_ABSENT, (*bound, put.created, put.version)).fetchall()
        else:
            rows = self.execute(PUT_IF, (*bound, put.if_version)).fetchall()
        if not rows:
            return None
        version, rev, created = rows[0]
        return Cell(put.key, put.data, version, rev, created, put.now, put.expires, put.by)

    def drop(self, drop: Drop) -> int:
        bound = (drop.now, drop.by, drop.op, drop.scope, drop.shape)
        if drop.key is None:
            self.execute(DROP_ALL, bound)
            return self.connection.changes()
        return len(self.execute(DROP, (*bound, drop.key, drop.if_version)).fetchall())

    def erase(self, scope: str, now: int, by: str, op: str) -> int:
        live = self.execute(f"SELECT count(*) FROM cells WHERE scope = ? AND {_LIVE}", (scope, now)).get
        floor = self.execute("SELECT max(version) FROM cells WHERE scope = ?", (scope,)).get
        if floor is None:
            return 0
        horizon = self.position(scope).rev
        rev = self.execute(f"SELECT {_NEXT_REV}").get
        self.execute("DELETE FROM cells WHERE scope = ?", (scope,))
        self.execute("DELETE FROM events WHERE scope = ?", (scope,))
        self.execute(_HORIZON, (scope, floor, horizon))
        self.execute(
            'INSERT INTO events(rev, scope, shape, key, version, at, "by", op) VALUES (?, ?, ?, ?, 0, ?, ?, ?)',
            (rev, scope, "scope", "", now, by, op),
        )
        return int(live)

    def forget(self, scope: str, floor: int, horizon: int) -> None:
        """Remember what a scope must not lose when its rows go."""
        self.execute(_HORIZON, (scope, floor, horizon))
