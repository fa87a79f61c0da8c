"""The SQL that reads and writes cells and events. Caller text is always bound, never put into the text."""

from __future__ import annotations

from functools import lru_cache

ROWS_MOST = 16  # how many cells one statement writes
SEPARATOR = "\x1f"

LIVE = "value IS NOT NULL AND (expires IS NULL OR expires > ?)"
_THIS = "scope = ? AND shape = ? AND key = ?"
_NEXT_REV = "coalesce((SELECT max(rev) FROM events), 0) + 1"

CELL = 'key, value, version, rev, created, updated, expires, "by"'
DATA = f"SELECT value FROM cells WHERE {_THIS} AND {LIVE}"
GET = f"SELECT {CELL} FROM cells WHERE {_THIS} AND {LIVE}"
LAST_REV = f"SELECT rev FROM cells WHERE {_THIS}"

_INTO = 'INSERT INTO cells(scope, shape, key, value, digest, updated, expires, "by", op, created, version, rev)'
_UPSERT = """
ON CONFLICT(scope, shape, key) DO UPDATE SET
  created = CASE WHEN value IS NOT NULL AND (expires IS NULL OR expires > excluded.updated)
    THEN created ELSE excluded.created END,
  value = excluded.value, digest = excluded.digest, updated = excluded.updated, expires = excluded.expires,
  "by" = excluded."by", op = excluded.op, rev = excluded.rev, version = version + 1
"""
_RETURNING = "RETURNING version, rev, created"
_FIRST_VERSION = "1 + coalesce((SELECT floor FROM scopes WHERE scope = ?1), 0)"
_INSERT = f"{_INTO} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?6, {_FIRST_VERSION}, {_NEXT_REV}) {_UPSERT}"
PUT = f"{_INSERT} {_RETURNING}"
PUT_ABSENT = f"{_INSERT} WHERE value IS NULL OR expires <= excluded.updated {_RETURNING}"
PUT_IF = f"""
UPDATE cells SET value = ?4, digest = ?5, updated = ?6, expires = ?7, "by" = ?8, op = ?9,
  version = version + 1, rev = {_NEXT_REV}
WHERE scope = ?1 AND shape = ?2 AND key = ?3 AND version = ?10 AND value IS NOT NULL
  AND (expires IS NULL OR expires > ?6) {_RETURNING}
"""
# An exported cell keeps its version if that is ahead of the counter, and the moment it was made.
PUT_LOADED = f"""
{_INTO} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, max(?11, {_FIRST_VERSION}), {_NEXT_REV})
ON CONFLICT(scope, shape, key) DO UPDATE SET
  created = excluded.created, value = excluded.value, digest = excluded.digest, updated = excluded.updated,
  expires = excluded.expires, "by" = excluded."by", op = excluded.op, rev = excluded.rev,
  version = max(?11, version + 1)
{_RETURNING}
"""

_TOMBSTONE = """
value = NULL, digest = memwell_digest(cells.scope, cells.shape, cells.key, ?3, ?2, ?1, NULL, x''), expires = NULL,
updated = ?1, "by" = ?2, op = ?3
"""
_LIVE_AT_1 = "value IS NOT NULL AND (expires IS NULL OR expires > ?1)"
DROP = f"""
UPDATE cells SET {_TOMBSTONE}, rev = {_NEXT_REV}
WHERE scope = ?4 AND shape = ?5 AND key = ?6 AND {_LIVE_AT_1} AND (?7 IS NULL OR version = ?7) RETURNING version
"""
DROP_ALL = f"""
UPDATE cells SET {_TOMBSTONE}, rev = n.rev
FROM (SELECT key, row_number() OVER (ORDER BY key) + coalesce((SELECT max(rev) FROM events), 0) AS rev
      FROM cells WHERE scope = ?4 AND shape = ?5 AND {_LIVE_AT_1}) AS n
WHERE cells.scope = ?4 AND cells.shape = ?5 AND cells.key = n.key
"""

_CHANGE = """
SELECT rev, scope, shape, key, op, version, CASE WHEN expires <= ? THEN NULL ELSE value END,
  at, expires, "by", created, prev
"""
EVENT = f"{_CHANGE} FROM events WHERE rev = ?"
CHANGES = f"{_CHANGE} FROM events WHERE scope = ? AND rev > ? ORDER BY rev LIMIT ?"

# Every event of a scope hangs on one of its cells: along prev there is no need to look at other scopes' events.
ERASE_EVENTS = """
WITH RECURSIVE chain(rev) AS (
  SELECT rev FROM cells WHERE scope = ?1
  UNION ALL SELECT events.prev FROM events JOIN chain ON events.rev = chain.rev WHERE events.prev IS NOT NULL)
DELETE FROM events WHERE rev IN (SELECT rev FROM chain)
"""
# The values of a key's past, except the newest write's.
REDACT = """
WITH RECURSIVE chain(rev) AS (
  SELECT prev FROM events WHERE rev = (SELECT rev FROM cells WHERE scope = ?1 AND shape = ?2 AND key = ?3)
  UNION ALL SELECT events.prev FROM events JOIN chain ON events.rev = chain.rev)
UPDATE events SET value = NULL, digest = memwell_digest(scope, shape, key, op, "by", at, expires, x'')
WHERE rev IN (SELECT rev FROM chain) AND value IS NOT NULL
"""
DELETED_SCOPE = """
INSERT INTO events(rev, scope, shape, key, version, created, at, "by", op, digest)
VALUES (?1, ?2, 'scope', '', 0, ?3, ?3, ?4, ?5, memwell_digest(?2, 'scope', '', ?5, ?4, ?3, NULL, x''))
"""
SCOPE_DIGEST = "memwell_digest(scope, 'scopes', '', floor, deleted, horizon, horizon_at, x'')"
SEAL_SCOPE = f"UPDATE scopes SET digest = {SCOPE_DIGEST} WHERE scope = ?"
FORGET = """
INSERT INTO scopes(scope, floor, horizon, horizon_at, deleted, digest) VALUES (?1, ?2, ?3, ?4, ?5, x'')
ON CONFLICT(scope) DO UPDATE SET floor = max(floor, excluded.floor), horizon = max(horizon, excluded.horizon),
  horizon_at = max(horizon_at, excluded.horizon_at), deleted = coalesce(excluded.deleted, deleted)
"""


@lru_cache(maxsize=64)
def listing(columns: str, resumed: bool, ended: bool) -> str:
    """Cells of a shape by key, at most so many."""
    return f"SELECT {columns} {_within(resumed, ended)} ORDER BY key LIMIT ?"


@lru_cache(maxsize=8)
def newest(resumed: bool, ended: bool) -> str:
    """The values of a range from its end."""
    return f"SELECT value {_within(resumed, ended)} ORDER BY key DESC LIMIT ?"


@lru_cache(maxsize=8)
def counting(resumed: bool, ended: bool) -> str:
    """How many cells a range has."""
    return f"SELECT count(*) {_within(resumed, ended)}"


@lru_cache(maxsize=8)
def joined_keys(resumed: bool, ended: bool, limited: bool) -> str:
    """The keys of a listing in one text, because each row that leaves SQLite costs; no key holds the separator.

    They come in the order of the primary key that is searched. A subquery, which a limit needs, costs as much again.
    """
    source = f"FROM ({listing('key', resumed, ended)})" if limited else _within(resumed, ended)
    return f"SELECT group_concat(key, char({ord(SEPARATOR)})) {source}"


def _within(resumed: bool, ended: bool) -> str:
    """One lower bound, not two: given both, SQLite may seek to the wrong one."""
    lower = "key > ?" if resumed else "key >= ?"
    upper = " AND key < ?" if ended else ""
    return f"FROM cells WHERE scope = ? AND shape = ? AND {LIVE} AND {lower}{upper}"


@lru_cache(maxsize=ROWS_MOST)
def put_rows(count: int) -> str:
    """PUT for several cells: ?1 is the newest rev before them, then nine values each."""
    rows = []
    for row in range(count):
        bound = [f"?{2 + row * 9 + column}" for column in range(9)]
        version = f"1 + coalesce((SELECT floor FROM scopes WHERE scope = {bound[0]}), 0)"
        rows.append(f"({', '.join(bound)}, {bound[5]}, {version}, ?1 + {row + 1})")
    return f"{_INTO} VALUES {', '.join(rows)} {_UPSERT} {_RETURNING}"
