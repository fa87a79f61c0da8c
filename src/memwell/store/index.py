"""What search can find: a doc beside a cell, with the words, marks and vectors it is found by.

A doc belongs to the cell of the same scope, shape and key. Its words are compared as they are: whoever indexes has
folded and stemmed them. A mark is an exact text such as `kind:profile`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from memwell.store import Cell

FIELDS_SPLIT = "\n"


class Doc(NamedTuple):
    """A doc to be kept. `at` orders it among the others; docs of one `group` are neighbours."""

    scope: str
    shape: str
    key: str
    rev: int
    at: int
    group: str | None
    marks: tuple[str, ...]
    text: str | None  # the words of each field, a line a field, blanks around each word; None: no words find it
    length: int = 0
    hash: bytes = b""  # of what a vector is made from; empty where none is made


class Found(NamedTuple):
    """A doc with its live cell; `linked` says that some doc has the mark `over:<key>`."""

    id: int
    at: int
    group: str | None
    text: str | None
    length: int
    linked: bool
    cell: Cell


class Terms(NamedTuple):
    """How many docs words can find, how long they are together, and how many hold each term."""

    docs: int
    length: int
    holding: dict[str, int]


class Listed(NamedTuple):
    """Where a listing of newest docs stands."""

    at: int
    id: int


class Vector(NamedTuple):
    """The vector of a doc, as stored."""

    id: int
    seq: int
    data: bytes


Sides = tuple[list[int], list[int]]


class Finding(Protocol):
    """Reading the index of a scope's shape."""

    def terms(self, scope: str, shape: str, terms: Sequence[str]) -> Terms: ...
    def holding(self, scope: str, shape: str, alternatives: Sequence[Sequence[str]], most: int) -> list[int]:
        """The docs that hold all terms of one of the alternatives; at most so many."""

    def marked(self, scope: str, shape: str, marks: Sequence[str], most: int | None = None) -> list[int]:
        """The docs with any of the marks; at most so many."""

    def docs(self, scope: str, shape: str, ids: Sequence[int], now: int) -> list[Found]: ...
    def doc_id(self, scope: str, shape: str, key: str) -> int | None: ...
    def newest(self, scope: str, shape: str, before: Listed | None, now: int) -> Iterator[Found]:
        """All docs with a live cell, newest first."""

    def neighbours(self, scope: str, shape: str, ids: Sequence[int], reach: int) -> dict[int, Sides]:
        """For docs that have a group: those before and those after, nearest first."""

    def reached(self, scope: str, shape: str) -> int:
        """The rev up to which cells were indexed, for a shape that is indexed later than written."""

    def scopes_marked(self, shape: str, mark: str) -> list[str]:
        """The scopes that hold a doc with the mark."""

    def vectors(self, scope: str, shape: str, model: str, after: int, limit: int) -> list[Vector]:
        """The vectors that were kept after a place in their sequence, in order."""

    def vectors_of(self, model: str, ids: Sequence[int]) -> list[Vector]:
        """The vectors of these docs."""

    def count_unembedded(self, scope: str, shape: str, model: str) -> int:
        """How many docs with words have no vector of the model."""

    def unembedded(self, model: str, limit: int, now: int) -> list[tuple[str, str, str]]:
        """Scope, shape and key of docs with words that have no vector of the model."""


class Indexing(Protocol):
    """Writing the index, in the transaction that writes the cells."""

    def index(self, docs: Iterable[Doc]) -> None: ...
    def unindex(self, scope: str, shape: str, key: str) -> None: ...
    def reach(self, scope: str, shape: str, rev: int) -> None: ...
    def unindex_all(self) -> dict[tuple[str, str, str], int]:
        """Empty the index; the number that each scope, shape and key had, as far as that can be read."""

    def save_vectors(self, model: str, vectors: Sequence[tuple[str, str, str, bytes, bytes]]) -> int:
        """Scope, shape, key, hash and data each; one whose doc has changed since is left out."""
