"""Lines and cells: what each line does to the cells in memory, and all cells as lines."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from memwell import clock
from memwell.errors import Corrupt, MemwellError
from memwell.store import Cell, Change, Drop, Put
from memwell.store.index import Doc
from memwell.store.jsonl_lines import (
    FORMAT,
    RECORD,
    Index,
    Line,
    change_fields,
    check_format,
    index_fields,
    kept_fields,
)
from memwell.store.ram import Ram, _Row, _Scope

Derive = Callable[[str, str, Cell], Doc | None]
HAND = "hand"
_LATER = -1  # the length of a doc that follows from its cell, in a process that can't tell how
_KEPT = {"poke", "_jobs", "_undo", "_cell", "_last", "_seq"}  # of the dicts, what outlives a new beginning


def _us(when: datetime | None, default: int) -> int:
    return default if when is None else clock.microseconds(when)


def _perhaps(when: datetime | None) -> int | None:
    return None if when is None else clock.microseconds(when)


class Folded(Ram):
    """Dicts that take lines in, and that write down what a job does to them while there is a journal."""

    def __init__(self) -> None:
        super().__init__()
        self.derive: Derive | None = None  # what search finds a cell by, where it follows from the cell
        self._journal: list[dict[str, Any]] | None = None
        self._puts: dict[tuple[str, str, str], tuple[int, dict[str, Any]]] = {}
        self._erased = False

    # What a job does

    def _set(self, held: _Scope, row: _Row, cell: Cell | None, change: Change) -> None:
        super()._set(held, row, cell, change)
        if self._journal is not None:
            change = row.events[-1]
            fields = change_fields(change)
            self._journal.append(fields)
            self._puts[change.scope, change.shape, change.key] = (change.rev, fields)

    def erase(self, scope: str, now: int, by: str, op: str) -> int:
        rows = self._scopes[scope].rows if scope in self._scopes else {}
        self._erased = self._erased or bool(rows)
        return super().erase(scope, now, by, op)

    def redact(self, scope: str, shape: str, key: str) -> int:
        gone = super().redact(scope, shape, key)
        self._erased = self._erased or gone > 0
        return gone

    def index(self, docs: Iterable[Doc]) -> None:
        for doc in docs:
            super().index([doc])
            if self._journal is not None:
                self._note_index(doc)

    def _note_index(self, doc: Doc) -> None:
        rev, fields = self._puts.get(doc[:3], (0, {}))
        if rev != doc.rev:
            fields = {"op": "index", "scope": doc.scope, "id": doc.key, **_shape(doc.shape), "rev": doc.rev}
            assert self._journal is not None
            self._journal.append(fields)
        fields.pop("index", None)
        fields |= self._doc_fields(doc)

    def _doc_fields(self, doc: Doc) -> dict[str, Any]:
        """The number of a doc, and the doc itself unless it follows from its cell: the lines stay readable."""
        number = self.doc_id(doc.scope, doc.shape, doc.key)
        row = self._row(doc.scope, doc.shape, doc.key)
        cell = row.cell if row and row.cell and row.cell.rev == doc.rev else None
        follows = cell is not None and (doc.length == _LATER or self._derived(doc.scope, doc.shape, cell) == doc)
        return {"n": number} if follows else {"n": number, "index": index_fields(doc)}

    def _derived(self, scope: str, shape: str, cell: Cell) -> Doc | None:
        if self.derive is None:
            return None
        with suppress(MemwellError):  # a damaged record is named when it is read
            return self.derive(scope, shape, cell)
        return None

    def unindex(self, scope: str, shape: str, key: str) -> None:
        super().unindex(scope, shape, key)
        if self._journal is not None:
            self._puts.pop((scope, shape, key), None)
            self._journal.append({"op": "unindex", "scope": scope, "id": key, **_shape(shape)})

    def save_vectors(self, model: str, vectors: Iterable[tuple[str, str, str, bytes, bytes]]) -> int:
        saved = 0
        for vector in vectors:
            if super().save_vectors(model, [vector]):
                saved += 1
                if self._journal is not None:
                    self._journal.append(_vector_fields(model, self._seq, *vector))
        return saved

    # What a line does

    def fold(self, number: int, line: Line, path: str, mtime: int) -> None:
        """Take in a line; `mtime` is when a line without a time was written."""
        if line.rev is not None and line.op != "index":
            if line.rev <= self._rev:
                raise Corrupt(
                    f"line {number} of {path} has rev {line.rev} after {self._rev}", hint="put the lines in order again"
                )
            self._rev = line.rev - 1
        at, by = _us(line.at, mtime), line.by or HAND
        match line.op:
            case "head":
                check_format(line, path)
            case "scope":
                self._fold_scope(line)
            case "sweep":
                Ram.sweep(self, at, _perhaps(line.before), 0)
            case "erase":
                self._fold_erase(line, at, by)
            case "index":
                self._fold_index(line, line.rev or 0)
            case "unindex":
                super().unindex(line.scope, line.shape, line.id)
            case "vector":
                self._fold_vector(line)
            case _:
                self._fold_change(line, at, by)

    def _fold_change(self, line: Line, at: int, by: str) -> None:
        shape, data = line.shape, line.content()
        if shape == RECORD and not bytes(line.record) and bytes(line.value):
            shape = "fact"  # by hand, and nothing else was said
        if line.blank:
            self._fold_blank(line, at, by)
        elif data is not None:
            event = line.event or f"{shape}.set"
            times, more = (at, _perhaps(line.expires)), (line.version, _perhaps(line.created))
            cell = super().put(Put(line.scope, shape, line.id, data, *times, by, event, None, *more))
            if cell is not None:
                self._fold_doc(line, shape, cell)
        else:
            super().drop(Drop(line.scope, shape, line.id, at, by, line.event or f"{shape}.delete"))
        if line.prev is not None:
            self._follow(line.scope, shape, line.id, line.prev)

    def _fold_doc(self, line: Line, shape: str, cell: Cell) -> None:
        if line.index is not None and not line.by_hand:
            self._fold_index(line, cell.rev)
        elif line.n or line.by_hand:
            doc = self._derived(line.scope, shape, cell)
            if doc is None and self.derive is None:
                doc = Doc(line.scope, shape, cell.key, cell.rev, cell.created, None, (), None, _LATER)
            if doc is not None:
                self._number(line.n, doc)

    def _number(self, number: int, doc: Doc) -> None:
        last = self._last
        self._last = number - 1 if number else last
        super().index([doc])
        self._last = max(last, self._last)

    def _fold_blank(self, line: Line, at: int, by: str) -> None:
        """An event whose value is gone."""
        held = self._scopes.setdefault(line.scope, _Scope())
        row = held.rows.setdefault((line.shape, line.id), _Row())
        version, expires = line.version or row.version, _perhaps(line.expires)
        what = (line.scope, line.shape, line.id, line.event or "", version, None)
        self._set(held, row, None, Change(self._next(), *what, at, expires, by, _us(line.created, at)))

    def _follow(self, scope: str, shape: str, key: str, prev: int) -> None:
        """The newest event follows one that was forgotten."""
        held = self._scopes[scope]
        events = held.rows[shape, key].events
        events[-1] = held.events[-1] = events[-1]._replace(prev=prev)

    def _fold_erase(self, line: Line, at: int, by: str) -> None:
        event = line.event or "scope.delete"
        held = self._scopes.setdefault(line.scope, _Scope())
        if held.rows:
            super().erase(line.scope, at, by, event)
        else:
            held.events.append(Change(self._next(), line.scope, "scope", "", event, 0, None, at, None, by, at))

    def _fold_scope(self, line: Line) -> None:
        held = self._scopes.setdefault(line.scope, _Scope())
        held.floor, held.horizon, held.horizon_at = line.floor, line.horizon, _us(line.horizon_at, 0)
        self._rev = max(self._rev, line.horizon)

    def _fold_index(self, line: Line, rev: int) -> None:
        if line.index is not None:
            self._number(line.n, _doc(line, rev, line.index))

    def _fold_vector(self, line: Line) -> None:
        last, self._seq = self._seq, line.seq - 1
        made_from, data = bytes.fromhex(line.hash), b64decode(line.data)
        super().save_vectors(line.model, [(line.scope, line.shape, line.id, made_from, data)])
        self._seq = max(last, line.seq)

    def begin_anew(self) -> None:
        """Forget all; numbers that were given out are not given again."""
        for name, value in vars(Ram()).items():
            if name not in _KEPT:
                setattr(self, name, value)

    # All as lines

    def lines(self) -> Iterator[dict[str, Any]]:
        """What a new file says to give the same cells, events and counters."""
        yield {"op": "head", "format": FORMAT}
        last = 0
        begun: set[tuple[str, str, str]] = set()
        for change in sorted((change for held in self._scopes.values() for change in held.events), key=_by_rev):
            name = change[1:4]
            fields = kept_fields(
                change,
                change.rev if change.rev != last + 1 else None,
                change.prev if name not in begun else None,
            )
            last = change.rev
            begun.add(name)
            _, doc = self._spaces.get(name[:2], {}).get(change.key, (0, None))
            row = self._row(*name)
            if doc is not None and row is not None and row.cell is not None and row.cell.rev == change.rev == doc.rev:
                fields |= self._doc_fields(doc)
            yield fields
        yield from self._other_docs()
        yield from self._all_vectors()
        for scope, held in sorted(self._scopes.items()):
            if held.floor or held.horizon:
                moment = clock.moment(held.horizon_at)
                fields = {"op": "scope", "scope": scope, "floor": held.floor, "horizon": held.horizon}
                yield {**fields, "horizon_at": moment}

    def _other_docs(self) -> Iterator[dict[str, Any]]:
        """Docs that were not indexed with the newest write of their cell."""
        for (scope, shape), held in self._spaces.items():
            for key, (_, doc) in held.items():
                row = self._row(scope, shape, key)
                if row is None or row.cell is None or row.cell.rev != doc.rev:
                    fields = {"op": "index", "scope": scope, "id": key, **_shape(shape), "rev": doc.rev}
                    yield fields | self._doc_fields(doc)

    def _all_vectors(self) -> Iterator[dict[str, Any]]:
        docs = {number: doc for held in self._spaces.values() for number, doc in held.values()}
        for (number, model), vector in sorted(self._vectors.items(), key=lambda item: item[1].seq):
            if doc := docs.get(number):
                yield _vector_fields(model, vector.seq, *doc[:3], doc.hash, vector.data)


def _by_rev(change: Change) -> int:
    return change.rev


def _shape(shape: str) -> dict[str, str]:
    return {} if shape == RECORD else {"shape": shape}


def _doc(line: Line, rev: int, index: Index) -> Doc:
    found = (index.at, index.group, index.marks, index.text, index.length, bytes.fromhex(index.hash))
    return Doc(line.scope, line.shape, line.id, rev, *found)


def _vector_fields(
    model: str, seq: int, scope: str, shape: str, key: str, made_from: bytes, data: bytes
) -> dict[str, Any]:
    where = {"op": "vector", "scope": scope, "id": key, **_shape(shape)}
    return {**where, "model": model, "seq": seq, "hash": made_from.hex(), "data": b64encode(data).decode()}
