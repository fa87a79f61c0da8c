"""Taking back all that came from a source, with a receipt."""

from __future__ import annotations

from msgspec.structs import replace

from memwell import clock, ops
from memwell.codec import check_text
from memwell.engine.body import SHAPE, Body, seal, to_doc, unseal
from memwell.engine.context import Context
from memwell.engine.records import remove
from memwell.errors import Invalid
from memwell.scope import canonical
from memwell.store import Cell, Put, Write, WriteJob
from memwell.types import Receipt


def forget(op: ops.Forget, context: Context) -> WriteJob[Receipt]:
    source = check_text(op.source, "a source")
    if not source.strip():
        raise Invalid("the source is empty", hint="name what the records came from")
    scope = None if op.scope is None else canonical(op.scope)

    def job(view: Write) -> Receipt:
        now = clock.now()
        scopes = [scope] if scope is not None else view.scopes_marked(SHAPE, f"source:{source}")
        counts = [_forget(view, name, source, now, context) for name in scopes]
        touched = [name for name, count in zip(scopes, counts, strict=True) if any(count)]
        records, derived, kept = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
        return Receipt(source, records, derived, kept, touched, clock.moment(now), context.caller.name)

    return job


def _forget(view: Write, scope: str, source: str, now: int, context: Context) -> tuple[int, int, int]:
    """Records that have no other source go, and whatever was derived from them; others lose the source."""
    gone: list[str] = []
    kept = 0
    for cell, body in _marked(view, scope, f"source:{source}", now):
        others = [one for one in body.provenance.sources if one != source]
        if others:
            _let_go(view, scope, cell, body, others, now, context)
            kept += 1
        else:
            gone.append(cell.key)
    direct, seen = len(gone), {*gone}
    for parent in gone:
        for cell, _ in _marked(view, scope, f"from:{parent}", now):
            if cell.key not in seen:
                seen.add(cell.key)
                gone.append(cell.key)
    for key in gone:
        remove(view, scope, key, now, context, "record.forget")
    return direct, len(gone) - direct, kept


def _marked(view: Write, scope: str, mark: str, now: int) -> list[tuple[Cell, Body]]:
    found = view.docs(scope, SHAPE, view.marked(scope, SHAPE, [mark]), now)
    return [(one.cell, unseal(scope, one.cell)) for one in found]


def _let_go(view: Write, scope: str, cell: Cell, body: Body, sources: list[str], now: int, context: Context) -> None:
    origin = replace(body.provenance, sources=sources)
    sealed, data = seal(scope, cell.key, replace(body, provenance=origin))
    put = Put(scope, SHAPE, cell.key, data, now, cell.expires, context.caller.name, "record.unsource")
    made = view.put(put)
    assert made is not None  # it is unconditional
    view.redact(scope, SHAPE, cell.key)
    view.index([to_doc(scope, made, sealed)])
