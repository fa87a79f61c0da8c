"""Damaged files: a typed error or a store that works, never a hang, never wrong data that `check` can't find."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

import memwell
from memwell.errors import Conflict, Corrupt, Invalid, NotFound, Unavailable, Unsupported

from . import audit
from .scale import scaled

SCOPE = "agent:a/user:b"
REFUSALS = (Corrupt, Invalid, Unavailable, Unsupported)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a few dozen pages with everything in it."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with memwell.open(path, durability="fast", by="somebody", embedder=vectors) as store:
        mem = store.scope(SCOPE)
        for number in range(60):
            mem.set(f"key-{number}", {"number": number, "text": "lorem ipsum " * (number % 20)})
        for number in range(0, 60, 3):
            mem.set(f"key-{number}", number, ttl=10**6)
        for number in range(0, 60, 5):
            mem.delete(f"key-{number}")
        for number in range(0, 60, 10):
            mem.set(f"key-{number}", "again", ttl=1e-6)
            mem.set(f"key-{number}", "and again")
        assert store.sweep() == 0
        mem.set("large", "x" * 20_000)
        for number in range(10):
            store.scope(session=f"{number}").set("note", number)
        store.scope(session="gone").set("note", 1)
        store.scope(session="gone").delete_scope()
        remember(store)
    assert not Path(f"{path}-wal").exists()
    return path


def remember(store: memwell.Store) -> None:
    """Records in every state, with words, marks and vectors."""
    records = store.scope(SCOPE).records
    for number in range(25):
        more = {"tags": ["tea", f"t{number % 3}"], "source": f"page {number % 4}", "thread": f"th{number % 2}"}
        records.remember(f"note {number} about green tea 東京 {'leaf ' * number}", id=f"r{number}", **more)
    records.remember("a wish about tea", id="waiting", pending=True)
    records.supersede("r1", "in the place of r1", id="over", derived_from=["r2"])
    records.delete("r3", reason="asked to")
    records.forget("page 3")
    store.scope(session="1").remember("another's tea")
    store.embed()


def vectors(texts: list[str]) -> list[list[float]]:
    """Something to keep as vectors."""
    return [[1.0, len(text), text.count("e"), text.count("a")] for text in texts]


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copy(sound, tmp_path / "memory.db"))


def use(path: Path) -> str:
    """Open, read everything, check, write; what came of it. Nothing but our own errors may come out."""
    try:
        with memwell.open(path, busy_timeout=2, embedder=vectors) as store:
            damage = store.check().damage
            try:
                for scope in store.scopes():
                    mem = store.scope(scope)
                    for entry in mem.entries():
                        mem.history(entry.key)
                mem = store.scope(SCOPE)
                mem.set("key-1", "new")
                mem.set_many({"key-2": 1, "another": 2})
                mem.delete("key-4")
                store.sweep()
                store.stats()
            except REFUSALS:
                assert damage, "a call was refused, but check found nothing"
                return "found"
            outcome = use_index(store)
            return "found" if damage else outcome
    except REFUSALS as error:
        audit.assert_helpful(error)
        return "refused"


def use_index(store: memwell.Store) -> str:
    """Search and write; where the index alone is damaged it can be made anew, and then all works."""
    try:
        use_records(store)
    except REFUSALS as error:
        audit.assert_helpful(error)
        if not store.check().damage:
            store.reindex()
            use_records(store)
            return "index"
    return "clean"


def use_records(store: memwell.Store) -> None:
    """Everything that reads or writes the index."""
    records = store.scope(SCOPE).records
    for query in ("green tea", "leaf 東京", ""):
        records.search(query, limit=100, explain=True)
    records.search("tea", tags=["t1"], filter={"kind": "semantic"}, inherit=True)
    records.context("tea")
    records.list(status="all")
    records.pending()
    store.pending()
    for number in range(0, 25, 5):
        records.read(f"r{number}")
        records.history(f"r{number}")
    for call in (
        lambda: records.remember("a new note about green tea and leaf"),
        lambda: records.remember("note 4 about green tea 東京 leaf leaf leaf leaf"),
        lambda: records.update("r5", content="changed"),
        lambda: records.supersede("r6", "in its place"),
        lambda: records.delete("r8"),
        lambda: records.restore("r3"),
        lambda: store.forget("page 2"),
        store.embed,
        store.reindex,
        lambda: records.search("tea"),
    ):
        with suppress(NotFound, Conflict):  # what damage hid, or made another
            call()


def contents(path: Path) -> object:
    try:
        return audit.rows(path)
    except (apsw.Error, UnicodeDecodeError):
        return "unreadable"


def flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        (byte,) = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


def test_a_flipped_bit_is_found_wherever_it_changes_anything(
    sound: Path, tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    """What SQLite itself can't tell, our hashes must: if any stored row or the schema differs, `check` says so."""
    original, size = contents(sound), sound.stat().st_size
    outcomes: Counter[str] = Counter()
    silent: list[str] = []
    escaped: list[str] = []
    for number in range(scaled(250, 6000)):
        path = Path(shutil.copy(sound, tmp_path / f"{number}.db"))
        place, bit = rng.randrange(size), rng.randrange(8)
        flip(path, place, bit)
        harmless = contents(path) == original
        try:
            outcome = use(path)
        except Exception as error:  # noqa: BLE001 - all that escapes is listed, not just the first
            outcome = f"escaped: {error!r}"
            escaped.append(f"byte {place} bit {bit}: {error!r}")
        outcomes[outcome + (" (harmless)" if harmless else "")] += 1
        if outcome in ("clean", "index") and not harmless:
            silent.append(f"byte {place} bit {bit}")
        for file in tmp_path.glob(f"{number}.db*"):
            file.unlink()
    figure(f"flipped bits: {dict(sorted(outcomes.items()))}, not found: {len(silent)}")
    assert escaped == []
    assert silent == []
    assert outcomes["found"] + outcomes["refused"] > 0


@pytest.mark.parametrize("garbage", [b"\0", b"\xff", None], ids=["zeros", "ones", "noise"])
def test_an_overwritten_page_is_found(sound: Path, tmp_path: Path, rng: random.Random, garbage: bytes | None) -> None:
    original, size = contents(sound), audit.page_bytes(sound)
    for page in range(sound.stat().st_size // size):
        path = Path(shutil.copy(sound, tmp_path / f"{page}.db"))
        with path.open("r+b") as file:
            file.seek(page * size)
            file.write(garbage * size if garbage else rng.randbytes(size))
        harmless = contents(path) == original
        outcome = use(path)
        assert harmless or outcome in ("found", "refused"), page


def test_a_file_cut_anywhere_is_found_or_refused(sound: Path, tmp_path: Path, rng: random.Random) -> None:
    size, page = sound.stat().st_size, audit.page_bytes(sound)
    cuts = [2, 15, 16, 99, 100, 511, 512, page - 1, page, 2 * page, size // 2, size - page, size - 1]
    for cut in cuts + [rng.randrange(1, size) for _ in range(scaled(20, 200))]:
        path = Path(shutil.copy(sound, tmp_path / f"{cut}.db"))
        os.truncate(path, cut)
        assert use(path) in ("found", "refused"), cut


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    assert use(path) == "clean"
    audit.assert_sound(path)


@pytest.mark.parametrize("text", [b"hello", b"SQLite format 3\0", b"x" * 8192, b"SQLite format 3\0" + b"\0" * 4080])
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(text)
    assert use(path) == "refused"
    assert path.read_bytes() == text


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE cells(mine)")
    other.close()
    before = audit_schema(path)
    with pytest.raises(Invalid, match="another program"):
        memwell.open(path)
    assert audit_schema(path) == before


def audit_schema(path: Path) -> object:
    with audit.raw(path) as connection:
        return connection.execute("SELECT * FROM sqlite_schema").fetchall()


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    assert use(tmp_path) == "refused"


def test_a_missing_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert use(tmp_path / "file" / "memory.db") == "refused"


def test_a_link_is_the_same_store_as_its_target(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with memwell.open(path) as direct, memwell.open(link) as linked:
        linked.scope(SCOPE).set("by link", 1)
        direct.scope(SCOPE).set("direct", 2)
        assert direct.scope(SCOPE).get("by link") == 1
        assert linked.scope(SCOPE).get("direct") == 2
    audit.assert_sound(path, forgetful=True)


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.db").symlink_to(tmp_path / "memory.db")
    assert use(tmp_path / "memory.db") == "refused"


def test_a_store_of_which_only_the_head_is_left_says_so_in_every_call(path: Path) -> None:
    page = audit.page_bytes(path)
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\xee" * (path.stat().st_size - page))
    assert use(path) in ("found", "refused")


SPOILED = {
    "marks that are no text": "UPDATE docs SET marks = CAST(x'ff' || marks AS TEXT) WHERE key = 'r5'",
    "words that are no text": "UPDATE docs SET text = CAST(x'20fe20' AS TEXT) WHERE key = 'r5'",
    "words of another": "UPDATE docs SET text = (SELECT text FROM docs WHERE key = 'over') WHERE key = 'r5'",
    "words of one field only": "UPDATE docs SET text = ' tea '",
    "a group that is no text": "UPDATE docs SET \"group\" = CAST(x'80' AS TEXT)",
    "other marks": "UPDATE docs SET marks = 'same:nothing'",
    "no marks": "DELETE FROM marks",
    "marks of nobody": "UPDATE marks SET doc = doc + 1000",
    "no docs": "DELETE FROM docs",
    "docs of nobody": "UPDATE docs SET key = key || 'x'",
    "no words": "INSERT INTO words(words) VALUES('delete-all')",
    "no spaces": "DELETE FROM spaces",
    "wrong counts": "UPDATE spaces SET docs = 0, length = 0",
    "negative counts": "UPDATE spaces SET docs = -5, length = -100",
    "times out of range": "UPDATE docs SET at = 9223372036854775807",
    "negative lengths": "UPDATE docs SET length = -9223372036854775807 WHERE key = 'r5'",
    "short vectors": "UPDATE vectors SET data = x'00'",
    "longer vectors": "UPDATE vectors SET data = CAST(data || data AS BLOB) WHERE doc % 2",
    "empty vectors": "UPDATE vectors SET data = x''",
    "vectors of infinity": "UPDATE vectors SET data = x'007c007c007c007c'",
    "no vectors": "DELETE FROM vectors",
}


@pytest.mark.parametrize("what", SPOILED)
def test_a_spoiled_index_is_harmless_or_refused_and_can_be_made_anew(path: Path, what: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(SPOILED[what])
    connection.close()
    assert use(path) in ("clean", "index", "found")
    with memwell.open(path, embedder=vectors) as store:
        store.reindex()
        store.embed()
        use_records(store)
