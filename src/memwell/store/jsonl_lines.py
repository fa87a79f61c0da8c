"""The lines of a JSONL store: how one is written, sealed, read back and found to be damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from memwell import clock
from memwell.codec import check_text, to_json
from memwell.errors import Corrupt, MemwellError, Unsupported
from memwell.scope import canonical
from memwell.store import Change
from memwell.store.index import Doc
from memwell.types import Damage

FORMAT = 1
RECORD = "record"
ACCEPT = 'to accept an edit made by hand, remove the "sum" from that line; else put the line back as it was'
_SEAL = len(',"sum":"0123456789abcdef"}')


class Index(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What search finds a cell by, where it does not follow from the cell."""

    at: int
    marks: tuple[str, ...] = ()
    text: str | None = None
    group: str | None = None
    length: int = 0
    hash: str = ""


class Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """One line, whatever it says; most fields stand only where they say something."""

    op: Literal["head", "upsert", "supersede", "delete", "erase", "index", "unindex", "vector", "sweep", "scope"]
    format: int = FORMAT
    scope: str = ""
    shape: str = RECORD
    id: str = ""
    version: int | None = None
    rev: int | None = None
    prev: int | None = None
    at: datetime | None = None
    by: str | None = None
    event: str | None = None
    created: datetime | None = None
    expires: datetime | None = None
    record: Raw = Raw()
    value: Raw = Raw()
    blank: bool = False
    n: int = 0
    index: Index | None = None
    model: str = ""
    seq: int = 0
    hash: str = ""
    data: str = ""
    before: datetime | None = None
    floor: int = 0
    horizon: int = 0
    horizon_at: datetime | None = None
    more: bool = False
    lines: int = 0
    sum: str | None = None

    @property
    def by_hand(self) -> bool:
        return self.sum is None

    def content(self) -> bytes | None:
        """The JSON of what it holds, or None."""
        raw = bytes(self.record) or bytes(self.value)
        if not raw or not self.by_hand:
            return raw or None
        value = msgspec.json.decode(raw)
        if isinstance(value, dict) and bytes(self.record):
            value.pop("digest", None)  # of the record before the edit
        return to_json(value)  # in the one spelling, without blanks


class _Body(Struct):
    """What the log wants to know of a record."""

    status: str = ""
    supersedes: list[str] = []


_decode = msgspec.json.Decoder(Line).decode
_decode_body = msgspec.json.Decoder(_Body).decode
_NOT_JSON = (msgspec.MsgspecError, ValueError, RecursionError)


class BadLine(Exception):
    """Why a line can't be what was written."""


# Writing


def sealed(fields: dict[str, Any]) -> bytes:
    """A line with its checksum and its end."""
    body = to_json(fields)
    return body[:-1] + b',"sum":"' + _checksum(body) + b'"}\n'


def _checksum(body: bytes) -> bytes:
    return sha256(body).hexdigest()[:16].encode()


def change_fields(change: Change) -> dict[str, Any]:
    """An event as it is appended."""
    fields: dict[str, Any] = {"op": _op(change), "scope": change.scope, "id": change.key, "version": change.version}
    fields |= {"at": clock.moment(change.at), "by": change.by, "event": change.op}
    if change.shape != RECORD:
        fields["shape"] = change.shape
    if change.data is not None and (change.version > 1 or change.created != change.at):
        fields["created"] = clock.moment(change.created)
    if change.expires is not None:
        fields["expires"] = clock.moment(change.expires)
    if change.data is not None:
        fields["record" if change.shape == RECORD else "value"] = Raw(change.data)
    return fields


def kept_fields(change: Change, rev: int | None, prev: int | None) -> dict[str, Any]:
    """An event as it is kept when the file is written anew: its value may be gone, and what was before it too."""
    if change.shape == "scope":
        fields = {"op": "erase", "scope": change.scope, "at": clock.moment(change.at), "by": change.by}
        fields["event"] = change.op
    else:
        fields = change_fields(change)
    if change.data is None and change.shape != "scope":
        fields |= {"created": clock.moment(change.created), "blank": True}
    if rev is not None:
        fields["rev"] = rev
    if prev is not None:
        fields["prev"] = prev
    return fields


def _op(change: Change) -> str:
    if change.data is None:
        return "delete" if change.expires is None else "upsert"
    if change.shape != RECORD:
        return "upsert"
    try:
        body = _decode_body(change.data)
    except _NOT_JSON:
        return "upsert"
    if body.status == "deleted":
        return "delete"
    return "supersede" if body.supersedes and change.prev is None else "upsert"


def index_fields(doc: Doc) -> dict[str, Any]:
    """What search finds a cell by."""
    found = {"marks": doc.marks, "text": doc.text, "group": doc.group, "length": doc.length, "hash": doc.hash.hex()}
    return {"at": doc.at, **{name: value for name, value in found.items() if value}}


# Reading


class Piece(NamedTuple):
    """The bytes of one line: its number, where they end in the data, and whether a newline ended them."""

    number: int
    text: bytes
    end: int
    whole: bool


class Transaction(NamedTuple):
    """Lines that count together or not at all, where they end in the data, and the number of the last."""

    lines: list[tuple[int, Line]]
    end: int
    number: int
    whole: bool


def pieces(data: bytes, number: int = 0) -> Iterator[Piece]:
    """The lines of some bytes; `number` lines came before."""
    start = 0
    while start < len(data):
        newline = data.find(b"\n", start)
        whole = newline >= 0
        end = newline + 1 if whole else len(data)
        number += 1
        yield Piece(number, data[start:end].strip(b" \t\r\n"), end, whole)
        start = end


def parsed(text: bytes) -> Line:
    """The line that some bytes say."""
    try:
        line = _decode(text)
    except _NOT_JSON as error:
        raise BadLine(f"it is not a line of this format: {error}" if is_json(text) else "it is not JSON") from None
    if line.by_hand:
        _check_by_hand(line)
    elif text[-_SEAL:] != b',"sum":"' + _checksum(text[:-_SEAL] + b"}") + b'"}':
        raise BadLine('its "sum" does not fit what it says: it was damaged or edited')
    return line


def _check_by_hand(line: Line) -> None:
    try:
        line.content()
        if line.op != "head" and canonical(line.scope) != line.scope:
            raise BadLine(f"the scope is written {canonical(line.scope)}")
        check_text(line.id, "the id")
        for moment in (line.at, line.created, line.expires, line.before, line.horizon_at):
            if moment is not None:
                clock.microseconds(moment)
    except MemwellError as error:
        raise BadLine(str(error)) from None
    except _NOT_JSON as error:
        raise BadLine(f"what it holds is not JSON: {error}") from None
    if line.op in ("upsert", "supersede", "delete") and not line.id:
        raise BadLine('it has no "id"')
    if line.op in ("upsert", "supersede") and line.content() is None and not line.blank:
        raise BadLine('it has neither a "record" nor a "value"')


def is_json(text: bytes) -> bool:
    """Whether this is an object of JSON, whatever it says."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except _NOT_JSON:
        return False


def transactions(data: bytes, number: int, path: str) -> Iterator[Transaction]:
    """Every complete transaction. What is torn at the end is left over; a bad line before it raises."""
    pending: list[tuple[int, Line]] = []
    start = 0
    for piece in pieces(data, number):
        try:
            line = parsed(piece.text) if piece.text else None
        except BadLine as bad:
            if any(is_json(later.text) for later in pieces(data[start:])):
                raise Corrupt(f"line {piece.number} of {path} is damaged: {bad}", hint=ACCEPT) from None
            return
        start = piece.end
        if not piece.whole and (line is None or not line.by_hand or line.more or pending):
            return
        if line is not None:
            if pending and not pending[-1][1].by_hand and line.by_hand and not line.more and not line.lines:
                raise Corrupt(
                    f"line {pending[0][0]} of {path} begins a write that was never finished",
                    hint=f"remove lines {pending[0][0]} to {pending[-1][0]}",
                )
            pending.append((piece.number, line))
        if not pending or not pending[-1][1].more:
            yield Transaction(pending, piece.end, piece.number, piece.whole)
            pending = []


def damage(data: bytes, path: str) -> tuple[int, list[Damage]]:
    """How many lines there are, and all that are damaged; what is torn at the end is not among them."""
    found: list[Damage] = []
    checked = start = 0
    for piece in pieces(data):
        checked += 1
        try:
            if piece.text:
                parsed(piece.text)
        except BadLine as bad:
            if not any(is_json(later.text) for later in pieces(data[start:])):
                break
            found.append(Damage(where=f"line {piece.number} of {path}", problem=f"{bad}; {ACCEPT}"))
        start = piece.end
    return checked, found


def check_format(line: Line, path: str) -> None:
    """A log of a newer version is refused."""
    if line.format > FORMAT:
        raise Unsupported(
            f"{path} has format {line.format}; this version of Memwell knows up to {FORMAT}",
            hint="upgrade Memwell: pip install -U memwell",
        )
