"""Verifying a store: the file's structure, every stored hash, and that cells and events tell the same story."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memwell import clock
from memwell.codec import decode, digest
from memwell.errors import Corrupt
from memwell.store import Progress
from memwell.store.sqlite.connect import DRIVER, schema
from memwell.store.sqlite.rows import Rows
from memwell.store.sqlite.sql import SCOPE_DIGEST
from memwell.types import Damage, Health

_PAGE = 500
_MOST_FILE_PROBLEMS = 100
_NAME = "scope, shape, key, version"
_HASHED = f'{_NAME}, digest, value, op, "by", expires'

# The ops that leave no value.
_DROPS = """["fact.delete", "fact.clear", "record.hard_delete", "record.forget", "thread.delete", "message.delete",
"message.uncover"]"""

# Each finds what a single row's hash can't show; the names of the damaged things come first.
_STORIES = {
    "the newest event of the cell is missing or differs from it": """
        SELECT c.scope, c.shape, c.key, c.version FROM cells AS c LEFT JOIN events AS e ON e.rev = c.rev
        WHERE e.rev IS NULL OR (c.scope, c.shape, c.key, c.version, c."by", c.op, c.updated, c.created)
            <> (e.scope, e.shape, e.key, e.version, e."by", e.op, e.at, e.created)
          OR (c.expires IS NOT e.expires OR c.digest IS NOT e.digest) AND coalesce(e.expires > {now}, 1)
    """,
    "the moment it was made does not follow from the write before": """
        SELECT e.scope, e.shape, e.key, e.version FROM events AS e LEFT JOIN events AS p ON p.rev = e.prev
        WHERE e.op NOT LIKE '%.load' AND e.created <> e.at AND (e.prev IS NULL OR e.created <> p.created)
    """,
    "what is remembered of the scope does not match its hash": f"""
        SELECT scope, 'scope', '', 0 FROM scopes WHERE digest <> {SCOPE_DIGEST}
    """,
    "its version does not follow from the version before": """
        SELECT e.scope, e.shape, e.key, e.version FROM events AS e LEFT JOIN events AS p ON p.rev = e.prev
          LEFT JOIN scopes AS s ON s.scope = e.scope
        WHERE CASE
          WHEN e.shape = 'scope' THEN 0
          WHEN e.prev IS NULL THEN e.version NOT BETWEEN 1 AND 1 + coalesce(s.floor, 0) AND e.op NOT LIKE '%.load'
          WHEN p.rev IS NULL THEN e.prev NOT BETWEEN 1 AND coalesce(s.horizon, 0)
          ELSE p.rev >= e.rev OR (p.scope, p.shape, p.key) <> (e.scope, e.shape, e.key)
            OR CASE WHEN e.op LIKE '%.load' THEN e.version <= p.version
                 WHEN e.op IN (SELECT value FROM json_each('{drops}')) THEN e.version <> p.version
                 ELSE e.version <> p.version + 1 END END
    """,
    "the cell that this event belongs to is missing": """
        SELECT e.scope, e.shape, e.key, e.version FROM events AS e
        WHERE e.shape <> 'scope' AND e.rev NOT IN (SELECT prev FROM events WHERE prev IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM cells AS c
            WHERE c.scope = e.scope AND c.shape = e.shape AND c.key = e.key AND c.rev = e.rev)
    """,
}


def check(rows: Rows, progress: Progress | None) -> Health:
    """Read everything once; what is damaged is named, nothing is changed."""
    damage = [*_structure(rows)]
    total = sum(_number(rows, f"SELECT count(*) FROM {table}") for table in ("cells", "events"))
    checked = 0
    for found in _rows(rows, damage):
        checked += 1
        if found is not None:
            damage.append(found)
        if progress and checked % _PAGE == 0:
            progress(checked, max(total, checked))
    damage.extend(_stories(rows))
    if progress:
        progress(checked, checked)
    return Health(checked=checked, damage=list(dict.fromkeys(damage)))


def _structure(rows: Rows) -> Iterator[Damage]:
    try:
        rows.execute("SELECT rowid FROM words WHERE words MATCH '\"0x\"'").fetchall()  # so that it sees others' writes
        for (line,) in rows.execute(f"PRAGMA integrity_check({_MOST_FILE_PROBLEMS})"):
            if line != "ok":
                yield Damage(where="file", problem=" ".join(line.split()))
        expected = set(schema())
        found = set(rows.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))
        for kind, name, _ in expected ^ found:
            yield Damage(where=f"{kind} {name}", problem="its definition is not the one that Memwell makes")
    except DRIVER as error:
        yield Damage(where="file", problem=str(error))


def _number(rows: Rows, query: str) -> int:
    try:
        return int(rows.execute(query).get or 0)
    except DRIVER:
        return 0  # the structure check has said why


def _rows(rows: Rows, damage: list[Damage]) -> Iterator[Damage | None]:
    try:
        for row in rows.execute(f"SELECT {_HASHED}, updated FROM cells"):
            yield _verify("cells", row)
    except DRIVER as error:
        damage.append(Damage(where="cells", problem=f"can't be read any further: {error}"))
    yield from _events(rows)


def _events(rows: Rows) -> Iterator[Damage | None]:
    """Page by page; a page that can't be read is tried row by row, to name only what is damaged."""
    select = f"SELECT {_HASHED}, at, rev FROM events WHERE rev "
    rev, last = 0, _number(rows, "SELECT max(rev) FROM events")
    while rev < last:
        try:
            page = rows.execute(f"{select} > ? ORDER BY rev LIMIT ?", (rev, _PAGE)).fetchall()
        except DRIVER:
            for one in range(rev + 1, min(rev + _PAGE, last) + 1):
                yield from _event(rows, select, one)
            rev += _PAGE
        else:
            for row in page:
                yield _verify("events", row)
            rev = page[-1][-1] if page else last


def _event(rows: Rows, select: str, rev: int) -> Iterator[Damage | None]:
    try:
        row = rows.execute(f"{select} = ?", (rev,)).fetchone()
    except DRIVER as error:
        yield Damage(where=f"event {rev}", problem=str(error))
    else:
        if row is not None:
            yield _verify("events", row)


def _verify(table: str, row: tuple[Any, ...]) -> Damage | None:
    scope, shape, key, version, stored, value, op, by, expires, at = row[:10]
    data = b"" if value is None else value
    if not isinstance(data, bytes) or stored != digest(scope, shape, key, op, by, at, expires, data):
        problem = "what is stored does not match its hash"
    elif value is None:
        return None
    else:
        try:
            decode(value)
        except Corrupt as error:
            problem = error.message
        else:
            return None
    return Damage(where=f"{_named(scope, shape, key, version)} ({table})", problem=problem)


def _stories(rows: Rows) -> Iterator[Damage]:
    for problem, query in _STORIES.items():
        try:
            for row in rows.execute(query.replace("{now}", str(clock.now())).replace("{drops}", _DROPS)):
                yield Damage(where=_named(*row), problem=problem)
        except DRIVER as error:
            yield Damage(where="file", problem=str(error))


def _named(scope: str, shape: str, key: str, version: int) -> str:
    return f"{shape} {key!r} of {scope}, version {version}"
