"""Searching messages. They are indexed after they were written, before the next search: appending waits for nothing."""

from __future__ import annotations

from memwell import clock, ops, words
from memwell.engine.context import Context
from memwell.engine.drafts import check_names
from memwell.engine.messages import ROLES
from memwell.engine.pool import Candidate, Pool, Question
from memwell.engine.rules import check_number
from memwell.engine.search import LIMIT_MOST, QUERY_MOST, TERMS_MOST
from memwell.engine.snippet import snippet
from memwell.engine.spoken import decoded, originals
from memwell.engine.threads import MESSAGE, check_thread
from memwell.errors import Invalid
from memwell.store import Cell, Read, Span, Write
from memwell.store.index import Doc
from memwell.store.index import Found as FoundDoc
from memwell.types import Found, Message, MessageHit

STEP = 1000  # messages that one transaction indexes
AROUND = 1  # messages shown before and after a hit


def said(message: Message) -> str:
    """The words of a message: its text, or the texts among its parts."""
    if isinstance(message.content, str):
        return message.content
    return " ".join(str(part["text"]) for part in message.content or [] if isinstance(part.get("text"), str))


def to_doc(scope: str, cell: Cell) -> Doc:
    """What search keeps of a message."""
    message = decoded([cell.data], cell.key)[0]
    stems = words.stems(said(message))
    text = f"  \n {'  '.join(stems)} \n  "
    marks = (f"id:{message.thread}/{message.id}", f"thread:{message.thread}", f"role:{message.role}")
    return Doc(scope, MESSAGE, cell.key, cell.rev, message.seq, message.thread, marks, text, len(stems))


def search(op: ops.SearchMessages, context: Context) -> Found:
    check_number(op.limit, "limit", 1)
    if op.limit is None or op.limit > LIMIT_MOST:
        raise Invalid(f"the limit is {op.limit!r}", hint=f"give a number from 1 to {LIMIT_MOST}")
    if not isinstance(op.query, str) or not op.query.strip():
        raise Invalid("there is nothing to look for", hint="give some words")
    roles = check_names(op.roles, "roles")
    if unknown := {*(roles or ())} - {*ROLES}:
        raise Invalid(f"the role is {sorted(unknown)[0]!r}", hint=f"use one of {', '.join(ROLES)}")
    marks = [[f"role:{role}" for role in roles]] if roles is not None else []
    if op.thread is not None:
        marks.append([f"thread:{check_thread(op.thread, context)}"])
    text = op.query.encode(errors="replace").decode()[:QUERY_MOST]
    question = Question(words.asked(text)[:TERMS_MOST], None, marks, op.limit, op.explain)
    wait = context.settings.busy_timeout
    while context.backend.write(lambda view: catch_up(view, op.scope), wait):
        pass
    return context.backend.read(lambda view: _found(view, op, question), wait, True)


def catch_up(view: Write, scope: str) -> bool:
    """Index a bounded number of messages that were written since; whether there may be more."""
    now = clock.now()
    newest, horizon, _ = view.position(scope)
    reached = view.reached(scope, MESSAGE)
    if reached >= newest:
        return False
    if reached < horizon:
        view.index([to_doc(scope, cell) for cell in view.cells(scope, MESSAGE, Span(), None, now)])
        view.reach(scope, MESSAGE, newest)
        return False
    changes = view.changes(scope, reached, STEP, now)
    keys = dict.fromkeys(change.key for change in changes if change.shape == MESSAGE)
    cells = [view.cell(scope, MESSAGE, key, now) for key in keys]
    view.index([to_doc(scope, cell) for cell in cells if cell is not None])
    more = len(changes) == STEP
    view.reach(scope, MESSAGE, changes[-1].rev if more else newest)
    return more


def _found(view: Read, op: ops.SearchMessages, question: Question) -> Found:
    now = clock.now()

    def accept(found: FoundDoc) -> Message | None:
        message = decoded([found.cell.data], found.cell.key)[0]
        in_thread = op.thread is None or message.thread == op.thread
        return message if in_thread and (op.roles is None or message.role in op.roles) else None

    pool = Pool(view, (op.scope, MESSAGE), question, accept, None, now)
    pool.gather()
    ranked = sorted(pool.ranked(None, lambda _: (False, None)), key=lambda one: (-one.score, one.found.cell.key))
    return Found([_hit(view, op.scope, one, question, now) for one in ranked[: op.limit]])


def _hit(view: Read, scope: str, one: Candidate[Message], question: Question, now: int) -> MessageHit:
    message = one.thing
    text, matches = snippet(said(message), {*question.terms})
    before = originals(view, scope, message.thread, None, message.seq, AROUND, now)
    after = originals(view, scope, message.thread, message.seq, None, AROUND, now)
    parts = {name: round(value, 6) for name, value in one.parts.items()} if question.explain else None
    return MessageHit(message, round(one.score, 6), text, matches, [*before, *after], parts)
