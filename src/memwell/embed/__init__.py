"""Embedders: what turns texts into vectors, so that search finds what means the same in other words.

`embedder_for` makes one from what `memwell.open(..., embedder=...)` was given. `Cached` remembers the last vectors and
checks what any embedder gives. Nothing is loaded, downloaded or sent before the first text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memwell.embed.cached import Cached
from memwell.embed.vectors import Embedder, Vector, called, checked, embedded, embedded_query
from memwell.errors import Invalid

__all__ = ["Cached", "Called", "Embedder", "Vector", "embedded", "embedded_query", "embedder_for"]

_HINT = 'give "local", "openai:MODEL", "openai:MODEL@BASE_URL", a function of a list of texts, or an embedder'


def embedder_for(spec: Any) -> Embedder | None:
    """The embedder that a setting names or is; None is none: search goes by words only."""
    if spec is None:
        return None
    if isinstance(spec, str):
        return _named(spec)
    if isinstance(spec, type):
        raise Invalid(f"the embedder {spec.__name__} is a class", hint="give an object made from it")
    if callable(getattr(spec, "embed", None)):
        return _whole(spec)
    if callable(spec):
        return Called(spec)
    raise Invalid(f"{type(spec).__name__} is not an embedder", hint=_HINT)


def _named(spec: str) -> Embedder:
    if spec == "local":
        from memwell.embed.local import Local

        return Local()
    if spec.startswith("openai:"):
        from memwell.embed.http import openai

        return openai(spec)
    raise Invalid(f"{spec!r} is not an embedder", hint=_HINT)


def _whole(spec: Any) -> Embedder:
    """The object itself, if it has all that an embedder has."""
    name, dims = getattr(spec, "name", None), getattr(spec, "dims", None)
    if not isinstance(name, str) or not name:
        raise Invalid(f"the embedder {type(spec).__name__} has no name", hint="give it a text as `name`")
    if isinstance(dims, bool) or not isinstance(dims, int) or dims < 0:
        raise Invalid(f"the embedder {name} does not say its dims", hint="give it a whole number as `dims`")
    return spec  # type: ignore[no-any-return]


class Called:
    """A function as an embedder; how long its vectors are is learnt from the first call."""

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        name = getattr(function, "name", None) or getattr(function, "__qualname__", None)
        self.name = name if isinstance(name, str) else type(function).__qualname__
        self.dims = 0
        self._function = function

    def embed(self, texts: list[str]) -> list[Vector]:
        """What the function gives, checked."""
        if not texts:
            return []
        vectors = checked(self.name, called(self.name, self._function, list(texts)), len(texts), self.dims)
        self.dims = len(vectors[0])
        return vectors
