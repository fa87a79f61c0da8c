"""Reads a store's file past Memwell, with plain SQL, and says what can't be: a bug can't hide behind itself."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

import memwell
from memwell.errors import MemwellError

_CELL_WITHOUT_ITS_EVENT = """
SELECT 'cell ' || c.scope || ' ' || c.key || ' differs from event ' || c.rev
FROM cells AS c LEFT JOIN events AS e ON e.rev = c.rev
WHERE (e.scope, e.shape, e.key, e.version, e."by", e.op) IS NOT (c.scope, c.shape, c.key, c.version, c."by", c.op)
   OR ((c.value IS NOT e.value OR c.digest IS NOT e.digest) AND (e.expires IS NULL OR e.expires > :now))
"""
_EVENT_NEWER_THAN_ITS_CELL = """
SELECT 'event ' || max(e.rev) || ' of ' || e.scope || ' ' || e.key || ' has no cell'
FROM events AS e LEFT JOIN cells AS c ON (c.scope, c.shape, c.key) = (e.scope, e.shape, e.key)
WHERE e.shape <> 'scope' GROUP BY e.scope, e.shape, e.key HAVING c.rev IS NOT max(e.rev)
"""
_BROKEN_CHAIN = """
SELECT 'event ' || rev || ' of ' || scope || ' ' || key || ' does not follow its predecessor' FROM (
  SELECT *, lag(rev) OVER chain AS before, lag(version) OVER chain AS version_before FROM events
  WINDOW chain AS (PARTITION BY scope, shape, key ORDER BY rev))
WHERE prev IS NOT before
   OR version <> coalesce(version_before, 0)
     + (op NOT IN ('fact.delete', 'fact.clear', 'record.hard_delete', 'record.forget', 'scope.delete',
       'thread.delete', 'message.delete', 'message.uncover'))
"""
_REVS_WITH_GAPS = "SELECT 'revs are not 1, 2, 3 …' FROM (SELECT max(rev) <> count(*) AS gap FROM events) WHERE gap"
_ALWAYS = (_CELL_WITHOUT_ITS_EVENT, _EVENT_NEWER_THAN_ITS_CELL)
_WITH_WHOLE_HISTORY = (_BROKEN_CHAIN, _REVS_WITH_GAPS)


def assert_helpful(error: MemwellError) -> None:
    """An error of ours says what to do next."""
    assert error.message
    assert error.hint


@contextmanager
def raw(path: object) -> Iterator[apsw.Connection]:
    """The file as SQLite sees it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(10_000)
    try:
        yield connection
    finally:
        connection.close()


def page_bytes(path: Path) -> int:
    """The size of a page, from the file's header."""
    return int.from_bytes(path.read_bytes()[16:18], "big")


def rows(path: object) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Everything that is stored, row by row, and the schema."""
    columns = {
        "sqlite_schema": "type, name, lower(tbl_name), rootpage, sql",
        "cells": "*",
        "events": "*",
        "scopes": "*",
    }
    with raw(path) as connection:
        return [
            (table, connection.execute(f"SELECT {wanted} FROM {table} ORDER BY 1, 2, 3").fetchall())
            for table, wanted in columns.items()
        ]


def as_after_a_crash(path: Path, folder: Path) -> Path:
    """A copy of the file and its log without the shared index, as a power cut would leave them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for suffix in ("", "-wal"):
        source = Path(f"{path}{suffix}")
        if source.exists():
            shutil.copyfile(source, folder / source.name)
    return folder / path.name


def problems(path: object, *, forgetful: bool = False) -> list[str]:
    """What contradicts itself in a store; a `forgetful` one has lost old events on purpose."""
    found = []
    with raw(path) as connection:
        for sql in _ALWAYS if forgetful else _ALWAYS + _WITH_WHOLE_HISTORY:
            found += [line for (line,) in connection.execute(sql, {"now": time.time_ns() // 1000})]
        found += [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
    return found


def assert_sound(path: object, *, forgetful: bool = False) -> None:
    """The store opens, its own check is clean, and so is ours."""
    with memwell.open(str(path)) as store:
        damage = store.check().damage
    assert damage == [], damage
    contradictions = problems(path, forgetful=forgetful)
    assert contradictions == [], contradictions
