"""Dicts: the reference that every other backend is compared with. Lost when the process ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from memwell.errors import Unsupported
from memwell.store import Cell, Change, Counts, Done, Drop, Position, Progress, Put, ReadJob, Span, Traits, WriteJob
from memwell.store.shelf import Shelf
from memwell.store.undoing import Undoing
from memwell.types import Health

T = TypeVar("T")


class _Row:
    """A cell with its tombstone and the events that made it, oldest first."""

    __slots__ = ("cell", "events", "version")

    def __init__(self) -> None:
        self.cell: Cell | None = None
        self.version = 0
        self.events: list[Change] = []

    def live(self, now: int) -> Cell | None:
        cell = self.cell
        return cell if cell is not None and (cell.expires is None or cell.expires > now) else None


class _Scope:
    """The rows of one scope by (shape, key), its events in order, and what outlives them."""

    __slots__ = ("events", "floor", "horizon", "horizon_at", "rows")

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], _Row] = {}
        self.events: list[Change] = []
        self.floor = self.horizon = self.horizon_at = 0


def _shown(change: Change, now: int) -> Change:
    return change._replace(data=None) if change.expires is not None and change.expires <= now else change


class Ram(Shelf):
    """A store in this process's memory; it is also its own read and write view, under one lock."""

    def __init__(self) -> None:
        self.poke: Callable[[], None] = lambda: None
        self._jobs: Undoing[Ram] = Undoing(self)
        super().__init__(self._jobs.undo, self.cell)
        self._scopes: dict[str, _Scope] = {}
        self._rev = 0

    @property
    def traits(self) -> Traits:
        return Traits("ram", inline=True, inline_writes=True, shared=False, durability="volatile")

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:  # noqa: ARG002
        return self._jobs.read(job)

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:  # noqa: ARG002
        return self._jobs.write(job)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:  # noqa: ARG002
        self._jobs.submit(job, done)

    # Read

    def data(self, scope: str, shape: str, key: str, now: int) -> bytes | None:
        cell = self.cell(scope, shape, key, now)
        return cell.data if cell else None

    def cell(self, scope: str, shape: str, key: str, now: int) -> Cell | None:
        row = self._row(scope, shape, key)
        return row.live(now) if row else None

    def cells(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[Cell]:
        held = self._scopes.get(scope)
        found = 0
        for (of, key), row in sorted(held.rows.items()) if held else ():
            cell = row.live(now)
            inside = key >= span.first and (span.end is None or key < span.end)
            if of == shape and cell and inside and (span.after is None or key > span.after):
                found += 1
                if limit is not None and found > limit:
                    return
                yield cell

    def keys(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[str]:
        return (cell.key for cell in self.cells(scope, shape, span, limit, now))

    def newest_data(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> list[bytes]:
        data = [cell.data for cell in self.cells(scope, shape, span, None, now)]
        return data[::-1][:limit]

    def last_key(self, scope: str, shape: str, span: Span) -> str | None:
        held = self._scopes.get(scope)
        keys = [key for of, key in held.rows if of == shape and span.first <= key and _below(key, span)] if held else []
        return max(keys, default=None)

    def count(self, scope: str, shape: str, span: Span, now: int) -> int:
        return sum(1 for _ in self.cells(scope, shape, span, None, now))

    def past(self, scope: str, shape: str, key: str, now: int) -> Iterator[Change]:
        row = self._row(scope, shape, key)
        return (_shown(change, now) for change in reversed(row.events if row else []))

    def changes(self, scope: str, after: int, limit: int, now: int) -> list[Change]:
        events = self._scopes[scope].events if scope in self._scopes else []
        return [_shown(change, now) for change in events if change.rev > after][:limit]

    def position(self, scope: str) -> Position:
        held = self._scopes.get(scope)
        if held is None:
            return Position(0, 0, 0)
        return Position(held.events[-1].rev if held.events else held.horizon, held.horizon, held.horizon_at)

    def scopes(self, after: str, limit: int | None, now: int) -> list[str]:
        return sorted(name for name, held in self._scopes.items() if name > after and _alive(held, now))[:limit]

    def shapes(self, scope: str) -> list[str]:
        return sorted({shape for shape, _ in self._scopes[scope].rows}) if scope in self._scopes else []

    def counts(self, now: int) -> Counts:
        entries: dict[str, int] = {}
        size = 0
        for held in self._scopes.values():
            for (shape, _), row in held.rows.items():
                if cell := row.live(now):
                    entries[shape] = entries.get(shape, 0) + 1
                    size += len(cell.data)
        history = sum(len(held.events) for held in self._scopes.values())
        return Counts(len(self.scopes("", None, now)), entries, size, history)

    # Write

    def put(self, put: Put) -> Cell | None:
        held = self._scopes.setdefault(put.scope, _Scope())
        row = held.rows.get((put.shape, put.key))
        old = row.live(put.now) if row else None
        if put.if_version is not None and put.if_version != (old.version if old else 0):
            return None
        if row is None:
            row = held.rows[(put.shape, put.key)] = _Row()
            row.version = held.floor
            self._jobs.undo.append(lambda: held.rows.pop((put.shape, put.key)))
        version = max(put.version or 1, row.version + 1)
        created = put.created or (old.created if old else put.now)
        cell = Cell(put.key, put.data, version, self._next(), created, put.now, put.expires, put.by)
        self._set(held, row, cell, Change(
            cell.rev, put.scope, put.shape, put.key, put.op, version, put.data, put.now, put.expires, put.by, created,
        ))  # fmt: skip
        return cell

    def put_all(self, puts: list[Put]) -> list[Cell]:
        return [cell for put in puts if (cell := self.put(put))]

    def drop(self, drop: Drop) -> int:
        held = self._scopes.get(drop.scope)
        if held is None:
            return 0
        names = sorted(held.rows) if drop.key is None else [(drop.shape, drop.key)]
        return sum(
            self._drop(held, held.rows[name], drop) for name in names if name[0] == drop.shape and name in held.rows
        )

    def _drop(self, held: _Scope, row: _Row, drop: Drop) -> bool:
        cell = row.live(drop.now)
        if cell is None or drop.if_version not in (None, cell.version):
            return False
        rev = self._next()
        what, who = (drop.scope, drop.shape, cell.key, drop.op, cell.version, None), (drop.by, cell.created)
        change = Change(rev, *what, drop.now, None, *who)
        self._set(held, row, None, change)
        return True

    def erase(self, scope: str, now: int, by: str, op: str) -> int:
        held = self._scopes.get(scope)
        if held is None or not held.rows:
            return 0
        live = sum(row.live(now) is not None for row in held.rows.values())
        self.unindex_scope(scope)
        empty = _Scope()
        empty.floor = max([held.floor, *(row.version for row in held.rows.values())])
        empty.horizon, empty.horizon_at = self.position(scope).rev, now
        self._scopes[scope] = empty
        empty.events.append(Change(self._next(), scope, "scope", "", op, 0, None, now, None, by, now))
        self._jobs.undo.append(lambda: self._scopes.__setitem__(scope, held))
        return live

    def redact(self, scope: str, shape: str, key: str) -> int:
        held, row = self._scopes.get(scope), self._row(scope, shape, key)
        if held is None or row is None:
            return 0
        gone = {change.rev for change in row.events[:-1] if change.data is not None}
        for events in (row.events, held.events):
            before = events[:]
            events[:] = [change._replace(data=None) if change.rev in gone else change for change in events]
            self._jobs.undo.append(partial(events.__setitem__, slice(None), before))
        return len(gone)

    def _set(self, held: _Scope, row: _Row, cell: Cell | None, change: Change) -> None:
        before = (row.cell, row.version)
        change = change._replace(prev=row.events[-1].rev if row.events else None)

        def undo() -> None:
            row.cell, row.version = before
            row.events.pop()
            held.events.pop()

        row.cell, row.version = cell, change.version
        row.events.append(change)
        held.events.append(change)
        self._jobs.undo.append(undo)

    def _next(self) -> int:
        self._rev += 1
        return self._rev

    def _row(self, scope: str, shape: str, key: str) -> _Row | None:
        held = self._scopes.get(scope)
        return held.rows.get((shape, key)) if held else None

    # Upkeep

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:  # noqa: ARG002
        with self._jobs.lock:
            for scope, held in self._scopes.items():
                for (shape, key), row in held.rows.items():
                    if row.cell and not row.live(now):
                        self.unindex(scope, shape, key)
            self._jobs.undo.clear()
            return sum(_sweep(held, now, before) for held in self._scopes.values()), False

    def next_expiry(self) -> int | None:
        with self._jobs.lock:
            rows = [row for held in self._scopes.values() for row in held.rows.values()]
            return min((row.cell.expires for row in rows if row.cell and row.cell.expires), default=None)

    def tend(self) -> None:
        pass

    def check(self, progress: Progress | None) -> Health:
        with self._jobs.lock:
            checked = sum(len(held.rows) + len(held.events) for held in self._scopes.values())
        if progress:
            progress(checked, checked)
        return Health(checked=checked, damage=[])

    def backup(self, path: str, progress: Progress | None) -> int:  # noqa: ARG002
        raise Unsupported("a store in memory has no file to copy", hint="use export")

    def describe(self) -> dict[str, Any]:
        return {"path": ":memory:"}

    def close(self) -> None:
        self._jobs.closed = True


def _below(key: str, span: Span) -> bool:
    return span.end is None or key < span.end


def _alive(held: _Scope, now: int) -> bool:
    return any(row.live(now) for row in held.rows.values())


def _sweep(held: _Scope, now: int, before: int | None) -> int:
    """Free what has expired in a scope, and forget what is older than the retention and not current."""
    expired = [row for row in held.rows.values() if row.cell and not row.live(now)]
    for row in expired:
        row.cell = None
    held.events = [_shown(change, now) for change in held.events]
    if before is not None:
        for name, row in list(held.rows.items()):
            newest = row.events[-1]
            if row.cell is None and newest.at < before:
                held.floor = max(held.floor, row.version)
                del held.rows[name]
    current = {row.cell.rev for row in held.rows.values() if row.cell}
    kept = [change for change in held.events if before is None or change.at >= before or change.rev in current]
    if len(kept) < len(held.events):
        staying = {change.rev for change in kept}
        forgotten = [change for change in held.events if change.rev not in staying]
        held.horizon = max(held.horizon, *(change.rev for change in forgotten))
        held.horizon_at = max(held.horizon_at, *(change.at for change in forgotten))
        held.events = kept
    alive = {change.rev: change for change in held.events}
    for row in held.rows.values():
        row.events = [alive[change.rev] for change in row.events if change.rev in alive]
    return len(expired)
