"""Requests about records."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict, TypeVar

from msgspec import Struct

from memwell.ops.op import LIGHT, Op
from memwell.types import Event, Hits, Packed, Receipt, Record

R = TypeVar("R")


class OfRecord(Op[R], frozen=True):
    """What the ops on one record have in common."""

    domain = "record"
    action = "write"
    scope: str
    id: str


class NewRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record to be kept. Run, thread, tool, messages and source are the program's word, `claimed` the model's."""

    content: str
    kind: str = "semantic"
    title: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    pinned: bool = False
    confidence: float | None = None
    ttl: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: list[str] = []
    derived_from: list[str] = []
    source: str | None = None
    run: str | None = None
    thread: str | None = None
    tool: str | None = None
    messages: list[str] = []
    claimed: dict[str, Any] = {}
    trust: str | None = None
    pending: bool = False
    store: str = "memory"
    id: str | None = None


class Draft(TypedDict, total=False):
    """The fields of a new record besides its content, as keyword arguments."""

    kind: str
    title: str | None
    tags: list[str]
    metadata: dict[str, Any]
    pinned: bool
    confidence: float | None
    ttl: float | None
    valid_from: datetime | None
    valid_to: datetime | None
    supersedes: list[str]
    derived_from: list[str]
    source: str | None
    run: str | None
    thread: str | None
    tool: str | None
    messages: list[str]
    claimed: dict[str, Any]
    trust: str | None
    pending: bool
    store: str
    id: str | None


class Remember(Op[Record], frozen=True, tag="record.remember"):
    """Keep a record; one that says exactly the same is reinforced instead, and what nearly does is named."""

    domain = "record"
    action = "write"
    scope: str
    record: NewRecord


class RememberMany(Op[list[Record]], frozen=True, tag="record.remember_many"):
    """Keep several records in one transaction; exact repeats are reinforced, near ones are not looked for."""

    domain = "record"
    action = "write"
    heavy = True
    scope: str
    records: list[NewRecord]


class ReadRecord(OfRecord[Record | None], frozen=True, tag="record.read"):
    """A record by its id, verified by its digest; None if it is absent, deleted, pending or rejected."""

    action = "read"


class RecordHistory(OfRecord[list[Event]], frozen=True, tag="record.history"):
    """The writes of a record, newest first."""

    action = "read"
    limit: int | None = None


class Update(OfRecord[Record], frozen=True, tag="record.update"):
    """Change what is given of a record, as its next version; `if_version` for compare-and-swap."""

    changes: dict[str, Any]
    if_version: int | None = None


class Supersede(OfRecord[Record], frozen=True, tag="record.supersede"):
    """Keep a new record in the place of one, in one transaction; `if_version` is that of the old one."""

    record: NewRecord
    if_version: int | None = None


class DeleteRecord(OfRecord[Record], frozen=True, tag="record.delete"):
    """Make a record a tombstone with a reason: it reads as absent, and can be restored."""

    reason: str | None = None
    if_version: int | None = None


class Restore(OfRecord[Record], frozen=True, tag="record.restore"):
    """Bring a deleted record back."""


class HardDelete(OfRecord[bool], frozen=True, tag="record.hard_delete"):
    """Remove a record with its content in the history, where the store's settings allow that."""


class Review(OfRecord[Record], frozen=True, tag="record.review"):
    """Approve a pending record, or reject it with a reason; nobody reviews their own."""

    approve: bool
    reason: str | None = None


class Pending(Op[list[Record]], frozen=True, tag="record.pending"):
    """The records that wait for a review, oldest first: of one scope or of all."""

    domain = "record"
    action = "read"
    heavy = True
    scope: str | None = None
    limit: int = 100


class ListRecords(Op[list[Record]], frozen=True, tag="record.list"):
    """Records, newest first; `cursor` is the id of the last one of the page before."""

    domain = "record"
    action = "read"
    heavy = True
    scope: str
    kinds: list[str] | None = None
    tags: list[str] | None = None
    after: datetime | None = None
    before: datetime | None = None
    status: str = "active"
    filter: dict[str, Any] | None = None
    limit: int = 100
    cursor: str | None = None


class Search(Op[Hits], frozen=True, tag="record.search"):
    """The records that fit a query best, by words and, where an embedder is set, by meaning."""

    domain = "record"
    action = "read"
    heavy = True
    scope: str
    query: str = ""
    kinds: list[str] | None = None
    tags: list[str] | None = None
    after: datetime | None = None
    before: datetime | None = None
    limit: int = 10
    filter: dict[str, Any] | None = None
    inherit: bool = False
    explain: bool = False
    valid_at: datetime | None = None
    vector: list[float] | None = None


class Pack(Op[Packed], frozen=True, tag="record.context"):
    """The records that fit a query, packed for a prompt within so many tokens."""

    domain = "record"
    action = "read"
    heavy = True
    scope: str
    query: str
    max_tokens: int = 1000
    kinds: list[str] | None = None
    tags: list[str] | None = None
    inherit: bool = False


class ExportRecords(Op[list[Record]], frozen=True, tag="record.export"):
    """A page of a scope's records of every status but deleted, newest first, where the store's settings allow that."""

    domain = "record"
    action = "read"
    heavy = True
    scope: str
    cursor: str | None = None
    limit: int = LIGHT


class Forget(Op[Receipt], frozen=True, tag="record.forget"):
    """Remove all that came from a source, what was derived from that, and its history; in one scope or in all."""

    domain = "record"
    action = "write"
    heavy = True
    source: str
    scope: str | None = None
