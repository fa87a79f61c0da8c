"""What the ops on records mean. Each function prepares, with no lock held, and returns the job for the transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from memwell import clock, ops
from memwell.engine.answers import to_event
from memwell.engine.body import SHAPE, Body, lower, same_mark, seal, to_doc, to_record, unseal
from memwell.engine.context import Context
from memwell.engine.drafts import changed, draft, drafts
from memwell.engine.links import is_superseded, near_ones, standing
from memwell.engine.rules import check_key, check_number, check_ttl, expiry
from memwell.errors import Conflict, Denied, Invalid, NotFound
from memwell.ids import new_id
from memwell.store import Cell, Drop, Put, Read, ReadJob, Write, WriteJob
from memwell.types import Event, Record

_LINEAGE_MOST = 256
_LOOK = "'memwell record list' shows what the scope has"


class Draft(NamedTuple):
    """A record ready to be kept."""

    key: str
    body: Body
    ttl: int | None
    given: bool  # the caller chose the key


def remember(op: ops.Remember, context: Context) -> WriteJob[Record]:
    ready = _ready(op.record, draft(op.record, context), context)

    def job(view: Write) -> Record:
        now = clock.now()
        same = _reinforced(view, op.scope, ready, now, context)
        if same is not None:
            return same
        similar = near_ones(view, op.scope, ready.body, now)
        (cell, body) = _keep(view, op.scope, [_linked(view, op.scope, ready, now)], now, context, "record.remember")[0]
        return to_record(op.scope, cell, body, similar=similar)

    return job


def remember_many(op: ops.RememberMany, context: Context) -> WriteJob[list[Record]]:
    ready = [_ready(new, body, context) for new, body in drafts(op.records, context)]

    def job(view: Write) -> list[Record]:
        now = clock.now()
        fresh: dict[tuple[str, ...], Draft] = {}
        order: list[str | Record] = []
        repeats = view.marked(op.scope, SHAPE, [same_mark(one.body) for one in ready], 1)
        for one in ready:
            known = _reinforced(view, op.scope, one, now, context) if repeats else None
            if known is None:
                order.append(_gathered(fresh, one, lambda draft: _linked(view, op.scope, draft, now)))
            else:
                order.append(known)
        kept = _keep(view, op.scope, list(fresh.values()), now, context, "record.remember")
        made = {cell.key: to_record(op.scope, cell, body) for cell, body in kept}
        return [known if isinstance(known, Record) else made[known] for known in order]

    return job


def _gathered(fresh: dict[tuple[str, ...], Draft], one: Draft, linked: Callable[[Draft], Draft]) -> str:
    """Add a draft to those that are to be kept, unless one of them says the same; the key of that one."""
    said = (same_mark(one.body), *([one.key] if one.body.supersedes else []))
    for status in (one.body.status, "active"):
        first = fresh.get((*said, status))
        if first is not None:
            if one.body.status == "active":
                fresh[*said, status] = _merged(first, one)
            return first.key
    fresh[*said, one.body.status] = linked(one)
    return one.key


def _merged(first: Draft, again: Draft) -> Draft:
    ttl = None if first.ttl is None or again.ttl is None else max(first.ttl, again.ttl)
    return first._replace(body=_stronger(first.body, again.body), ttl=ttl)


def _ready(new: ops.NewRecord, body: Body, context: Context) -> Draft:
    key = new_id() if new.id is None else check_key(new.id, context.settings)
    return Draft(key, body, check_ttl(new.ttl), new.id is not None)


def _linked(view: Read, scope: str, ready: Draft, now: int) -> Draft:
    """What a record names must be there; what it is derived from bounds its trust."""
    body = ready.body
    lineage: list[str] = []
    for old in body.supersedes:
        _, replaced = standing(view, scope, old, now, ("active",))
        lineage += [*replaced.supersedes, *replaced.lineage]
    trust = body.provenance.trust
    for parent in body.provenance.derived_from:
        _, source = standing(view, scope, parent, now, ("active",))
        trust = lower(trust, source.provenance.trust)  # type: ignore[assignment]
    known = [one for one in dict.fromkeys(lineage) if one not in body.supersedes][:_LINEAGE_MOST]
    return ready._replace(body=replace(body, lineage=known, provenance=replace(body.provenance, trust=trust)))


def _keep(view: Write, scope: str, ready: list[Draft], now: int, context: Context, op: str) -> list[tuple[Cell, Body]]:
    sealed = [(one, *seal(scope, one.key, one.body)) for one in ready]
    puts = [
        Put(
            scope, SHAPE, one.key, data, now, None if one.ttl is None else expiry(now, one.ttl), context.caller.name, op
        )
        for one, _, data in sealed
    ]
    chosen: set[str] = set()
    for one, put in zip(ready, puts, strict=True):
        if put.key in chosen:
            raise Conflict(
                f"the id {put.key!r} is given twice", hint="give each record an id of its own, or leave id out"
            )
        chosen.add(put.key)
        if one.given and (taken := view.cell(scope, SHAPE, put.key, now)):
            held = to_record(scope, taken, unseal(scope, taken))
            raise Conflict(f"there is a record {put.key!r} already", current=held, hint="update it, or leave id out")
    cells = view.put_all(puts)
    kept = [(cell, body) for cell, (_, body, _) in zip(cells, sealed, strict=True)]
    view.index([to_doc(scope, cell, body) for cell, body in kept])
    return kept


def _reinforced(view: Write, scope: str, ready: Draft, now: int, context: Context) -> Record | None:
    """The record that says exactly the same, made stronger; a write that waits for approval changes nothing."""
    new = ready.body
    if new.supersedes:
        return None  # it takes a place, which the record that is there does not
    for found in view.docs(scope, SHAPE, view.marked(scope, SHAPE, [same_mark(new)]), now):
        body = unseal(scope, found.cell)
        pending = body.status == "pending"
        if body.status not in ("active", "pending") or (pending and new.status == "active"):
            continue
        if is_superseded(view, scope, found.cell.key, now):
            continue
        if new.status == "pending" or pending:
            return to_record(scope, found.cell, body)
        cell = found.cell._replace(expires=_later(found.cell.expires, ready.ttl, now))
        return _write(view, scope, cell, _stronger(body, new), now, context, "record.reinforce")
    return None


def _later(expires: int | None, ttl: int | None, now: int) -> int | None:
    """When something expires that was said twice; what was once said for good stays."""
    return None if expires is None or ttl is None else max(expires, expiry(now, ttl))


def _stronger(body: Body, new: Body) -> Body:
    origin, said = body.provenance, new.provenance
    # What was first said without a source does not depend on one that repeats it.
    sources = list(dict.fromkeys([*origin.sources, *said.sources])) if origin.sources else []
    confirmed = said.trust == "human" and not origin.derived_from and not said.derived_from
    confidences = [one for one in (body.confidence, new.confidence) if one is not None]
    return replace(
        body,
        reinforced=body.reinforced + 1,
        tags=list(dict.fromkeys([*body.tags, *new.tags])),
        pinned=body.pinned or new.pinned,
        confidence=max(confidences, default=None),
        provenance=replace(origin, sources=sources, trust="human" if confirmed else origin.trust),
    )


def _write(view: Write, scope: str, cell: Cell, body: Body, now: int, context: Context, op: str) -> Record:
    """The next version of a record, which expires when the cell says."""
    sealed, data = seal(scope, cell.key, body)
    made = view.put(Put(scope, SHAPE, cell.key, data, now, cell.expires, context.caller.name, op))
    assert made is not None  # it is unconditional
    view.index([to_doc(scope, made, sealed)])
    return to_record(scope, made, sealed, is_superseded(view, scope, cell.key, now))


def read(op: ops.ReadRecord, context: Context) -> ReadJob[Record | None]:
    key = check_key(op.id, context.settings)

    def job(view: Read) -> Record | None:
        now = clock.now()
        cell = view.cell(op.scope, SHAPE, key, now)
        body = None if cell is None else unseal(op.scope, cell)
        if cell is None or body is None or body.status != "active":
            return None
        return to_record(op.scope, cell, body, is_superseded(view, op.scope, key, now))

    return job


def history(op: ops.RecordHistory, context: Context) -> ReadJob[list[Event]]:
    key = check_key(op.id, context.settings)
    check_number(op.limit, "limit", 1)
    return lambda view: [to_event(change) for change in islice(view.past(op.scope, SHAPE, key, clock.now()), op.limit)]


def update(op: ops.Update, context: Context) -> WriteJob[Record]:
    key, ttl = _named(op, context), check_ttl(op.changes.get("ttl"))

    def job(view: Write) -> Record:
        now = clock.now()
        cell, body = standing(view, op.scope, key, now, ("active",), op.if_version)
        if "ttl" in op.changes:
            cell = cell._replace(expires=None if ttl is None else expiry(now, ttl))
        return _write(view, op.scope, cell, changed(body, op.changes, context), now, context, "record.update")

    return job


def supersede(op: ops.Supersede, context: Context) -> WriteJob[Record]:
    key = _named(op, context)
    over = list(dict.fromkeys([key, *op.record.supersedes]))
    new = replace(op.record, supersedes=over)
    ready = _ready(new, draft(new, context), context)
    if ready.key in over:
        raise Invalid("a record can't supersede itself", hint="leave id out, or choose another")

    def job(view: Write) -> Record:
        now = clock.now()
        standing(view, op.scope, key, now, ("active",), op.if_version)
        linked = _linked(view, op.scope, ready, now)
        (cell, body) = _keep(view, op.scope, [linked], now, context, "record.supersede")[0]
        return to_record(op.scope, cell, body)

    return job


def delete(op: ops.DeleteRecord, context: Context) -> WriteJob[Record]:
    key = _named(op, context)

    def job(view: Write) -> Record:
        now = clock.now()
        cell, body = standing(view, op.scope, key, now, ("active",), op.if_version)
        tombstone = replace(body, status="deleted", reason=op.reason)
        return _write(view, op.scope, cell, tombstone, now, context, "record.delete")

    return job


def restore(op: ops.Restore, context: Context) -> WriteJob[Record]:
    key = check_key(op.id, context.settings)

    def job(view: Write) -> Record:
        now = clock.now()
        cell, body = standing(view, op.scope, key, now, ("deleted",))
        return _write(view, op.scope, cell, replace(body, status="active", reason=None), now, context, "record.restore")

    return job


def hard_delete(op: ops.HardDelete, context: Context) -> WriteJob[bool]:
    key = check_key(op.id, context.settings)
    if not context.settings.allow_hard_delete:
        raise _not_allowed("hard_delete")

    def job(view: Write) -> bool:
        now = clock.now()
        if view.cell(op.scope, SHAPE, key, now) is None:
            raise NotFound(f"{op.scope} has no record {key!r}", hint=_LOOK)
        remove(view, op.scope, key, now, context, "record.hard_delete")
        return True

    return job


def remove(view: Write, scope: str, key: str, now: int, context: Context, op: str) -> None:
    """Take a record away with its content in the past; that something was there stays in the history."""
    view.unindex(scope, SHAPE, key)
    view.drop(Drop(scope, SHAPE, key, now, context.caller.name, op))
    view.redact(scope, SHAPE, key)


def _not_allowed(what: str) -> Denied:
    return Denied(
        f"the retention of this store does not allow {what}",
        capability=f"record.{what}",
        hint=f"open it with allow_{what}=True",
    )


def review(op: ops.Review, context: Context) -> WriteJob[Record]:
    key, caller = check_key(op.id, context.settings), context.caller
    status = "active" if op.approve else "rejected"

    def job(view: Write) -> Record:
        now = clock.now()
        cell, body = standing(view, op.scope, key, now, ("pending",))
        if body.provenance.by == caller.name:
            raise Denied(
                f"{caller.name} wrote this record and can't review it",
                capability="record.write",
                hint="let somebody else approve or reject it",
            )
        origin = replace(body.provenance, reviewed_by=caller.name)
        reviewed = replace(body, status=status, reason=op.reason, provenance=origin)
        verb = "approve" if op.approve else "reject"
        return _write(view, op.scope, cell, reviewed, now, context, f"record.{verb}")

    return job


def pending(op: ops.Pending, context: Context) -> ReadJob[list[Record]]:  # noqa: ARG001
    check_number(op.limit, "limit", 1)

    def job(view: Read) -> list[Record]:
        now = clock.now()
        scopes = [op.scope] if op.scope is not None else view.scopes_marked(SHAPE, "status:pending")
        waiting = [record for scope in scopes for record in _waiting(view, scope, now)]
        return sorted(waiting, key=lambda record: (record.created_at, record.id))[: op.limit]

    return job


def _waiting(view: Read, scope: str, now: int) -> Iterable[Record]:
    for found in view.docs(scope, SHAPE, view.marked(scope, SHAPE, ["status:pending"]), now):
        yield to_record(scope, found.cell, unseal(scope, found.cell))


def _named(op: Any, context: Context) -> str:
    check_number(op.if_version, "if_version", 1)
    return check_key(op.id, context.settings)
