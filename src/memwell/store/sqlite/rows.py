"""The rows of one connection, as the engine sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memwell.store import Cell, Change, Counts, Drop, Position, Put, Span, WriteJob
from memwell.store.sqlite import sql
from memwell.store.sqlite.find import Find

if TYPE_CHECKING:
    import apsw


class Rows(Find):
    """Reads and writes through one connection; a transaction is open when there is more than one statement."""

    __slots__ = ("__weakref__", "_cursor", "connection", "execute")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.execute: Any = connection.execute
        self._cursor = connection.cursor()

    def _all(self, query: str, bound: tuple[Any, ...]) -> list[Any]:
        """All rows, by a kept cursor. One that is interrupted half-way would keep its lock, so it is given up."""
        try:
            return self._cursor.execute(query, bound).fetchall()
        except BaseException:
            self._cursor.close(True)
            self._cursor = self.connection.cursor()
            raise

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

    def data(self, scope: str, shape: str, key: str, now: int) -> bytes | None:
        rows = self._all(sql.DATA, (scope, shape, key, now))
        return rows[0][0] if rows else None

    def cell(self, scope: str, shape: str, key: str, now: int) -> Cell | None:
        row = self.execute(sql.GET, (scope, shape, key, now)).fetchone()
        return None if row is None else Cell._make(row)

    def cells(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[Cell]:
        form, bound = _listing(scope, shape, span, now)
        bound.append(-1 if limit is None else limit)
        return map(Cell._make, self.execute(sql.listing(sql.CELL, *form), bound))

    def keys(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[str]:
        form, bound = _listing(scope, shape, span, now)
        if limit is not None:
            bound.append(limit)
        keys = self.execute(sql.joined_keys(*form, limit is not None), bound).get
        return iter(keys.split(sql.SEPARATOR) if keys is not None else ())

    def newest_data(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> list[bytes]:
        form, bound = _listing(scope, shape, span, now)
        bound.append(-1 if limit is None else limit)
        return [data for (data,) in self._all(sql.newest(*form), tuple(bound))]

    def last_key(self, scope: str, shape: str, span: Span) -> str | None:
        select = "SELECT max(key) FROM cells WHERE scope = ? AND shape = ? AND key >= ? AND key < ?"
        key: str | None = self._all(select, (scope, shape, span.first, span.end))[0][0]
        return key

    def count(self, scope: str, shape: str, span: Span, now: int) -> int:
        form, bound = _listing(scope, shape, span, now)
        return int(self.execute(sql.counting(*form), bound).get)

    def past(self, scope: str, shape: str, key: str, now: int) -> Iterator[Change]:
        rev = self.execute(sql.LAST_REV, (scope, shape, key)).get
        while rev is not None:
            row = self.execute(sql.EVENT, (now, rev)).fetchone()
            if row is None:
                return
            change = Change._make(row)
            yield change
            rev = change.prev

    def changes(self, scope: str, after: int, limit: int, now: int) -> list[Change]:
        return [Change._make(row) for row in self.execute(sql.CHANGES, (now, scope, after, limit))]

    def position(self, scope: str) -> Position:
        rev = self.execute("SELECT max(rev) FROM events").get or 0
        forgotten = self.execute("SELECT horizon, horizon_at FROM scopes WHERE scope = ?", (scope,)).fetchone()
        return Position(rev, *(forgotten or (0, 0)))

    def scopes(self, after: str, limit: int | None, now: int) -> list[str]:
        select = f"SELECT DISTINCT scope FROM cells WHERE {sql.LIVE} AND scope > ? ORDER BY scope LIMIT ?"
        return [scope for (scope,) in self.execute(select, (now, after, -1 if limit is None else limit))]

    def shapes(self, scope: str) -> list[str]:
        select = "SELECT DISTINCT shape FROM cells WHERE scope = ? ORDER BY shape"
        return [shape for (shape,) in self.execute(select, (scope,))]

    def counts(self, now: int) -> Counts:
        select = f"SELECT shape, count(*), sum(length(value)) FROM cells WHERE {sql.LIVE} GROUP BY shape"
        shapes = self.execute(select, (now,)).fetchall()
        scopes = self.execute(f"SELECT count(DISTINCT scope) FROM cells WHERE {sql.LIVE}", (now,)).get
        history = self.execute("SELECT count(*) FROM events").get
        return Counts(scopes, {shape: n for shape, n, _ in shapes}, sum(size for _, _, size in shapes), history)

    def put(self, put: Put) -> Cell | None:
        bound = put.bound()
        # fetchall, because an autocommit statement commits only when it has run to its end.
        if put.version is not None:
            rows = self._all(sql.PUT_LOADED, (*bound, put.created, put.version))
        elif put.if_version is None:
            rows = self._all(sql.PUT, bound)
        elif put.if_version == 0:
            rows = self._all(sql.PUT_ABSENT, bound)
        else:
            rows = self._all(sql.PUT_IF, (*bound, put.if_version))
        if not rows:
            return None
        version, rev, created = rows[0]
        return Cell(put.key, put.data, version, rev, created, put.now, put.expires, put.by)

    def put_all(self, puts: list[Put]) -> list[Cell]:
        """Many cells by few statements, inside a transaction: most of a put's cost is going into SQLite and out."""
        if len(puts) == 1:
            return [cell for cell in [self.put(puts[0])] if cell is not None]
        last = self.execute("SELECT max(rev) FROM events").get or 0
        cells: list[Cell] = []
        for start in range(0, len(puts), sql.ROWS_MOST):
            chunk = puts[start : start + sql.ROWS_MOST]
            bound = [last + start, *(value for put in chunk for value in put.bound())]
            made = {row[1]: row for row in self.execute(sql.put_rows(len(chunk)), bound).fetchall()}
            for rev, put in enumerate(chunk, last + start + 1):
                version, _, created = made[rev]
                cells.append(Cell(put.key, put.data, version, rev, created, put.now, put.expires, put.by))
        return cells

    def drop(self, drop: Drop) -> int:
        bound = (drop.now, drop.by, drop.op, drop.scope, drop.shape)
        if drop.key is None:
            self.execute(sql.DROP_ALL, bound)
            return self.connection.changes()
        return len(self.execute(sql.DROP, (*bound, drop.key, drop.if_version)).fetchall())

    def erase(self, scope: str, now: int, by: str, op: str) -> int:
        floor, newest = self.execute("SELECT max(version), max(rev) FROM cells WHERE scope = ?", (scope,)).fetchone()
        if floor is None:
            return 0
        live = self.execute(f"SELECT count(*) FROM cells WHERE scope = ? AND {sql.LIVE}", (scope, now)).get
        rev = self.position(scope).rev + 1
        self.unindex_scope(scope)
        self.execute(sql.ERASE_EVENTS, (scope,))
        self.execute("DELETE FROM cells WHERE scope = ?", (scope,))
        self.execute("DELETE FROM events WHERE rev = (SELECT deleted FROM scopes WHERE scope = ?)", (scope,))
        self.forget(scope, floor, newest, now, rev)
        self.execute(sql.DELETED_SCOPE, (rev, scope, now, by, op))
        return int(live)

    def redact(self, scope: str, shape: str, key: str) -> int:
        self.execute(sql.REDACT, (scope, shape, key))
        return self.connection.changes()

    def forget(self, scope: str, floor: int, horizon: int, at: int, deleted: int | None = None) -> None:
        """Remember what a scope must not lose when its rows go."""
        self.execute(sql.FORGET, (scope, floor, horizon, at, deleted))
        self.execute(sql.SEAL_SCOPE, (scope,))


def _listing(scope: str, shape: str, span: Span, now: int) -> tuple[tuple[bool, bool], list[Any]]:
    """Which form a listing takes (resumed, ended), and what to bind."""
    first, end, after = span
    resumed = after is not None and after >= first
    bound: list[Any] = [scope, shape, now, after if resumed else first]
    if end is not None:
        bound.append(end)
    return (resumed, end is not None), bound
