"""What a scope must answer, worked out from nothing but the list of all its writes.

This is the yardstick that stores are measured with, so it shares no code with them: there are no rows, no counters and
no indexes here, and a glob is matched character by character.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from memwell.codec import ABSENT
from memwell.errors import Conflict, NotFound

WHOLE_SCOPE = ""


class Written:
    """One write; its rev is filled in when the store tells it. Without a value it is a removal."""

    def __init__(self, key: str, op: str, version: int, value: Any, at: int, expires: int | None, by: str) -> None:
        self.key, self.op, self.version, self.value = key, op, version, value
        self.at, self.expires, self.by = at, expires, by
        self.rev = 0

    def ended(self, now: int) -> bool:
        """Whether the value is gone by itself."""
        return self.expires is not None and self.expires <= now

    def alive(self, now: int) -> bool:
        """Whether there is a value."""
        return self.value is not ABSENT and not self.ended(now)


class Ledger:
    """One scope."""

    def __init__(self, writes: list[Written] | None = None, floor: int = 0, horizon: int = 0) -> None:
        self.writes = writes or []
        self.floor, self.horizon = floor, horizon

    def copy(self) -> Ledger:
        return Ledger(list(self.writes), self.floor, self.horizon)

    def of(self, key: str) -> list[Written]:
        """The writes of a key, newest first."""
        return [write for write in reversed(self.writes) if write.key == key]

    def live(self, key: str, now: int) -> Written | None:
        newest = next(iter(self.of(key)), None)
        return newest if newest and newest.alive(now) else None

    def keys(self, now: int) -> list[str]:
        return sorted({write.key for write in self.writes if self.live(write.key, now)})

    def expired(self, now: int) -> int:
        """How many keys have ended by themselves."""
        return sum(self.of(key)[0].ended(now) for key in {write.key for write in self.writes})

    def created(self, write: Written) -> int:
        """When the key was made that this write changed: the oldest of an unbroken row of writes."""
        writes = self.of(write.key)
        made = write
        for older in writes[writes.index(write) + 1 :]:
            if not older.alive(made.at):
                break
            made = older
        return made.at

    def set(self, key: str, value: Any, by: str, now: int, ttl: float | None, if_version: int | None) -> Written:
        return self._write(key, "fact.set", value, by, now, ttl, if_version)

    def _write(
        self, key: str, op: str, value: Any, by: str, now: int, ttl: float | None, if_version: int | None
    ) -> Written:
        self._check(key, now, if_version)
        version = 1 + max([write.version for write in self.of(key)], default=self.floor)
        expires = None if ttl is None else now + round(ttl * 1_000_000)
        self.writes.append(Written(key, op, version, value, now, expires, by))
        return self.writes[-1]

    def _check(self, key: str, now: int, if_version: int | None) -> None:
        current = self.live(key, now)
        if if_version is not None and if_version != (current.version if current else 0):
            raise Conflict("the model refuses", current=current)

    def delete(self, key: str, by: str, now: int, if_version: int | None) -> bool:
        self._check(key, now, if_version)
        return self._remove(key, "fact.delete", by, now)

    def _remove(self, key: str, op: str, by: str, now: int) -> bool:
        current = self.live(key, now)
        if current:
            self.writes.append(Written(key, op, current.version, ABSENT, now, None, by))
        return current is not None

    def clear(self, by: str, now: int) -> int:
        return sum(self._remove(key, "fact.clear", by, now) for key in self.keys(now))

    def revert(self, key: str, version: int, by: str, now: int, if_version: int | None) -> Written:
        old = next((write for write in self.of(key) if write.version == version and write.alive(now)), None)
        if old is None:
            raise NotFound("the model has no such version")
        return self._write(key, "fact.revert", old.value, by, now, None, if_version)

    def erase(self, by: str, now: int) -> int:
        held = [write for write in self.writes if write.key != WHOLE_SCOPE]
        live = len(self.keys(now))
        if held:
            self.floor = max([self.floor, *(write.version for write in held)])
            self.horizon = self.writes[-1].rev
            self.writes = [Written(WHOLE_SCOPE, "scope.delete", 0, ABSENT, now, None, by)]
        return live

    def at_rev(self, key: str, rev: int) -> Written | None:
        """The newest write of a key that is not newer."""
        return next((write for write in self.of(key) if write.rev <= rev), None)

    def at_time(self, key: str, time: int) -> Written | None:
        """The newest write of a key that is not later."""
        return next((write for write in self.of(key) if write.at <= time), None)

    def since(self, rev: int) -> Iterator[Written]:
        return (write for write in self.writes if write.rev > rev)


@lru_cache(maxsize=100_000)
def fits(pattern: str, key: str) -> bool:
    """Whether a key fits a glob, one character after the other."""
    if pattern == "*":
        return True
    return _fits(pattern, key)


def _fits(pattern: str, key: str) -> bool:
    if not pattern:
        return not key
    if pattern.startswith("**"):
        return any(_fits(pattern[2:].lstrip("*"), key[used:]) for used in range(len(key) + 1))
    if pattern[0] == "*":
        most = key.find("/") if "/" in key else len(key)
        return any(_fits(pattern[1:], key[used:]) for used in range(most + 1))
    if not key:
        return False
    end = pattern.find("]", 2)
    if pattern[0] == "[" and end > 0 and "/" not in pattern[:end]:
        return key[0] != "/" and key[0] in pattern[1:end] and _fits(pattern[end + 1 :], key[1:])
    same = key[0] != "/" if pattern[0] == "?" else key[0] == pattern[0]
    return same and _fits(pattern[1:], key[1:])
