"""The shipped suite on `sqlite`, durable and fast; what is stored is read with SQL of the test's own."""

from __future__ import annotations

from typing import ClassVar

import apsw

import memwell
from memwell.testing import BackendTests, promise


def select(path, sql, *bound):
    # With the same library: a second copy of SQLite in one process would undo the locks of the first.
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute(sql, bound).get
    finally:
        db.close()


class TestSqlite(BackendTests):
    def make(self, tmp_path):
        return tmp_path / "memory.db"

    def raw(self, backend, scope, key):
        return select(backend.path, "SELECT value FROM cells WHERE scope = ? AND key = ?", scope, key)


class TestSqliteFast(TestSqlite):
    options: ClassVar = {"durability": "fast"}


@promise("store:retention")
def test_what_is_forgotten_leaves_no_row(path, clock):
    with memwell.open(path, history_seconds=100) as store:
        mem = store.scope(agent="a")
        mem.set("kept", 1)
        mem.set("deleted", 1)
        mem.delete("deleted")
        mem.set("expired", 1, ttl=1)
        clock.advance(102)
        store.scope(agent="b").set("newest", 1)
        store.sweep()
        assert select(path, "SELECT group_concat(key) FROM (SELECT key FROM cells ORDER BY key)") == "kept,newest"
        assert select(path, "SELECT group_concat(key) FROM (SELECT key FROM events ORDER BY key)") == "kept,newest"


@promise("fact:ttl:sweep")
def test_what_was_swept_is_not_in_the_file(path, clock):
    with memwell.open(path) as store:
        store.scope(agent="a").set("k", "a secret that ends", ttl=1)
        clock.advance(1)
        assert store.sweep() == 1
    assert b"a secret that ends" not in path.read_bytes()
