"""Whom a memory belongs to: a set of named ids, or the explicit scope `global`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

from memwell.errors import Invalid, TooLarge

FIELDS = ("tenant", "workspace", "project", "environment", "agent", "user", "workflow", "process", "session", "thread")
GLOBAL = "global"
MAX_CHARS = 2048

_ESCAPES = {"%": "%25", ":": "%3A", "/": "%2F"}
_SPECIAL = re.compile("[%:/]")
_ESCAPED = re.compile("%(.{0,2})", re.DOTALL)
_UNESCAPES = {"25": "%", "3A": ":", "2F": "/"}
_EXAMPLE = "write kind:id, e.g. agent:support or agent:support/user:42, or global"


class Scope:
    """An immutable scope; equal scopes have equal text.

    >>> Scope(user="42", agent="support").text
    'agent:support/user:42'
    >>> dict(Scope.parse("agent:a%2Fb").fields)
    {'agent': 'a/b'}
    """

    __slots__ = ("fields", "text")
    fields: Mapping[str, str]
    text: str

    def __init__(self, /, **fields: str) -> None:
        if not fields:
            raise Invalid("a scope needs at least one field", hint=f"{_EXAMPLE}; shared memory is the scope global")
        for name, value in fields.items():
            _check(name, value)
        ordered = {name: fields[name] for name in FIELDS if name in fields}
        text = "/".join(f"{name}:{_escape(value)}" for name, value in ordered.items())
        if len(text) > MAX_CHARS:
            raise TooLarge(f"the scope is {len(text)} characters long, the limit is {MAX_CHARS}", limit=MAX_CHARS)
        self._fill(ordered, text)

    def _fill(self, fields: dict[str, str], text: str) -> None:
        object.__setattr__(self, "fields", MappingProxyType(fields))
        object.__setattr__(self, "text", text)

    @classmethod
    def shared(cls) -> Scope:
        """The explicit scope `global`, the only one without fields."""
        scope = object.__new__(cls)
        scope._fill({}, GLOBAL)
        return scope

    @classmethod
    def parse(cls, text: str) -> Scope:
        """The scope that a text form names; anything doubtful is an error, never a wider scope."""
        if not isinstance(text, str):
            raise Invalid(f"a scope is text, not {type(text).__name__}", hint=_EXAMPLE)
        if text == GLOBAL:
            return cls.shared()
        fields: dict[str, str] = {}
        for part in text.split("/"):
            name, colon, value = part.partition(":")
            if not colon or ":" in value:
                raise Invalid(f"{part!r} is not a scope", hint=_EXAMPLE)
            if name in fields:
                raise Invalid(f"the scope names {name!r} twice", hint=_EXAMPLE)
            fields[name] = _unescape(value)
        return cls(**fields)

    def wider(self) -> Iterator[Scope]:
        """The scopes whose fields are a proper subset of this one's, nearest first, `global` last; never a sibling."""
        names = tuple(self.fields)
        for size in range(len(names) - 1, 0, -1):
            for chosen in combinations(names, size):
                yield Scope(**{name: self.fields[name] for name in chosen})
        if names:
            yield Scope.shared()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a scope does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Scope.parse({self.text!r})"


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The one spelling of a scope's text form; every op passes here, so the answer is remembered."""
    return Scope.parse(text).text


def _check(name: str, value: object) -> None:
    if name not in FIELDS:
        raise Invalid(f"{name!r} is not a scope field", hint=f"use one of {', '.join(FIELDS)}")
    if value is None or value == "":
        raise Invalid(f"the scope field {name!r} is empty", hint="give it an id; an empty id never means everyone")
    if not isinstance(value, str):
        raise Invalid(f"the scope field {name!r} is {type(value).__name__}, not text", hint=f"pass {name}=str(...)")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the scope field {name!r} has a lone surrogate, which no file can hold") from None


def _escape(value: str) -> str:
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], value)


def _unescape(value: str) -> str:
    def char(match: re.Match[str]) -> str:
        try:
            return _UNESCAPES[match[1].upper()]
        except KeyError:
            raise Invalid(f"{match[0]!r} is not an escape", hint="only %25, %3A and %2F stand in a scope") from None

    return _ESCAPED.sub(char, value) if "%" in value else value
