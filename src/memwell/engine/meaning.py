"""Search by meaning: the embedder, the vectors at hand, and the thread that makes vectors after writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from memwell import clock
from memwell.config import Settings
from memwell.embed import Cached, Embedder, Vector
from memwell.engine.background import Background
from memwell.engine.body import SHAPE, embedded_text, text_hash, unseal
from memwell.engine.vectors import Vectors, numpy
from memwell.errors import Invalid, MemwellError
from memwell.forks import begins_anew
from memwell.store import Backend, Read

BATCH = 64
Row = tuple[str, str, bytes, str]  # scope, key, hash and text
RETRY_S = 5.0


class Meaning:
    """What an engine with an embedder has besides words. Vectors are made after the write was acknowledged."""

    def __init__(self, backend: Backend, settings: Settings, embedder: Embedder) -> None:
        self.embedder, self._backend, self._settings = Cached(embedder), backend, settings
        self._unfit: set[tuple[str, str, bytes]] = set()  # what the embedder refuses: it must not hold up the rest
        self._background = Background("memwell-embedder", self._run)
        self.start, self.stop = self._background.wake, self._background.stop
        self.begin_process()
        begins_anew(self)

    def begin_process(self) -> None:
        """A child loads its own vectors."""
        self.vectors = Vectors(self._settings.vector_bytes)
        self._embedding = threading.Lock()

    @property
    def model(self) -> str:
        """The name that its vectors are kept under."""
        return self.embedder.name

    def query(self, text: str) -> Any:
        """The vector of a question."""
        return numpy().asarray(self.embedder.embed_query(text), dtype="float32")

    def _run(self) -> None:
        pause: float | None = None
        while not self._background.stopped:
            self._background.wait(pause)
            try:
                while not self._background.stopped and self.embed_some():
                    pass
                pause = None
            except MemwellError:
                pause = RETRY_S  # an embedder that is away: search goes on by words, and says so

    def embed_all(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Make every vector that is missing; how many."""
        made = 0
        while batch := self.embed_some():
            made += batch
            if progress:
                progress(made, made + 1)
        if progress:
            progress(made, made)
        return made

    def embed_some(self) -> int:
        """One batch: read, embed with no transaction open, write what has not changed meanwhile."""
        with self._embedding:
            wait = self._settings.busy_timeout
            rows = self._backend.read(self._missing, wait, True)
            if not rows:
                return 0
            np = numpy()
            kept = [
                (scope, SHAPE, key, made_from, np.asarray(vector, dtype="float32").astype("float16").tobytes())
                for (scope, key, made_from, _), vector in self._embedded(rows)
            ]
            return self._backend.write(lambda view: view.save_vectors(self.model, kept), wait) or len(rows)

    def _embedded(self, rows: list[Row]) -> list[tuple[Row, Vector]]:
        """Together; if that is refused, each alone, and what is refused alone is not tried again."""
        try:
            return list(zip(rows, self.embedder.embed([text for *_, text in rows]), strict=True))
        except Invalid:
            if len(rows) == 1:
                self._unfit.add(rows[0][:3])
                return []
            return [pair for row in rows for pair in self._embedded([row])]

    def _missing(self, view: Read) -> list[Row]:
        now, rows = clock.now(), []
        for scope, shape, key in view.unembedded(self.model, BATCH + len(self._unfit), now):
            cell = view.cell(scope, shape, key, now)
            if cell is not None:
                body = unseal(scope, cell)
                row = (scope, key, text_hash(body), embedded_text(body))
                if row[:3] not in self._unfit:
                    rows.append(row)
        return rows[:BATCH]
