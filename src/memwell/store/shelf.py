"""The index of a backend that keeps everything in memory: lists that are looked through. The reference for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from memwell.store.index import Doc, Found, Listed, Sides, Terms, Vector

Space = tuple[str, str]


class Shelf:
    """Docs by space and key, each with a number. `undo` gets the step back of every change."""

    def __init__(self, undo: list[Callable[[], Any]], cell: Callable[[str, str, str, int], Any]) -> None:
        self._undo, self._cell = undo, cell
        self._spaces: dict[Space, dict[str, tuple[int, Doc]]] = {}
        self._vectors: dict[tuple[int, str], Vector] = {}
        self._reached: dict[Space, int] = {}
        self._last = self._seq = 0

    def terms(self, scope: str, shape: str, terms: Sequence[str]) -> Terms:
        worded = [doc for _, doc in self._docs(scope, shape) if doc.text is not None]
        held = {term: sum(f" {term} " in (doc.text or "") for doc in worded) for term in terms}
        return Terms(len(worded), sum(doc.length for doc in worded), held)

    def holding(self, scope: str, shape: str, alternatives: Sequence[Sequence[str]], most: int) -> list[int]:
        groups = [[f" {term} " for term in group] for group in alternatives if group]
        found = (
            number
            for number, doc in self._docs(scope, shape)
            if doc.text is not None and any(all(term in doc.text for term in group) for group in groups)
        )
        return sorted(found)[:most]

    def marked(self, scope: str, shape: str, marks: Sequence[str], most: int | None = None) -> list[int]:
        return sorted(number for number, doc in self._docs(scope, shape) if not {*marks}.isdisjoint(doc.marks))[:most]

    def docs(self, scope: str, shape: str, ids: Sequence[int], now: int) -> list[Found]:
        wanted = {*ids}
        found = sorted((pair for pair in self._docs(scope, shape) if pair[0] in wanted), key=lambda pair: pair[0])
        return [*self._live(scope, shape, found, now)]

    def doc_id(self, scope: str, shape: str, key: str) -> int | None:
        held = self._spaces.get((scope, shape), {}).get(key)
        return held[0] if held else None

    def newest(self, scope: str, shape: str, before: Listed | None, now: int) -> Iterator[Found]:
        order = sorted(self._docs(scope, shape), key=lambda pair: (pair[1].at, pair[0]), reverse=True)
        rest = (pair for pair in order if before is None or (pair[1].at, pair[0]) < tuple(before))
        return self._live(scope, shape, rest, now)

    def neighbours(self, scope: str, shape: str, ids: Sequence[int], reach: int) -> dict[int, Sides]:
        groups: dict[str, list[int]] = {}
        for number, doc in sorted(self._docs(scope, shape), key=lambda pair: (pair[1].at, pair[0])):
            if doc.group is not None:
                groups.setdefault(doc.group, []).append(number)
        near = {}
        for group in groups.values():
            for place, number in enumerate(group):
                if number in ids:
                    before = group[max(0, place - reach) : place]
                    near[number] = (before[::-1], group[place + 1 : place + 1 + reach])
        return near

    def reached(self, scope: str, shape: str) -> int:
        return self._reached.get((scope, shape), 0)

    def reach(self, scope: str, shape: str, rev: int) -> None:
        self._reached[scope, shape] = rev

    def scopes_marked(self, shape: str, mark: str) -> list[str]:
        spaces = self._spaces.items()
        return sorted(
            scope for (scope, of), held in spaces if of == shape and any(mark in doc.marks for _, doc in held.values())
        )

    def vectors_of(self, model: str, ids: Sequence[int]) -> list[Vector]:
        return [self._vectors[number, model] for number in ids if (number, model) in self._vectors]

    def vectors(self, scope: str, shape: str, model: str, after: int, limit: int) -> list[Vector]:
        held = ((number, self._vectors.get((number, model))) for number, _ in self._docs(scope, shape))
        newer = [vector for _, vector in held if vector and vector.seq > after]
        return sorted(newer, key=lambda vector: vector.seq)[:limit]

    def count_unembedded(self, scope: str, shape: str, model: str) -> int:
        held = self._docs(scope, shape)
        return sum(doc.text is not None and doc.hash != b"" and (n, model) not in self._vectors for n, doc in held)

    def unembedded(self, model: str, limit: int, now: int) -> list[tuple[str, str, str]]:
        return [
            (scope, shape, key)
            for (scope, shape), held in self._spaces.items()
            for key, (number, doc) in held.items()
            if doc.text is not None
            and doc.hash
            and (number, model) not in self._vectors
            and self._cell(scope, shape, key, now)
        ][:limit]

    # Writing

    def index(self, docs: Iterable[Doc]) -> None:
        for doc in docs:
            held = self._spaces.setdefault((doc.scope, doc.shape), {})
            number = self._take(doc.scope, doc.shape, doc.key, doc.hash if doc.text is not None else None)
            if number is None:
                self._last = number = self._last + 1
            held[doc.key] = (number, doc)
            self._undo.append(partial(held.pop, doc.key, None))

    def unindex(self, scope: str, shape: str, key: str) -> None:
        self._take(scope, shape, key)

    def unindex_all(self) -> dict[tuple[str, str, str], int]:
        order = {(*space, key): number for space, held in self._spaces.items() for key, (number, _) in held.items()}
        self._reached.clear()
        for scope, _ in list(self._spaces):
            self.unindex_scope(scope)
        return order

    def unindex_scope(self, scope: str) -> None:
        """Take all docs of a scope out."""
        for of, shape in list(self._spaces):
            if of == scope:
                for key in list(self._spaces[of, shape]):
                    self._take(of, shape, key)

    def save_vectors(self, model: str, vectors: Sequence[tuple[str, str, str, bytes, bytes]]) -> int:
        saved = 0
        for scope, shape, key, made_from, data in vectors:
            held = self._spaces.get((scope, shape), {}).get(key)
            if held is not None and held[1].hash == made_from:
                self._seq += 1
                self._vectors[held[0], model] = Vector(held[0], self._seq, data)
                saved += 1
        return saved

    def _take(self, scope: str, shape: str, key: str, made_from: bytes | None = None) -> int | None:
        held = self._spaces.get((scope, shape), {})
        if key not in held:
            return None
        old = held.pop(key)
        going = [name for name in self._vectors if name[0] == old[0]] if old[1].hash != made_from else []
        lost = {name: self._vectors.pop(name) for name in going}

        def undo() -> None:
            held[key] = old
            self._vectors.update(lost)

        self._undo.append(undo)
        return old[0]

    def _docs(self, scope: str, shape: str) -> Iterable[tuple[int, Doc]]:
        return self._spaces.get((scope, shape), {}).values()

    def _live(self, scope: str, shape: str, pairs: Iterable[tuple[int, Doc]], now: int) -> Iterator[Found]:
        linked = {mark for _, doc in self._docs(scope, shape) for mark in doc.marks if mark.startswith("over:")}
        for number, doc in pairs:
            cell = self._cell(scope, shape, doc.key, now)
            if cell is not None:
                yield Found(number, doc.at, doc.group, doc.text, doc.length, f"over:{doc.key}" in linked, cell)
