"""The suite that a backend has to pass: subclass it, say how to make one, and run pytest.

class TestMine(BackendTests):
    def make(self, tmp_path):
        return Mine(tmp_path / "data")

    def raw(self, backend, scope, key):
        return (tmp_path / "data" / scope / key).read_bytes()
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

# Before they are imported, so that a failing assert in them shows its values.
_PARTS = (
    "cells",
    "upkeep",
    "transactions",
    "values",
    "facts",
    "expiry",
    "past",
    "scopes",
    "watching",
    "failing",
    "stored",
    "records",
    "standing",
    "origins",
    "searching",
    "threads",
    "messages",
    "covering",
    "overhearing",
)
_NAMES = [f"memwell.testing.{part}" for part in _PARTS]
pytest.register_assert_rewrite(*(name for name in _NAMES if name not in sys.modules))

from memwell.config import settings_from  # noqa: E402
from memwell.errors import Unsupported  # noqa: E402
from memwell.store import Backend  # noqa: E402
from memwell.testing.cells import CellTests  # noqa: E402
from memwell.testing.clocks import FrozenClock, frozen_clock  # noqa: E402
from memwell.testing.covering import CoverTests  # noqa: E402
from memwell.testing.driver import Driver  # noqa: E402
from memwell.testing.expiry import ExpiryTests  # noqa: E402
from memwell.testing.faces import FACES, backend_of, opened  # noqa: E402
from memwell.testing.facts import FactTests  # noqa: E402
from memwell.testing.failing import FailingTests  # noqa: E402
from memwell.testing.messages import MessageTests  # noqa: E402
from memwell.testing.origins import OriginTests  # noqa: E402
from memwell.testing.overhearing import OverhearTests  # noqa: E402
from memwell.testing.past import PastTests  # noqa: E402
from memwell.testing.promise import promise  # noqa: E402
from memwell.testing.records import RecordTests  # noqa: E402
from memwell.testing.refusing import refusals  # noqa: E402
from memwell.testing.scopes import ScopeTests  # noqa: E402
from memwell.testing.searching import SearchTests  # noqa: E402
from memwell.testing.standing import StandingTests  # noqa: E402
from memwell.testing.stored import StoredTests  # noqa: E402
from memwell.testing.threads import ThreadTests  # noqa: E402
from memwell.testing.transactions import TransactionTests  # noqa: E402
from memwell.testing.upkeep import UpkeepTests  # noqa: E402
from memwell.testing.values import ValueTests  # noqa: E402
from memwell.testing.watching import WatchTests  # noqa: E402

Opener = Callable[..., Any]


class StoreTests(CellTests, UpkeepTests, TransactionTests):
    """What the engine asks of a backend."""


class FaceTests(ValueTests, FactTests, ExpiryTests, PastTests, ScopeTests, WatchTests, FailingTests, StoredTests):
    """What people ask of it, through the engine, in both faces."""


class RecordedTests(RecordTests, StandingTests, OriginTests, SearchTests):
    """What people ask of records, in both faces."""


class ThreadedTests(ThreadTests, MessageTests, CoverTests, OverhearTests):
    """What people ask of threads, in both faces."""


class EveryBackendTests(StoreTests, FaceTests):
    """What every backend owes, and the fixtures that say so."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Iterator[Backend]:
        """The backend itself, with no engine over it."""
        backend = backend_of(self.make(tmp_path), settings_from(**self.options))
        yield backend
        backend.close()

    @pytest.fixture
    def driver(self, backend: Backend) -> Driver:
        """The backend, one call at a time."""
        return Driver(backend)

    @pytest.fixture
    def clock(self) -> Iterator[FrozenClock]:
        """Time that stands still."""
        with frozen_clock() as clock:
            yield clock

    @pytest.fixture(params=FACES)
    def face(self, request: pytest.FixtureRequest) -> Any:
        """Sync or async; the body of a test does not see the difference."""
        return request.param

    @pytest.fixture
    def opener(self, face: str, tmp_path: Path) -> Iterator[Opener]:
        """Opens the store with settings of the test's own."""
        with ExitStack() as stack:

            def open_store(thing: Any = None, **options: Any) -> Any:
                thing = self.make(tmp_path) if thing is None else thing
                return stack.enter_context(opened(face, thing, **{**self.options, **options}))

            yield open_store

    @pytest.fixture
    def store(self, opener: Opener) -> Any:
        """The store in one of its faces."""
        return opener()

    @pytest.fixture
    def mem(self, store: Any) -> Any:
        """The memory of one agent in it."""
        return store.scope(agent="a")

    @pytest.fixture
    def library(self, store: Any) -> Any:
        """The store, which keeps records and threads."""
        return store

    @pytest.fixture
    def records(self, library: Any) -> Any:
        """The records of one agent in it."""
        return library.scope(agent="a").records

    @pytest.fixture
    def threads(self, library: Any) -> Any:
        """The threads of one agent in it."""
        return library.scope(agent="a").threads

    @pytest.fixture
    def thread(self, threads: Any) -> Any:
        """An empty one of them."""
        return threads.create(id="t")


class BackendTests(EveryBackendTests, RecordedTests, ThreadedTests):
    """Every promise that depends on where the data is kept."""


class FactBackendTests(EveryBackendTests):
    """Every promise that depends on where facts are kept, for a backend that keeps nothing else."""

    facts_only = True

    @promise("record:unsupported")
    def test_a_backend_for_facts_refuses_records_clearly(self, store: Any) -> None:
        mem = store.scope(agent="a")
        for error in refusals(
            Unsupported,
            lambda: mem.remember("a note"),
            lambda: mem.search("note"),
            lambda: mem.records.list(),
            lambda: mem.records.forget("a source"),
        ):
            assert error.hint

    @promise("thread:unsupported")
    def test_a_backend_for_facts_refuses_threads_clearly(self, store: Any) -> None:
        threads = store.scope(agent="a").threads
        calls = (threads.create, threads.list, lambda: threads.get("t"), lambda: threads.search("tea"))
        for error in refusals(Unsupported, *calls):
            assert error.hint
