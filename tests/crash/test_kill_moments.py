"""Kill -9 during what is more than a write: making a new file, backup, export, sweep, checkpoint."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import memwell

from . import audit, forgetter
from .children import Child
from .chore import SCOPE
from .scale import scaled, until_a_random_moment
from .test_kill import Campaign

ROUNDS = scaled(2, 40)
FACTS = 400
NEWEST = 3  # only what was being made at the kill can be half made


def copy_holds_all(path: Path) -> None:
    audit.assert_sound(path)
    with memwell.open(path) as store:
        assert len(store.scope("user:old").list()) == FACTS


def export_holds_all(path: Path) -> None:
    with memwell.open(path.with_suffix(".loaded.db"), durability="fast") as store:
        store.load(str(path))
        assert len(store.scope("user:old").list()) == FACTS


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("chore", "ending", "whole"),
    [
        ("backup", ".db", copy_holds_all),
        ("export", ".ndjson", export_holds_all),
        ("sweep", None, None),
        ("checkpoint", None, None),
    ],
)
def test_a_chore_killed_beside_killed_writers_leaves_nothing_half_done(
    tmp_path: Path, rng: random.Random, chore: str, ending: str | None, whole: Callable[[Path], None] | None,
    progress: Callable[[str], None], figure: Callable[[str], None],
) -> None:  # fmt: skip
    campaign = Campaign(tmp_path, f"{rng.random()}")
    products = tmp_path / "products"
    products.mkdir()
    with memwell.open(campaign.path, durability="fast") as store:
        store.scope("user:old").set_many({f"{number:04}": "x" * 3000 for number in range(FACTS)})
    made = 0
    for round_ in range(ROUNDS):
        with Child("chore", chore, campaign.path, products) as child:
            child.expect("working")
            campaign.life(rng, round_)
            child.kill()
        found = campaign.verify(copied=bool(round_ % 2))
        if ending and whole:
            made_last = sorted(products.glob(f"*{ending}"), key=lambda path: path.stat().st_mtime_ns)[-NEWEST:]
            for path in made_last:
                whole(path)
                made += 1
        shutil.rmtree(products)
        products.mkdir()
        progress(f"round {round_ + 1} of {ROUNDS}: {found['events']} events, {made} files verified")
    figure(
        f"kill -9 during {chore}: {ROUNDS} rounds, {found['events']} events, 0 lost"
        + f", {made} files whole" * (made > 0)
    )


@pytest.mark.campaign
def test_a_file_whose_making_was_killed_opens(
    tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    files = acknowledged = 0
    for round_ in range(scaled(4, 60)):
        folder, book = tmp_path / f"{round_}", tmp_path / f"{round_}.txt"
        folder.mkdir()
        with ExitStack() as stack:
            children = [stack.enter_context(Child("chore", "create", book, folder)) for _ in range(3)]
            for child in children:
                child.expect("working")
            until_a_random_moment(rng, 0.3)
            for child in children:
                child.kill()
        for path in folder.glob("*.db"):
            audit.assert_sound(path)
            files += 1
        for name, key in (line.split() for line in book.read_text().splitlines()) if book.exists() else ():
            with memwell.open(folder / name) as store:
                assert f"{store.scope(SCOPE).get(key)}.db" == name
            acknowledged += 1
    assert files > 0
    figure(f"kill -9 during creation: {files} files open, {acknowledged} acknowledged writes, 0 lost")


@pytest.mark.campaign
def test_forgetting_old_history_never_loses_what_is_current(
    tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    path, book = tmp_path / "memory.db", tmp_path / "book.ndjson"
    for _ in range(scaled(4, 60)):
        with Child("forgetter", path, book) as child:
            child.expect("working")
            until_a_random_moment(rng, 0.4)
            child.kill()
        audit.assert_sound(path, forgetful=True)
        with memwell.open(path) as store:
            mem = store.scope(forgetter.SCOPE)
            for key, possible in forgetter.told(book).items():
                assert mem.get(key) in possible, key
            kept = store.stats().history
    lines = len(book.read_text().splitlines())
    assert kept < lines
    figure(f"kill -9 during forgetting: {lines // 2} writes, {kept} events kept, current values right")
