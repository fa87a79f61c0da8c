"""A clock that moves only when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from memwell import clock

START = datetime(2030, 1, 1, tzinfo=UTC)


class FrozenClock:
    """The time in microseconds, as `memwell.clock.now` gives it."""

    def __init__(self, start: datetime) -> None:
        self.us = clock.microseconds(start)

    def __call__(self) -> int:
        return self.us

    def advance(self, seconds: float) -> None:
        """Move on."""
        self.us += round(seconds * 1_000_000)

    @property
    def time(self) -> datetime:
        """What the clock shows."""
        return clock.moment(self.us)


@contextmanager
def frozen_clock(start: datetime = START) -> Iterator[FrozenClock]:
    """Stop Memwell's clock in this process; `advance(seconds)` moves it."""
    frozen, before = FrozenClock(start), clock.now
    clock.now = frozen
    try:
        yield frozen
    finally:
        clock.now = before
