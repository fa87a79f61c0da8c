"""Kill -9 while a thread is compacted: the originals always stay, and an overlay is there as a whole or not at all."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.engine.spoken import fingerprint
from memwell.testing import promise

from . import audit, compactor
from .children import Child
from .scale import scaled

KILLS = scaled(3, 30)  # for each kind, besides the model's call and the end


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talk") / "memory.db"
    compactor.fill(path)
    return path


def look(path: Path) -> tuple[Any, Any, Any]:
    """The originals, the overlays and what is shown; each overlay must be complete."""
    audit.assert_sound(path)
    with memwell.open(path) as store:
        thread = store.scope(compactor.SCOPE).threads.get(compactor.THREAD)
        assert thread is not None
        originals = thread.messages(limit=None, raw=True)
        overlays = thread.overlays()
        for each in overlays:
            below = [message for message in originals if each.first <= message.seq <= each.last]
            assert each.digest == fingerprint(below)
            assert each.metadata["messages"] == len(below)
        laid = [(each.first, each.last, each.content, each.metadata) for each in overlays]
        shown = [(message.role, message.content, message.covers) for message in thread.messages(limit=None)]
        assert [covers for *_, covers in shown if covers] == [(first, last) for first, last, *_ in laid]
        assert store.check().damage == []
    return originals, laid, shown


@promise("compact:killed")
@pytest.mark.campaign
@pytest.mark.parametrize("kind", compactor.KINDS)
def test_a_compaction_killed_at_any_step_leaves_the_originals_or_a_complete_overlay_too(
    filled: Path, tmp_path: Path, kind: str, rng: random.Random, figure: Callable[[str], None]
) -> None:
    before = look(Path(shutil.copy(filled, tmp_path / "before.db")))
    path = tmp_path / "memory.db"
    stages = [before]
    kept = done = 0
    with Child("compactor") as child:
        child.expect("ready")
        if kind == "both-async":  # what is there when the first of the two is done
            run(child, "sum-async", 0, filled, path)
            stages.append(look(path))
        total = int(run(child, kind, 0, filled, path))
        stages.append(after := look(path))
        assert after[0] == before[0]
        assert after[1:] != before[1:]
        for step in steps(rng, total, kind):
            run(child, kind, step, filled, path)
            found = look(path)
            assert found in stages, step
            assert found != before or step != -1, "what was done is lost"
            assert found == before or step != -2, "something was hidden before the summary was there"
            kept, done = kept + (found == before), done + (found != before)
    assert kept > 0
    assert done > 0
    figure(f"kill -9 while compacting ({kind}): {kept + done} kills in {total} statements, {done} times covered")


def run(child: Child, kind: str, step: int, filled: Path, path: Path) -> str:
    """Compact a fresh copy; the answer of the child."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    shutil.copy(filled, path)
    child.tell(f"{kind} {step} {path}")
    return child.expect("killed" if step else "ended")


def steps(rng: random.Random, total: int, kind: str) -> list[int]:
    """Some statements, always the last ones, where it is decided; the end; and the model's call, where there is one."""
    some = rng.sample(range(1, total + 1), min(total, KILLS))
    return sorted({*some, total} | {-1} | ({-2} if kind != "limit-sync" else set()))
