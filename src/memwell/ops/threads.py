"""Requests about threads and their messages."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct

from memwell.ops.op import LIGHT, Op, many
from memwell.types import Found, Message, Overlay, ThreadInfo, ToolCall

R = TypeVar("R")


class OfThread(Op[R], frozen=True):
    """What the ops on one thread have in common."""

    domain = "thread"
    action = "write"
    scope: str
    thread: str


class NewMessage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to be appended. One with an id that is there already is not appended again."""

    role: str
    content: str | list[dict[str, Any]] | None = None
    id: str | None = None
    name: str | None = None
    tool_calls: list[ToolCall] = []
    tool_call_id: str | None = None
    metadata: dict[str, Any] = {}
    tokens: int | None = None


class CreateThread(Op[ThreadInfo], frozen=True, tag="thread.create"):
    """Begin a thread."""

    domain = "thread"
    action = "write"
    scope: str
    title: str | None = None
    id: str | None = None
    metadata: dict[str, Any] | None = None


class ListThreads(Op[list[ThreadInfo]], frozen=True, tag="thread.list"):
    """The threads of a scope, newest first; `cursor` is the id of the last one of the page before."""

    domain = "thread"
    action = "read"
    heavy = True
    scope: str
    limit: int = 100
    cursor: str | None = None


class GetThread(OfThread[ThreadInfo | None], frozen=True, tag="thread.get"):
    """A thread by its id."""

    action = "read"


class UpdateThread(OfThread[ThreadInfo], frozen=True, tag="thread.update"):
    """Give a thread another title or other metadata; what is not given stays."""

    changes: dict[str, Any]
    if_version: int | None = None


class ForkThread(OfThread[ThreadInfo], frozen=True, tag="thread.fork"):
    """Begin a thread with the messages of another, up to one of them."""

    heavy = True
    at: int | None = None
    title: str | None = None


class DeleteThread(OfThread[int], frozen=True, tag="thread.delete"):
    """Remove a thread with its messages and what they said in the past; how many messages it had."""

    heavy = True


class Append(OfThread[list[Message]], frozen=True, tag="message.append"):
    """Put messages at the end, in one transaction; with `if_last` only if that is the last sequence number."""

    messages: list[NewMessage]
    if_last: int | None = None

    def is_heavy(self) -> bool:
        return len(self.messages) > LIGHT // 10


class ReadMessages(OfThread[list[Message]], frozen=True, tag="message.list"):
    """The newest messages, oldest first; or those before or after a sequence number. `raw` sees through summaries."""

    action = "read"
    limit: int | None = 100
    before: int | None = None
    after: int | None = None
    raw: bool = False

    def is_heavy(self) -> bool:
        return many(self.limit, LIGHT // 5)


class CountMessages(OfThread[int], frozen=True, tag="message.count"):
    """How many messages a thread has, whatever summaries hide."""

    action = "read"
    heavy = True


class EditMessage(OfThread[Message], frozen=True, tag="message.edit"):
    """Change a message, as its next version."""

    seq: int
    changes: dict[str, Any]
    if_version: int | None = None


class DeleteMessages(OfThread[int], frozen=True, tag="message.delete"):
    """Delete some messages, or all; how many there were. No sequence number comes twice."""

    heavy = True
    seqs: list[int] | None = None


class SearchMessages(Op[Found], frozen=True, tag="message.search"):
    """The messages of a scope's threads that fit a query best."""

    domain = "thread"
    action = "read"
    whole = True
    heavy = True
    scope: str
    query: str
    thread: str | None = None
    roles: list[str] | None = None
    limit: int = 10
    explain: bool = False


class Cover(OfThread[Overlay], frozen=True, tag="message.cover"):
    """Lay a summary over a range of messages; refused if they are not what `digest` says any more."""

    first: int
    last: int
    content: str
    digest: str
    metadata: dict[str, Any] | None = None


class Uncover(OfThread[bool], frozen=True, tag="message.uncover"):
    """Take the summary away that begins at a sequence number; the messages below show again."""

    first: int


class Overlays(OfThread[list[Overlay]], frozen=True, tag="message.overlays"):
    """The summaries that lie over a thread, in order."""

    action = "read"
