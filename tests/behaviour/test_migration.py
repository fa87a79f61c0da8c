"""A store of an earlier schema opens, keeps all it has, and gains what is new."""

from __future__ import annotations

from importlib import import_module

import apsw
import pytest

import memwell
from memwell.config import Settings
from memwell.testing import promise

connect = import_module("memwell.store.sqlite.connect")  # the package has a function of that name


@pytest.fixture
def old(path, monkeypatch):
    """A file as the first schema made it."""
    with monkeypatch.context() as patch:
        patch.setattr(connect, "SCHEMAS", (1,))
        connect.prepare(str(path))
        made = connect.connect(str(path), Settings(), 5)
        connect.migrate(made, str(path))
        data = b'{"dark":true}'
        digest = connect.digest("agent:a", "fact", "theme", "fact.set", "ann", 5, None, data)
        row = ("agent:a", "fact", "theme", 1, 1, 5, 5, None, "ann", "fact.set", digest, data)
        made.execute(f"INSERT INTO cells VALUES ({', '.join('?' * 12)})", row)
        made.close()
    return path


@promise("file:migrate")
def test_a_store_of_the_first_schema_is_brought_up_to_date(old):
    for _ in range(2):
        with memwell.open(old, by="bob") as store:
            mem = store.scope(agent="a")
            assert mem.get("theme") == {"dark": True}
            assert [event.by for event in mem.history("theme")] == ["ann"]
            mem.remember("Likes the dark")
            assert mem.search("dark")[0].record.content == "Likes the dark"
            assert store.check().damage == []
    db = apsw.Connection(str(old))
    assert db.pragma("user_version") == connect.SCHEMAS[-1]
    db.close()
