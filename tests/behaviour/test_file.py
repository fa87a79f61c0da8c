"""The file: who may read it, what people see in it, and files that are not ours."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import apsw
import pytest

import memwell
from memwell import Corrupt, Invalid, Unavailable
from memwell.errors import Unsupported
from memwell.testing import opened, promise

# In another process: two copies of SQLite in one process would undo each other's locks.
READER = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(json.dumps([list(row) for row in db.execute(sys.argv[2])]))
"""


def select(path, sql):
    """What somebody with a plain SQLite sees."""
    done = subprocess.run([sys.executable, "-c", READER, str(path), sql], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def filled(path):
    """A closed store with a few facts."""
    with memwell.open(path, by="anna") as store:
        store.scope(agent="a").set("k", {"é": [1, None]})
        store.scope(agent="a").set("k", {"é": [2, None]})
        store.scope(agent="a").set("gone", "x")
        store.scope(agent="a").delete("gone")
        store.shared().set("brief", "secret", ttl=0.000001)
    return path


@promise("file:private")
def test_files_are_0600_in_folders_of_0700_from_their_creation(tmp_path):
    old = os.umask(0)
    try:
        path = tmp_path / "new" / "folder" / "memory.db"
        with memwell.open(path) as store:
            store.scope(agent="a").set("k", 1)
            files = sorted(file.name for file in path.parent.iterdir())
            assert files == ["memory.db", "memory.db-shm", "memory.db-wal"]
            assert {mode(file) for file in path.parent.iterdir()} == {0o600}
            store.backup(str(tmp_path / "copy.db"))
            store.export(str(tmp_path / "export"))
        assert mode(path.parent) == mode(path.parent.parent) == 0o700
        assert mode(tmp_path / "copy.db") == mode(tmp_path / "export") == 0o600
    finally:
        os.umask(old)


@promise("file:private")
def test_a_folder_that_is_there_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    with memwell.open(tmp_path / "memory.db"):
        assert mode(tmp_path) == 0o755


@promise("file:views")
def test_people_can_read_facts_with_sql(filled):
    rows = select(filled, "SELECT scope, key, value, version, written_by, expires_at FROM facts")
    assert rows == [["agent:a", "k", '{"é":[2,null]}', 2, "anna", None]]
    assert select(filled, "SELECT json_extract(value, '$.é[0]') FROM facts") == [[2]]
    ((created, updated),) = select(filled, "SELECT created_at, updated_at FROM facts")
    assert created <= updated
    assert created.endswith("Z")


@promise("file:views")
def test_people_can_read_history_with_sql(filled):
    rows = select(filled, "SELECT scope, key, op, version, value, by FROM history ORDER BY rev")
    assert rows == [
        ["agent:a", "k", "fact.set", 1, '{"é":[1,null]}', "anna"],
        ["agent:a", "k", "fact.set", 2, '{"é":[2,null]}', "anna"],
        ["agent:a", "gone", "fact.set", 1, '"x"', "anna"],
        ["agent:a", "gone", "fact.delete", 1, None, "anna"],
        ["global", "brief", "fact.set", 1, None, "anna"],
    ]


@promise("file:views")
def test_the_views_show_what_the_store_shows(path):
    with memwell.open(path) as store:
        mem = store.scope(agent="a")
        entry = mem.set("k", 1, ttl=3600)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        seen = db.execute("SELECT rev, version, created_at, expires_at FROM facts").fetchall()
        db.close()
    (rev, version, created, expires) = seen[0]
    assert (rev, version) == (entry.rev, entry.version)
    for shown, meant in ((created, entry.created_at), (expires, entry.expires_at)):
        assert shown[:19] == meant.isoformat()[:19]


BROKEN = {
    "not a database": b"this is a text file, and somebody wants to keep it\n" * 100,
    "a damaged header": b"SQLite format 3\0" + b"\xff" * 4080,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
@promise("file:corrupt")
def test_a_file_that_is_no_database_is_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(Corrupt) as error:
        memwell.open(path)
    assert str(path) in error.value.message
    assert error.value.hint
    assert not error.value.retryable
    assert path.read_bytes() == content


@promise("file:corrupt")
def test_a_damaged_page_is_reported_and_nothing_is_deleted(filled):
    data = bytearray(filled.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    filled.write_bytes(data)
    with pytest.raises(Corrupt), memwell.open(filled) as store:
        store.scope(agent="a").get("k")
    assert filled.stat().st_size == len(data)


@pytest.mark.parametrize("where", ["regular/file/memory.db", "/proc/memwell/memory.db", "/proc/memory.db"])
@promise("file:unwritable")
def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path, where):
    (tmp_path / "regular").write_text("not a folder")
    for opening in (lambda: memwell.open(tmp_path / where), lambda: memwell.open(str(tmp_path / where))):
        with pytest.raises(Unavailable) as error:
            opening()
        assert "memory.db" in error.value.message
        assert error.value.hint
    assert (tmp_path / "regular").read_text() == "not a folder"


@promise("file:unwritable")
def test_a_folder_in_place_of_the_file_is_a_clear_error(tmp_path):
    with pytest.raises(Unavailable):
        memwell.open(tmp_path)


@promise("file:unwritable")
async def test_so_it_is_when_awaited(tmp_path):
    (tmp_path / "regular").write_text("not a folder")
    with pytest.raises(Unavailable):
        await memwell.open_async(tmp_path / "regular" / "memory.db")


@promise("file:newer")
def test_a_newer_schema_is_refused_and_left_as_it_is(filled):
    with closing(sqlite3.connect(filled)) as db:
        db.execute("PRAGMA user_version = 999")
    before = filled.read_bytes()
    with pytest.raises(Unsupported, match="999") as error:
        memwell.open(filled)
    assert "upgrade" in error.value.hint
    assert filled.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 999])
@promise("file:foreign")
def test_a_database_of_another_program_is_refused_and_left_as_it_is(path, version):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs(x)")
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises((Invalid, Unsupported)) as error:
        memwell.open(path)
    assert str(path) in error.value.message
    assert path.read_bytes() == before


@promise("file:check")
def test_a_sound_store_has_no_damage(store):
    mem = store.scope(agent="a")
    mem.set_many({f"k{number}": number for number in range(50)})
    mem.clear()
    steps = []
    health = store.check(progress=lambda done, total: steps.append((done, total)))
    assert health.damage == []
    assert health.checked >= 50
    assert steps
    assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize("table", ["cells", "events"])
@promise("file:check")
def test_a_flipped_byte_is_found_and_the_key_is_named(path, face, table):
    with memwell.open(path) as store:
        store.scope(agent="a").set_many({"sound": "a value", "damaged": "a value that changes"})
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER IF EXISTS cells_update")
        db.execute(f"UPDATE {table} SET value = CAST('\"a value that chances\"' AS BLOB) WHERE key = 'damaged'")
    with opened(face, path) as store:
        health = store.check()
        assert [damage for damage in health.damage if "'damaged'" in damage.where and "agent:a" in damage.where]
        assert not [damage for damage in health.damage if "'sound'" in damage.where]
        assert store.scope(agent="a").list() == ["damaged", "sound"]


@promise("file:check")
def test_a_value_under_the_wrong_key_is_found(path):
    with memwell.open(path) as store:
        store.scope(agent="a").set("mine", "secret")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE cells SET scope = 'agent:b' WHERE key = 'mine'")
    with memwell.open(path) as store:
        assert store.check().damage


@promise("file:backup")
def test_a_backup_of_a_live_store_opens_and_equals(path, tmp_path, face):
    copy = tmp_path / "copy.db"
    with opened(face, path) as store:
        mem = store.scope(agent="a")
        mem.set_many({f"k{number}": "x" * 500 for number in range(300)})
        mem.set("k0", "changed")
        steps = []
        size = store.backup(str(copy), progress=lambda done, total: steps.append((done, total)))
        expected = (mem.entries(), mem.history("k0"), store.stats())
        mem.set("later", 1)
        assert size == copy.stat().st_size
        assert steps[-1][0] == steps[-1][1]
        with memwell.open(copy) as other:
            again = other.scope(agent="a")
            assert (again.entries(), again.history("k0"), other.stats()) == expected
            assert other.check().damage == []
            assert again.set("k0", "in the copy").version == 3
        assert mem.get("k0") == "changed"


@promise("file:backup")
def test_a_backup_never_overwrites_and_leaves_nothing_half(path, tmp_path):
    with memwell.open(path) as store:
        store.scope(agent="a").set("k", 1)
        (tmp_path / "taken").write_text("keep me")
        with pytest.raises(Invalid):
            store.backup(str(tmp_path / "taken"))
        with pytest.raises(Unavailable):
            store.backup(str(tmp_path / "taken" / "copy.db"))
    assert (tmp_path / "taken").read_text() == "keep me"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["memory.db", "taken"]


@pytest.mark.parametrize(("durability", "meaning"), [("full", "power-safe"), ("fast", "crash-safe")])
@promise("file:describe")
def test_a_store_says_where_and_how_it_keeps_its_data(path, durability, meaning):
    with memwell.open(path, durability=durability) as store:
        told = store.describe()
        assert store.stats().durability == meaning
    assert (told["backend"], told["durability"], told["path"]) == ("sqlite", meaning, str(path))
    assert told["mode"] == "0o600"
    assert told["sqlite"] == apsw.sqlite_lib_version()
    with memwell.open(":memory:") as store:
        assert store.describe()["durability"] == "volatile"
