"""Many processes that make the same new file at the same moment: one makes it, all use it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

import memwell

from . import audit
from .children import Child
from .scale import scaled

PROCESSES = 16
SCOPE = "agent:a"


@pytest.mark.campaign
def test_all_of_them_succeed(tmp_path: Path) -> None:
    rounds = scaled(4, 60)
    with ExitStack() as stack:
        children = [stack.enter_context(Child("creator")) for _ in range(PROCESSES)]
        for child in children:
            child.expect("ready")
        for round_ in range(rounds):
            path = tmp_path / f"{round_}" / "folder" / "memory.db"  # the folders are new too
            for child in children:
                child.tell(str(path))
            for child in children:
                child.expect("opened")
            with memwell.open(path) as store:
                assert store.scope(SCOPE).list() == sorted(f"{child.pid}" for child in children)
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.parent.stat().st_mode & 0o777 == 0o700
            audit.assert_sound(path)
        for child in children:
            child.tell("")
            child.finish()
