"""What ships for people who test: the clock that stands still, the backend that fails, and the suite itself."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from datetime import UTC, datetime

import pytest

import memwell
from memwell import clock as clocks
from memwell.config import Settings
from memwell.store.ram import Ram
from memwell.testing import FACES, Faulty, frozen_clock, opened, promise
from memwell.testing.faults import Broken

# Everything a third party has to write, and two backends that are wrong in one way each.
SUITE = """
    from memwell.testing import BackendTests
    from memwell.store.ram import Ram

    class {name}(Ram):
        def cells(self, scope, shape, span, limit, now):
            return super().cells(scope, shape, span, limit, {now})

    class TestMine(BackendTests):
        def make(self, tmp_path):
            return {name}()
"""


@promise("testing:clock")
def test_a_frozen_clock_moves_only_when_told():
    before = clocks.now
    with frozen_clock(datetime(2040, 1, 1, tzinfo=UTC)) as clock, memwell.open(":memory:") as store:
        mem = store.scope(agent="a")
        assert mem.set("k", 1, ttl=60).created_at == datetime(2040, 1, 1, tzinfo=UTC) == clock.time
        clock.advance(59.999999)
        assert mem.get("k") == 1
        clock.advance(0.000001)
        assert mem.get("k") is None
    assert clocks.now is before


@promise("testing:clock")
def test_a_frozen_clock_goes_on_after_an_error():
    before = clocks.now
    with pytest.raises(ZeroDivisionError), frozen_clock():
        raise ZeroDivisionError
    assert clocks.now is before


@pytest.mark.parametrize("face", FACES)
@promise("testing:faults")
def test_a_fault_strikes_once_where_it_was_ordered(face):
    faulty = Faulty(Ram())
    with opened(face, faulty) as store:
        mem = store.scope(agent="a")
        faulty.fail("write", 3)
        assert [mem.set("k", number).version for number in range(2)] == [1, 2]
        assert faulty.armed
        with pytest.raises(Broken):
            mem.set("k", 2)
        assert not faulty.armed
        assert mem.set("k", 3).version == 3


@pytest.mark.parametrize("face", FACES)
@promise("testing:faults")
def test_a_slow_backend_is_kept_off_the_loop_and_right(face):
    slow = Faulty(Ram(), latency=0.001)
    assert not slow.traits.inline
    with opened(face, slow) as store:
        mem = store.scope(agent="a")
        assert mem.set("k", 1).version == 1
        assert mem.get("k") == 1
        assert store.check().damage == []
        assert store.describe()["backend"] == "ram"


@promise("testing:faults")
def test_a_fault_below_leaves_an_error_that_can_be_told_apart():
    with opened("sync", Faulty(Ram())) as store, pytest.raises(memwell.Invalid):
        store.scope(agent="a").set("k", float("nan"))
    assert Broken("x").retryable


def run_suite(tmp_path, **names):
    file = tmp_path / "test_mine.py"
    file.write_text(textwrap.dedent(SUITE.format(**names)))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", str(file)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)


@promise("testing:suite")
def test_a_third_party_backend_is_tested_with_ten_lines(tmp_path):
    done = run_suite(tmp_path, name="Mine", now="now")
    assert done.returncode == 0, done.stdout
    assert "offers no raw()" in done.stdout


@promise("testing:suite")
def test_a_wrong_backend_does_not_pass(tmp_path):
    done = run_suite(tmp_path, name="Forgetful", now="0")
    assert done.returncode == 1
    assert "test_an_expired_fact_is_gone_for_every_read" in done.stdout


@promise("testing:lazy")
def test_stopping_the_clock_needs_no_test_tools():
    code = "import sys, memwell.testing; sys.exit(any(name in sys.modules for name in ('pytest', 'hypothesis')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert isinstance(Settings(), Settings)
