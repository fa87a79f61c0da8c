"""Requests as data: one definition yields the method, the wire body, the audit line and the reference page."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from memwell.codec import Absent
from memwell.types import Changes as ChangesPage
from memwell.types import Entry, Event, Health, Line, Loaded, Stats

R = TypeVar("R")

LIGHT = 1000  # the most rows that an event loop should wait for


class Op(Struct, Generic[R], frozen=True, tag_field="op"):
    """A request. `domain` and `action` are what the guard asks for."""

    domain: ClassVar[str]
    action: ClassVar[str]
    single: ClassVar[bool] = False  # one statement, atomic by itself
    whole: ClassVar[bool] = False  # works on the backend in steps of its own, not in one transaction
    heavy: ClassVar[bool] = False  # always longer than an event loop should wait

    def is_heavy(self) -> bool:
        """Whether this one may take longer than an event loop should wait."""
        return self.heavy


class Listing(Op[R], frozen=True):
    """What the ops that list the keys of a scope have in common."""

    domain = "memory"
    action = "read"
    single = True
    scope: str
    prefix: str | None = None
    pattern: str | None = None
    limit: int | None = None
    after: str | None = None

    def is_heavy(self) -> bool:
        return self.pattern is not None or self.limit is None or self.limit > LIGHT


class Get(Op[Any | Absent], frozen=True, tag="fact.get"):
    """The value of a key, now or at a rev or time; ABSENT if there is none."""

    domain = "memory"
    action = "read"
    single = True
    scope: str
    key: str
    at: Any = None


class GetEntry(Op[Entry | None], frozen=True, tag="fact.entry"):
    """A key's value with its version, times and author."""

    domain = "memory"
    action = "read"
    single = True
    scope: str
    key: str
    at: Any = None


class GetMany(Op[dict[str, Any]], frozen=True, tag="fact.get_many"):
    """The values of those keys that are there, from one moment."""

    domain = "memory"
    action = "read"
    scope: str
    keys: list[str]

    def is_heavy(self) -> bool:
        return len(self.keys) > LIGHT


class Set(Op[Entry], frozen=True, tag="fact.set"):
    """Write a key; with if_version only if that is its current version, 0 meaning that it must be absent."""

    domain = "memory"
    action = "write"
    single = True
    scope: str
    key: str
    value: Any
    ttl: float | None = None
    if_version: int | None = None


class SetMany(Op[dict[str, Entry]], frozen=True, tag="fact.set_many"):
    """Write several keys in one transaction."""

    domain = "memory"
    action = "write"
    scope: str
    values: dict[str, Any]
    ttl: float | None = None

    def is_heavy(self) -> bool:
        return len(self.values) > LIGHT // 10


class Delete(Op[bool], frozen=True, tag="fact.delete"):
    """Take a key away; whether it was there."""

    domain = "memory"
    action = "write"
    single = True
    scope: str
    key: str
    if_version: int | None = None


class List(Listing[list[str]], frozen=True, tag="fact.list"):
    """The keys of a scope, sorted."""


class Entries(Listing[list[Entry]], frozen=True, tag="fact.entries"):
    """The entries of a scope, sorted by key."""


class Clear(Op[int], frozen=True, tag="fact.clear"):
    """Delete every fact of a scope; how many there were."""

    domain = "memory"
    action = "write"
    heavy = True
    scope: str


class History(Op[list[Event]], frozen=True, tag="fact.history"):
    """The writes of a key, newest first."""

    domain = "memory"
    action = "read"
    scope: str
    key: str
    limit: int | None = None

    def is_heavy(self) -> bool:
        return self.limit is None or self.limit > LIGHT


class Revert(Op[Entry], frozen=True, tag="fact.revert"):
    """Write the value of an earlier version as a new version."""

    domain = "memory"
    action = "write"
    scope: str
    key: str
    version: int
    if_version: int | None = None


class Batch(Op[list[Any]], frozen=True, tag="batch"):
    """Several ops of one scope in the order given, all or none."""

    domain = "memory"
    action = "write"
    scope: str
    ops: list[Any]

    def is_heavy(self) -> bool:
        return len(self.ops) > LIGHT // 10 or any(isinstance(op, Op) and op.is_heavy() for op in self.ops)


class Changes(Op[ChangesPage], frozen=True, tag="scope.changes"):
    """A page of a scope's events after a rev, in order; `since=None` asks only where the scope stands."""

    domain = "memory"
    action = "read"
    scope: str
    since: int | None = None
    prefix: str | None = None
    pattern: str | None = None
    limit: int = 256


class DeleteScope(Op[int], frozen=True, tag="scope.delete"):
    """Remove all that a scope holds, of every shape, with its history; how many live things there were."""

    domain = "admin"
    action = "write"
    heavy = True
    scope: str


class Scopes(Op[list[str]], frozen=True, tag="scope.list"):
    """The scopes that hold anything, sorted."""

    domain = "admin"
    action = "read"
    heavy = True
    limit: int | None = None
    after: str | None = None


class GetStats(Op[Stats], frozen=True, tag="store.stats"):
    """What the store holds."""

    domain = "admin"
    action = "read"
    heavy = True


class Sweep(Op[int], frozen=True, tag="store.sweep"):
    """Free what has expired and forget history past its retention, in bounded steps; how many entries had expired."""

    domain = "admin"
    action = "write"
    whole = True
    heavy = True


class Dump(Op[list[Line]], frozen=True, tag="store.dump"):
    """A page of live entries of one scope or of all, in order, for an export."""

    domain = "admin"
    action = "read"
    heavy = True
    scope: str | None = None
    after: tuple[str, str, str] | None = None
    limit: int = LIGHT


class Load(Op[Loaded], frozen=True, tag="store.load"):
    """Write exported entries with their versions and times, in one transaction; `replace` overwrites live keys."""

    domain = "admin"
    action = "write"
    heavy = True
    lines: list[Line]
    replace: bool = False


class Check(Op[Health], frozen=True, tag="store.check"):
    """Verify the file and every stored hash; nothing is changed."""

    domain = "admin"
    action = "read"
    whole = True
    heavy = True


class Backup(Op[int], frozen=True, tag="store.backup"):
    """Copy the store to a new file while it is in use; the size of the copy in bytes."""

    domain = "admin"
    action = "read"
    whole = True
    heavy = True
    path: str


class Describe(Op[dict[str, Any]], frozen=True, tag="store.describe"):
    """Where and how the store keeps its data: backend, durability class, path and versions."""

    domain = "admin"
    action = "read"
    whole = True
