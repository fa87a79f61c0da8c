"""Stored rows as answers."""

from __future__ import annotations

from typing import Any

from memwell import codec
from memwell.clock import moment
from memwell.codec import ABSENT
from memwell.errors import Conflict
from memwell.store import Cell, Change, Drop, Put, Read
from memwell.types import Entry, Event


def to_entry(cell: Cell, copy: Any = ABSENT) -> Entry:
    """A cell as an entry; `copy` is its value where that is already at hand."""
    key, data, version, rev, created, updated, expires, by = cell
    made = moment(created)
    return Entry(
        key,
        codec.decode(data) if copy is ABSENT else copy,
        version,
        rev,
        made,
        made if updated == created else moment(updated),
        None if expires is None else moment(expires),
        by,
    )


def to_event(change: Change) -> Event:
    """A stored event as an answer."""
    expires, data = change.expires, change.data
    return Event(
        change.rev,
        change.scope,
        change.key,
        change.op,
        change.version,
        None if data is None else codec.decode(data),
        moment(change.at),
        change.by,
        None if expires is None else moment(expires),
        expires is not None and data is None,
    )


def refuse_if_stale(view: Read, write: Put | Drop) -> None:
    """Raise Conflict with what is there now, unless that has just become what the caller expects."""
    assert write.key is not None
    current = view.cell(write.scope, write.shape, write.key, write.now)
    if (current.version if current else 0) != write.if_version:
        found = f"at version {current.version}" if current else "absent"
        expected = f"at version {write.if_version}" if write.if_version else "absent"
        raise Conflict(
            f"{write.key!r} is {found}, not {expected}",
            current=to_entry(current) if current else None,
            hint="read it again, redo the change, and retry with its version",
        )
