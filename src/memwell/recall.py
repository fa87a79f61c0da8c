"""Names for people: the records of a scope. `recall_async.py` is made from this file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Unpack

from memwell import ops
from memwell.local import Local
from memwell.ops import Draft, NewRecord
from memwell.types import Event, Hits, Packed, Receipt, Record

Page = list[Record]
Events = list[Event]


class Records:
    """The records of one scope: memories that can be searched, traced, superseded and approved."""

    def __init__(self, door: Local, name: str) -> None:
        self._apply = door.apply
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"

    def remember(self, content: str, **more: Unpack[Draft]) -> Record:
        """Keep a memory. One that says exactly the same is reinforced; what nearly does is named in `similar`."""
        return self._apply(ops.Remember(self._name, NewRecord(content=content, **more)))

    def remember_many(self, records: Iterable[NewRecord | str]) -> Page:
        """Keep several in one transaction."""
        new = [NewRecord(content=each) if isinstance(each, str) else each for each in records]
        return self._apply(ops.RememberMany(self._name, new))

    def read(self, id: str) -> Record | None:
        """A record by its id; None if it is absent, deleted, pending or rejected."""
        return self._apply(ops.ReadRecord(self._name, id))

    def search(
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
        return self._apply(self.asked(query, kinds=kinds, tags=tags, limit=limit, filter=filter, **times, **more))

    def asked(
        self, query: str = "", *, kinds: Sequence[str] | None = None, tags: Sequence[str] | None = None, **more: Any
    ) -> ops.Search:
        """The request that `search` makes, as data."""
        unknown = set(more) - set(ops.Search.__struct_fields__)
        if unknown:
            raise TypeError(f"search() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        return ops.Search(self._name, query, _listed(kinds), _listed(tags), **more)

    def context(
        self,
        query: str,
        max_tokens: int = 1000,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        inherit: bool = False,
    ) -> Packed:
        """What a search finds, packed for a prompt: fenced, one line a record, within so many tokens."""
        return self._apply(ops.Pack(self._name, query, max_tokens, _listed(kinds), _listed(tags), inherit))

    def list(
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
        """Records, newest first. `cursor` is the id of the last one of the page before."""
        when, only = (after, before), (_listed(kinds), _listed(tags))
        return self._apply(ops.ListRecords(self._name, *only, *when, status, filter, limit, cursor))

    def history(self, id: str, *, limit: int | None = None) -> Events:
        """The writes of a record with who, when and what, newest first."""
        return self._apply(ops.RecordHistory(self._name, id, limit))

    def update(self, id: str, *, if_version: int | None = None, **changes: Any) -> Record:
        """Change fields of a record, e.g. `update(id, pinned=True)`, as its next version."""
        return self._apply(ops.Update(self._name, id, changes, if_version))

    def supersede(self, id: str, content: str, /, *, if_version: int | None = None, **more: Unpack[Draft]) -> Record:
        """Keep a new record in the place of an old one, in one transaction."""
        new = NewRecord(content=content, **more)
        return self._apply(ops.Supersede(self._name, id, new, if_version))

    def delete(self, id: str, *, reason: str | None = None, if_version: int | None = None) -> Record:
        """Make a record a tombstone: it reads as absent, and can be restored."""
        return self._apply(ops.DeleteRecord(self._name, id, reason, if_version))

    def restore(self, id: str) -> Record:
        """Bring a deleted record back."""
        return self._apply(ops.Restore(self._name, id))

    def hard_delete(self, id: str) -> bool:
        """Remove a record and its content from the history; only with `allow_hard_delete=True`."""
        return self._apply(ops.HardDelete(self._name, id))

    def forget(self, source: str) -> Receipt:
        """Remove all that came from a source in this scope, and what was derived from it."""
        return self._apply(ops.Forget(source, self._name))

    def pending(self, *, limit: int = 100) -> Page:
        """The records that wait for a review, oldest first."""
        return self._apply(ops.Pending(self._name, limit))

    def approve(self, id: str, *, reason: str | None = None) -> Record:
        """Let a pending record be seen; nobody approves their own."""
        return self._apply(ops.Review(self._name, id, True, reason))

    def reject(self, id: str, *, reason: str | None = None) -> Record:
        """Refuse a pending record, with a reason."""
        return self._apply(ops.Review(self._name, id, False, reason))

    def export(self, *, page: int = 1000) -> Iterator[Record]:
        """Every record that is not deleted, newest first; only with `allow_export=True`."""
        cursor: str | None = None
        while True:
            records = self._apply(ops.ExportRecords(self._name, cursor, page))
            for record in records:  # noqa: UP028 - the async face has no `yield from`
                yield record
            if len(records) < page:
                return
            cursor = records[-1].id


def _listed(names: Sequence[str] | None) -> list[str] | None:
    return [*names] if isinstance(names, (list, tuple, set, frozenset)) else names  # type: ignore[return-value]
