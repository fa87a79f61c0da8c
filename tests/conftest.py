"""The matrix: every behaviour on every backend, in both faces. Bodies are written once and see no difference."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest
from hypothesis import settings

from memwell.testing import FACES, frozen_clock, opened
from objects import Dicts

CAMPAIGN = os.environ.get("MEMWELL_CAMPAIGN") == "1"

# The same examples in every run, so that a failure is about the change at hand; a campaign looks for new ones.
settings.register_profile("memwell", derandomize=not CAMPAIGN, deadline=None, database=None)
settings.load_profile("memwell")

BACKENDS = {
    "ram": lambda folder: (":memory:", {}),
    "sqlite": lambda folder: (folder / "memory.db", {}),
    "sqlite-fast": lambda folder: (folder / "memory.db", {"durability": "fast"}),
    "simple": lambda folder: (Dicts(), {}),
}


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The name of a backend."""
    return request.param


@pytest.fixture(params=FACES)
def face(request):
    """Sync or async."""
    return request.param


@pytest.fixture
def opener(backend, face, tmp_path):
    """Opens the store with settings of the test's own."""
    with ExitStack() as stack:

        def open_store(**options):
            where, settings = BACKENDS[backend](tmp_path)
            return stack.enter_context(opened(face, where, **{**settings, **options}))

        yield open_store


@pytest.fixture
def store(opener):
    """The store, closed when the test is over."""
    return opener()


@pytest.fixture
def mem(store):
    """The memory of one agent in it."""
    return store.scope(agent="a")


@pytest.fixture
def clock():
    """Time that stands still."""
    with frozen_clock() as clock:
        yield clock


@pytest.fixture
def path(tmp_path):
    """Where a test may have a file of its own."""
    return tmp_path / "memory.db"
