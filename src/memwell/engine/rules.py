"""What a request must be before anything is done with it: each rule in one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from memwell import clock
from memwell.codec import check_text
from memwell.config import Settings
from memwell.errors import Invalid, TooLarge
from memwell.pattern import compiled

T = TypeVar("T")
NUMBER_MOST = (1 << 63) - 1
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def check_key(key: object, settings: Settings) -> str:
    """A key is 1 to 512 characters without control characters."""
    if not isinstance(key, str):
        raise Invalid(f"a key is text, not {type(key).__name__}")
    if not key:
        raise Invalid("a key has at least one character")
    if len(key) > settings.max_key_chars:
        limit = settings.max_key_chars
        raise TooLarge(f"the key is {len(key)} characters long, the limit is {limit}", limit=limit)
    if not key.isprintable() and (unfit := _UNFIT.search(key)):
        raise Invalid(f"the key has the control character {unfit[0]!r}", hint="use printable text")
    return key


def check_number(number: object, name: str, least: int) -> None:
    """A whole number from `least`, or None for none."""
    if number is None:
        return
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise Invalid(f"{name} is a whole number from {least}, not {number!r}")
    if number > NUMBER_MOST:
        raise Invalid(f"{name} is larger than any number here can be")


def check_ttl(ttl: object) -> int | None:
    """A TTL in seconds, as microseconds."""
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 < ttl < clock.LATEST:
        raise Invalid(f"the ttl is {ttl!r}", hint="give a positive number of seconds, or none for no expiry")
    return max(1, round(ttl * 1_000_000))


def expiry(now: int, ttl: int) -> int:
    """When something written now expires."""
    if now + ttl > clock.LATEST:
        raise Invalid("the ttl reaches past the year 9999", hint="leave ttl out for no expiry")
    return now + ttl


def bounded(items: Iterable[T], name: str, settings: Settings) -> list[T]:
    """The items, if they are not too many for one transaction."""
    listed = list(items)
    if len(listed) > settings.max_batch:
        limit = settings.max_batch
        raise TooLarge(f"{len(listed)} {name} at once, the limit is {limit}", limit=limit, hint="send them in parts")
    return listed


def wanted(prefix: object, pattern: str | None) -> tuple[Callable[[str], bool] | None, str]:
    """A test for keys, or None where the range of keys says it all; and the literal prefix that bounds the range."""
    start = "" if prefix is None else check_text(prefix, "a prefix")
    if pattern is None:
        return None, start
    glob = compiled(pattern)
    if glob.prefix.startswith(start):
        return glob.matches, glob.prefix
    return (lambda key: key.startswith(start) and glob.matches(key)), start
