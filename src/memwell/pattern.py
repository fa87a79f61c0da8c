"""Globs over keys: `*` stays within a `/` segment, `**` crosses, `?` is one character, `[ab]` a set.

A glob becomes a regular expression of atomic groups, so that no pattern and no key can make it backtrack without
bound: between two stars the leftmost match of a literal run is always the right one, and is never tried again.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memwell.codec import check_text
from memwell.errors import Invalid

EVERYTHING = "*"
MAX_CHARS = 512
_LAST = chr(0x10FFFF)
_WILD = re.compile(r"\*\*+|\*|\?|\[[^\]/]+\]")


class Pattern:
    """A compiled glob; `prefix` is its literal start, which bounds what has to be looked at."""

    __slots__ = ("_match", "prefix", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        wild = _WILD.search(text)
        self.prefix = "" if text == EVERYTHING else text[: wild.start()] if wild else text
        self._match = re.compile(_expression(text), re.DOTALL).match

    def matches(self, key: str) -> bool:
        """Whether the whole key fits."""
        return self.text == EVERYTHING or self._match(key) is not None


@lru_cache(maxsize=512)
def compiled(text: str) -> Pattern:
    """The pattern for this text; refuses what is not one."""
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_CHARS:
        raise Invalid(f"a pattern is text of 1 to {MAX_CHARS} characters", hint="use * for every key")
    return Pattern(check_text(text, "a pattern"))


def after_prefix(prefix: str) -> str | None:
    """The least text greater than everything that starts with the prefix; None if nothing is."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    code = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if code == 0xD800 else code)  # surrogates stand in no key


def _expression(text: str) -> str:
    """The first part is tied to the start, the last to the end, those between to their leftmost place."""
    first, *others = _parts(text)
    if not others:
        return _anchored(first)
    *middle, last = others
    crossing = "".join(f"(?>.*?{_floating(part)})" for part in middle)
    return f"{_floating(first)}{crossing}(?>.*?{_anchored(last)})"


def _parts(text: str) -> list[list[str]]:
    """The text split at `**`, each part split at `*`: what is left are expressions of a fixed length."""
    parts, start = [[""]], 0
    for wild in _WILD.finditer(text):
        parts[-1][-1] += re.escape(text[start : wild.start()])
        start = wild.end()
        if wild[0].startswith("**"):
            parts.append([""])
        elif wild[0] == "*":
            parts[-1].append("")
        else:
            parts[-1][-1] += "[^/]" if wild[0] == "?" else _set(wild[0][1:-1])
    parts[-1][-1] += re.escape(text[start:])
    return parts


def _set(body: str) -> str:
    """A set of characters, ranges and a leading `!` included; it never matches the separator."""
    negated = body[0] == "!" and len(body) > 1
    escaped = "".join(char if char == "-" else re.escape(char) for char in (body[1:] if negated else body))
    try:
        re.compile(f"[{escaped}]")
    except re.error:
        raise Invalid(f"[{body}] is not a set of characters", hint="write ranges upwards, e.g. [a-z]") from None
    return f"(?!/)[{'^' if negated else ''}{escaped}]"


def _floating(runs: list[str]) -> str:
    return runs[0] + "".join(f"(?>[^/]*?{run})" for run in runs[1:])


def _anchored(runs: list[str]) -> str:
    if len(runs) == 1:
        return rf"{runs[0]}\Z"
    return rf"{_floating(runs[:-1])}[^/]*{runs[-1]}\Z"
