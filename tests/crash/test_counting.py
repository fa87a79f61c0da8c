"""Many processes, one number: every increment counts once, nobody is told "locked", nobody starves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import mean

import pytest

import memwell

from . import audit
from .children import Child
from .counter import KEY, SCOPE
from .scale import CAMPAIGN, scaled

PROCESSES, TIMES = scaled(8, 16), scaled(100, 1000)


@pytest.mark.campaign
def test_every_increment_of_every_process_counts_once(tmp_path: Path, figure: Callable[[str], None]) -> None:
    path = tmp_path / "memory.db"
    with ExitStack() as stack:
        children = [stack.enter_context(Child("counter", path, TIMES)) for _ in range(PROCESSES)]
        for child in children:
            child.expect("ready")
        for child in children:
            child.tell("go")
        answers = [child.expect("counted").split() for child in children]
        for child in children:
            child.finish()
    busy = sum(int(times_busy) for times_busy, _ in answers)
    rates = [TIMES / float(seconds) for _, seconds in answers]
    share = min(rates) / mean(rates)
    figure(
        f"counting: {PROCESSES} processes x {TIMES} CAS increments: {_counted(path)} counted, {busy} busy errors, "
        f"slowest rate {share:.2f} of the mean ({mean(rates):.0f}/s a process)"
    )
    assert _counted(path) == PROCESSES * TIMES
    assert busy == 0
    assert share >= 0.25 or not CAMPAIGN  # a short run is over before chance has evened out
    audit.assert_sound(path)


def _counted(path: Path) -> int:
    with memwell.open(path) as store:
        entry = store.scope(SCOPE).entry(KEY)
        assert entry is not None
        assert entry.version == entry.value
        return int(entry.value)
