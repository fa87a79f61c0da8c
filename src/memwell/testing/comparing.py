"""An answer of a store beside one of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memwell import clock
from memwell.codec import ABSENT
from memwell.errors import Conflict, MemwellError, NotFound
from memwell.testing.ledger import Ledger, Written, fits


def chosen(key: str, prefix: str | None, pattern: str | None) -> bool:
    return key.startswith(prefix or "") and (pattern is None or fits(pattern, key))


def compare(answer: Any, expected: Any, ledger: Ledger, *, rev: bool = True) -> None:
    """An answer of the store and one of the ledger, whatever shape they have."""
    if isinstance(expected, Written):
        assert answer is not None
        expires = None if answer.expires_at is None else clock.microseconds(answer.expires_at)
        assert (answer.key, repr(answer.value), answer.version) == (
            expected.key,
            repr(expected.value),
            expected.version,
        )
        assert (clock.microseconds(answer.updated_at), expires) == (expected.at, expected.expires)
        assert clock.microseconds(answer.created_at) == ledger.created(expected)
        assert answer.written_by == expected.by
        assert answer.rev == expected.rev or not rev
    elif isinstance(expected, dict):
        assert list(answer) == list(expected)
        compare(list(answer.values()), list(expected.values()), ledger)
    elif isinstance(expected, list):
        assert len(answer) == len(expected)
        for each, wanted in zip(answer, expected, strict=True):
            compare(each, wanted, ledger)
    else:
        assert repr(answer) == repr(expected)


def compare_event(event: Any, write: Written, now: int) -> None:
    ended = write.ended(now)
    assert (event.rev, event.key, event.op, event.version) == (write.rev, write.key, write.op, write.version)
    assert (clock.microseconds(event.at), event.by, event.expired) == (write.at, write.by, ended)
    assert event.deleted == (write.value is ABSENT)
    assert repr(event.value) == repr(None if ended or write.value is ABSENT else write.value)


def refused(refusal: MemwellError, call: Callable[[], Any], ledger: Ledger) -> None:
    try:
        answer = call()
    except type(refusal) as error:
        if isinstance(refusal, Conflict):
            # Inside a batch the winner may be a write of the batch itself, whose rev nobody ever sees.
            compare(getattr(error, "current", None), refusal.current, ledger, rev=False)
    else:
        raise AssertionError(f"it should have been refused ({refusal}), and gave {answer!r}")


def absent_or_forgotten(call: Callable[[], Any]) -> None:
    """Where it cannot be known whether the answer was forgotten, both are honest."""
    try:
        assert call() is None
    except NotFound:
        return


def must_refuse(call: Callable[[], Any]) -> None:
    """Absent is a lie where the answer was forgotten."""
    refused(NotFound("it was forgotten"), call, Ledger())
