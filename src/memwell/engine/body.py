"""A record as it is stored, sealed by its digest, and as search sees it."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memwell import words
from memwell.clock import moment
from memwell.codec import to_json
from memwell.errors import Corrupt
from memwell.store import Cell
from memwell.store.index import FIELDS_SPLIT, Doc
from memwell.types import Provenance, Record, Status

SHAPE = "record"
TRUSTS = ("external", "agent", "system", "human")  # from the lowest


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The value of a record's cell. That it is superseded is not stored: it follows from whoever supersedes it."""

    content: str
    kind: str = "semantic"
    title: str | None = None
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    pinned: bool = False
    confidence: float | None = None
    status: Status = "active"
    store: str = "memory"
    supersedes: list[str] = []
    lineage: list[str] = []  # what those had superseded: gone records in between must not bring it back
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    reinforced: int = 0
    reason: str | None = None
    provenance: Provenance = Provenance(by="unknown")
    digest: str = ""


_decode = msgspec.json.Decoder(Body).decode


def seal(scope: str, key: str, body: Body) -> tuple[Body, bytes]:
    """The body with its digest, and as bytes."""
    sealed = replace(body, digest=_digest(scope, key, body))
    return sealed, to_json(sealed)


def glance(scope: str, cell: Cell) -> Body:
    """The body of a cell that is looked at only to see whether it is wanted; whoever shows it unseals it."""
    try:
        return _decode(cell.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise _damaged(scope, cell.key, str(error)) from None


def unseal(scope: str, cell: Cell) -> Body:
    """The body of a cell, if it is what was sealed."""
    body = glance(scope, cell)
    if body.digest and body.digest != _digest(scope, cell.key, body):
        raise _damaged(scope, cell.key, "it does not match its digest")
    return body


def _digest(scope: str, key: str, body: Body) -> str:
    named = f"{scope}\0{key}\0".encode() + to_json(replace(body, digest=""))
    return f"sha256:{sha256(named).hexdigest()}"


def _damaged(scope: str, key: str, problem: str) -> Corrupt:
    return Corrupt(f"the record {key!r} of {scope} is damaged: {problem}", hint="run 'memwell check', restore a backup")


def to_record(scope: str, cell: Cell, body: Body, superseded: bool = False, similar: list[str] | None = None) -> Record:
    """A stored record as an answer."""
    created = moment(cell.created)
    return Record(
        id=cell.key,
        scope=scope,
        store=body.store,
        kind=body.kind,
        content=body.content,
        title=body.title,
        tags=body.tags,
        metadata=body.metadata,
        pinned=body.pinned,
        confidence=body.confidence,
        status="superseded" if superseded and body.status == "active" else body.status,
        provenance=body.provenance,
        supersedes=body.supersedes,
        lineage=body.lineage,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        reinforced=body.reinforced,
        reason=body.reason,
        created_at=created,
        updated_at=created if cell.updated == cell.created else moment(cell.updated),
        expires_at=None if cell.expires is None else moment(cell.expires),
        version=cell.version,
        rev=cell.rev,
        digest=body.digest,
        similar=similar or [],
    )


def to_doc(scope: str, cell: Cell, body: Body) -> Doc:
    """What search keeps of a record: only an active one is found by words."""
    fields = [words.stems(text) for text in (body.title or "", body.content, " ".join(body.tags))]
    active = body.status == "active"
    return Doc(
        scope,
        SHAPE,
        cell.key,
        cell.rev,
        cell.created,
        body.provenance.thread,
        tuple(marks(body)),
        FIELDS_SPLIT.join(f" {'  '.join(field)} " for field in fields) if active else None,
        sum(map(len, fields)),
        text_hash(body),
    )


def marks(body: Body) -> list[str]:
    """The exact things a record is looked up by."""
    origin = body.provenance
    return [
        same_mark(body),
        f"status:{body.status}",
        f"kind:{body.kind}",
        *(f"tag:{tag}" for tag in body.tags),
        *(f"over:{old}" for old in [*body.supersedes, *body.lineage]),
        *(f"source:{source}" for source in origin.sources),
        *(f"from:{parent}" for parent in origin.derived_from),
        *(["pinned"] if body.pinned else []),
    ]


def same_mark(body: Body) -> str:
    """Equal for records of one kind that say exactly the same."""
    said = f"{body.store}\0{body.kind}\0{words.normal(body.content)}"
    return f"same:{sha256(said.encode()).hexdigest()[:32]}"


def embedded_text(body: Body) -> str:
    """What a vector is made from."""
    return f"{body.title}\n{body.content}" if body.title else body.content


def text_hash(body: Body) -> bytes:
    """Changes when a vector has to be made anew."""
    return sha256(embedded_text(body).encode()).digest()[:16]


def lower(first: str, second: str) -> str:
    """The lower of two levels of trust."""
    return min(first, second, key=TRUSTS.index)
