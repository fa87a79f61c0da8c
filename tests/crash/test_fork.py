"""Forking with threads at work: no deadlock, children write with what they inherit, nothing acknowledged is lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import memwell

from . import audit
from .children import Child
from .forker import SCOPE
from .scale import scaled

TIMES = scaled(15, 150)


@pytest.mark.campaign
@pytest.mark.parametrize("way", ["fork", "multiprocessing"])
def test_parent_and_children_write_on(tmp_path: Path, way: str, figure: Callable[[str], None]) -> None:
    path = tmp_path / "memory.db"
    start = time.monotonic()
    with Child("forker", path, way, TIMES) as child:
        acknowledged = json.loads(child.expect("forked"))
        child.finish()
    seconds = time.monotonic() - start
    children = range(2 * TIMES + 1)
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        for number in children:
            keys = [f"child-{number}", f"child-{number}-a", f"child-{number}-b"]
            assert mem.get_many(keys) == dict.fromkeys(keys, number)
        assert mem.get_many(acknowledged) == acknowledged
        assert mem.get("m0") == mem.get("m1")
    audit.assert_sound(path)
    figure(f"{way}: {len(children)} children beside 5 threads in {seconds:.0f} s, 0 lost")
