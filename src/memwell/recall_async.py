"""Made by scripts/make_aio.py; do not edit. The same names, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, Unpack

from memwell import ops
from memwell.local_async import AsyncLocal
from memwell.ops import Draft, NewRecord
from memwell.types import Event, Hits, Packed, Receipt, Record

Page = list[Record]
Events = list[Event]


class AsyncRecords:
    """The records of one scope: memories that can be searched, traced, superseded and approved."""

    def __init__(self, door: AsyncLocal, name: str) -> None:
        self._apply = door.apply
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    async def remember(self, content: str, **more: Unpack[Draft]) -> Record:
        """Keep a memory. One that says exactly the same is reinforced; what nearly does is named in `similar`."""
        return await self._apply(ops.Remember(self._name, NewRecord(content=content, **more)))

    async def remember_many(self, records: Iterable[NewRecord | str]) -> Page:
        """Keep several in one transaction."""
        new = [NewRecord(content=each) if isinstance(each, str) else each for each in records]
        return await self._apply(ops.RememberMany(self._name, new))

    async def read(self, id: str) -> Record | None:
        """A record by its id; None if it is absent, deleted, pending or rejected."""
        return await self._apply(ops.ReadRecord(self._name, id))

    async def search(
        self,
        query: str = "",
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        limit: int = 10,
        filter: dict[str, Any] | None = None,
        inherit: bool = False,
        explain: bool = False,
        valid_at: datetime | None = None,
        vector: list[float] | None = None,
    ) -> Hits:
        """The records that fit best, by words and by meaning; a blank query gives the newest.

        `tags` are any of; `after` and `before` bound when a record was made; `inherit` also looks in wider scopes;
        `valid_at` asks what was true then; `explain` shows each part of the score.
        """
        more = {"valid_at": valid_at, "vector": vector, "inherit": inherit, "explain": explain}
        times = {"after": after, "before": before}
        return await self._apply(self.asked(query, kinds=kinds, tags=tags, limit=limit, filter=filter, **times, **more))

    def asked(
        self, query: str = "", *, kinds: Sequence[str] | None = None, tags: Sequence[str] | None = None, **more: Any
    ) -> ops.Search:
        """The request that `search` makes, as data."""
        unknown = set(more) - set(ops.Search.__struct_fields__)
        if unknown:
            raise TypeError(f"search() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        return ops.Search(self._name, query, _listed(kinds), _listed(tags), **more)

    async def context(
        self,
        query: str,
        max_tokens: int = 1000,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        inherit: bool = False,
    ) -> Packed:
        """What a search finds, packed for a prompt: fenced, one line a record, within so many tokens."""
        return await self._apply(ops.Pack(self._name, query, max_tokens, _listed(kinds), _listed(tags), inherit))

    async def list(
        self,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        status: str = "active",
        filter: dict[str, Any] | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page:
        """AsyncRecords, newest first. `cursor` is the id of the last one of the page before."""
        when, only = (after, before), (_listed(kinds), _listed(tags))
        return await self._apply(ops.ListRecords(self._name, *only, *when, status, filter, limit, cursor))

    async def history(self, id: str, *, limit: int | None = None) -> Events:
        """The writes of a record with who, when and what, newest first."""
        return await self._apply(ops.RecordHistory(self._name, id, limit))

    async def update(self, id: str, *, if_version: int | None = None, **changes: Any) -> Record:
        """Change fields of a record, e.g. `update(id, pinned=True)`, as its next version."""
        return await self._apply(ops.Update(self._name, id, changes, if_version))

    async def supersede(
        self, id: str, content: str, /, *, if_version: int | None = None, **more: Unpack[Draft]
    ) -> Record:
        """Keep a new record in the place of an old one, in one transaction."""
        new = NewRecord(content=content, **more)
        return await self._apply(ops.Supersede(self._name, id, new, if_version))

    async def delete(self, id: str, *, reason: str | None = None, if_version: int | None = None) -> Record:
        """Make a record a tombstone: it reads as absent, and can be restored."""
        return await self._apply(ops.DeleteRecord(self._name, id, reason, if_version))

    async def restore(self, id: str) -> Record:
        """Bring a deleted record back."""
        return await self._apply(ops.Restore(self._name, id))

    async def hard_delete(self, id: str) -> bool:
        """Remove a record and its content from the history; only with `allow_hard_delete=True`."""
        return await self._apply(ops.HardDelete(self._name, id))

    async def forget(self, source: str) -> Receipt:
        """Remove all that came from a source in this scope, and what was derived from it."""
        return await self._apply(ops.Forget(source, self._name))

    async def pending(self, *, limit: int = 100) -> Page:
        """The records that wait for a review, oldest first."""
        return await self._apply(ops.Pending(self._name, limit))

    async def approve(self, id: str, *, reason: str | None = None) -> Record:
        """Let a pending record be seen; nobody approves their own."""
        return await self._apply(ops.Review(self._name, id, True, reason))

    async def reject(self, id: str, *, reason: str | None = None) -> Record:
        """Refuse a pending record, with a reason."""
        return await self._apply(ops.Review(self._name, id, False, reason))

    async def export(self, *, page: int = 1000) -> AsyncIterator[Record]:
        """Every record that is not deleted, newest first; only with `allow_export=True`."""
        cursor: str | None = None
        while True:
            records = await self._apply(ops.ExportRecords(self._name, cursor, page))
            for record in records:  # noqa: UP028 - the async face has no `yield from`
                yield record
            if len(records) < page:
                return
            cursor = records[-1].id


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return [*names] if isinstance(names, (list, tuple, set, frozenset)) else names  # type: ignore[return-value]
