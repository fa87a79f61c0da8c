"""Answers: what operations give back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, overload

from msgspec import Struct

Status = Literal["active", "pending", "rejected", "superseded", "deleted"]
Trust = Literal["human", "system", "agent", "external"]


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
        return self.op.endswith((".delete", ".clear", ".hard_delete", ".forget", ".uncover"))


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
    records: int
    threads: int
    messages: int
    bytes: int
    history: int
    durability: str


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a record came from, as the system knows it; what a model says of itself stands under `claimed`."""

    by: str
    trust: Trust = "system"
    run: str | None = None
    thread: str | None = None
    tool: str | None = None
    messages: list[str] = []
    sources: list[str] = []
    derived_from: list[str] = []
    updated_by: str | None = None
    reviewed_by: str | None = None
    claimed: dict[str, Any] = {}


class Record(Struct, frozen=True, kw_only=True):
    """A memory as it stands. `similar` names records that say nearly the same; only `remember` looks for them."""

    id: str
    scope: str
    store: str
    kind: str
    content: str
    title: str | None
    tags: list[str]
    metadata: dict[str, Any]
    pinned: bool
    confidence: float | None
    status: Status
    provenance: Provenance
    supersedes: list[str]
    lineage: list[str]
    valid_from: datetime | None
    valid_to: datetime | None
    reinforced: int
    reason: str | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    version: int
    rev: int
    digest: str
    similar: list[str] = []


class Hit(Struct, frozen=True):
    """A record that a search found. `matches` are the places in the snippet where words of the query stand."""

    record: Record
    score: float
    snippet: str
    matches: list[tuple[int, int]] = []
    parts: dict[str, float] | None = None


class Hits(Struct, frozen=True):
    """What a search found, best first: a sequence of hits. `unembedded` records could not be found by meaning yet.

    `notice` says why a search went on by words alone although an embedder is set.
    """

    hits: list[Hit]
    unembedded: int = 0
    notice: str | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return bool(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self.hits[index]


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """A call of a tool by the assistant; `arguments` as the model gave them."""

    id: str
    name: str
    arguments: Any = ""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a thread. `covers` is set for a summary: the first and last sequence number that it stands for."""

    thread: str
    seq: int
    id: str
    role: str
    content: str | list[dict[str, Any]] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] = []
    tool_call_id: str | None = None
    metadata: dict[str, Any] = {}
    tokens: int | None = None
    created_at: datetime
    by: str
    version: int = 1
    covers: tuple[int, int] | None = None


class ThreadInfo(Struct, frozen=True, kw_only=True):
    """A thread. `forked_from` is the thread and the sequence number that it began with."""

    id: str
    scope: str
    title: str | None
    metadata: dict[str, Any]
    forked_from: tuple[str, int] | None
    last: int
    created_at: datetime
    updated_at: datetime
    created_by: str
    version: int


class Overlay(Struct, frozen=True, kw_only=True):
    """A summary that lies over the messages from `first` to `last`; nothing below it is lost."""

    thread: str
    first: int
    last: int
    content: str
    digest: str
    metadata: dict[str, Any]
    created_at: datetime
    by: str


class MessageHit(Struct, frozen=True):
    """A message that a search found, with what stands before and after it."""

    message: Message
    score: float
    snippet: str
    matches: list[tuple[int, int]] = []
    context: list[Message] = []
    parts: dict[str, float] | None = None


class Found(Struct, frozen=True):
    """What a search of messages found, best first: a sequence of hits."""

    hits: list[MessageHit]

    def __iter__(self) -> Iterator[MessageHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> MessageHit:
        return self.hits[index]


class Packed(Struct, frozen=True):
    """Records packed for a prompt: the text, an estimate of its tokens, what is in it, and how many had no room."""

    text: str
    tokens: int
    records: list[Record]
    left_out: int


class Receipt(Struct, frozen=True):
    """What was forgotten: records from the source, records derived from those; `kept` ones have other sources too."""

    source: str
    records: int
    derived: int
    kept: int
    scopes: list[str]
    at: datetime
    by: str


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
