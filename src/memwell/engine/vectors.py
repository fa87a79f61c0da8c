"""Vectors of a scope in memory: one matrix a scope and model, loaded when first asked for, kept fresh by sequence.

A scope whose vectors are too many for that is searched by a graph where usearch is installed, else page by page from
the store: slower, as exact, and never more than a page in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from memwell.errors import Invalid, Unsupported
from memwell.store import Read
from memwell.store.index import Vector

PAGE = 10_000
Place = tuple[str, str, str]  # scope, shape, model


def numpy() -> Any:
    """The library that vectors need, which comes with the extra."""
    try:
        import numpy
    except ImportError:
        raise Unsupported("search by meaning needs numpy", hint="pip install 'memwell[embed]'") from None
    return numpy


def pages(view: Read, place: Place, after: int) -> Iterator[list[Vector]]:
    """The vectors that were kept after a place in the sequence, so many at a time."""
    while page := view.vectors(*place, after, PAGE):
        yield page
        after = page[-1].seq


def table(vectors: Sequence[Vector], dims: int) -> Any:
    """Stored vectors as a matrix."""
    np = numpy()
    data = np.frombuffer(b"".join(vector.data for vector in vectors), dtype="float16")
    if len(data) != len(vectors) * dims:
        raise Unsupported("the stored vectors have other dimensions", hint="give the embedder another name")
    return data.reshape(-1, dims).astype("float32")


class Matrix:
    """The vectors of one space, a row each; a vector made anew takes the row of the old one."""

    def __init__(self, dims: int) -> None:
        self._np = numpy()
        self.dims = dims
        self.ids = self._np.zeros(0, dtype="int64")
        self.rows = self._np.zeros((0, dims), dtype="float32")
        self.count = self.seq = 0
        self._row: dict[int, int] = {}

    def refresh(self, view: Read, place: Place, most: int) -> bool:
        """Take in what was kept since; False once there would be more than `most` rows."""
        for page in pages(view, place, self.seq):
            self._add([vector.id for vector in page], table(page, self.dims))
            self.seq = page[-1].seq
            if self.count > most:
                return False
        return True

    def _add(self, ids: list[int], data: Any) -> None:
        self._make_room(self.count + len(ids))
        for number, vector in zip(ids, data, strict=True):
            row = self._row.setdefault(number, self.count)
            if row == self.count:
                self.count += 1
            self.ids[row], self.rows[row] = number, vector

    def _make_room(self, count: int) -> None:
        if count > len(self.ids):
            size = max(count, len(self.ids) * 3 // 2)
            ids, rows = self._np.zeros(size, "int64"), self._np.zeros((size, self.dims), "float32")
            ids[: self.count], rows[: self.count] = self.ids[: self.count], self.rows[: self.count]
            self.ids, self.rows = ids, rows

    def nearest(self, vector: Any, most: int, also: Sequence[int]) -> dict[int, float]:
        """The cosine of the nearest docs, and of some others that are asked for."""
        if not most:
            return {one: float(self.rows[self._row[one]] @ vector) for one in also if one in self._row}
        scores = self.rows[: self.count] @ vector
        top = best(scores, most)
        found = {int(self.ids[row]): float(scores[row]) for row in top}
        for number in also:
            row = self._row.get(number)
            if row is not None:
                found[number] = float(scores[row])
        return found


def best(scores: Any, most: int) -> Any:
    """The rows with the highest scores, in no order."""
    return range(len(scores)) if most >= len(scores) else numpy().argpartition(scores, -most)[-most:]


class Vectors:
    """The vectors of a store, within a budget of bytes for all matrices together."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._lock = threading.Lock()
        self._matrices: OrderedDict[Place, Matrix] = OrderedDict()
        self._large: dict[Place, Any] = {}

    def nearest(self, view: Read, place: Place, vector: Any, most: int, also: Sequence[int]) -> dict[int, float]:
        """The nearest docs of a space, as it is in the view, and the cosines of some others."""
        with self._lock:
            if place not in self._large:
                matrix = self._matrix(place, len(vector))
                if matrix.refresh(view, place, self._budget // (4 * matrix.dims)):
                    self._matrices[place] = matrix
                    self._fit()
                    return matrix.nearest(vector, most, also)
                from memwell.engine.large import Large

                self._large[place] = Large(place, len(vector))
            large = self._large[place]
        return large.nearest(view, vector, most, also)  # type: ignore[no-any-return]

    def _matrix(self, place: Place, dims: int) -> Matrix:
        matrix = self._matrices.pop(place, None)
        return matrix if matrix is not None and matrix.dims == dims else Matrix(dims)

    def _fit(self) -> None:
        while len(self._matrices) > 1 and sum(one.rows.nbytes for one in self._matrices.values()) > self._budget:
            self._matrices.popitem(last=False)


def unit(vector: Any) -> Any:
    """Somebody's vector, of length one."""
    np = numpy()
    try:
        array = np.asarray(vector, dtype="float32").reshape(-1)
    except (TypeError, ValueError):
        raise Invalid("the vector is not a list of numbers") from None
    length = float(np.sqrt((array.astype("float64") ** 2).sum()))
    if not len(array) or not np.isfinite(length) or not length:
        raise Invalid("the vector has no direction", hint="give finite numbers that are not all zero")
    return array / length
