"""What the ops on messages mean. Each function prepares, with no lock held, and returns the job for the transaction."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from memwell import clock, codec, ops
from memwell.engine.context import Context
from memwell.engine.drafts import NAME_MOST, check_label
from memwell.engine.overlays import laid_over
from memwell.engine.rules import bounded, check_key, check_number
from memwell.engine.spoken import decode_all, decoded, originals
from memwell.engine.threads import (
    DIGITS,
    MESSAGE,
    check_seq,
    check_thread,
    held,
    id_doc,
    id_mark,
    last_seq,
    message_id,
    message_key,
    put,
    remove,
    within,
)
from memwell.errors import Conflict, Invalid, NotFound
from memwell.ops import NewMessage
from memwell.store import Cell, Put, Read, ReadJob, Write, WriteJob
from memwell.types import Message, ToolCall

ROLES = ("system", "developer", "user", "assistant", "tool")
_CHANGEABLE = ("content", "name", "tool_calls", "tool_call_id", "metadata", "tokens")


def append(op: ops.Append, context: Context) -> WriteJob[list[Message]]:
    thread = check_thread(op.thread, context)
    if op.if_last is not None:
        check_seq(op.if_last, "if_last", 0)
    drafts = [_draft(new, thread, context) for new in bounded(op.messages, "messages", context.settings)]

    def job(view: Write) -> list[Message]:
        now = clock.now()
        body = held(view, op.scope, thread, now)
        last = before = last_seq(view, op.scope, thread, body)
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
        if fresh and op.if_last not in (None, before):  # what is there already may be said again
            raise Conflict(
                f"the last message of {thread!r} is {before}, not {op.if_last}",
                current=None,
                hint="read what was appended in between, then append with its number",
            )
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
    docs = [id_doc(scope, message.thread, message.seq, message.id) for message in messages if message.id in named]
    if docs:
        view.index(docs)


def _known(view: Read, scope: str, draft: Message, now: int) -> Message | None:
    if (seq := _own_seq(draft)) is not None:
        cell = view.cell(scope, MESSAGE, message_key(draft.thread, seq), now)
        known = None if cell is None else decoded([cell.data], draft.thread)[0]
        if known is None or known.id != draft.id:
            raise Invalid(f"the thread gives ids like {draft.id!r} itself", hint="give another id, or none")
        return known
    for found in view.docs(scope, MESSAGE, view.marked(scope, MESSAGE, [id_mark(draft.thread, draft.id)]), now):
        return decoded([found.cell.data], draft.thread)[0]
    return None


def _own_seq(draft: Message) -> int | None:
    """The number in an id such as the thread itself gives."""
    number = draft.id.removeprefix(f"{draft.thread}-")
    short = number.isascii() and number.isdigit() and len(number) <= DIGITS
    return int(number) if short and message_id(draft.thread, int(number)) == draft.id else None


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
    if _is_text_only(draft, limit):
        codec.check_text(draft.content, "content")
        return replace(draft, metadata={}, tool_calls=[])
    data, _ = codec.encode(_plain(draft), limit)
    try:
        checked = decode_all(b"[" + data + b"]")[0]
    except msgspec.MsgspecError as error:
        raise Invalid(f"this is no message: {error}", hint="content is text or a list of parts") from None
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
    return checked


def _is_text_only(draft: Message, limit: int) -> bool:
    """What most messages are: a text and nothing that has to be looked through."""
    rest = (draft.name, draft.tool_call_id, draft.tokens, draft.metadata, draft.tool_calls)
    return (
        draft.role != "tool"
        and type(draft.content) is str
        and rest == _NOTHING_ELSE
        and 6 * len(draft.content) + 1024 < limit
    )


_NOTHING_ELSE: tuple[Any, ...] = (None, None, None, {}, [])


def _plain(draft: Message) -> dict[str, Any]:
    """The fields as they were given, so that what is not JSON is seen, and no date has become a text."""
    fields = {name: value for name, value in asdict(draft).items() if value is not None or name == "metadata"}
    calls = draft.tool_calls
    if isinstance(calls, (list, tuple)):
        fields["tool_calls"] = [asdict(call) if isinstance(call, ToolCall) else call for call in calls]
    return {**fields, "created_at": msgspec.to_builtins(draft.created_at)}


def read(op: ops.ReadMessages, context: Context) -> ReadJob[list[Message]]:
    thread = check_thread(op.thread, context)
    check_number(op.limit, "limit", 0)
    for name in ("before", "after"):
        if getattr(op, name) is not None:
            check_seq(getattr(op, name), name, 0)

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
    check_seq(op.seq, "seq")
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
        check_seq(seq, "seq")

    def job(view: Write) -> int:
        now = clock.now()
        body = held(view, op.scope, thread, now)
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
