"""What the ops on messages mean. Each function prepares, with no lock held, and returns the job for the transaction."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from memwell import clock, codec, ops
from memwell.engine.context import Context
from memwell.engine.drafts import NAME_MOST, check_label
from memwell.engine.overlays import laid_over
from memwell.engine.rules import bounded, check_key, check_number
from memwell.engine.spoken import decode_all, decoded, originals
from memwell.engine.threads import MESSAGE, check_thread, held, last_seq, message_id, message_key, put, remove, within
from memwell.errors import Conflict, Invalid, NotFound, TooLarge
from memwell.ops import NewMessage
from memwell.store import Cell, Put, Read, ReadJob, Write, WriteJob
from memwell.store.index import Doc
from memwell.types import Message

ROLES = ("system", "developer", "user", "assistant", "tool")
_CHANGEABLE = ("content", "name", "tool_calls", "tool_call_id", "metadata", "tokens")


def append(op: ops.Append, context: Context) -> WriteJob[list[Message]]:
    thread = check_thread(op.thread, context)
    check_number(op.if_last, "if_last", 0)
    drafts = [_draft(new, thread, context) for new in bounded(op.messages, "messages", context.settings)]

    def job(view: Write) -> list[Message]:
        now = clock.now()
        _, body = held(view, op.scope, thread, now)
        last = last_seq(view, op.scope, thread, body)
        if op.if_last is not None and op.if_last != last:
            raise Conflict(
                f"the last message of {thread!r} is {last}, not {op.if_last}",
                current=None,
                hint="read what was appended in between, then append with its number",
            )
        done: list[Message] = []
        fresh: dict[str, Message] = {}
        for draft in drafts:
            known = fresh.get(draft.id) or (_known(view, op.scope, draft, now) if draft.id else None)
            if known is None:
                last += 1
                name = draft.id or message_id(thread, last)
                known = replace(draft, seq=last, id=name, created_at=clock.moment(now))
                fresh[name] = known
            elif _said(known) != _said(draft):
                raise Conflict(
                    f"there is a message {draft.id!r} that says something else",
                    current=known,
                    hint="edit it, or give the new one another id",
                )
            done.append(known)
        _write(view, op.scope, list(fresh.values()), {draft.id for draft in drafts if draft.id}, now, context)
        return done

    return job


def _write(view: Write, scope: str, messages: list[Message], named: set[str], now: int, context: Context) -> None:
    by = context.caller.name
    keys = [message_key(message.thread, message.seq) for message in messages]
    view.put_all(
        [
            Put(scope, MESSAGE, key, codec.to_json(message), now, None, by, "message.append")
            for key, message in zip(keys, messages, strict=True)
        ]
    )
    docs = [
        Doc(scope, MESSAGE, key, 0, message.seq, message.thread, (_mark(message),), None)
        for key, message in zip(keys, messages, strict=True)
        if message.id in named
    ]
    if docs:
        view.index(docs)


def _known(view: Read, scope: str, draft: Message, now: int) -> Message | None:
    for found in view.docs(scope, MESSAGE, view.marked(scope, MESSAGE, [_mark(draft)]), now):
        return decoded([found.cell.data], draft.thread)[0]
    return None


def _mark(message: Message) -> str:
    return f"id:{message.thread}/{message.id}"


def _said(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.name, message.tool_calls, message.tool_call_id, message.metadata


def _draft(new: Any, thread: str, context: Context) -> Message:
    """A message that may be stored, or the reason why not. Its number is still to come."""
    if not isinstance(new, NewMessage):
        raise Invalid(f"a message is a NewMessage, not {type(new).__name__}")
    if new.role not in ROLES:
        raise Invalid(f"the role is {new.role!r}", hint=f"use one of {', '.join(ROLES)}")
    draft = Message(
        thread=thread,
        seq=0,
        id="" if new.id is None else check_key(new.id, context.settings),
        role=new.role,
        content=new.content,
        name=new.name,
        tool_calls=new.tool_calls,
        tool_call_id=new.tool_call_id,
        metadata=new.metadata,
        tokens=new.tokens,
        created_at=clock.EPOCH,
        by=context.caller.name,
    )
    return sound(draft, context)


def sound(draft: Message, context: Context) -> Message:
    """A copy whose fields are what they should be."""
    limit = context.settings.max_value_bytes
    data, _ = codec.encode(msgspec.to_builtins(draft), limit)
    try:
        checked = decode_all(b"[" + data + b"]")[0]
    except msgspec.MsgspecError as error:
        raise Invalid(f"this is no message: {error}", hint="content is text or a list of parts") from None
    for part in draft.content if isinstance(draft.content, list) else []:
        codec.encode(part, limit)
    check_number(checked.tokens, "tokens", 0)
    check_label(checked.name, "name", NAME_MOST)
    if isinstance(checked.content, str):
        codec.check_text(checked.content, "content")
    if checked.role == "tool" and not checked.tool_call_id:
        raise Invalid("a tool's result names its call", hint="give tool_call_id")
    if checked.tool_calls and checked.role != "assistant":
        raise Invalid(f"a message of the {checked.role} calls no tools", hint="only the assistant does")
    if checked.content is None and not checked.tool_calls:
        raise Invalid("the message has no content", hint="give text, a list of parts, or tool calls")
    if len(data) > limit:
        raise TooLarge(f"the message is longer than {limit} bytes", limit=limit, hint="keep it in parts")
    return checked


def read(op: ops.ReadMessages, context: Context) -> ReadJob[list[Message]]:
    thread = check_thread(op.thread, context)
    for name in ("limit", "before", "after"):
        check_number(getattr(op, name), name, 0)

    def job(view: Read) -> list[Message]:
        now = clock.now()
        held(view, op.scope, thread, now)
        if op.limit == 0:
            return []
        if not op.raw:
            shown = laid_over(view, op.scope, thread, op.after, op.before, op.limit, now)
            if shown is not None:
                return shown
        return originals(view, op.scope, thread, op.after, op.before, op.limit, now)

    return job


def count(op: ops.CountMessages, context: Context) -> ReadJob[int]:
    thread = check_thread(op.thread, context)

    def job(view: Read) -> int:
        now = clock.now()
        held(view, op.scope, thread, now)
        return view.count(op.scope, MESSAGE, within(thread), now)

    return job


def edit(op: ops.EditMessage, context: Context) -> WriteJob[Message]:
    thread = check_thread(op.thread, context)
    check_number(op.seq, "seq", 1)
    check_number(op.if_version, "if_version", 1)
    unknown = set(op.changes) - set(_CHANGEABLE)
    if unknown or not op.changes:
        raise Invalid("nothing that can be changed is given", hint=f"give one of {', '.join(_CHANGEABLE)}")

    def job(view: Write) -> Message:
        now = clock.now()
        held(view, op.scope, thread, now)
        cell = view.cell(op.scope, MESSAGE, message_key(thread, op.seq), now)
        if cell is None:
            raise NotFound(f"the thread {thread!r} has no message {op.seq}", hint="list its messages")
        old = decoded([cell.data], thread)[0]
        if op.if_version is not None and cell.version != op.if_version:
            raise Conflict(
                f"message {op.seq} is at version {cell.version}, not {op.if_version}",
                current=old,
                hint="read it again, redo the change, and retry with its version",
            )
        new = sound(replace(old, **op.changes, version=cell.version + 1), context)
        data = codec.to_json(new)
        view.put(Put(op.scope, MESSAGE, cell.key, data, now, cell.expires, context.caller.name, "message.edit"))
        return new

    return job


def delete(op: ops.DeleteMessages, context: Context) -> WriteJob[int]:
    thread = check_thread(op.thread, context)
    for seq in bounded(op.seqs or [], "messages", context.settings):
        check_number(seq, "seq", 1)

    def job(view: Write) -> int:
        now = clock.now()
        _, body = held(view, op.scope, thread, now)
        last = last_seq(view, op.scope, thread, body)
        keys = [cell.key for cell in _chosen(view, op, thread, now)]
        for key in keys:
            remove(view, op.scope, MESSAGE, key, now, context, "message.delete")
        if keys:
            put(view, op.scope, thread, replace(body, next=last + 1), context, "thread.keep")
        return len(keys)

    return job


def _chosen(view: Read, op: ops.DeleteMessages, thread: str, now: int) -> list[Cell]:
    if op.seqs is None:
        return list(view.cells(op.scope, MESSAGE, within(thread), None, now))
    cells = (view.cell(op.scope, MESSAGE, message_key(thread, seq), now) for seq in dict.fromkeys(op.seqs))
    return [cell for cell in cells if cell is not None]
