"""Any sequence of ops, on every backend, against a list of writes. MEMWELL_CAMPAIGN=1 runs more of them, at random."""

from __future__ import annotations

import os

import pytest

from memwell.testing import forgetting, model, opened, promise
from objects import Dicts

CAMPAIGN = os.environ.get("MEMWELL_CAMPAIGN") == "1"
TIMES = 10 if CAMPAIGN else 1
NEVER = 1_000_000  # seconds between sweeps: the machine alone decides when to sweep


def explore(machine, where, sequences, face="sync", **options):
    with opened(face, where, sweep_seconds=NEVER, **options) as store:
        return machine.run(store, sequences * TIMES, random=CAMPAIGN)


@promise("model:facts")
def test_sqlite_answers_as_the_list_of_its_writes_does(tmp_path):
    fast = explore(model, tmp_path / "fast.db", 1800, durability="fast")
    full = explore(model, tmp_path / "full.db", 200)
    awaited = explore(model, tmp_path / "awaited.db", 50, face="async", durability="fast")
    print(f"sequences on sqlite: {fast} fast, {full} full, {awaited} awaited")
    assert fast + full >= 2000 * TIMES
    assert awaited >= 50 * TIMES


@pytest.mark.parametrize("where", [":memory:", Dicts], ids=["ram", "simple"])
@promise("model:facts")
def test_so_do_the_others(where):
    assert explore(model, where if isinstance(where, str) else where(), 300) >= 300 * TIMES


@pytest.mark.parametrize("name", ["sqlite", "ram", "simple"])
@promise("model:forgetting")
def test_a_store_that_forgets_keeps_what_is_current(name, tmp_path):
    where = {"sqlite": tmp_path / "memory.db", "ram": ":memory:", "simple": Dicts()}[name]
    options = {"history_seconds": forgetting.HISTORY_S, "durability": "fast"}
    assert explore(forgetting, where, 200, **options) >= 200 * TIMES
