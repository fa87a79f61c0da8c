"""Backends keep cells and events: bytes and rows, no meaning.

A cell is the current value under (scope, shape, key); its row stays after a delete, without a value, because the
version counter never goes back. Every put or drop takes the next rev and leaves one event. Times are microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from memwell.codec import check_text, digest
from memwell.config import Settings
from memwell.errors import Invalid, Unsupported
from memwell.store.index import Finding, Indexing
from memwell.types import Health

T = TypeVar("T")
Progress = Callable[[int, int], None]


class Cell(NamedTuple):
    """A live cell."""

    key: str
    data: bytes
    version: int
    rev: int
    created: int
    updated: int
    expires: int | None
    by: str


class Change(NamedTuple):
    """An event as stored; `data` is None for a delete and for a value that has expired."""

    rev: int
    scope: str
    shape: str
    key: str
    op: str
    version: int
    data: bytes | None
    at: int
    expires: int | None
    by: str
    created: int
    prev: int | None = None  # the rev of the same key's write before, kept or not


class Put(NamedTuple):
    """A write of one cell. `version` and `created` are given only when an export is loaded."""

    scope: str
    shape: str
    key: str
    data: bytes
    now: int
    expires: int | None
    by: str
    op: str
    if_version: int | None = None
    version: int | None = None
    created: int | None = None

    def bound(self) -> tuple[Any, ...]:
        """Its columns: scope, shape, key, data, digest, time, expiry, author, op."""
        scope, shape, key, data, now, expires, by, op = self[:8]
        return scope, shape, key, data, digest(scope, shape, key, op, by, now, expires, data), now, expires, by, op


class Drop(NamedTuple):
    """The removal of one cell's value, or of all values of a shape where `key` is None."""

    scope: str
    shape: str
    key: str | None
    now: int
    by: str
    op: str
    if_version: int | None = None


class Span(NamedTuple):
    """A range of keys: from `first`, below `end`, after `after`."""

    first: str = ""
    end: str | None = None
    after: str | None = None


class Position(NamedTuple):
    """Where a scope's history stands: a rev that is no older than its newest, and the newest that was forgotten."""

    rev: int
    horizon: int
    horizon_at: int


class Counts(NamedTuple):
    """What a store holds, by shape."""

    scopes: int
    entries: dict[str, int]
    bytes: int
    history: int


class Traits(NamedTuple):
    """How backends differ, as data."""

    name: str
    inline: bool  # reads are fast enough to run on an event loop
    inline_writes: bool  # so are writes that need not wait
    shared: bool  # several processes may write at once
    durability: str  # power-safe, crash-safe or volatile, from the live settings
    facts_only: bool = False  # it has no index, so no records


class Read(Finding, Protocol):
    """A consistent view. Every method hides what has expired at `now`."""

    def data(self, scope: str, shape: str, key: str, now: int) -> bytes | None: ...
    def cell(self, scope: str, shape: str, key: str, now: int) -> Cell | None: ...
    def cells(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[Cell]: ...
    def keys(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[str]: ...
    def newest_data(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> list[bytes]: ...
    def last_key(self, scope: str, shape: str, span: Span) -> str | None: ...  # of a value or of what is left of one
    def count(self, scope: str, shape: str, span: Span, now: int) -> int: ...
    def past(self, scope: str, shape: str, key: str, now: int) -> Iterator[Change]: ...
    def changes(self, scope: str, after: int, limit: int, now: int) -> list[Change]: ...
    def position(self, scope: str) -> Position: ...
    def scopes(self, after: str, limit: int | None, now: int) -> list[str]: ...
    def shapes(self, scope: str) -> list[str]: ...
    def counts(self, now: int) -> Counts: ...


class Write(Read, Indexing, Protocol):
    """A view inside one transaction."""

    def put(self, put: Put) -> Cell | None: ...
    def put_all(self, puts: list[Put]) -> list[Cell]: ...  # unconditional ones, in order
    def drop(self, drop: Drop) -> int: ...
    def erase(self, scope: str, now: int, by: str, op: str) -> int: ...
    def redact(self, scope: str, shape: str, key: str) -> int: ...  # the values of its past; how many there were


class PutJob(Generic[T]):
    """A write of one cell that can say what it will write, so that a backend may write many of them at once."""

    __slots__ = ()

    def __call__(self, view: Write) -> T:
        raise NotImplementedError

    def put(self) -> Put:
        """What to write, as of now; it is unconditional unless it has an `if_version`."""
        raise NotImplementedError

    def done(self, cell: Cell) -> T:
        """The answer, once it is written."""
        raise NotImplementedError


ReadJob = Callable[[Read], T]
WriteJob = Callable[[Write], T]
Done = Callable[[Any, BaseException | None], None]


class Backend(Protocol):
    """Where cells are kept. `poke` is called when there is upkeep to do; `tend` does one bounded step of it."""

    poke: Callable[[], None]

    @property
    def traits(self) -> Traits: ...
    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T: ...
    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T: ...
    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None: ...
    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]: ...
    def next_expiry(self) -> int | None: ...
    def tend(self) -> None: ...
    def check(self, progress: Progress | None) -> Health: ...
    def backup(self, path: str, progress: Progress | None) -> int: ...
    def describe(self) -> dict[str, Any]: ...
    def close(self) -> None: ...


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PLANNED = {"postgresql", "postgres", "redis", "rediss", "valkey", "http", "https", "unix", "s3"}


def kind_of(url: str) -> tuple[str, str]:
    """The kind of store that a URL names, and the rest of it: for `sqlite`, the path of its file."""
    if not url:
        raise Invalid("the store has no name", hint="give a path such as memory.db, or :memory:")
    scheme = _SCHEME.match(check_text(url, "a store"))
    if url == ":memory:":
        return "ram", ""
    return (scheme[1].lower(), url[scheme.end() :]) if scheme else ("sqlite", url)


def backend_for(url: str, settings: Settings) -> Backend:
    """The backend that a path or URL names."""
    name, rest = kind_of(url)
    if name == "ram":
        from memwell.store.ram import Ram

        return Ram()
    if name == "sqlite":
        from memwell.store.sqlite import Sqlite

        return Sqlite(rest, settings)
    if name == "jsonl":
        from memwell.store.jsonl import Jsonl

        return Jsonl(rest, settings)
    if name in _PLANNED:
        raise Unsupported(f"this version of Memwell has no {name} backend", hint="use a file path, or :memory:")
    raise Invalid(
        f"{name!r} is not a kind of store", hint="give a path such as memory.db (./ in front if it has a colon)"
    )
