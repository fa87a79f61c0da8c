"""What the ops on threads mean. A thread is a cell; its messages are cells named by the thread and a number."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memwell import clock, codec, ops
from memwell.engine.context import Context
from memwell.engine.drafts import TITLE_MOST, check_label
from memwell.engine.rules import check_key, check_number
from memwell.errors import Conflict, Corrupt, Invalid, NotFound, Unsupported
from memwell.ids import new_id
from memwell.pattern import after_prefix
from memwell.store import Cell, Drop, Put, Read, ReadJob, Span, Write, WriteJob
from memwell.store.index import Doc
from memwell.types import ThreadInfo

SHAPE, MESSAGE, OVERLAY = "thread", "message", "overlay"
DIGITS = 12
SEQ_MOST = 10**DIGITS - 1
_CHANGEABLE = ("title", "metadata")


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The value of a thread's cell. `next` is the least number a new message may have, where numbers were given up."""

    title: str | None = None
    metadata: dict[str, Any] = {}
    forked_from: tuple[str, int] | None = None
    next: int = 1


_decode = msgspec.json.Decoder(Body).decode


def message_key(thread: str, seq: int) -> str:
    """Messages sort by their number."""
    return f"{thread}/{seq:0{DIGITS}d}"


def within(thread: str, after: int | None = None, before: int | None = None) -> Span:
    """The messages of a thread, after one number and before another."""
    end = after_prefix(f"{thread}/") if before is None else message_key(thread, max(0, before))
    return Span(f"{thread}/", end, None if after is None else message_key(thread, after))


def check_kept(context: Context) -> None:
    """Threads need more of a backend than facts do."""
    if context.facts_only:
        raise Unsupported("this store keeps facts only", hint="keep threads in a file or another full store")


def check_thread(thread: object, context: Context) -> str:
    """The id of a thread: a key without a slash, which stands between it and the number of a message."""
    check_kept(context)
    name = check_key(thread, context.settings)
    if "/" in name or len(name) > context.settings.max_key_chars - DIGITS - 1:
        raise Invalid(f"{name!r} is not the id of a thread", hint="leave out / and keep it short, or leave id out")
    return name


def check_seq(seq: object, name: str, least: int = 1) -> None:
    """The number of a message."""
    check_number(seq, name, least)
    if not isinstance(seq, int) or seq > SEQ_MOST:
        raise Invalid(f"{name} is no number of a message", hint="list the messages to see their numbers")


def held(view: Read, scope: str, thread: str, now: int) -> Body:
    """The thread, or NotFound."""
    data = view.data(scope, SHAPE, thread, now)
    if data is None:
        raise NotFound(f"{scope} has no thread {thread!r}", hint="'memwell thread list' shows what it has")
    return _body(scope, thread, data)


def _body(scope: str, thread: str, data: bytes) -> Body:
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise Corrupt(f"the thread {thread!r} of {scope} is damaged: {error}", hint="run 'memwell check'") from None


def last_seq(view: Read, scope: str, thread: str, body: Body) -> int:
    """The highest number that a message has or had."""
    key = view.last_key(scope, MESSAGE, within(thread))
    return max(body.next - 1, 0 if key is None else int(key[-DIGITS:]))


def info(view: Read, scope: str, cell: Cell, body: Body) -> ThreadInfo:
    """A thread as an answer."""
    return ThreadInfo(
        id=cell.key,
        scope=scope,
        title=body.title,
        metadata=body.metadata,
        forked_from=body.forked_from,
        last=last_seq(view, scope, cell.key, body),
        created_at=clock.moment(cell.created),
        updated_at=clock.moment(cell.updated),
        created_by=cell.by,
        version=cell.version,
    )


def put(view: Write, scope: str, thread: str, body: Body, context: Context, op: str) -> Cell:
    """Write a thread's cell."""
    data = codec.to_json(body)
    cell = view.put(Put(scope, SHAPE, thread, data, clock.now(), None, context.caller.name, op))
    assert cell is not None  # it is unconditional
    return cell


def create(op: ops.CreateThread, context: Context) -> WriteJob[ThreadInfo]:
    check_kept(context)
    thread = new_id() if op.id is None else check_thread(op.id, context)
    body = _changed(Body(), {"title": op.title, "metadata": op.metadata or {}}, context)

    def job(view: Write) -> ThreadInfo:
        now = clock.now()
        if op.id is not None and (taken := view.cell(op.scope, SHAPE, thread, now)) is not None:
            current = info(view, op.scope, taken, _body(op.scope, taken.key, taken.data))
            raise Conflict(f"there is a thread {thread!r} already", current=current, hint="get it, or leave id out")
        known = view.last_key(op.scope, MESSAGE, within(thread))  # of a thread of that id that was deleted
        begun = body if known is None else replace(body, next=int(known[-DIGITS:]) + 1)
        return info(view, op.scope, put(view, op.scope, thread, begun, context, "thread.create"), begun)

    return job


def _changed(body: Body, changes: dict[str, Any], context: Context) -> Body:
    unknown = set(changes) - set(_CHANGEABLE)
    if unknown or not changes:
        what = f"{sorted(unknown)[0]!r} can't be changed" if unknown else "nothing is changed"
        raise Invalid(what, hint=f"give one of {', '.join(_CHANGEABLE)}")
    if "title" in changes:
        body = replace(body, title=check_label(changes["title"], "title", TITLE_MOST))
    if "metadata" in changes:
        if not isinstance(changes["metadata"], dict):
            raise Invalid("metadata is a dict", hint='e.g. {"topic": "release"}')
        _, copy = codec.encode(changes["metadata"], context.settings.max_value_bytes)
        body = replace(body, metadata=copy)
    return body


def listing(op: ops.ListThreads, context: Context) -> ReadJob[list[ThreadInfo]]:
    check_kept(context)
    check_number(op.limit, "limit", 1)
    if op.cursor is not None:
        check_thread(op.cursor, context)

    def job(view: Read) -> list[ThreadInfo]:
        now = clock.now()
        cells = list(view.cells(op.scope, SHAPE, Span(), None, now))
        cells.sort(key=lambda cell: (cell.created, cell.key), reverse=True)
        if op.cursor is not None:
            place = next((index for index, cell in enumerate(cells) if cell.key == op.cursor), None)
            if place is None:
                raise NotFound(f"{op.scope} has no thread {op.cursor!r}", hint="begin again without a cursor")
            cells = cells[place + 1 :]
        return [info(view, op.scope, cell, _body(op.scope, cell.key, cell.data)) for cell in cells[: op.limit]]

    return job


def get(op: ops.GetThread, context: Context) -> ReadJob[ThreadInfo | None]:
    thread = check_thread(op.thread, context)

    def job(view: Read) -> ThreadInfo | None:
        cell = view.cell(op.scope, SHAPE, thread, clock.now())
        return None if cell is None else info(view, op.scope, cell, _body(op.scope, cell.key, cell.data))

    return job


def update(op: ops.UpdateThread, context: Context) -> WriteJob[ThreadInfo]:
    thread = check_thread(op.thread, context)
    check_number(op.if_version, "if_version", 1)

    def job(view: Write) -> ThreadInfo:
        now = clock.now()
        body = held(view, op.scope, thread, now)
        cell = view.cell(op.scope, SHAPE, thread, now)
        assert cell is not None  # it is held
        if op.if_version is not None and cell.version != op.if_version:
            raise Conflict(
                f"the thread {thread!r} is at version {cell.version}, not {op.if_version}",
                current=info(view, op.scope, cell, body),
                hint="read it again, redo the change, and retry with its version",
            )
        new = _changed(body, op.changes, context)
        return info(view, op.scope, put(view, op.scope, thread, new, context, "thread.update"), new)

    return job


def fork(op: ops.ForkThread, context: Context) -> WriteJob[ThreadInfo]:
    thread, new = check_thread(op.thread, context), new_id()
    if op.at is not None:
        check_seq(op.at, "at", 0)

    def job(view: Write) -> ThreadInfo:
        now = clock.now()
        body = held(view, op.scope, thread, now)
        last = last_seq(view, op.scope, thread, body)
        at = last if op.at is None else op.at
        if at > last:
            raise NotFound(f"the thread {thread!r} has no message {at}", hint=f"its last one is {last}")
        title = body.title if op.title is None else check_label(op.title, "title", TITLE_MOST)
        begun = replace(body, title=title, forked_from=(thread, at), next=at + 1)
        made = put(view, op.scope, new, begun, context, "thread.fork")
        for shape in (MESSAGE, OVERLAY):
            for cell in list(view.cells(op.scope, shape, within(thread, before=at + 1), None, now)):
                _copy(view, op.scope, shape, cell, (thread, new), at, context)
        return info(view, op.scope, made, begun)

    return job


def _copy(view: Write, scope: str, shape: str, cell: Cell, names: tuple[str, str], at: int, context: Context) -> None:
    """A cell of the old thread in the new one; a summary that reaches past the end of the new one stays behind."""
    value = codec.decode(cell.data)
    if shape == OVERLAY and value["last"] > at:
        return
    (old, new), seq = names, int(cell.key[-DIGITS:])
    key, named = message_key(new, seq), shape == MESSAGE and value["id"] != message_id(old, seq)
    if shape == MESSAGE and not named:
        value["id"] = message_id(new, seq)
    value.pop("version", None)  # the copy is the first version of a new message
    data = codec.to_json({**value, "thread": new})
    view.put(Put(scope, shape, key, data, clock.now(), cell.expires, context.caller.name, "thread.fork"))
    if named:
        view.index([id_doc(scope, new, seq, value["id"])])


def message_id(thread: str, seq: int) -> str:
    """The id of a message that was given none."""
    return f"{thread}-{seq}"


def id_mark(thread: str, id: str) -> str:
    """What a message that was given an id is found by."""
    return f"id:{thread}/{id}"


def id_doc(scope: str, thread: str, seq: int, id: str) -> Doc:
    """Makes a message known by its id at once; its words are indexed before the next search."""
    return Doc(scope, MESSAGE, message_key(thread, seq), 0, seq, thread, (id_mark(thread, id),), None)


def delete(op: ops.DeleteThread, context: Context) -> WriteJob[int]:
    thread = check_thread(op.thread, context)

    def job(view: Write) -> int:
        now = clock.now()
        held(view, op.scope, thread, now)
        messages = 0
        for shape, span in ((MESSAGE, within(thread)), (OVERLAY, within(thread))):
            for cell in list(view.cells(op.scope, shape, span, None, now)):
                remove(view, op.scope, shape, cell.key, now, context, "thread.delete")
                messages += shape == MESSAGE
        remove(view, op.scope, SHAPE, thread, now, context, "thread.delete")
        return messages

    return job


def remove(view: Write, scope: str, shape: str, key: str, now: int, context: Context, op: str) -> None:
    """Take a cell away with what it said in the past; that something was there stays in the history."""
    if shape == MESSAGE:
        view.unindex(scope, shape, key)
    view.drop(Drop(scope, shape, key, now, context.caller.name, op))
    view.redact(scope, shape, key)
