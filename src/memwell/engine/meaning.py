"""Search by meaning: the embedder, the vectors at hand, and the thread that makes vectors after writes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from memwell import clock
from memwell.config import Settings
from memwell.embed import Embedder
from memwell.engine.body import SHAPE, embedded_text, text_hash, unseal
from memwell.engine.vectors import Vectors, numpy, unit
from memwell.errors import MemwellError
from memwell.forks import begins_anew
from memwell.store import Backend, Read

BATCH = 64
RETRY_S = 5.0


class Meaning:
    """What an engine with an embedder has besides words. Vectors are made after the write was acknowledged."""

    def __init__(self, backend: Backend, settings: Settings, embedder: Embedder) -> None:
        self.embedder, self._backend, self._settings = embedder, backend, settings
        self._stopped = False
        self.begin_process()
        begins_anew(self)

    def begin_process(self) -> None:
        """No thread survives a fork; the child starts its own when it needs one."""
        self.vectors = Vectors()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._embedding = threading.Lock()

    @property
    def model(self) -> str:
        """The name that its vectors are kept under."""
        return self.embedder.name

    def query(self, text: str) -> Any:
        """The vector of a question."""
        ask = getattr(self.embedder, "embed_query", None)
        return unit(ask(text) if ask is not None else next(iter(self.embedder.embed([text]))))

    def start(self) -> None:
        """There may be something to embed: see to it soon, in the background."""
        self._wake.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None and not self._stopped:
                    self._thread = threading.Thread(target=self._run, name="memwell-embedder", daemon=True)
                    self._thread.start()

    def stop(self) -> None:
        """End the thread after its current batch."""
        with self._lock:
            self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = None
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            try:
                while not self._stopped and self.embed_some():
                    pass
                pause = None
            except MemwellError:
                pause = RETRY_S  # an embedder that is away: search goes on by words, and says so
            if self._stopped:
                return

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
            vectors = self.embedder.embed([text for *_, text in rows])
            np = numpy()
            kept = [
                (scope, SHAPE, key, made_from, unit(vector).astype(np.float16).tobytes())
                for (scope, key, made_from, _), vector in zip(rows, vectors, strict=True)
            ]
            return self._backend.write(lambda view: view.save_vectors(self.model, kept), wait)

    def _missing(self, view: Read) -> list[tuple[str, str, bytes, str]]:
        now, rows = clock.now(), []
        for scope, shape, key in view.unembedded(self.model, BATCH):
            cell = view.cell(scope, shape, key, now)
            if cell is not None:
                body = unseal(scope, cell)
                rows.append((scope, key, text_hash(body), embedded_text(body)))
        return rows
