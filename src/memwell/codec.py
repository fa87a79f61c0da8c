"""JSON in, JSON out: what is not JSON is refused with the path to it, and every value handed out is a fresh copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from typing import Any, Final, TypeVar

import msgspec

from memwell.errors import Corrupt, Invalid, TooLarge

T = TypeVar("T")
MAX_DEPTH = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
_JSON_TYPES = {dict, list, str, int, float, bool, type(None)}

to_json = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Absent:
    """The type of ABSENT, which says that nothing is there; None is a value like any other."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


def encode(value: Any, limit: int) -> tuple[bytes, Any]:
    """The value as JSON bytes, and a copy that shares nothing with the caller's.

    Reading the bytes back and comparing costs less than walking the value, and proves that nothing was changed:
    only a value that does not compare equal is walked, to name what is wrong or to accept a tuple as an array.
    """
    plain = _plain(value)
    try:
        data = to_json(plain)
        copy = _decode(data)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise _refusal(plain) or Invalid(f"the value is not JSON: {error}") from None
    if copy != plain:
        refusal = _refusal(plain)
        if refusal:
            raise refusal
    if len(data) > 2 * MAX_DEPTH and data.count(b"[") + data.count(b"{") > MAX_DEPTH:  # worth a closer look
        refusal = _refusal(plain)
        if refusal:
            raise refusal
    if len(data) > limit:
        raise TooLarge(
            f"the value is {len(data)} bytes of JSON, the limit is {limit}",
            limit=limit,
            hint="store it in parts, or raise max_value_bytes",
        )
    return data, copy


def decode(data: bytes) -> Any:
    """The value that stored bytes hold."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:  # a damaged row may hold a number
        raise Corrupt(
            f"a stored value is not JSON: {error}", hint="run 'memwell check' to see what is damaged"
        ) from None


def convert(value: Any, type: type[T]) -> T:
    """A JSON value as a msgspec struct, dataclass, Pydantic model or any type msgspec knows."""
    try:
        validate = getattr(type, "model_validate", None)  # Pydantic's name for it
        if validate is not None:
            return validate(value)  # type: ignore[no-any-return]
        return msgspec.convert(value, type)
    except (ValueError, TypeError) as error:
        name = getattr(type, "__name__", str(type))
        raise Invalid(f"the stored value is not a {name}: {error}", hint="read it without type= to see it") from None


def digest(scope: str, shape: str, key: str, op: str, by: str, at: int, expires: int | None, data: bytes) -> bytes:
    """The hash that `check` verifies: of the value, and of where it stands, who wrote it, when and until when."""
    return sha256(f"{scope}\0{shape}\0{key}\0{op}\0{by}\0{at}\0{expires}\0".encode() + data).digest()


def check_text(text: object, name: str) -> str:
    """Text that a file can hold: no lone surrogate, no NUL."""
    if not isinstance(text, str):
        raise Invalid(f"{name} is text, not {type(text).__name__}")
    if "\0" in text or _SURROGATE.search(text):
        raise Invalid(f"{name} has a character that can't be stored", hint="leave out NUL and lone surrogates")
    return text


def _plain(value: Any) -> Any:
    """A model's fields as plain JSON types; everything else as it is."""
    if type(value) in _JSON_TYPES:
        return value
    if isinstance(value, msgspec.Struct) or hasattr(type(value), "__dataclass_fields__"):
        return msgspec.to_builtins(value, str_keys=True)
    if hasattr(value, "model_dump") and hasattr(type(value), "model_validate"):
        return value.model_dump(mode="json")
    return value


def _refusal(value: Any) -> Invalid | None:
    for path, problem in _problems(value, "$", 0):
        return Invalid(
            f"{path} is {problem}, which is not JSON", hint="store text, numbers, booleans, None, lists or dicts"
        )
    return None


def _problems(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH:
        yield path, f"nested deeper than {MAX_DEPTH} levels"
    elif isinstance(value, str):
        if _SURROGATE.search(value):
            yield path, "text with a lone surrogate"
    elif isinstance(value, float):
        if not isfinite(value):
            yield path, str(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield path, f"a dict with the key {key!r} of type {type(key).__name__}"
            else:
                yield from _problems(key, f"{path}.{key!r}", depth)
                yield from _problems(item, f"{path}.{key}" if key.isidentifier() else f"{path}[{key!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _problems(item, f"{path}[{index}]", depth + 1)
    elif value is not None and not isinstance(value, (bool, int)):
        yield path, f"of type {type(value).__name__}"
