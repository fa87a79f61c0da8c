"""Searching and listing records: candidates from the index, scored, filtered and shown."""

from __future__ import annotations

from collections.abc import Callable

from memwell import clock, ops, words
from memwell.codec import check_text
from memwell.engine.body import SHAPE, Body, glance, to_record, unseal
from memwell.engine.context import Context
from memwell.engine.filters import Test, shown
from memwell.engine.links import is_superseded, standing
from memwell.engine.pool import Candidate, Pool, Question
from memwell.engine.rules import check_key, check_number
from memwell.engine.snippet import snippet
from memwell.engine.vectors import unit
from memwell.errors import Denied, Invalid, MemwellError, Unsupported
from memwell.scope import Scope
from memwell.store import Cell, Read, ReadJob
from memwell.store.index import Found, Listed
from memwell.types import Hit, Hits, Record

STATUSES = ("active", "pending", "rejected", "superseded", "deleted", "all")
QUERY_MOST = 2000  # characters of a question that count
TERMS_MOST = 64
LIMIT_MOST = 1000


def search(op: ops.Search, context: Context) -> ReadJob[Hits]:
    check_number(op.limit, "limit", 1)
    if op.limit is None or op.limit > LIMIT_MOST:
        raise Invalid(f"the limit is {op.limit!r}", hint=f"give a number from 1 to {LIMIT_MOST}")
    if not isinstance(op.query, str):
        raise Invalid(f"the query is text, not {type(op.query).__name__}")
    text = op.query.encode(errors="replace").decode()[:QUERY_MOST]
    test, marks = shown(op)
    notice, vector = None, None
    if op.vector is not None:
        if context.meaning is None:
            raise Unsupported("this store has no vectors to compare with", hint="open it with an embedder")
        vector = unit(op.vector)
    elif context.meaning is not None and text.strip():
        try:
            vector = context.meaning.query(text)
        except MemwellError as error:
            notice = f"searched by words only: {error.message}"
    question = Question(words.asked(text)[:TERMS_MOST], vector, marks, op.limit, op.explain)
    scopes = [op.scope, *([scope.text for scope in Scope.parse(op.scope).wider()] if op.inherit else [])]

    def job(view: Read) -> Hits:
        now = clock.now()
        if not text.strip() and vector is None:
            return Hits(_latest(view, scopes, question, test, now))
        pools = {scope: _pool(view, scope, question, test, context, now) for scope in scopes}
        gathered = [pool.gather() for pool in pools.values()]
        cosines = None if vector is None else [one for some in gathered for one in some or ()]
        ranked = [(scope, one) for scope, pool in pools.items() for one in pool.ranked(cosines, _about)]
        best = sorted(ranked, key=lambda row: (-row[1].score, -row[1].found.at, row[1].found.cell.key))[: op.limit]
        model = context.meaning.model if context.meaning is not None and vector is not None else None
        unembedded = 0 if model is None else sum(view.count_unembedded(scope, SHAPE, model) for scope in scopes)
        return Hits([_hit(scope, one, question) for scope, one in best], unembedded, notice)

    return job


def _about(body: Body) -> tuple[bool, float | None]:
    return body.pinned, body.confidence


def _pool(view: Read, scope: str, question: Question, test: Test, context: Context, now: int) -> Pool[Body]:
    """What passes in one scope."""

    def accept(found: Found) -> Body | None:
        body = glance(scope, found.cell)
        marked = all(has_mark(body, marks) for marks in question.marks)
        if body.status != "active" or not marked or not test(found.cell, body):
            return None
        return None if found.linked and is_superseded(view, scope, found.cell.key, now) else body

    return Pool(view, (scope, SHAPE), question, accept, context.meaning, now)


def has_mark(body: Body, marks: list[str]) -> bool:
    """Whether a record has one of the marks of kind or tag."""
    return any(mark == f"kind:{body.kind}" or (mark.startswith("tag:") and mark[4:] in body.tags) for mark in marks)


def _hit(scope: str, one: Candidate[Body], question: Question) -> Hit:
    text, matches = snippet(one.thing.content, {*question.terms})
    record = to_record(scope, one.found.cell, unseal(scope, one.found.cell))
    parts = {name: round(value, 6) for name, value in one.parts.items()} if question.explain else None
    return Hit(record, round(one.score, 6), text, matches, parts)


def _latest(view: Read, scopes: list[str], question: Question, test: Test, now: int) -> list[Hit]:
    """What a blank question shows: the newest."""
    newest = [
        (found.at, found.id, record)
        for scope in scopes
        for found, record in _newest(view, scope, test, question.marks, ("active",), None, question.limit, now)
    ]
    newest.sort(key=lambda row: row[:2], reverse=True)
    hits = []
    for _, _, record in newest[: question.limit]:
        text, _ = snippet(record.content, ())
        hits.append(Hit(record, 0.0, text, [], {} if question.explain else None))
    return hits


def _newest(
    view: Read,
    scope: str,
    test: Test,
    marks: list[list[str]],
    statuses: tuple[str, ...],
    before: Listed | None,
    limit: int,
    now: int,
) -> list[tuple[Found, Record]]:
    kept: list[tuple[Found, Record]] = []
    for found in view.newest(scope, SHAPE, before, now):
        body = glance(scope, found.cell)
        if all(has_mark(body, names) for names in marks) and test(found.cell, body):
            hidden = found.linked and body.status == "active" and is_superseded(view, scope, found.cell.key, now)
            status = "superseded" if hidden else body.status
            if status in statuses:
                kept.append((found, to_record(scope, found.cell, unseal(scope, found.cell), hidden)))
                if len(kept) == limit:
                    break
    return kept


def listing(op: ops.ListRecords, context: Context) -> ReadJob[list[Record]]:
    check_number(op.limit, "limit", 1)
    if op.status not in STATUSES:
        raise Invalid(f"the status is {op.status!r}", hint=f"use one of {', '.join(STATUSES)}")
    statuses = STATUSES[:-1] if op.status == "all" else (op.status,)
    return _page(op.scope, op.cursor, op.limit, statuses, shown(op), context)


def export(op: ops.ExportRecords, context: Context) -> ReadJob[list[Record]]:
    check_number(op.limit, "limit", 1)
    if not context.settings.allow_export:
        raise Denied(
            "the retention of this store does not allow export",
            capability="record.export",
            hint="open it with allow_export=True",
        )
    everything: tuple[Callable[[Cell, Body], bool], list[list[str]]] = (lambda _, __: True, [])
    return _page(op.scope, op.cursor, op.limit, ("active", "superseded", "pending", "rejected"), everything, context)


def _page(
    scope: str,
    cursor: str | None,
    limit: int,
    statuses: tuple[str, ...],
    which: tuple[Test, list[list[str]]],
    context: Context,
) -> ReadJob[list[Record]]:
    if cursor is not None:
        check_key(check_text(cursor, "cursor"), context.settings)

    def job(view: Read) -> list[Record]:
        now, before = clock.now(), None
        if cursor is not None:
            cell, _ = standing(view, scope, cursor, now, STATUSES)
            before = Listed(cell.created, view.doc_id(scope, SHAPE, cursor) or 0)
        return [record for _, record in _newest(view, scope, *which, statuses, before, limit, now)]

    return job
