"""Names for people: a Store is opened, a Memory is a handle on one scope of it. `aio.py` is made from this file."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from memwell import clock, codec, ops, transfer
from memwell.codec import ABSENT
from memwell.errors import Invalid
from memwell.local import Local, check_timeout
from memwell.ops import Draft, NewRecord, Op
from memwell.recall import Records
from memwell.scope import Scope
from memwell.store import Progress
from memwell.threads import Threads
from memwell.types import Entry, Event, Health, Hits, Loaded, Packed, Receipt, Record, Stats, Trust

T = TypeVar("T")
D = TypeVar("D")
At = float | datetime  # a rev as an int, or a time
Keys = list[str]
Entries = list[Entry]
Events = list[Event]


class Store:
    """What `memwell.open` gives: the way to every scope, and to the store as a whole. Close it, or use `with`."""

    def __init__(self, door: Local) -> None:
        self._door = door
        self._apply = door.apply
        self._run = door.run

    def scope(
        self, text: str | Scope | None = None, /, *, by: str | None = None, trust: Trust | None = None, **fields: str
    ) -> Memory:
        """The memory of one scope: `scope("agent:support")` or `scope(agent="support", user="42")`.

        `by` is who writes through it, `trust` what their word counts: human, system, agent or external.
        """
        if (text is None) == (not fields):
            raise Invalid(
                "give a scope as text or as fields", hint='e.g. scope("agent:support") or scope(agent="support")'
            )
        if text is None:
            name = Scope(**fields).text
        else:
            name = text.text if isinstance(text, Scope) else Scope.parse(text).text
        return Memory(self._door.acting_as(by, trust), name)

    def shared(self, *, by: str | None = None, trust: Trust | None = None) -> Memory:
        """The memory that all share: the scope `global`."""
        return self.scope(Scope.shared(), by=by, trust=trust)

    def scopes(self, *, limit: int | None = None, after: str | None = None) -> list[str]:
        """The scopes that hold anything, sorted."""
        return self._apply(ops.Scopes(limit, after))

    def stats(self) -> Stats:
        """What the store holds."""
        return self._apply(ops.GetStats())

    def describe(self) -> dict[str, Any]:
        """Where and how the data is kept."""
        return self._apply(ops.Describe())

    def sweep(self) -> int:
        """Free what has expired now, rather than soon; how many entries that were."""
        return self._apply(ops.Sweep())

    def pending(self, *, limit: int = 100) -> list[Record]:
        """The records of every scope that wait for a review, oldest first."""
        return self._apply(ops.Pending(None, limit))

    def forget(self, source: str) -> Receipt:
        """Remove all that came from a source, in every scope, and what was derived from it."""
        return self._apply(ops.Forget(source))

    def embed(self, progress: Progress | None = None) -> int:
        """Make the vectors that are still missing, and wait for it; how many."""
        return self._apply(ops.Embed(), progress=progress)

    def reindex(self) -> int:
        """Make the search index anew from what is stored; how many records are in it."""
        return self._apply(ops.Reindex())

    def check(self, progress: Progress | None = None) -> Health:
        """Verify the file and every stored hash; nothing is changed."""
        return self._apply(ops.Check(), progress=progress)

    def backup(self, path: str, progress: Progress | None = None) -> int:
        """Copy the store to a new file while it is in use; the size of the copy."""
        return self._apply(ops.Backup(path), progress=progress)

    def export(self, path: str, *, scope: str | None = None, progress: Progress | None = None) -> int:
        """Write the live entries to a file of JSON lines; how many."""
        return self._run(transfer.export, path, scope, progress)

    def load(self, path: str, *, replace: bool = False, progress: Progress | None = None) -> Loaded:
        """Read an export; keys that are taken keep their value unless `replace`."""
        return self._run(transfer.load, path, replace, progress)

    def apply(self, op: Op[T]) -> T:
        """Apply any op, as data."""
        return self._apply(op)

    def close(self) -> None:
        """Finish what was accepted, and let go of the file."""
        return self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return self._door.close()


class Memory:
    """A handle on one scope; facts are its own methods, records stand under `records`, threads under `threads`."""

    def __init__(self, door: Local, name: str) -> None:
        self._door = door
        self._apply = door.apply
        self.name = name
        self.records = Records(door, name)
        self.threads = Threads(door, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @overload
    def get(self, key: str, default: D, *, at: At | None = None) -> Any | D: ...
    @overload
    def get(self, key: str, default: None = None, *, at: At | None = None) -> Any: ...
    @overload
    def get(self, key: str, default: D, *, type: type[T], at: At | None = None) -> T | D: ...
    @overload
    def get(self, key: str, default: None = None, *, type: type[T], at: At | None = None) -> T | None: ...
    def get(self, key: str, default: Any = None, *, type: Any = None, at: At | None = None) -> Any:
        """The value, or the default; `type` makes it a model, `at` reads it as it was at a rev or time."""
        value = self._apply(ops.Get(self.name, key, at))
        if value is ABSENT:
            return default
        return value if type is None else codec.convert(value, type)

    def entry(self, key: str, *, at: At | None = None) -> Entry | None:
        """The value with its version, times and author, or None."""
        return self._apply(ops.GetEntry(self.name, key, at))

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of those keys that are there, from one moment."""
        return self._apply(ops.GetMany(self.name, list(keys)))

    def set(self, key: str, value: Any, *, ttl: float | None = None, if_version: int | None = None) -> Entry:
        """Write a value; `ttl` in seconds, `if_version` for compare-and-swap (0: it must be absent)."""
        return self._apply(ops.Set(self.name, key, value, ttl, if_version))

    def set_many(self, values: Mapping[str, Any], *, ttl: float | None = None) -> dict[str, Entry]:
        """Write several values, all or none."""
        return self._apply(ops.SetMany(self.name, dict(values), ttl))

    def delete(self, key: str, *, if_version: int | None = None) -> bool:
        """Take a key away; whether it was there."""
        return self._apply(ops.Delete(self.name, key, if_version))

    def list(
        self,
        prefix: str | None = None,
        *,
        pattern: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Keys:
        """The keys, sorted: those with a literal prefix, or that fit a glob; page with `limit` and `after`."""
        return self._apply(ops.List(self.name, prefix, pattern, limit, after))

    def entries(
        self,
        prefix: str | None = None,
        *,
        pattern: str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Entries:
        """As `list`, with whole entries."""
        return self._apply(ops.Entries(self.name, prefix, pattern, limit, after))

    def clear(self) -> int:
        """Delete every fact of this scope; how many there were. Their history stays."""
        return self._apply(ops.Clear(self.name))

    def delete_scope(self) -> int:
        """Remove all that this scope holds, of every shape, with its history; how many live things there were."""
        return self._apply(ops.DeleteScope(self.name))

    def history(self, key: str, *, limit: int | None = None) -> Events:
        """The writes of a key with who, when and what, newest first."""
        return self._apply(ops.History(self.name, key, limit))

    def revert(self, key: str, version: int, *, if_version: int | None = None) -> Entry:
        """Write the value of an earlier version as a new version."""
        return self._apply(ops.Revert(self.name, key, version, if_version))

    def remember(self, content: str, **more: Unpack[Draft]) -> Record:
        """Keep a memory: `records.remember`."""
        return self._apply(ops.Remember(self.name, NewRecord(content=content, **more)))

    def search(self, query: str = "", *, limit: int = 10, **more: Any) -> Hits:
        """The records that fit best: `records.search`, which says what else can be given."""
        return self._apply(self.records.asked(query, limit=limit, **more))

    def context(self, query: str, max_tokens: int = 1000, *, inherit: bool = False) -> Packed:
        """What a search finds, packed for a prompt: `records.context`."""
        return self._apply(ops.Pack(self.name, query, max_tokens, inherit=inherit))

    def batch(self) -> Batch:
        """Collect writes and commit them in one transaction, in order, all or none."""
        return Batch(self._door, self.name)

    def watch(
        self,
        prefix: str | None = None,
        *,
        pattern: str | None = None,
        since: int | None = None,
        timeout: float | None = None,
    ) -> Watch:
        """Every event of this scope after `since` (default: from now on), in order, also of other processes.

        Ends after `timeout` seconds without an event. To resume without gap or repeat, pass the last event's rev.
        """
        return Watch(self._door, self.name, prefix, pattern, since, timeout)


class Batch:
    """Writes waiting to be made together."""

    def __init__(self, door: Local, name: str) -> None:
        self._apply = door.apply
        self._name = name
        self._ops: list[Op[Any]] = []
        self.results: list[Any] = []

    def get(self, key: str) -> None:
        """Read a key at this point of the batch; ABSENT in `results` if there is none."""
        self._ops.append(ops.Get(self._name, key))

    def set(self, key: str, value: Any, *, ttl: float | None = None, if_version: int | None = None) -> None:
        """Write a value."""
        self._ops.append(ops.Set(self._name, key, value, ttl, if_version))

    def delete(self, key: str, *, if_version: int | None = None) -> None:
        """Take a key away."""
        self._ops.append(ops.Delete(self._name, key, if_version))

    def revert(self, key: str, version: int, *, if_version: int | None = None) -> None:
        """Write an earlier version's value as a new one."""
        self._ops.append(ops.Revert(self._name, key, version, if_version))

    def clear(self) -> None:
        """Delete every fact of the scope."""
        self._ops.append(ops.Clear(self._name))

    def commit(self) -> list[Any]:
        """Apply all that was collected, or nothing; the results in order."""
        collected, self._ops = self._ops, []
        self.results = self._apply(ops.Batch(self._name, collected))
        return self.results

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()


class Watch:
    """An iterator over the events of a scope."""

    def __init__(
        self, door: Local, name: str, prefix: str | None, pattern: str | None, since: int | None, timeout: float | None
    ) -> None:
        self._apply = door.apply
        self._bell = door.bell(name)
        self._filter = (prefix, pattern)
        self._name = name
        self._timeout = check_timeout(timeout)
        self._ready: deque[Event] = deque()
        self.rev = door.position(name) if since is None else since

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        deadline = clock.monotonic() + self._timeout
        while not self._ready:
            self._bell.quiet()  # before looking, so that what comes after the look rings again
            page = self._apply(ops.Changes(self._name, self.rev, *self._filter))
            self._ready.extend(page.events)
            self.rev = page.rev
            left = deadline - clock.monotonic()
            if not page.events and not page.more:
                if left <= 0:
                    raise StopIteration
                self._bell.wait(left)
        return self._ready.popleft()
