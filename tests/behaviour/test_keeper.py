"""Housekeeping that runs by itself: who starts it, what it frees, and that it ends."""

from __future__ import annotations

import threading

import pytest

import memwell
from memwell import ops
from memwell.config import Settings
from memwell.engine import Engine
from memwell.engine.guard import Caller
from memwell.errors import Unavailable
from memwell.store.ram import Ram
from memwell.testing import faces, promise

PATIENCE_S = 60.0
OWNER = Caller("owner", owner=True)


def keepers():
    return [thread for thread in threading.enumerate() if thread.name == "memwell-keeper"]


class Kept:
    """An engine whose sweeps are counted."""

    def __init__(self, backend, **settings):
        self.swept = threading.Semaphore(0)
        self.engine = Engine(backend, Settings(sweep_seconds=0.005, **settings), observe=self.observe)

    def observe(self, op, seconds, error):
        if isinstance(op, ops.Sweep):
            self.swept.release()

    def set(self, key, value, ttl=None):
        return self.engine.apply(OWNER, ops.Set("agent:a", key, value, ttl))

    def history(self, key):
        return self.engine.apply(OWNER, ops.History("agent:a", key))

    def wait(self):
        """Until a whole sweep has run from now on."""
        for _ in range(2):
            assert self.swept.acquire(timeout=PATIENCE_S), "nobody swept"


@pytest.fixture
def kept(backend, tmp_path):
    """Makes an engine that keeps house often."""
    from conftest import BACKENDS

    engines = []

    def make(**settings):
        where, more = BACKENDS[backend](tmp_path)
        made = Kept(faces.backend_of(where, Settings(**more)), **more, **settings)
        engines.append(made.engine)
        return made

    yield make
    for engine in engines:
        engine.close()


@promise("keeper:sweeps")
def test_what_has_expired_is_freed_by_itself(kept, clock):
    store = kept()
    store.set("k", "secret", ttl=5)
    store.set("other", 1)
    assert store.engine.backend.next_expiry() is not None
    clock.advance(5)
    assert store.swept.acquire(timeout=PATIENCE_S), "nobody swept"
    assert store.engine.backend.next_expiry() is None
    assert store.engine.apply(OWNER, ops.Sweep()) == 0
    assert store.engine.apply(OWNER, ops.List("agent:a")) == ["other"]


@promise("keeper:sweeps", "fact:retention")
def test_old_history_is_forgotten_by_itself(kept, clock):
    store = kept(history_seconds=100)
    store.set("k", 1)
    store.set("k", 2)
    clock.advance(101)
    store.set("k", 3)
    store.wait()
    assert [event.value for event in store.history("k")] == [3]


@promise("keeper:needed")
def test_a_store_in_which_nothing_expires_has_no_keeper(path):
    before = len(keepers())
    with memwell.open(path) as store:
        store.scope(agent="a").set("k", 1)
        assert len(keepers()) == before
        store.scope(agent="a").set("k", 1, ttl=60)
        assert len(keepers()) == before + 1
    assert len(keepers()) == before


@promise("keeper:needed")
def test_opening_a_store_in_which_something_expires_starts_one(path):
    with memwell.open(path) as store:
        store.scope(agent="a").set("k", 1, ttl=60)
    before = len(keepers())
    with memwell.open(path):
        assert len(keepers()) == before + 1
    assert len(keepers()) == before


@promise("keeper:survives")
def test_a_sweep_that_fails_is_tried_again(clock):
    class Unlucky(Ram):
        failures = 2

        def sweep(self, now, before, limit):
            if self.failures:
                self.failures -= 1
                raise Unavailable("the disk is full")
            return super().sweep(now, before, limit)

    store = Kept(Unlucky())
    store.set("k", 1, ttl=5)
    clock.advance(5)
    for _ in range(3):
        assert store.swept.acquire(timeout=PATIENCE_S), "it gave up"
    assert store.engine.backend.next_expiry() is None
    store.engine.close()


@promise("keeper:bounded")
def test_a_sweep_works_in_bounded_steps(clock):
    steps = []

    class Counted(Ram):
        def sweep(self, now, before, limit):
            steps.append(limit)
            return 1, len(steps) < 4

    engine = Engine(Counted(), Settings())
    assert engine.apply(OWNER, ops.Sweep()) == 4
    assert len(steps) == 4
    assert all(0 < limit <= 1000 for limit in steps)
    engine.close()
