"""A damaged, cut or missing write-ahead log: the store is as it was at some moment, or `check` finds what is wrong."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

import memwell
from memwell.errors import Corrupt, Unavailable

from . import audit
from .scale import scaled

SCOPE = "agent:a"
WRITES, OLD = 60, 300
_LOG_HEADER, _FRAME_HEADER = 32, 24


def write(mem: memwell.Memory, number: int) -> None:
    """One commit that touches old pages and new ones, and says which commit it is."""
    mem.set_many({"number": number, old_key(number): number, f"new-{number}": "x" * (number * 397 % 3000)})


def old_key(number: int) -> str:
    return f"old-{number * 7 % OLD:03}"


def make(path: Path) -> None:
    """A store whose file holds many pages, written by commit 0."""
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        mem.set_many({f"old-{each:03}": "x" * 1000 for each in range(OLD)})
        write(mem, 0)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose last writes are in the log only, as after a crash."""
    path = tmp_path_factory.mktemp("crashed") / "memory.db"
    make(path)
    with memwell.open(path) as store:
        for number in range(1, WRITES + 1):
            write(store.scope(SCOPE), number)
        return audit.as_after_a_crash(path, path.parent / "left")


@pytest.fixture(scope="module")
def half_moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with a part of the log already moved into the file: the file alone is no moment of any store."""
    path = tmp_path_factory.mktemp("half") / "memory.db"
    make(path)
    return moved_in_part(path)


def moved_in_part(path: Path) -> Path:
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        for number in range(1, WRITES // 2):
            write(mem, number)
        with audit.raw(path) as reader:
            reader.execute("BEGIN; SELECT count(*) FROM cells").fetchall()
            for number in range(WRITES // 2, WRITES + 1):
                write(mem, number)
            with audit.raw(path) as mover:
                mover.execute("SELECT count(*) FROM cells").fetchall()
                log, moved = mover.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            assert 0 < moved < log
            return audit.as_after_a_crash(path, path.parent / "left")


def verdict(path: Path) -> str:
    """What opening it gives: refused, found damaged, or a moment of its past with everything up to then."""
    try:
        with memwell.open(path) as store:
            damage = store.check().damage
    except (Corrupt, Unavailable) as error:
        audit.assert_helpful(error)
        return "refused"
    if damage:
        return "found"
    assert audit.problems(path) == []
    with memwell.open(path) as store:
        mem = store.scope(SCOPE)
        number = mem.get("number", default=-1)
        assert mem.list(prefix="new-") == sorted(f"new-{each}" for each in range(number + 1))
        written = {old_key(each): each for each in range(number + 1)}
        assert mem.get_many(written) == written
        write(mem, number + 1)
    return "whole" if number == WRITES else "earlier"


def log_of(path: Path) -> Path:
    return Path(f"{path}-wal")


@pytest.mark.parametrize("state", ["crashed", "half_moved"])
def test_a_flipped_bit_or_a_cut_in_the_log_never_gives_a_mixture(
    state: str, request: pytest.FixtureRequest, tmp_path: Path, rng: random.Random, figure: Callable[[str], None]
) -> None:
    left: Path = request.getfixturevalue(state)
    size = log_of(left).stat().st_size
    outcomes: Counter[str] = Counter()
    for number in range(scaled(40, 600)):
        path = audit.as_after_a_crash(left, tmp_path / f"{number}")
        place = rng.randrange(size)
        if number % 2:
            os.truncate(log_of(path), place)
        else:
            with log_of(path).open("r+b") as log:
                log.seek(place)
                log.write(bytes([rng.randrange(256)]))
        outcomes[verdict(path)] += 1
        shutil.rmtree(path.parent)
    figure(f"damaged log, {state.replace('_', ' ')}: {dict(sorted(outcomes.items()))}")
    assert outcomes["earlier"] + outcomes["found"] > 0


def test_a_log_cut_at_every_frame_gives_the_commits_before_it(crashed: Path, tmp_path: Path) -> None:
    size = _FRAME_HEADER + audit.page_bytes(crashed)
    frames = (log_of(crashed).stat().st_size - _LOG_HEADER) // size
    for frame in range(0, frames, scaled(frames // 12, 1)):
        path = audit.as_after_a_crash(crashed, tmp_path / f"{frame}")
        os.truncate(log_of(path), _LOG_HEADER + frame * size)
        assert verdict(path) == "earlier"
        shutil.rmtree(path.parent)


@pytest.mark.parametrize("noise", [b"", b"\0" * 32, b"x" * 50_000], ids=["empty", "zeros", "noise"])
def test_a_log_that_is_none_is_ignored(crashed: Path, tmp_path: Path, noise: bytes) -> None:
    path = audit.as_after_a_crash(crashed, tmp_path / "copy")
    log_of(path).write_bytes(noise)
    assert verdict(path) == "earlier"


def test_the_log_of_another_store_is_ignored_or_found(crashed: Path, half_moved: Path, tmp_path: Path) -> None:
    path = audit.as_after_a_crash(crashed, tmp_path / "copy")
    shutil.copyfile(log_of(half_moved), log_of(path))
    assert verdict(path) in ("earlier", "found", "refused", "whole")


def test_a_missing_log_is_an_earlier_moment_or_is_found(crashed: Path, half_moved: Path, tmp_path: Path) -> None:
    for left in (crashed, half_moved):
        path = audit.as_after_a_crash(left, tmp_path / left.parent.parent.name)
        log_of(path).unlink()
        assert verdict(path) in ("earlier", "found", "refused")


def test_a_new_store_that_lost_its_log_is_still_that_store(tmp_path: Path) -> None:
    """The file says what it is from the start: it is never taken for an empty one and made anew over what it holds."""
    path = moved_in_part(tmp_path / "memory.db")
    log_of(path).unlink()
    with audit.raw(path) as connection:
        assert connection.pragma("application_id") == 0x4D574C31
    assert verdict(path) in ("earlier", "found", "refused")


@pytest.mark.parametrize("index", [None, b"", b"\0" * 32768, b"\xff" * 32768, b"short"])
def test_the_shared_index_is_made_anew(crashed: Path, tmp_path: Path, index: bytes | None) -> None:
    path = audit.as_after_a_crash(crashed, tmp_path / "copy")
    if index is not None:
        Path(f"{path}-shm").write_bytes(index)
    assert verdict(path) == "whole"


def test_a_log_that_cannot_be_opened_is_refused(crashed: Path, tmp_path: Path) -> None:
    path = audit.as_after_a_crash(crashed, tmp_path / "copy")
    log_of(path).unlink()
    log_of(path).mkdir()
    assert verdict(path) == "refused"
