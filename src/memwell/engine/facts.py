"""What the ops on facts mean. Each function prepares, with no lock held, and returns the job for the transaction."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from memwell import clock, codec, ops
from memwell.codec import ABSENT, Absent
from memwell.engine.answers import refuse_if_stale, to_entry, to_event
from memwell.engine.context import Context
from memwell.engine.past import Instant
from memwell.engine.rules import bounded, check_key, check_number, check_ttl, expiry, wanted
from memwell.errors import Invalid, NotFound
from memwell.pattern import after_prefix
from memwell.store import Cell, Drop, Put, PutJob, Read, ReadJob, Span, Write, WriteJob
from memwell.types import Entry, Event

SHAPE = "fact"


def get(op: ops.Get, context: Context) -> ReadJob[Any | Absent]:
    scope, key = op.scope, check_key(op.key, context.settings)
    instant = None if op.at is None else Instant(op.at)

    def job(view: Read) -> Any | Absent:
        if instant is None:
            data = view.data(scope, SHAPE, key, clock.now())
        else:
            cell = instant.cell(view, scope, SHAPE, key)
            data = None if cell is None else cell.data
        return ABSENT if data is None else codec.decode(data)

    return job


def entry(op: ops.GetEntry, context: Context) -> ReadJob[Entry | None]:
    scope, key = op.scope, check_key(op.key, context.settings)
    instant = None if op.at is None else Instant(op.at)

    def job(view: Read) -> Entry | None:
        if instant is None:
            cell = view.cell(scope, SHAPE, key, clock.now())
        else:
            cell = instant.cell(view, scope, SHAPE, key)
        return None if cell is None else to_entry(cell)

    return job


def get_many(op: ops.GetMany, context: Context) -> ReadJob[dict[str, Any]]:
    keys = [check_key(key, context.settings) for key in bounded(op.keys, "keys", context.settings)]

    def job(view: Read) -> dict[str, Any]:
        now = clock.now()
        cells = (view.cell(op.scope, SHAPE, key, now) for key in keys)
        return {cell.key: codec.decode(cell.data) for cell in cells if cell is not None}

    return job


class SetJob(PutJob[Entry]):
    """A set, ready to be written: checked, encoded and hashed."""

    __slots__ = ("_by", "_copy", "_data", "_if_version", "_key", "_scope", "_ttl")

    def __init__(self, op: ops.Set, context: Context) -> None:
        settings = context.settings
        self._scope, self._key, self._if_version = op.scope, check_key(op.key, settings), op.if_version
        if op.if_version is not None:
            check_number(op.if_version, "if_version", 0)
        self._ttl = None if op.ttl is None else check_ttl(op.ttl)
        self._data, self._copy = codec.encode(op.value, settings.max_value_bytes)
        self._by = context.caller.name

    def put(self) -> Put:
        now = clock.now()
        expires = None if self._ttl is None else expiry(now, self._ttl)
        scope, key, data = self._scope, self._key, self._data
        return Put(scope, SHAPE, key, data, now, expires, self._by, "fact.set", self._if_version)

    def done(self, cell: Cell) -> Entry:
        return to_entry(cell, self._copy)

    def __call__(self, view: Write) -> Entry:
        put = self.put()
        return to_entry(view.put(put) or _put_after_all(view, put), self._copy)


def _put_after_all(view: Write, put: Put) -> Cell:
    """A put was refused: say what is there, or try again if that has just become what the caller expects."""
    cell = None
    while cell is None:
        refuse_if_stale(view, put)
        cell = view.put(put)
    return cell


def set_many(op: ops.SetMany, context: Context) -> WriteJob[dict[str, Entry]]:
    if not isinstance(op.values, dict):
        raise Invalid(f"set_many takes a dict of keys and values, not {type(op.values).__name__}")
    pairs = bounded(op.values.items(), "values", context.settings)
    jobs = [SetJob(ops.Set(op.scope, key, value, op.ttl), context) for key, value in pairs]

    def job(view: Write) -> dict[str, Entry]:
        cells = view.put_all([each.put() for each in jobs])
        return {cell.key: each.done(cell) for each, cell in zip(jobs, cells, strict=True)}

    return job


def delete(op: ops.Delete, context: Context) -> WriteJob[bool]:
    key, if_version = check_key(op.key, context.settings), op.if_version
    check_number(if_version, "if_version", 0)

    def job(view: Write) -> bool:
        drop = Drop(op.scope, SHAPE, key, clock.now(), context.caller.name, "fact.delete", if_version)
        while not view.drop(drop):
            if if_version is not None:
                refuse_if_stale(view, drop)
            if not if_version:
                return False
        return True

    return job


def keys(op: ops.List, context: Context) -> ReadJob[list[str]]:
    span, fits, limit = _listing(op, context)

    def job(view: Read) -> list[str]:
        found = view.keys(op.scope, SHAPE, span, limit, clock.now())
        return list(found if fits is None else islice(filter(fits, found), op.limit))

    return job


def entries(op: ops.Entries, context: Context) -> ReadJob[list[Entry]]:
    span, fits, limit = _listing(op, context)

    def job(view: Read) -> list[Entry]:
        found = view.cells(op.scope, SHAPE, span, limit, clock.now())
        if fits is not None:
            found = islice((cell for cell in found if fits(cell.key)), op.limit)
        return [to_entry(cell) for cell in found]

    return job


def _listing(op: ops.Listing[Any], context: Context) -> tuple[Span, Callable[[str], bool] | None, int | None]:
    """The range of keys to look at, what a key must pass besides, and how many rows to ask for."""
    check_number(op.limit, "limit", 1)
    if op.after is not None:
        check_key(op.after, context.settings)
    fits, prefix = wanted(op.prefix, op.pattern)
    span = Span(prefix, after_prefix(prefix) if prefix else None, op.after)
    return span, fits, op.limit if fits is None else None


def clear(op: ops.Clear, context: Context) -> WriteJob[int]:
    drop = Drop(op.scope, SHAPE, None, 0, context.caller.name, "fact.clear")
    return lambda view: view.drop(drop._replace(now=clock.now()))


def history(op: ops.History, context: Context) -> ReadJob[list[Event]]:
    key = check_key(op.key, context.settings)
    check_number(op.limit, "limit", 1)
    return lambda view: [to_event(change) for change in islice(view.past(op.scope, SHAPE, key, clock.now()), op.limit)]


def revert(op: ops.Revert, context: Context) -> WriteJob[Entry]:
    key = check_key(op.key, context.settings)
    if op.version is None:
        raise Invalid("revert needs the version to go back to", hint="its history lists them")
    check_number(op.version, "version", 1)
    check_number(op.if_version, "if_version", 0)

    def job(view: Write) -> Entry:
        now = clock.now()
        data = next(
            (old.data for old in view.past(op.scope, SHAPE, key, now) if old.version == op.version and old.data), None
        )
        if data is None:
            raise NotFound(f"{key!r} has no version {op.version} with a value", hint="its history lists what is kept")
        put = Put(op.scope, SHAPE, key, data, now, None, context.caller.name, "fact.revert", op.if_version)
        return to_entry(view.put(put) or _put_after_all(view, put))

    return job
