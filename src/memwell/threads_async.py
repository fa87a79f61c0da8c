"""Made by scripts/make_aio.py; do not edit. The same names, awaited."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memwell import ops
from memwell.engine.spoken import fingerprint as fingerprint
from memwell.local_async import AsyncLocal
from memwell.ops import NewMessage
from memwell.types import Found, Message, Overlay, ThreadInfo, ToolCall

Infos = list[ThreadInfo]
Messages = list[Message]
Content = str | list[dict[str, Any]] | None


class AsyncThreads:
    """The threads of one scope."""

    def __init__(self, door: AsyncLocal, name: str) -> None:
        self._door = door
        self._apply = door.apply
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    async def create(
        self, title: str | None = None, *, id: str | None = None, metadata: dict[str, Any] | None = None
    ) -> AsyncThread:
        """Begin a thread."""
        made = await self._apply(ops.CreateThread(self._name, title, id, metadata))
        return AsyncThread(self._door, made)

    async def list(self, *, limit: int = 100, cursor: str | None = None) -> Infos:
        """The threads of this scope, newest first; `cursor` is the id of the last one of the page before."""
        return await self._apply(ops.ListThreads(self._name, limit, cursor))

    async def get(self, id: str) -> AsyncThread | None:
        """A thread by its id."""
        found = await self._apply(ops.GetThread(self._name, id))
        return None if found is None else AsyncThread(self._door, found)

    async def delete(self, id: str) -> int:
        """Remove a thread with its messages; how many it had."""
        return await self._apply(ops.DeleteThread(self._name, id))

    async def search(
        self,
        query: str,
        *,
        thread: str | None = None,
        roles: Sequence[str] | None = None,
        limit: int = 10,
        explain: bool = False,
    ) -> Found:
        """The messages that fit best, in all threads of this scope or in one, with what stands around them."""
        only = [*roles] if isinstance(roles, (list, tuple, set, frozenset)) else roles
        return await self._apply(ops.SearchMessages(self._name, query, thread, only, limit, explain))  # type: ignore[arg-type]


class AsyncThread:
    """A thread: messages in order. `info` is what was known of it when this handle was made or last changed it."""

    def __init__(self, door: AsyncLocal, info: ThreadInfo) -> None:
        self._door = door
        self._apply = door.apply
        self._name = info.scope
        self.id = info.id
        self.info = info

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self._name}>"

    async def append(
        self,
        role: str,
        content: Content = None,
        *,
        id: str | None = None,
        name: str | None = None,
        tool_calls: Sequence[ToolCall] = (),
        tool_call_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        tokens: int | None = None,
        if_last: int | None = None,
    ) -> Message:
        """Put a message at the end. One whose `id` is there already is not put there again.

        With `if_last` it is refused if somebody else has appended since that sequence number.
        """
        new = NewMessage(
            role=role,
            content=content,
            id=id,
            name=name,
            tool_calls=[*tool_calls],
            tool_call_id=tool_call_id,
            metadata=metadata or {},
            tokens=tokens,
        )
        made = await self._apply(ops.Append(self._name, self.id, [new], if_last))
        return made[0]

    async def extend(self, messages: Iterable[NewMessage], *, if_last: int | None = None) -> Messages:
        """Put several messages at the end, in one transaction."""
        return await self._apply(ops.Append(self._name, self.id, [*messages], if_last))

    async def messages(
        self,
        limit: int | None = 100,
        *,
        before: int | None = None,
        after: int | None = None,
        raw: bool = False,
    ) -> Messages:
        """The newest messages, oldest first; page with `before` or `after` a sequence number.

        Summaries stand in the place of what they cover; `raw` shows the originals.
        """
        return await self._apply(ops.ReadMessages(self._name, self.id, limit, before, after, raw))

    async def count(self) -> int:
        """How many messages there are, also below summaries."""
        return await self._apply(ops.CountMessages(self._name, self.id))

    async def edit(self, seq: int, *, if_version: int | None = None, **changes: Any) -> Message:
        """Change a message, e.g. `edit(3, content="...")`, as its next version."""
        return await self._apply(ops.EditMessage(self._name, self.id, seq, changes, if_version))

    async def delete_messages(self, seqs: Sequence[int] | None = None) -> int:
        """Delete some messages by their numbers, or all; how many there were."""
        return await self._apply(ops.DeleteMessages(self._name, self.id, None if seqs is None else [*seqs]))

    async def rename(self, title: str | None) -> ThreadInfo:
        """Give the thread another title."""
        self.info = await self._apply(ops.UpdateThread(self._name, self.id, {"title": title}))
        return self.info

    async def update(self, *, if_version: int | None = None, **changes: Any) -> ThreadInfo:
        """Change the title or the metadata."""
        self.info = await self._apply(ops.UpdateThread(self._name, self.id, changes, if_version))
        return self.info

    async def fork(self, at: int | None = None, *, title: str | None = None) -> AsyncThread:
        """A new thread with the messages up to one of them, or with all."""
        made = await self._apply(ops.ForkThread(self._name, self.id, at, title))
        return AsyncThread(self._door, made)

    async def search(self, query: str, *, limit: int = 10, explain: bool = False) -> Found:
        """The messages of this thread that fit best."""
        return await self._apply(ops.SearchMessages(self._name, query, self.id, None, limit, explain))

    async def cover(
        self, first: int, last: int, content: str, digest: str, *, metadata: dict[str, Any] | None = None
    ) -> Overlay:
        """Lay a summary over a range; `digest` is the `fingerprint` of the originals that it was made from."""
        return await self._apply(ops.Cover(self._name, self.id, first, last, content, digest, metadata))

    async def uncover(self, first: int) -> bool:
        """Take the summary away that begins there; the originals show again."""
        return await self._apply(ops.Uncover(self._name, self.id, first))

    async def overlays(self) -> list[Overlay]:
        """The summaries that lie over this thread."""
        return await self._apply(ops.Overlays(self._name, self.id))

    async def delete(self) -> int:
        """Remove the thread with its messages; how many it had."""
        return await self._apply(ops.DeleteThread(self._name, self.id))
