"""The lines of a JSONL store: read as records to be kept here, and written from the records of a scope."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from memwell import clock
from memwell.codec import check_text, to_json
from memwell.engine.body import Body
from memwell.errors import Unavailable
from memwell.importing.found import STDIO, Found, Gathered, Skipped, rows
from memwell.ops import NewRecord
from memwell.parts import flush, flush_folder, part_file
from memwell.store.jsonl_lines import RECORD, BadLine, Line, parsed
from memwell.types import Record

_BODY = tuple(Body.__struct_fields__)
_decode_body = msgspec.json.Decoder(Body).decode
_Last = dict[tuple[str, str], tuple[int, Line]]


def export(records: Iterable[Record], path: str) -> int:
    """Write records, which come newest first, as lines, oldest first, to a file or to stdout; how many."""
    lines = [to_json(line_of(record)) + b"\n" for record in records]
    lines.reverse()
    if path == STDIO:
        sys.stdout.buffer.writelines(lines)
        return len(lines)
    target = Path(check_text(path, "a path")).expanduser().absolute()
    try:
        with part_file(target) as part:
            with part.open("wb") as out:
                out.writelines(lines)
                out.flush()
                flush(out.fileno())
            part.replace(target)
        flush_folder(target.parent)
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None
    return len(lines)


def line_of(record: Record) -> dict[str, Any]:
    """A record as a line of a JSONL store."""
    held = {name: getattr(record, name) for name in _BODY}
    if record.status == "superseded":
        held["status"] = "active"  # that it is superseded follows from whoever supersedes it
    line = {
        "op": "supersede" if record.supersedes else "upsert",
        "scope": record.scope,
        "id": record.id,
        "version": record.version,
        "at": record.updated_at,
        "by": record.provenance.updated_by or record.provenance.by,
        "created": record.created_at,
        "expires": record.expires_at,
        "record": Body(**held),
    }
    return {name: value for name, value in line.items() if value is not None}


def gather(path: str, scope: str) -> Gathered:
    """The records that stand at the end of the lines. Of several scopes, only those of the one asked for are meant."""
    gathered = Gathered(0, [], [], titled=False)
    last = _folded(path, gathered)
    scopes = {name for name, _ in last}
    for (name, _), (number, line) in last.items():
        where = f"line {number}"
        if len(scopes) > 1 and name != scope:
            gathered.skipped.append(Skipped(where, f"it is of the scope {name}, and the file has several"))
            continue
        reason = _gone(line)
        if reason is not None:
            gathered.skipped.append(Skipped(where, reason))
            continue
        gathered.records += _records(where, line, gathered.skipped)
    return gathered


def _folded(path: str, gathered: Gathered) -> _Last:
    """The last line of each record, in the order in which the records were made."""
    last: _Last = {}
    for number, text in rows(path):
        gathered.read += 1
        try:
            line = parsed(text.strip())
        except BadLine as bad:
            gathered.skipped.append(Skipped(f"line {number}", str(bad), bad=True))
            continue
        if line.op == "erase":
            last = {key: kept for key, kept in last.items() if key[0] != line.scope}
        elif line.op in ("upsert", "supersede", "delete"):
            if line.shape == RECORD:
                last[line.scope, line.id] = (number, line)
            else:
                gathered.skipped.append(Skipped(f"line {number}", f"it is a {line.shape}, not a record"))
    return last


def _gone(line: Line) -> str | None:
    """Why there is nothing to keep."""
    if line.op == "delete" or line.content() is None:
        return "it is deleted there"
    if line.expires is not None and clock.microseconds(line.expires) <= clock.now():
        return "it has expired"
    return None


def _records(where: str, line: Line, skipped: list[Skipped]) -> Iterator[Found]:
    try:
        body = _decode_body(line.content() or b"")
    except (msgspec.MsgspecError, TypeError) as error:
        skipped.append(Skipped(where, f"it is no record: {error}", bad=True))
        return
    if body.status in ("active", "pending"):
        yield Found(where, _new(line, body))
    else:
        skipped.append(Skipped(where, f"it is {body.status} there"))


def _new(line: Line, body: Body) -> NewRecord:
    """Whoever imports is the one who writes; what the line says of its origin is kept as a claim."""
    origin, left = body.provenance, None
    if line.expires is not None:
        left = (clock.microseconds(line.expires) - clock.now()) / 1_000_000
    there = {"by": origin.by, "created_at": line.created or line.at, "sources": origin.sources}
    claimed = {name: value for name, value in there.items() if value}
    return NewRecord(
        content=body.content,
        kind=body.kind,
        title=body.title,
        tags=body.tags,
        metadata=body.metadata,
        pinned=body.pinned,
        confidence=body.confidence,
        ttl=left,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        supersedes=body.supersedes,
        derived_from=origin.derived_from,
        source=next(iter(origin.sources), None),
        run=origin.run,
        thread=origin.thread,
        tool=origin.tool,
        messages=origin.messages,
        claimed={**origin.claimed, "imported": msgspec.to_builtins(claimed)},
        trust=origin.trust,
        pending=body.status == "pending",
        store=body.store,
        id=line.id,
    )
