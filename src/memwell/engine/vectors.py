"""Vectors of a scope in memory: one matrix a scope and model, loaded when first asked for, kept fresh by sequence."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from memwell.errors import Unsupported
from memwell.store import Read

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES_MOST = 512 * 1024 * 1024  # of all matrices together; the one used longest ago goes first
Place = tuple[str, str, str]  # scope, shape, model


def numpy() -> Any:
    """The library that vectors need, which comes with the extra."""
    try:
        import numpy
    except ImportError:
        raise Unsupported("search by meaning needs numpy", hint="pip install 'memwell[embed]'") from None
    return numpy


class Matrix:
    """The vectors of one space, a row each; a vector made anew takes the row of the old one."""

    def __init__(self, dims: int) -> None:
        self._np = numpy()
        self.dims = dims
        self.ids = self._np.zeros(0, dtype="int64")
        self.rows = self._np.zeros((0, dims), dtype="float32")
        self.count = self.seq = 0
        self._row: dict[int, int] = {}

    def refresh(self, view: Read, place: Place) -> None:
        """Take in what was kept since."""
        new = view.vectors(*place, self.seq)
        if new:
            data = self._np.frombuffer(b"".join(vector.data for vector in new), dtype="float16")
            self._add([vector.id for vector in new], data.reshape(len(new), -1).astype("float32"))
            self.seq = new[-1].seq

    def _add(self, ids: list[int], data: Any) -> None:
        if data.shape[1] != self.dims:
            raise Unsupported("the stored vectors have other dimensions", hint="give the embedder another name")
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
        if not self.count:
            return {}
        if not most:
            return {one: float(self.rows[self._row[one]] @ vector) for one in also if one in self._row}
        scores = self.rows[: self.count] @ vector
        top = range(self.count)
        if most < self.count:
            top = self._np.argpartition(scores, -most)[-most:]
        found = {int(self.ids[row]): float(scores[row]) for row in top}
        for number in also:
            row = self._row.get(number)
            if row is not None:
                found[number] = float(scores[row])
        return found


class Vectors:
    """The matrices of a store, within a budget."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: OrderedDict[Place, Matrix] = OrderedDict()

    def nearest(self, view: Read, place: Place, vector: Any, most: int, also: Sequence[int]) -> dict[int, float]:
        """The nearest docs of a space, as it is in the view."""
        with self._lock:
            matrix = self._matrices.pop(place, None) or Matrix(len(vector))
            if matrix.dims != len(vector):
                matrix = Matrix(len(vector))
            matrix.refresh(view, place)
            self._matrices[place] = matrix
            self._fit()
            return matrix.nearest(vector, most, also)

    def count(self, place: Place) -> int:
        """How many vectors of a space are at hand."""
        with self._lock:
            matrix = self._matrices.get(place)
            return matrix.count if matrix else 0

    def _fit(self) -> None:
        while len(self._matrices) > 1 and sum(one.rows.nbytes for one in self._matrices.values()) > BYTES_MOST:
            self._matrices.popitem(last=False)


def unit(vector: Any, dims: int | None = None) -> Any:
    """A vector of length one, of so many dimensions."""
    np = numpy()
    array = np.asarray(vector, dtype="float32").reshape(-1)
    length = float(np.sqrt((array.astype("float64") ** 2).sum()))
    if (dims is not None and len(array) != dims) or not np.isfinite(length) or not length:
        raise Unsupported(f"a vector of {len(array)} numbers and length {length} can't be used")
    return array / length
