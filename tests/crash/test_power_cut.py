"""The power fails: with `full` nothing acknowledged is lost, with `fast` what is left is a moment of the past."""

from __future__ import annotations

import random
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memwell
import memwell.store.sqlite

from . import audit
from .power import watched_disk
from .scale import PATIENCE_S, scaled, until_a_random_moment

STORES, CUTS = scaled(1, 20), 25
SCOPE = "agent:a"

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED: needs /proc to see what is flushed"),
]


class Writers:
    """Threads that write until they are told to stop; what was acknowledged, in order for each."""

    def __init__(self, mem: memwell.Memory, threads: int) -> None:
        self.acknowledged: list[list[str]] = [[] for _ in range(threads)]
        self._stop = False
        self._threads = [threading.Thread(target=self._write, args=(mem, each), daemon=True) for each in range(threads)]
        for thread in self._threads:
            thread.start()

    def _write(self, mem: memwell.Memory, number: int) -> None:
        mine = self.acknowledged[number]
        while not self._stop:
            key = f"{number}-{len(mine)}"
            if len(mine) % 3:
                mem.set(key, "x" * (len(mine) % 50 * 20))
            else:
                mem.set_many({key: 1, f"{number}-same": len(mine)})
            mine.append(key)

    def stop(self) -> None:
        self._stop = True
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@pytest.mark.parametrize("threads", [1, 8], ids=["one thread", "a group"])
@pytest.mark.parametrize("durability", ["full", "fast"])
def test_what_is_left_after_a_power_cut(
    tmp_path: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], None],
    durability: Any, threads: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(memwell.store.sqlite, "WAL_PAGES", 60)
    monkeypatch.setattr(memwell.store.sqlite, "WAL_PAGES_MOST", 150)
    kept = 0
    for store in range(STORES):
        folder = tmp_path / f"{store}"
        folder.mkdir()
        left = cut_again_and_again(folder, rng, monkeypatch, durability, threads)
        kept += sum(verify(copy, told, durability) for copy, told in left)
        shutil.rmtree(folder)
    assert kept > 0
    cuts = STORES * CUTS
    figure(f"power cut, {durability}, {threads} threads: {cuts} cuts, {kept} acknowledged writes verified, 0 lost")


def cut_again_and_again(
    folder: Path, rng: random.Random, monkeypatch: pytest.MonkeyPatch, durability: Any, threads: int
) -> list[tuple[Path, list[list[str]]]]:
    """What each cut left, and what had been acknowledged before it."""
    path = folder / "memory.db"
    left = []
    with watched_disk(monkeypatch) as power, memwell.open(path, durability=durability) as store:
        writers = Writers(store.scope(SCOPE), threads)
        for cut in range(CUTS):
            until_a_random_moment(rng, 0.04)
            told = [list(each) for each in writers.acknowledged]  # before the cut: all this must be safe by then
            left.append((power.cut(path, folder / f"{cut}", rng), told))
        writers.stop()
    return left


def verify(path: Path, told: list[list[str]], durability: str) -> int:
    """How many acknowledged writes were found; with `fast` the newest may be missing, but nothing in between."""
    audit.assert_sound(path)
    with memwell.open(path) as store:
        keys = set(store.scope(SCOPE).list())
    found = 0
    for mine in told:
        present = [key for key in mine if key in keys]
        assert present == (mine if durability == "full" else mine[: len(present)])
        found += len(present)
    return found
