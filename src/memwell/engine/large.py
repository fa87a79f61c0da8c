"""A space with more vectors than fit in memory: a graph proposes, the stored vectors decide."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from memwell.engine.vectors import Place, best, numpy, pages, table
from memwell.store import Read

MARGIN = 2  # the graph is asked for so many times more than is wanted: it is near, not exact


class Large:
    """One space. With usearch its vectors stand in a graph, a byte a dimension, which each search keeps fresh."""

    def __init__(self, place: Place, dims: int, by_graph: bool | None = None) -> None:
        self._place, self._dims = place, dims
        self._by_graph = find_spec("usearch") is not None if by_graph is None else by_graph
        self._lock = threading.Lock()
        self._graph: Any = None
        self._seq = 0

    def nearest(self, view: Read, vector: Any, most: int, also: Sequence[int]) -> dict[int, float]:
        """Exact cosines: of what the graph proposes, or of every vector there is."""
        if not most:
            return self._cosines(view, vector, also)
        if not self._by_graph:
            found = self._scan(view, vector, most)
        else:
            with self._lock:
                self._refresh(view)
                known = len(self._graph)
                proposed = self._graph.search(vector, most * MARGIN).keys.tolist() if known > most * MARGIN else None
            if proposed is None:  # so few that each can be looked at
                found = self._scan(view, vector, most)
            else:
                cosines = self._cosines(view, vector, proposed)
                found = dict(sorted(cosines.items(), key=lambda pair: -pair[1])[:most])
        return {**found, **self._cosines(view, vector, [one for one in also if one not in found])}

    def _refresh(self, view: Read) -> None:
        if self._graph is None:
            from usearch.index import Index

            self._graph = Index(ndim=self._dims, metric="cos", dtype="i8")
        np = numpy()
        for page in pages(view, self._place, self._seq):
            ids = np.array([one.id for one in page], dtype="uint64")
            known = ids[self._graph.contains(ids)]
            if len(known):
                self._graph.remove(known)
            newest = {one.id: one for one in page}
            self._graph.add(np.array([*newest], dtype="uint64"), table([*newest.values()], self._dims))
            self._seq = page[-1].seq

    def _scan(self, view: Read, vector: Any, most: int) -> dict[int, float]:
        found: dict[int, float] = {}
        for page in pages(view, self._place, 0):
            scores = table(page, self._dims) @ vector
            found.update({page[row].id: float(scores[row]) for row in best(scores, most)})
            found = dict(sorted(found.items(), key=lambda pair: -pair[1])[:most])
        return found

    def _cosines(self, view: Read, vector: Any, ids: Sequence[int]) -> dict[int, float]:
        stored = view.vectors_of(self._place[2], ids)
        scores = table(stored, self._dims) @ vector if stored else ()
        return {one.id: float(score) for one, score in zip(stored, scores, strict=True)}
