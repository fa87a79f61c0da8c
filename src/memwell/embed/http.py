"""An embedder behind HTTP: any server that answers POST {base}/embeddings as OpenAI's does."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from memwell.embed.vectors import Vector, checked
from memwell.errors import Unavailable
from memwell.served import Server, named

_TEXTS, _CHARACTERS = 128, 200_000  # the most in one request
_LONGEST = 8_000  # characters of a text that are sent: servers refuse what is longer than their model takes


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Item]


def openai(spec: str) -> Http:
    """The embedder that "openai:MODEL" or "openai:MODEL@BASE_URL" names."""
    return Http(*named(spec, "text-embedding-3-small"))


class Http:
    """A model behind a server; its vectors' length is learnt from the first answer. Threads may share it."""

    def __init__(
        self, model: str, base_url: str, *, timeout: float = 30, attempts: int = 4, pause: float = 0.5
    ) -> None:
        self.name = f"openai:{model}"
        self.dims = 0
        limits = {"timeout": timeout, "pause": pause}
        self._server = Server(model, base_url, "embeddings", "embedding", attempts=attempts, **limits)

    def embed(self, texts: list[str]) -> list[Vector]:
        """One vector a text, in order; of a long text the first 8,000 characters count."""
        vectors: list[Vector] = []
        for batch in _batches([_sendable(text) for text in texts]):
            answer = self._numbers(self._server.ask({"input": batch}), len(batch))
            found = checked(self.name, answer, len(batch), self.dims, Unavailable)
            self.dims = len(found[0])
            vectors += found
        return vectors

    def _numbers(self, answer: bytes, count: int) -> list[list[float]]:
        """The vectors of an answer, in the order of the texts."""
        try:
            items = msgspec.json.decode(answer, type=_Answer).data
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._server.is_foreign() from None
        places = [at if item.index is None else item.index for at, item in enumerate(items)]
        if sorted(places) != list(range(count)):
            hint = "see that the server is OpenAI-compatible"
            raise Unavailable(
                f"the embedding server {self._server.host} gave {len(items)} vectors for {count} texts", hint=hint
            )
        return [items[places.index(at)].embedding for at in range(count)]


def _sendable(text: str) -> str:
    """A text as a server takes it: not too long, not empty, whole characters only."""
    return text[:_LONGEST].encode("utf-8", "replace").decode() or " "


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == _TEXTS or sum(map(len, batch)) + len(text) > _CHARACTERS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
