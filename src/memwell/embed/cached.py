"""Remembers vectors, so that the same text is not worked out twice."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from memwell.embed.vectors import Embedder, Vector, embedded, embedded_query
from memwell.forks import begins_anew


class Cached:
    """An embedder with a memory of its last vectors, by SHA-256 of the text; also checks what the embedder gives."""

    def __init__(self, embedder: Embedder, entries: int = 10_000) -> None:
        self.embedder = embedder
        self._entries = entries
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._asks = hasattr(embedder, "embed_query")
        self._lock = threading.Lock()
        begins_anew(self)

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def dims(self) -> int:
        return self.embedder.dims

    def embed(self, texts: list[str]) -> list[Vector]:
        """One vector a text, the caller's own."""
        keys = [_key("text", text) for text in texts]
        known = self._known(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        fresh = dict(zip(new, embedded(self.embedder, list(new.values())), strict=True))
        self._keep(fresh)
        known |= fresh
        return [known[key][:] for key in keys]

    def embed_query(self, text: str) -> Vector:
        """The vector of a question; where the embedder makes no difference, that of the text."""
        if not self._asks:
            return self.embed([text])[0]
        key = _key("query", text)
        known = self._known([key]) or {key: embedded_query(self.embedder, text)}
        self._keep(known)
        return known[key][:]

    def _known(self, keys: list[bytes]) -> dict[bytes, Vector]:
        with self._lock:
            known = {key: self._kept[key] for key in keys if key in self._kept}
            for key in known:
                self._kept.move_to_end(key)
        return known

    def _keep(self, fresh: dict[bytes, Vector]) -> None:
        with self._lock:
            self._kept.update(fresh)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)

    def begin_process(self) -> None:
        """In a child process nobody holds the lock."""
        self._lock = threading.Lock()


def _key(use: str, text: str) -> bytes:
    return hashlib.sha256(f"{use}\0{text}".encode("utf-8", "surrogatepass")).digest()
