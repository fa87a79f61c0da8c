"""Whether the search index says what the stored records say; it can always be made anew from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memwell.engine.body import SHAPE, to_doc, unseal
from memwell.errors import MemwellError
from memwell.store import Cell, Read, Span
from memwell.store.index import Doc
from memwell.types import Damage

ADVICE = "'memwell reindex' makes it anew"


def damage(view: Read) -> list[Damage]:
    """What of the index is missing, differs, or belongs to no record."""
    now = 0  # what has expired and is not swept yet is in the index still
    return [found for scope in view.scopes("", None, now) for found in _scope(view, scope, now)]


def _scope(view: Read, scope: str, now: int) -> Iterator[Damage]:
    expected: dict[str, Doc] = {}
    for cell in view.cells(scope, SHAPE, Span(), None, now):
        doc = _doc(scope, cell)
        if doc is not None:
            expected[cell.key] = doc
    if not expected:
        return
    seen = set()
    for found in view.newest(scope, SHAPE, None, now):
        seen.add(found.cell.key)
        doc = expected.get(found.cell.key)
        if doc is not None and (found.at, found.group, found.text) != (doc.at, doc.group, doc.text):
            yield _differs(scope, f"record {found.cell.key!r}")
    for key in expected.keys() - seen:
        yield Damage(where=f"search index of {scope}, record {key!r}", problem=f"it is missing there; {ADVICE}")
    yield from _counts(view, scope, list(expected.values()))


def _doc(scope: str, cell: Cell) -> Doc | None:
    try:
        return to_doc(scope, cell, unseal(scope, cell))
    except MemwellError:
        return None  # its own hash has told


def _counts(view: Read, scope: str, docs: list[Doc]) -> Iterator[Damage]:
    """Word by word and mark by mark: as many docs as there should be."""
    terms = Counter(term for doc in docs if doc.text is not None for term in {*doc.text.split()})
    found = view.terms(scope, SHAPE, list(terms))
    worded = [doc for doc in docs if doc.text is not None]
    if (found.docs, found.length) != (len(worded), sum(doc.length for doc in worded)):
        yield _differs(scope, "its counts")
    for term, count in terms.items():
        if found.holding[term] != count:
            yield _differs(scope, f"the word {term!r}")
    for mark, count in Counter(mark for doc in docs for mark in {*doc.marks}).items():
        if len(view.marked(scope, SHAPE, [mark])) != count:
            yield _differs(scope, f"the mark {mark!r}")


def _differs(scope: str, what: str) -> Damage:
    return Damage(where=f"search index of {scope}, {what}", problem=f"it differs from the records; {ADVICE}")
