"""Requests about facts."""

from __future__ import annotations

from typing import Any, TypeVar

from memwell.codec import Absent
from memwell.ops.op import LIGHT, Op, many
from memwell.types import Entry, Event

R = TypeVar("R")


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
        return self.pattern is not None or many(self.limit, LIGHT)


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
        return many(self.limit, LIGHT)


class Revert(Op[Entry], frozen=True, tag="fact.revert"):
    """Write the value of an earlier version as a new version."""

    domain = "memory"
    action = "write"
    scope: str
    key: str
    version: int
    if_version: int | None = None
