"""What an embedder gives back, checked: the right number of vectors, equally long, finite, and brought to length 1."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from types import CoroutineType
from typing import Any, Protocol, TypeAlias

from memwell.errors import Invalid, MemwellError, Unavailable

Vector: TypeAlias = "array[float]"  # 32-bit floats: numpy reads it without a copy, `tobytes` is what a store keeps
_HINT = "an embedder returns one list of numbers for each text, all equally long"


class Embedder(Protocol):
    """Turns texts into vectors that are near each other when the texts mean the same.

    `name` stands for the model and how it is fed: vectors of different names are never compared. `dims` is 0 until it
    is known. An embedder that treats questions differently also has `embed_query(text)`.
    """

    @property
    def name(self) -> str: ...
    @property
    def dims(self) -> int: ...
    def embed(self, texts: list[str]) -> Iterable[Iterable[float]]: ...


def embedded(embedder: Embedder, texts: list[str]) -> list[Vector]:
    """The texts' vectors, checked; what a foreign embedder raises becomes Unavailable."""
    if not texts:
        return []
    return checked(embedder.name, called(embedder.name, embedder.embed, texts), len(texts), embedder.dims)


def embedded_query(embedder: Embedder, text: str) -> Vector:
    """A question's vector, checked."""
    ask = getattr(embedder, "embed_query", None)
    if ask is None:
        return embedded(embedder, [text])[0]
    return checked(embedder.name, [called(embedder.name, ask, text)], 1, embedder.dims)[0]


def called(name: str, function: Any, given: Any) -> Any:
    """What somebody's function gives; whatever it raises, one kind of error comes out."""
    try:
        found = function(given)
        return list(found) if hasattr(found, "__next__") else found
    except MemwellError:
        raise
    except Exception as error:
        raise Unavailable(f"the embedder {name} failed: {error!r}", hint="see its own documentation") from error


def checked(name: str, given: Any, count: int, dims: int, fault: type[Invalid | Unavailable] = Invalid) -> list[Vector]:
    """Vectors of length 1 (a vector of zeros stays as it is: near nothing), or an error that says what is wrong."""
    try:
        vectors = [_vector(one) for one in given]
    except (TypeError, ValueError, OverflowError):
        if isinstance(given, CoroutineType):
            given.close()  # nobody will wait for it
        raise fault(f"the embedder {name} gave {type(given).__name__}, not lists of numbers", hint=_HINT) from None
    if len(vectors) != count:
        raise fault(f"the embedder {name} gave {len(vectors)} vectors for {count} texts", hint=_HINT)
    for vector in vectors:
        _check(name, vector, dims or len(vectors[0]), fault)
    return vectors


def _vector(given: Any) -> Vector:
    """The numbers as 32-bit floats, of length 1 when they are finite and not all zero."""
    if isinstance(given, (bytes, str)):
        raise TypeError("text and bytes hold no numbers")
    if isinstance(given, array) and given.typecode == "f":
        numbers = given[:]
    else:
        numbers = array("f", given.tolist() if hasattr(given, "tolist") else given)
    length = math.hypot(*numbers)
    if not math.isfinite(length) or length == 0 or abs(length - 1) < 1e-6:
        return numbers
    return array("f", [number / length for number in numbers])


def _check(name: str, vector: Vector, dims: int, fault: type[Invalid | Unavailable]) -> None:
    if len(vector) != dims or not vector:
        hint = "vectors of one model have one length: has the model changed?"
        raise fault(f"the embedder {name} gave a vector of {len(vector)} numbers, not {dims or 'some'}", hint=hint)
    if not math.isfinite(math.hypot(*vector)):
        raise fault(f"the embedder {name} gave a vector with a number that is not finite", hint=_HINT)
