"""The shipped suite on `sqlite`, durable and fast; what is stored is read with SQL of the test's own."""

from __future__ import annotations

from typing import ClassVar

import apsw

from memwell.testing import BackendTests


class TestSqlite(BackendTests):
    def make(self, tmp_path):
        return tmp_path / "memory.db"

    def raw(self, backend, scope, key):
        # With the same library: a second copy of SQLite in one process would undo the locks of the first.
        db = apsw.Connection(backend.path, flags=apsw.SQLITE_OPEN_READONLY)
        value = db.execute("SELECT value FROM cells WHERE scope = ? AND key = ?", (scope, key)).get
        db.close()
        return value


class TestSqliteFast(TestSqlite):
    options: ClassVar = {"durability": "fast"}
