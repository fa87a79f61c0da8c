"""Requests about scopes, and about the store as a whole."""

from __future__ import annotations

from typing import Any

from memwell.ops.op import LIGHT, Op
from memwell.types import Changes as ChangesPage
from memwell.types import Health, Line, Loaded, Stats


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


class Embed(Op[int], frozen=True, tag="store.embed"):
    """Make the vectors that are still missing, now; how many were made."""

    domain = "admin"
    action = "write"
    whole = True
    heavy = True


class Reindex(Op[int], frozen=True, tag="store.reindex"):
    """Make the search index anew from what is stored; how many records are in it."""

    domain = "admin"
    action = "write"
    whole = True
    heavy = True


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
