"""A backend driven one call at a time, for the suite."""

from __future__ import annotations

from typing import Any

from memwell import codec
from memwell.store import Backend, Cell, Change, Counts, Drop, Position, Put, Span, Write

SCOPE, OTHER = "agent:a", "agent:b"
SHAPE = "fact"
NOW = 1_900_000_000_000_000
WAIT = 30.0
STEPS_MOST = 1000


def a_put(key: str = "k", value: Any = 1, **more: Any) -> Put:
    """A write of one cell; whatever is not said is a plain default."""
    rest = {"scope": SCOPE, "shape": SHAPE, "now": NOW, "expires": None, "by": "tester", "op": "fact.set", **more}
    return Put(key=key, data=codec.to_json(value), **rest)


def a_drop(key: str | None = "k", scope: str = SCOPE, now: int = NOW, if_version: int | None = None) -> Drop:
    """The removal of one cell, or of all."""
    return Drop(scope, SHAPE, key, now, "tester", "fact.delete" if key else "fact.clear", if_version)


class Driver:
    """Each method is one transaction with one call in it."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def put(self, key: str = "k", value: Any = 1, **more: Any) -> Cell | None:
        put = a_put(key, value, **more)
        return self.backend.write(lambda view: view.put(put), WAIT, single=True)

    def made(self, key: str = "k", value: Any = 1, **more: Any) -> Cell:
        """A put that has to succeed."""
        cell = self.put(key, value, **more)
        assert cell is not None
        return cell

    def drop(self, key: str | None = "k", **more: Any) -> int:
        drop = a_drop(key, **more)
        return self.backend.write(lambda view: view.drop(drop), WAIT, single=key is not None)

    def erase(self, scope: str = SCOPE, now: int = NOW) -> int:
        return self.backend.write(lambda view: view.erase(scope, now, "tester", "scope.delete"), WAIT)

    def cell(self, key: str = "k", now: int = NOW, scope: str = SCOPE, shape: str = SHAPE) -> Cell | None:
        return self.backend.read(lambda view: view.cell(scope, shape, key, now), WAIT)

    def cells(self, span: Span | None = None, limit: int | None = None, now: int = NOW) -> list[Cell]:
        span = span or Span()
        return self.backend.read(lambda view: list(view.cells(SCOPE, SHAPE, span, limit, now)), WAIT, snapshot=True)

    def keys(self, span: Span | None = None, limit: int | None = None, now: int = NOW, scope: str = SCOPE) -> list[str]:
        span = span or Span()
        return self.backend.read(lambda view: list(view.keys(scope, SHAPE, span, limit, now)), WAIT, snapshot=True)

    def past(self, key: str = "k", now: int = NOW) -> list[Change]:
        return self.backend.read(lambda view: list(view.past(SCOPE, SHAPE, key, now)), WAIT, snapshot=True)

    def changes(self, after: int = 0, limit: int = 1000, now: int = NOW, scope: str = SCOPE) -> list[Change]:
        return self.backend.read(lambda view: view.changes(scope, after, limit, now), WAIT, snapshot=True)

    def position(self, scope: str = SCOPE) -> Position:
        return self.backend.read(lambda view: view.position(scope), WAIT, snapshot=True)

    def scopes(self, after: str = "", limit: int | None = None, now: int = NOW) -> list[str]:
        return self.backend.read(lambda view: view.scopes(after, limit, now), WAIT, snapshot=True)

    def shapes(self, scope: str = SCOPE) -> list[str]:
        return self.backend.read(lambda view: view.shapes(scope), WAIT, snapshot=True)

    def counts(self, now: int = NOW) -> Counts:
        return self.backend.read(lambda view: view.counts(now), WAIT, snapshot=True)

    def sweep(self, now: int, before: int | None = None, limit: int = 100) -> int:
        """Step after step until nothing is left."""
        freed = 0
        for _ in range(STEPS_MOST):
            expired, more = self.backend.sweep(now, before, limit)
            freed += expired
            if not more:
                return freed
        raise AssertionError("the sweep does not come to an end")

    def snapshot(self) -> tuple[Any, ...]:
        """All that can be seen of both scopes: what a write that fails must leave as it was."""

        def look(view: Write) -> tuple[Any, ...]:
            seen = []
            for scope in (SCOPE, OTHER):
                cells = list(view.cells(scope, SHAPE, Span(), None, NOW))
                events = view.changes(scope, 0, 1000, NOW)
                past = [list(view.past(scope, SHAPE, cell.key, NOW)) for cell in cells]
                seen.append((cells, events, past, view.position(scope).horizon))
            return (*seen, view.counts(NOW))

        return self.backend.read(look, WAIT, snapshot=True)  # type: ignore[arg-type]
