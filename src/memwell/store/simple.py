"""Any object with eight methods as a backend for facts: `get set delete list clear delete_scope stats close`.

The object keeps JSON-shaped documents. Under (scope, key) stands one document with the newest event of that key, so
one `set` of the object is one whole write; before it is overwritten, the event it holds is copied to the namespace
`history|<scope>` under its rev. The namespace `memwell` lists the scopes. The object belongs to one process at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from memwell import codec
from memwell.errors import Unsupported
from memwell.store import Cell, Change, Counts, Done, Drop, Position, Progress, Put, ReadJob, Span, Traits, WriteJob
from memwell.store.calling import Caller
from memwell.store.undoing import Undoing
from memwell.store.unindexed import Unindexed
from memwell.types import Damage, Health

T = TypeVar("T")
REGISTRY = "memwell"
SHAPE = "fact"


class Doc(Struct, frozen=True, omit_defaults=True):
    """What stands under a key: its newest event. Without a value it is a tombstone."""

    memwell: int
    key: str
    version: int
    rev: int
    op: str
    at: int
    by: str
    created: int
    expires: int | None = None
    prev: int | None = None
    digest: str = ""
    value: Any | UnsetType = UNSET

    def live(self, now: int) -> bool:
        return self.value is not UNSET and (self.expires is None or self.expires > now)

    def data(self, now: int) -> bytes | None:
        return codec.to_json(self.value) if self.live(now) else None


class Meta(Struct, frozen=True, omit_defaults=True):
    """What outlives the documents of a scope, and the event of its deletion."""

    floor: int = 0
    horizon: int = 0
    horizon_at: int = 0
    deleted: Doc | None = None


def _archive(scope: str) -> str:
    return f"history|{scope}"


def _cell(doc: Doc, data: bytes) -> Cell:
    return Cell(doc.key, data, doc.version, doc.rev, doc.created, doc.at, doc.expires, doc.by)


def _change(scope: str, shape: str, doc: Doc, now: int) -> Change:
    data = doc.data(now)
    what, when = (scope, shape, doc.key, doc.op, doc.version, data), (doc.at, doc.expires)
    return Change(doc.rev, *what, *when, doc.by, doc.created, doc.prev)


class Simple(Unindexed):
    """A backend over somebody's object; it is also its own read and write view, under one lock."""

    def __init__(self, wrapped: Any) -> None:
        self.poke: Callable[[], None] = lambda: None
        self._call = Caller(wrapped)
        self._jobs: Undoing[Simple] = Undoing(self)
        self._revs: dict[str, int] = {}

    @property
    def traits(self) -> Traits:
        return Traits(
            self._call.name, inline=False, inline_writes=False, shared=False, durability="volatile", facts_only=True
        )

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:  # noqa: ARG002
        return self._jobs.read(job)

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:  # noqa: ARG002
        return self._jobs.write(job)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:  # noqa: ARG002
        self._jobs.submit(job, done)

    # Read

    def data(self, scope: str, shape: str, key: str, now: int) -> bytes | None:
        cell = self.cell(scope, shape, key, now)
        return cell.data if cell else None

    def cell(self, scope: str, shape: str, key: str, now: int) -> Cell | None:
        doc = self._doc(scope, key) if shape == SHAPE else None
        data = doc.data(now) if doc else None
        return _cell(doc, data) if doc and data is not None else None

    def cells(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[Cell]:
        found = 0
        for key in self._keys(scope, "") if shape == SHAPE else ():
            inside = key >= span.first and (span.end is None or key < span.end)
            if inside and (span.after is None or key > span.after):
                cell = self.cell(scope, shape, key, now)
                if cell is not None:
                    if limit is not None and found >= limit:
                        return
                    found += 1
                    yield cell

    def keys(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> Iterator[str]:
        return (cell.key for cell in self.cells(scope, shape, span, limit, now))

    def newest_data(self, scope: str, shape: str, span: Span, limit: int | None, now: int) -> list[bytes]:
        return [cell.data for cell in self.cells(scope, shape, span, None, now)][::-1][:limit]

    def last_key(self, scope: str, shape: str, span: Span) -> str | None:  # noqa: ARG002
        return None

    def count(self, scope: str, shape: str, span: Span, now: int) -> int:
        return sum(1 for _ in self.cells(scope, shape, span, None, now))

    def past(self, scope: str, shape: str, key: str, now: int) -> Iterator[Change]:
        doc = self._doc(scope, key)
        while doc is not None:
            yield _change(scope, shape, doc, now)
            doc = self._read(_archive(scope), _number(doc.prev)) if doc.prev is not None else None

    def changes(self, scope: str, after: int, limit: int, now: int) -> list[Change]:
        if after >= self._rev(scope):
            return []
        docs = {doc.rev: doc for doc in self._docs(scope) if doc.rev > after}
        found = sorted(docs.values(), key=lambda doc: doc.rev)[:limit]
        return [_change(scope, SHAPE if doc.key else "scope", doc, now) for doc in found]

    def position(self, scope: str) -> Position:
        meta = self._meta(scope)
        return Position(self._rev(scope), meta.horizon, meta.horizon_at)

    def scopes(self, after: str, limit: int | None, now: int) -> list[str]:
        names = (scope for scope in self._registered() if scope > after)
        return [scope for scope in names if next(self.cells(scope, SHAPE, Span(), 1, now), None)][:limit]

    def shapes(self, scope: str) -> list[str]:
        return [SHAPE] if self._keys(scope, "") else []

    def counts(self, now: int) -> Counts:
        scopes = entries = size = history = 0
        for scope in self._registered():
            cells = list(self.cells(scope, SHAPE, Span(), None, now))
            scopes += bool(cells)
            entries += len(cells)
            size += sum(len(cell.data) for cell in cells)
            history += len({doc.rev for doc in self._docs(scope)})
        return Counts(scopes, {SHAPE: entries}, size, history)

    # Write

    def put(self, put: Put) -> Cell | None:
        if put.shape != SHAPE:
            raise Unsupported("an object with eight methods keeps facts only", hint="use a file path")
        old = self._doc(put.scope, put.key)
        live = old is not None and old.live(put.now)
        if put.if_version is not None and put.if_version != (old.version if old and live else 0):
            return None
        last = old.version if old else self._meta(put.scope).floor
        doc = Doc(
            memwell=1,
            key=put.key,
            version=max(put.version or 1, last + 1),
            rev=self._next(put.scope),
            op=put.op,
            at=put.now,
            by=put.by,
            created=put.created or (old.created if old and live else put.now),
            expires=put.expires,
            prev=old.rev if old else None,
            digest=put.bound()[4].hex(),
            value=codec.decode(put.data),
        )
        self._replace(put.scope, old, doc)
        return _cell(doc, put.data)

    def put_all(self, puts: list[Put]) -> list[Cell]:
        return [cell for put in puts if (cell := self.put(put))]

    def drop(self, drop: Drop) -> int:
        keys = self._keys(drop.scope, "") if drop.key is None else [drop.key]
        dropped = 0
        for key in keys:
            old = self._doc(drop.scope, key)
            if old is not None and old.live(drop.now) and drop.if_version in (None, old.version):
                rev = self._next(drop.scope)
                doc = replace(
                    old,
                    rev=rev,
                    op=drop.op,
                    at=drop.now,
                    by=drop.by,
                    expires=None,
                    prev=old.rev,
                    digest="",
                    value=UNSET,
                )
                self._replace(drop.scope, old, doc)
                dropped += 1
        return dropped

    def erase(self, scope: str, now: int, by: str, op: str) -> int:
        docs = [doc for key in self._keys(scope, "") if (doc := self._doc(scope, key))]
        if not docs:
            return 0
        meta, horizon = self._meta(scope), self._rev(scope)
        floor = max([meta.floor, *(doc.version for doc in docs)])
        deleted = Doc(memwell=1, key="", version=0, rev=self._next(scope), op=op, at=now, by=by, created=now)
        self._jobs.undo.extend(self._restorers(scope, meta))
        self._save(REGISTRY, scope, Meta(floor, horizon, now, deleted))
        self._call("delete_scope", scope)
        self._call("delete_scope", _archive(scope))
        return sum(doc.live(now) for doc in docs)

    def _restorers(self, scope: str, meta: Meta) -> Iterator[Callable[[], None]]:
        """What undoes the erasure of a scope."""
        yield partial(self._save, REGISTRY, scope, meta)
        for namespace in (scope, _archive(scope)):
            for key in self._keys(namespace, ""):
                if doc := self._read(namespace, key):
                    yield partial(self._save, namespace, key, doc)

    def _replace(self, scope: str, old: Doc | None, doc: Doc) -> None:
        if old is None:
            if self._read_meta(scope) is None:
                self._save(REGISTRY, scope, Meta())
            self._jobs.undo.append(lambda: self._call("delete", scope, doc.key))
        else:
            self._save(_archive(scope), _number(old.rev), old)
            self._jobs.undo.append(lambda: self._call("delete", _archive(scope), _number(old.rev)))
            self._jobs.undo.append(lambda: self._save(scope, old.key, old))
        self._save(scope, doc.key, doc)

    # Documents

    def _doc(self, scope: str, key: str) -> Doc | None:
        return self._read(scope, key)

    def _read(self, namespace: str, key: str) -> Doc | None:
        raw = self._call("get", namespace, key)
        if raw is None:
            return None
        if isinstance(raw, dict) and raw.get("memwell") == 1:
            return msgspec.convert(raw, Doc)
        # Somebody put this value there before Memwell came: it counts as a first version.
        return Doc(memwell=1, key=key, version=1, rev=0, op="fact.set", at=0, by="unknown", created=0, value=raw)

    def _save(self, namespace: str, key: str, doc: Struct) -> None:
        self._call("set", namespace, key, msgspec.to_builtins(doc))

    def _keys(self, namespace: str, prefix: str) -> list[str]:
        return sorted(key for key in self._call("list", namespace, prefix) if key.startswith(prefix))

    def _docs(self, scope: str) -> Iterator[Doc]:
        """Every event of a scope, the deletion of the scope included; one may come twice."""
        meta = self._meta(scope)
        if meta.deleted is not None:
            yield meta.deleted
        for namespace in (_archive(scope), scope):
            for key in self._keys(namespace, ""):
                doc = self._read(namespace, key)
                if doc is not None:
                    yield doc

    def _read_meta(self, scope: str) -> Meta | None:
        raw = self._call("get", REGISTRY, scope)
        return None if raw is None else msgspec.convert(raw, Meta)

    def _meta(self, scope: str) -> Meta:
        return self._read_meta(scope) or Meta()

    def _registered(self) -> list[str]:
        return self._keys(REGISTRY, "")

    def _rev(self, scope: str) -> int:
        if scope not in self._revs:
            self._revs[scope] = max((doc.rev for doc in self._docs(scope)), default=self._meta(scope).horizon)
        return self._revs[scope]

    def _next(self, scope: str) -> int:
        last = self._rev(scope)
        self._jobs.undo.append(lambda: self._revs.__setitem__(scope, last))
        self._revs[scope] = last + 1
        return last + 1

    # Upkeep

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:  # noqa: ARG002
        with self._jobs.lock:
            return sum(self._sweep(scope, now, before) for scope in self._registered()), False

    def _sweep(self, scope: str, now: int, before: int | None) -> int:
        expired, current = 0, {doc.rev for key in self._keys(scope, "") if (doc := self._doc(scope, key))}
        for namespace in (_archive(scope), scope):
            for key in self._keys(namespace, ""):
                doc = self._read(namespace, key)
                if doc is None:
                    continue
                if doc.value is not UNSET and not doc.live(now):
                    doc = replace(doc, value=UNSET, digest="")
                    expired += namespace == scope
                    self._save(namespace, key, doc)
                stale = doc.rev not in current or doc.value is UNSET
                if before is not None and doc.at < before and stale and doc.rev != self._rev(scope):
                    meta = self._meta(scope)
                    floor = max(meta.floor, doc.version) if namespace == scope else meta.floor
                    horizon, at = max(meta.horizon, doc.rev), max(meta.horizon_at, doc.at)
                    self._save(REGISTRY, scope, Meta(floor, horizon, at, meta.deleted))
                    self._call("delete", namespace, key)
        return expired

    def next_expiry(self) -> int | None:
        with self._jobs.lock:
            docs = [doc for scope in self._registered() for doc in self._docs(scope)]
        return min((doc.expires for doc in docs if doc.expires is not None and doc.value is not UNSET), default=None)

    def tend(self) -> None:
        pass

    def check(self, progress: Progress | None) -> Health:
        damage, checked = [], 0
        with self._jobs.lock:
            for scope in self._registered():
                for doc in self._docs(scope):
                    checked += 1
                    if doc.digest and doc.digest != _digest(scope, doc):
                        where = f"fact {doc.key!r} of {scope}, version {doc.version}"
                        damage.append(Damage(where=where, problem="the stored value does not match its hash"))
        if progress:
            progress(checked, checked)
        return Health(checked=checked, damage=damage)

    def backup(self, path: str, progress: Progress | None) -> int:  # noqa: ARG002
        raise Unsupported("an object with eight methods has no file to copy", hint="use export")

    def describe(self) -> dict[str, Any]:
        return {"path": self._call.name, "object": repr(self._call("stats"))}

    def close(self) -> None:
        if not self._jobs.closed:
            self._jobs.closed = True
            self._call("close")
            self._call.stop()


def _digest(scope: str, doc: Doc) -> str:
    data = codec.to_json(doc.value)
    return codec.digest(scope, SHAPE, doc.key, doc.op, doc.by, doc.at, doc.expires, data).hex()


def _number(rev: int | None) -> str:
    """A rev as a key that sorts."""
    return f"{rev:020d}"
