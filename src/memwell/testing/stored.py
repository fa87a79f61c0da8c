"""What is really kept: looked at by another way than the backend, and after opening again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memwell.config import Options
from memwell.store import Backend
from memwell.testing.faces import Awaited, opened
from memwell.testing.promise import promise

VALUE = {"text": 'é "\\ 😀', "numbers": [1, 1.5, -0.25, 2**53 + 1, 10**30], "none": None, "flags": [True, False]}


class StoredTests:
    """The hooks that a subclass fills in, and what they are asked."""

    options: ClassVar[Options] = {}  # settings of the store, e.g. {"durability": "fast"}

    def make(self, tmp_path: Path) -> Any:
        """A new, empty store: a `Backend`, a URL or path, or an object with the eight methods of a simple backend.

        For a store that outlives its closing, the same folder must lead to the same data.
        """
        raise NotImplementedError("say how to make the backend under test")

    def raw(self, backend: Backend, scope: str, key: str) -> bytes | None:  # noqa: ARG002
        """The stored JSON of a key, read by another way than the backend, so that no bug can hide in both ways."""
        pytest.skip(f"{type(self).__name__} offers no raw(): what is really stored was not looked at")

    @promise("store:raw")
    def test_what_is_stored_is_what_was_said(self, store: Any) -> None:
        backend = (store._handle if isinstance(store, Awaited) else store)._door.engine.backend  # noqa: SLF001
        mem = store.scope(user="u/1")
        mem.set("a key", VALUE)
        data = self.raw(backend, "user:u%2F1", "a key")
        assert data is not None
        assert json.loads(data) == VALUE
        mem.delete("a key")
        assert self.raw(backend, "user:u%2F1", "a key") is None

    @promise("store:durable")
    def test_what_was_written_is_there_after_opening_again(self, face: str, tmp_path: Path) -> None:
        with opened(face, self.make(tmp_path), **self.options) as store:
            if store.stats().durability == "volatile":
                pytest.skip("a volatile store promises nothing after it was closed")
            mem = store.scope(agent="a")
            mem.set("k", [1, "é"])
            written = mem.set("k", [2, "é"])
        with opened(face, self.make(tmp_path), **self.options) as store:
            mem = store.scope(agent="a")
            assert mem.entry("k") == written
            assert [event.value for event in mem.history("k")] == [[2, "é"], [1, "é"]]
            assert mem.set("k", 3).version == 3
