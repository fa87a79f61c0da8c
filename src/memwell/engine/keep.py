"""What the ops on a whole scope or store mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from memwell import clock, codec, ops
from memwell.engine import body, indexed, overheard, threads
from memwell.engine.context import Context
from memwell.engine.rules import bounded, check_key, check_number
from memwell.errors import Invalid, MemwellError, Unsupported
from memwell.scope import canonical
from memwell.store import Cell, Put, Read, ReadJob, Span, Write, WriteJob
from memwell.types import Damage, Health, Line, Loaded, Message, Overlay, Stats

_READABLE: dict[str, Callable[[bytes], object]] = {
    "fact": lambda _: None,
    body.SHAPE: msgspec.json.Decoder(body.Body).decode,
    threads.SHAPE: msgspec.json.Decoder(threads.Body).decode,
    threads.MESSAGE: msgspec.json.Decoder(Message).decode,
    threads.OVERLAY: msgspec.json.Decoder(Overlay).decode,
}
_LATE = 1 << 62
STEP = 500  # how much one transaction frees, so that no writer waits long for it


def delete_scope(op: ops.DeleteScope, context: Context) -> WriteJob[int]:
    return lambda view: view.erase(op.scope, clock.now(), context.caller.name, "scope.delete")


def scopes(op: ops.Scopes, context: Context) -> ReadJob[list[str]]:  # noqa: ARG001
    check_number(op.limit, "limit", 1)
    after = "" if op.after is None else codec.check_text(op.after, "after")
    return lambda view: view.scopes(after, op.limit, clock.now())


def stats(op: ops.GetStats, context: Context) -> ReadJob[Stats]:  # noqa: ARG001
    traits = context.backend.traits

    def job(view: Read) -> Stats:
        counts = view.counts(clock.now())
        return Stats(
            backend=traits.name,
            scopes=counts.scopes,
            entries=sum(counts.entries.values()),
            facts=counts.entries.get("fact", 0),
            records=counts.entries.get("record", 0),
            threads=counts.entries.get("thread", 0),
            messages=counts.entries.get("message", 0),
            bytes=counts.bytes,
            history=counts.history,
            durability=traits.durability,
        )

    return job


def dump(op: ops.Dump, context: Context) -> ReadJob[list[Line]]:  # noqa: ARG001
    check_number(op.limit, "limit", 1)
    scope = None if op.scope is None else canonical(op.scope)

    def job(view: Read) -> list[Line]:
        now = clock.now()
        lines: list[Line] = []
        at_scope, at_shape, at_key = op.after or ("", "", "")
        names = [scope] if scope else [*([at_scope] if at_scope else []), *view.scopes(at_scope, None, now)]
        for name in names:
            resumed = name == at_scope
            for shape in view.shapes(name):
                if resumed and shape < at_shape:
                    continue
                span = Span(after=at_key if resumed and shape == at_shape else None)
                cells = view.cells(name, shape, span, op.limit - len(lines), now)
                lines.extend(_line(name, shape, cell) for cell in cells)
                if len(lines) == op.limit:
                    return lines
        return lines

    return job


def _line(scope: str, shape: str, cell: Cell) -> Line:
    return Line(
        scope=scope,
        shape=shape,
        key=cell.key,
        value=codec.decode(cell.data),
        version=cell.version,
        created=cell.created,
        updated=cell.updated,
        expires=cell.expires,
        by=cell.by,
    )


def load(op: ops.Load, context: Context) -> WriteJob[Loaded]:
    puts = [_to_put(line, context) for line in bounded(op.lines, "lines", context.settings)]
    bodies = {(put.scope, put.key): body.unseal(put.scope, _unwritten(put)) for put in puts if put.shape == body.SHAPE}

    def job(view: Write) -> Loaded:
        now, written = clock.now(), 0
        for put in puts:
            taken = not op.replace and view.cell(put.scope, put.shape, put.key, now) is not None
            if not taken and (put.expires is None or put.expires > now):
                cell = view.put(put)
                if cell is not None and put.shape == body.SHAPE:
                    view.index([body.to_doc(put.scope, cell, bodies[put.scope, put.key])])
                if cell is not None and put.shape == threads.MESSAGE:
                    view.index([overheard.to_doc(put.scope, cell)])  # by its id it must be known at once
                written += 1
        return Loaded(written, len(puts) - written)

    return job


def _to_put(line: Line, context: Context) -> Put:
    check_number(line.version, "version", 1)
    for name in ("created", "updated", "expires"):
        check_number(getattr(line, name), name, 0)
    if line.shape not in _READABLE:
        raise Invalid(f"{line.shape!r} is not a shape that this version of Memwell can load")
    try:
        _READABLE[line.shape](codec.to_json(line.value))
    except (msgspec.MsgspecError, TypeError) as error:
        raise Invalid(f"{line.key!r} of {line.scope} is no {line.shape}: {error}", hint="export it again") from None
    scope, key = canonical(line.scope), check_key(line.key, context.settings)
    data, _ = codec.encode(line.value, context.settings.max_value_bytes)
    times = (line.updated, line.expires)
    codec.check_text(line.by, "by")
    return Put(scope, line.shape, key, data, *times, line.by, f"{line.shape}.load", None, line.version, line.created)


def _unwritten(put: Put) -> Cell:
    """The cell that a put would make, to look at its value."""
    return Cell(put.key, put.data, 1, 0, put.now, put.now, put.expires, put.by)


def embed(op: ops.Embed, context: Context) -> int:  # noqa: ARG001
    if context.meaning is None:
        raise Unsupported("this store has no embedder", hint="open it with embedder='local', or set MEMWELL_EMBEDDER")
    return context.meaning.embed_all(context.progress)


def reindex(op: ops.Reindex, context: Context) -> int:  # noqa: ARG001
    """In one transaction, so that no search sees half an index."""

    def job(view: Write) -> int:
        now, made = clock.now(), 0
        order = view.unindex_all()
        for scope in view.scopes("", None, now):
            cells = list(view.cells(scope, body.SHAPE, Span(), None, now))
            cells.sort(key=lambda cell: (order.get((scope, body.SHAPE, cell.key), _LATE), cell.created, cell.key))
            view.index([body.to_doc(scope, cell, body.unseal(scope, cell)) for cell in cells])
            said = list(view.cells(scope, threads.MESSAGE, Span(), None, now))
            view.index([overheard.to_doc(scope, cell) for cell in said])
            made += len(cells) + len(said)
        return made

    return context.backend.write(job, context.settings.busy_timeout)


def sweep(op: ops.Sweep, context: Context) -> int:  # noqa: ARG001
    """Step after step until nothing is left; between steps other writers have their turn."""
    settings, now = context.settings, clock.now()
    before = None if settings.history_seconds is None else now - round(settings.history_seconds * 1e6)
    freed, more = 0, True
    while more:
        expired, more = context.backend.sweep(now, before, STEP)
        freed += expired
    return freed


def check(op: ops.Check, context: Context) -> Health:  # noqa: ARG001
    health = context.backend.check(context.progress)
    if context.facts_only:
        return health
    try:
        found = context.backend.read(indexed.damage, context.settings.busy_timeout, True)
    except MemwellError as error:
        found = [Damage(where="search index", problem=f"{error.message}; {indexed.ADVICE}")]
    return Health(checked=health.checked, damage=[*health.damage, *found])


def describe(op: ops.Describe, context: Context) -> dict[str, Any]:  # noqa: ARG001
    return {
        "backend": context.backend.traits.name,
        "durability": context.backend.traits.durability,
        **context.backend.describe(),
    }


def backup(op: ops.Backup, context: Context) -> int:
    return context.backend.backup(codec.check_text(op.path, "a path"), context.progress)
