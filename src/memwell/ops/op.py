"""What every request has in common."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from msgspec import Struct

R = TypeVar("R")

LIGHT = 1000  # the most rows that an event loop should wait for


class Op(Struct, Generic[R], frozen=True, tag_field="op"):
    """A request. `domain` and `action` are what the guard asks for."""

    domain: ClassVar[str]
    action: ClassVar[str]
    single: ClassVar[bool] = False  # one statement, atomic by itself
    whole: ClassVar[bool] = False  # works on the backend in steps of its own, not in one transaction
    heavy: ClassVar[bool] = False  # always longer than an event loop should wait

    def is_heavy(self) -> bool:
        """Whether this one may take longer than an event loop should wait."""
        return self.heavy


def many(count: object, most: int) -> bool:
    """Whether a limit allows more than an event loop should wait for; one that is none, or no number, does."""
    return not isinstance(count, int) or count > most
