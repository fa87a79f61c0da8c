"""Answers: what operations give back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class Entry(Struct, frozen=True):
    """A fact as it stands."""

    key: str
    value: Any
    version: int
    rev: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    written_by: str


class Event(Struct, frozen=True):
    """One committed write: who did what to which key, and when.

    `value` is what was written; None for a delete, and once `expired` is true (then the value is gone for good).
    """

    rev: int
    scope: str
    key: str
    op: str
    version: int
    value: Any
    at: datetime
    by: str
    expires_at: datetime | None = None
    expired: bool = False

    @property
    def deleted(self) -> bool:
        """Whether this write took the key away."""
        return not self.op.endswith((".set", ".revert", ".load"))


class Changes(Struct, frozen=True):
    """A page of events: continue after `rev`, at once if there is `more`."""

    events: list[Event]
    rev: int
    more: bool


class Stats(Struct, frozen=True):
    """What a store holds. `bytes` is the size of the live values; `history` counts the events kept."""

    backend: str
    scopes: int
    entries: int
    facts: int
    bytes: int
    history: int
    durability: str


class Damage(Struct, frozen=True):
    """A stored thing whose bytes are not what was written."""

    where: str
    problem: str


class Health(Struct, frozen=True):
    """The outcome of a check: how many things were read, and which are damaged."""

    checked: int
    damage: list[Damage]


class Line(Struct, frozen=True, kw_only=True):
    """One entry of an export; times are microseconds, so that nothing is rounded on the way."""

    scope: str
    shape: str
    key: str
    value: Any
    version: int
    created: int
    updated: int
    expires: int | None = None
    by: str


class Loaded(Struct, frozen=True):
    """The outcome of an import: entries written, and entries left as they were because the key was taken."""

    written: int
    kept: int
