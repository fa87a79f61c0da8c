"""Kill -9 while records are written: all of a change or nothing of it, and the index always agrees with the cells."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memwell

from . import audit, chainer, felled
from .children import Child
from .scale import scaled, until_a_random_moment


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    felled.fill(path)
    assert not Path(f"{path}-wal").exists()
    return path


def seen(store: memwell.Store, scope: str) -> tuple[Any, ...]:
    """All that can be read of a scope's records, without ids that chance gave."""
    records = store.scope(scope).records
    listed = [
        (record.content, record.status, record.version, record.tags, record.supersedes, record.provenance.sources)
        for record in records.list(status="all", limit=1000)
    ]
    found = [
        [
            (hit.record.content, round(hit.parts["words"] if query else 0, 6))
            for hit in records.search(query, limit=1000, explain=True)
        ]
        for query in felled.QUERIES
    ]
    return sorted(listed), [sorted(hits) for hits in found], [record.content for record in records.pending()]


def look(path: Path) -> tuple[Any, ...]:
    """What a store shows; that it is sound, and that its index says what its cells say."""
    audit.assert_sound(path)
    with memwell.open(path) as store:
        shown = tuple(seen(store, scope) for scope in ("agent:a", "agent:b"))
        store.reindex()
        assert tuple(seen(store, scope) for scope in ("agent:a", "agent:b")) == shown
        assert store.check().damage == []
    return shown


@pytest.mark.parametrize("kind", felled.KINDS)
def test_a_change_killed_before_any_statement_is_made_whole_or_not_at_all(
    filled: Path, tmp_path: Path, kind: str, rng: random.Random, figure: Callable[[str], None]
) -> None:
    before = look(Path(shutil.copy(filled, tmp_path / "before.db")))
    path = tmp_path / "memory.db"
    undone = done = 0
    with Child("felled") as child:
        child.expect("ready")
        shutil.copy(filled, path)
        child.tell(f"{kind} 0 {path}")
        total = int(child.expect("ended"))
        after = look(path)
        assert after != before
        for step in [*chosen(rng, total), -1]:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            shutil.copy(filled, path)
            child.tell(f"{kind} {step} {path}")
            child.expect("killed")
            shown = look(path)
            assert shown in (before, after), step
            assert shown == after or step > 0, "what was done is lost"
            done, undone = done + (shown == after), undone + (shown == before)
    assert undone > 5, "no statement of the change was stopped at"
    figure(f"kill -9 in {kind}: before {done + undone} of {total} statements, {undone} times nothing, {done} times all")


def chosen(rng: random.Random, total: int) -> list[int]:
    """Every statement in a campaign; otherwise some, and always the last ones, where it is decided."""
    return sorted({*rng.sample(range(1, total + 1), min(total, scaled(8, total))), total - 1, total})


@pytest.mark.campaign
def test_a_chain_of_records_always_shows_exactly_one(
    tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    path, book = tmp_path / "memory.db", tmp_path / "book.txt"
    for _ in range(scaled(4, 60)):
        with Child("chainer", path, book) as child:
            child.expect("working")
            until_a_random_moment(rng, 0.4)
            child.kill()
        copy = audit.as_after_a_crash(path, tmp_path / "copy")
        audit.assert_sound(copy)
        last = chainer.told(book)
        with memwell.open(copy) as store:
            records = store.scope(chainer.SCOPE).records
            shown = [record.id for record in records.list()]
            assert shown in ([[]] if last < 0 else []) + [[str(last)], [str(last + 1)]]
            assert [hit.record.id for hit in records.search("tea")] == shown
            store.reindex()
            assert [hit.record.id for hit in records.search("tea")] == [record.id for record in records.list()] == shown
            held = store.stats().records
            assert held == int(shown[0]) + 1 if shown else held == 0
    assert held > 0
    figure(f"kill -9 while superseding: {held} records in one chain, never two shown, none lost")
