"""The index of a store in SQLite: words by FTS5, marks and vectors in tables of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import apsw

from memwell.codec import to_json
from memwell.store import Cell
from memwell.store.index import Doc, Found, Listed, Sides, Terms, Vector
from memwell.store.sqlite import sql

_SPLIT = "\x1f"
_SPACE = "SELECT id FROM spaces WHERE scope = ? AND shape = ?"
_COLUMNS = f"""
SELECT d.id, d.at, d."group", d.text, d.length,
  EXISTS (SELECT 1 FROM marks AS m WHERE m.space = d.space AND m.mark = 'over:' || d.key),
  {", ".join(f"c.{column.strip()}" for column in sql.CELL.split(","))}
"""
_CELL = """
CROSS JOIN cells AS c ON c.scope = ?1 AND c.shape = ?2 AND c.key = d.key
WHERE d.space = ?3 AND c.value IS NOT NULL AND (c.expires IS NULL OR c.expires > ?4)
"""
# CROSS JOIN keeps the order of the tables: from few ids to their docs to their cells.
_DOCS = f"{_COLUMNS} FROM json_each(?5) AS j CROSS JOIN docs AS d ON d.id = j.value {_CELL}"
_NEWEST = f"{_COLUMNS} FROM docs AS d {_CELL} ORDER BY d.at DESC, d.id DESC"
_NEWEST_BEFORE = f"{_COLUMNS} FROM docs AS d {_CELL} AND (d.at, d.id) < (?5, ?6) ORDER BY d.at DESC, d.id DESC"
_INSERT_DOC = """
INSERT INTO docs(id, space, key, at, "group", marks, text, length, hash, model) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEAR = (
    """SELECT id FROM docs WHERE space = ?1 AND "group" = ?2 AND (at, id) < (?3, ?4)
                 ORDER BY at DESC, id DESC LIMIT ?5""",
    """SELECT id FROM docs WHERE space = ?1 AND "group" = ?2 AND (at, id) > (?3, ?4)
                ORDER BY at, id LIMIT ?5""",
)
_WITHOUT = """
SELECT s.scope, s.shape, d.key FROM docs AS d INDEXED BY docs_model
CROSS JOIN spaces AS s ON s.id = d.space CROSS JOIN cells AS c ON (c.scope, c.shape, c.key) = (s.scope, s.shape, d.key)
WHERE d.text IS NOT NULL AND d.hash <> x''
  AND c.value IS NOT NULL AND (c.expires IS NULL OR c.expires > ?2) AND d.model {} LIMIT ?3
"""
_UNEMBEDDED = [_WITHOUT.format(model) for model in ("IS NULL AND ?1 IS NOT NULL", "< ?1", "> ?1")]
# In three, each along the index of models, which is empty there once all is done: not along all docs of the space.
_MISSING = """SELECT count(*) FROM docs AS d INDEXED BY docs_model WHERE d.text IS NOT NULL AND d.hash <> x''
AND +d.space = (SELECT id FROM spaces WHERE scope = ?2 AND shape = ?3) AND d.model"""
_COUNT_UNEMBEDDED = f"SELECT ({_MISSING} IS NULL) + ({_MISSING} < ?1) + ({_MISSING} > ?1)"
_SAVE_VECTOR = """
INSERT OR REPLACE INTO vectors(doc, space, model, data)
SELECT d.id, d.space, ?1, ?6 FROM docs AS d JOIN spaces AS s ON s.id = d.space
WHERE s.scope = ?2 AND s.shape = ?3 AND d.key = ?4 AND d.hash = ?5
"""

_SAVED = """
UPDATE docs SET model = ?1
WHERE space = (SELECT id FROM spaces WHERE scope = ?2 AND shape = ?3) AND key = ?4 AND hash = ?5
"""


class Find:
    """The part of a connection's rows that search reads and writes."""

    __slots__ = ()
    if TYPE_CHECKING:
        execute: Any
        connection: apsw.Connection

    def terms(self, scope: str, shape: str, terms: Sequence[str]) -> Terms:
        space = self.execute("SELECT id, docs, length FROM spaces WHERE scope = ? AND shape = ?", (scope, shape))
        row = space.fetchone()
        if row is None:
            return Terms(0, 0, dict.fromkeys(terms, 0))
        number, docs, length = row
        count = "SELECT doc FROM words_count WHERE term = ?"
        return Terms(
            max(docs, 0), max(length, 0), {term: self.execute(count, (_word(number, term),)).get or 0 for term in terms}
        )

    def holding(self, scope: str, shape: str, alternatives: Sequence[Sequence[str]], most: int) -> list[int]:
        space = self._space(scope, shape)
        if space is None or not any(alternatives):
            return []
        match = " OR ".join(
            f"({' AND '.join(_quoted(space, term) for term in group)})" for group in alternatives if group
        )
        select = "SELECT json_group_array(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)"
        return _numbers(self.execute(select, (match, most)).get)

    def marked(self, scope: str, shape: str, marks: Sequence[str], most: int | None = None) -> list[int]:
        select = f"""SELECT json_group_array(doc) FROM (SELECT DISTINCT doc FROM marks
                     WHERE space = ({_SPACE}) AND mark IN (SELECT value FROM json_each(?)) LIMIT ?)"""
        return _numbers(self.execute(select, (scope, shape, _listed(marks), -1 if most is None else most)).get)

    def docs(self, scope: str, shape: str, ids: Sequence[int], now: int) -> list[Found]:
        if not ids:
            return []
        space = self._space(scope, shape)
        rows = self.execute(_DOCS, (scope, shape, space, now, _listed(ids))).fetchall()
        return [_found(row) for row in rows]

    def doc_id(self, scope: str, shape: str, key: str) -> int | None:
        found: int | None = self.execute(
            f"SELECT id FROM docs WHERE space = ({_SPACE}) AND key = ?", (scope, shape, key)
        ).get
        return found

    def newest(self, scope: str, shape: str, before: Listed | None, now: int) -> Iterator[Found]:
        bound = (scope, shape, self._space(scope, shape), now, *(before or ()))
        return map(_found, self.execute(_NEWEST if before is None else _NEWEST_BEFORE, bound))

    def neighbours(self, scope: str, shape: str, ids: Sequence[int], reach: int) -> dict[int, Sides]:
        space = self._space(scope, shape)
        select = """SELECT id, "group", at FROM docs
                    WHERE space = ? AND id IN (SELECT value FROM json_each(?)) AND "group" IS NOT NULL"""
        near: dict[int, Sides] = {}
        for number, group, at in self.execute(select, (space, _listed(ids))).fetchall():
            place = (space, group, at, number, reach)
            before, after = ([row[0] for row in self.execute(side, place).fetchall()] for side in _NEAR)
            near[number] = (before, after)
        return near

    def reached(self, scope: str, shape: str) -> int:
        rev = self.execute("SELECT reached FROM spaces WHERE scope = ? AND shape = ?", (scope, shape)).get
        return int(rev or 0)

    def scopes_marked(self, shape: str, mark: str) -> list[str]:
        select = """SELECT scope FROM spaces AS s WHERE shape = ?
                    AND EXISTS (SELECT 1 FROM marks WHERE space = s.id AND mark = ?) ORDER BY scope"""
        return [scope for (scope,) in self.execute(select, (shape, mark))]

    def vectors_of(self, model: str, ids: Sequence[int]) -> list[Vector]:
        select = """SELECT v.doc, v.seq, v.data FROM json_each(?) AS j
                    CROSS JOIN vectors AS v ON v.doc = j.value AND v.model = ?"""
        return [Vector(*row) for row in self.execute(select, (_listed(ids), model))]

    def vectors(self, scope: str, shape: str, model: str, after: int, limit: int) -> list[Vector]:
        select = f"""SELECT doc, seq, data FROM vectors
                     WHERE space = ({_SPACE}) AND model = ? AND seq > ? ORDER BY seq LIMIT ?"""
        return [Vector(*row) for row in self.execute(select, (scope, shape, model, after, limit))]

    def count_unembedded(self, scope: str, shape: str, model: str) -> int:
        return int(self.execute(_COUNT_UNEMBEDDED, (model, scope, shape)).get)

    def unembedded(self, model: str, limit: int, now: int) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        for select in _UNEMBEDDED:
            found += self.execute(select, (model, now, limit - len(found))).fetchall()
        return found

    # Writing

    def index(self, docs: Iterable[Doc]) -> None:
        by_space: dict[tuple[str, str], list[Doc]] = {}
        for doc in docs:
            by_space.setdefault((doc.scope, doc.shape), []).append(doc)
        for (scope, shape), group in by_space.items():
            self._index(self._make_space(scope, shape), group)

    def _index(self, space: int, docs: list[Doc]) -> None:
        next_id = (self.execute("SELECT seq FROM sqlite_sequence WHERE name = 'docs'").get or 0) + 1
        known = "SELECT key FROM docs WHERE space = ? AND key IN (SELECT value FROM json_each(?))"
        taken = {key for (key,) in self.execute(known, (space, _listed([doc.key for doc in docs])))}
        kept = [
            self._old(space, doc.key, doc.hash if doc.text is not None else None) if doc.key in taken else None
            for doc in docs
        ]
        rows: list[tuple[Any, ...]] = []
        marks: list[tuple[int, str, int]] = []
        texts: list[tuple[int, str]] = []
        for doc, old in zip(docs, kept, strict=True):
            number, model = old or (next_id, None)
            next_id += old is None
            length = doc.length if doc.text is not None else 0
            body = (doc.key, doc.at, doc.group, _SPLIT.join(doc.marks), doc.text, length, doc.hash, model)
            rows.append((number, space, *body))
            marks += [(space, mark, number) for mark in dict.fromkeys(doc.marks)]
            if doc.text is not None:
                texts.append((number, " ".join(_word(space, term) for term in set(doc.text.split()))))
        many = self.connection.executemany
        many(_INSERT_DOC, rows)
        many("INSERT INTO marks(space, mark, doc) VALUES(?, ?, ?)", marks)
        many("INSERT INTO words(rowid, stems) VALUES(?, ?)", texts)
        self._count(space, len(texts), sum(row[7] for row in rows))

    def _old(self, space: int, key: str, made_from: bytes | None = None) -> tuple[int, str | None] | None:
        """Take the doc of a key out of the index; its number and, if it says the same still, its vector are kept."""
        select = "SELECT id, marks, text IS NOT NULL, length, hash, model FROM docs WHERE space = ? AND key = ?"
        row = self.execute(select, (space, key)).fetchone()
        if row is None:
            return None
        number, marks, worded, length, hashed, model = row
        for mark in marks.split(_SPLIT):
            self.execute("DELETE FROM marks WHERE space = ? AND mark = ? AND doc = ?", (space, mark, number))
        if worded:
            self.execute("DELETE FROM words WHERE rowid = ?", (number,))
            self._count(space, -1, -length)
        if hashed != made_from:
            self.execute("DELETE FROM vectors WHERE doc = ?", (number,))
            model = None
        self.execute("DELETE FROM docs WHERE id = ?", (number,))
        return int(number), model

    def unindex(self, scope: str, shape: str, key: str) -> None:
        space = self._space(scope, shape)
        if space is not None:
            self._old(space, key)

    def reach(self, scope: str, shape: str, rev: int) -> None:
        self.execute("UPDATE spaces SET reached = ? WHERE id = ?", (rev, self._make_space(scope, shape)))

    def unindex_all(self) -> dict[tuple[str, str, str], int]:
        try:
            rows = self.execute(
                "SELECT s.scope, s.shape, d.key, d.id FROM docs AS d JOIN spaces AS s ON s.id = d.space"
            )
            order = {(scope, shape, key): number for scope, shape, key, number in rows}
        except (apsw.Error, UnicodeDecodeError):
            order = {}  # it is damaged, which may be why it is made anew
        self.execute("INSERT INTO words(words) VALUES('delete-all')")
        for table in ("vectors", "marks", "docs", "spaces"):
            self.execute(f"DELETE FROM {table}")
        return order

    def unindex_scope(self, scope: str) -> None:
        """Take all docs of a scope out."""
        for (space,) in self.execute("SELECT id FROM spaces WHERE scope = ?", (scope,)).fetchall():
            worded = "SELECT id FROM docs WHERE space = ? AND text IS NOT NULL"
            self.execute(f"DELETE FROM words WHERE rowid IN ({worded})", (space,))
            for table in ("vectors", "marks", "docs"):
                self.execute(f"DELETE FROM {table} WHERE space = ?", (space,))
            self.execute("UPDATE spaces SET docs = 0, length = 0, reached = 0 WHERE id = ?", (space,))

    def save_vectors(self, model: str, vectors: Sequence[tuple[str, str, str, bytes, bytes]]) -> int:
        before = self.connection.total_changes()
        self.connection.executemany(_SAVE_VECTOR, [(model, *vector) for vector in vectors])
        saved = self.connection.total_changes() - before
        self.connection.executemany(_SAVED, [(model, *vector[:4]) for vector in vectors])
        return saved

    def _space(self, scope: str, shape: str) -> int | None:
        found: int | None = self.execute(_SPACE, (scope, shape)).get
        return found

    def _make_space(self, scope: str, shape: str) -> int:
        space = self._space(scope, shape)
        if space is None:
            make = "INSERT INTO spaces(scope, shape, docs, length) VALUES(?, ?, 0, 0) RETURNING id"
            space = self.execute(make, (scope, shape)).get
        return int(space)

    def _count(self, space: int, docs: int, length: int) -> None:
        self.execute("UPDATE spaces SET docs = docs + ?, length = length + ? WHERE id = ?", (docs, length, space))


def _word(space: int, term: str) -> str:
    """A term of a space as one word: digits, then a letter, so that no two spaces can share one."""
    return f"{space}x{term}"


def _quoted(space: int, term: str) -> str:
    """As an FTS5 string; a term has letters and digits only, so there is nothing in it to escape."""
    return '"' + _word(space, term).replace('"', '""') + '"'


def _listed(items: Sequence[Any]) -> str:
    return to_json(list(items)).decode()


@lru_cache(maxsize=1)
def _decoder() -> Any:
    import msgspec

    return msgspec.json.Decoder(list[int]).decode


def _numbers(text: str | None) -> list[int]:
    return _decoder()(text) if text else []


def _found(row: tuple[Any, ...]) -> Found:
    number, at, group, text, length, linked = row[:6]
    return Found(number, at, group, text, length, bool(linked), Cell._make(row[6:]))
