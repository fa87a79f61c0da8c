"""The one place that knows the time: microseconds since 1970, so that tests can stop it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from memwell.errors import Corrupt, Invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 253_402_300_799_000_000  # the last second of the year 9999: the end of what datetime can show


def _system() -> int:
    return time.time_ns() // 1000


now = _system
monotonic = time.monotonic


def moment(us: int) -> datetime:
    """Microseconds as an aware datetime, exactly."""
    try:
        return EPOCH + timedelta(microseconds=us)
    except (OverflowError, TypeError):
        raise Corrupt(f"the stored time {us} is damaged", hint="run 'memwell check'") from None


def microseconds(when: datetime) -> int:
    """An aware datetime as microseconds; a naive one is refused, because its zone would be a guess."""
    if when.tzinfo is None:
        raise Invalid(f"the time {when.isoformat()} has no zone", hint="add one, e.g. tzinfo=datetime.UTC")
    return (when - EPOCH) // timedelta(microseconds=1)
