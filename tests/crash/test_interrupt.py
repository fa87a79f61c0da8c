"""Ctrl-C at any moment, also in the queue of a group commit: nobody hangs, nothing is lost or made twice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import memwell

from . import audit
from .children import Child
from .everywhere import SCENARIOS
from .interrupted import SCOPE
from .scale import scaled

TIMES = scaled(150, 3000)


@pytest.mark.campaign
def test_at_random_moments_in_two_processes(tmp_path: Path, rng: random.Random, figure: Callable[[str], None]) -> None:
    path = tmp_path / "memory.db"
    with ExitStack() as stack:
        children = [
            stack.enter_context(Child("interrupted", path, name, TIMES, rng.random())) for name in ("one", "two")
        ]
        told = [key for child in children for key in json.loads(child.expect("interrupted"))]
        for child in children:
            child.finish()
    with memwell.open(path) as store:
        entries = {entry.key: entry for entry in store.scope(SCOPE).entries()}
    assert set(told) <= entries.keys()
    assert {entry.version for entry in entries.values()} == {1}
    for key in entries:
        if key.endswith("-twin"):
            assert key.removesuffix("-twin") in entries
    audit.assert_sound(path)
    figure(f"interrupts: {2 * TIMES} at random moments, {len(told)} acknowledged writes, 0 lost, 0 made twice")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_at_every_place_where_a_signal_can_arrive(tmp_path: Path, scenario: str, figure: Callable[[str], None]) -> None:
    path = tmp_path / "memory.db"
    with Child("everywhere", path, scenario) as child:
        places = int(child.expect("interrupted"))
        child.finish()
    assert places > 0
    audit.assert_sound(path)
    figure(f"interrupts: at each of {places} places of {scenario}, as good as new afterwards")
