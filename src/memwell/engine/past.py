"""Reading a key as it was."""

from __future__ import annotations

from datetime import datetime

from memwell import clock
from memwell.errors import Invalid, NotFound
from memwell.store import Cell, Change, Read


class Instant:
    """A rev (a whole number) or a time (a datetime, or seconds since 1970 as a float)."""

    __slots__ = ("_bound", "_by_rev")

    def __init__(self, at: object) -> None:
        if isinstance(at, bool) or not isinstance(at, (int, float, datetime)):
            raise Invalid(f"at is {at!r}", hint="give a rev (a whole number), or a time (an aware datetime or a float)")
        self._by_rev = isinstance(at, int)
        if isinstance(at, float):
            if not abs(at) < clock.LATEST:
                raise Invalid(f"at is {at!r}, which is no time")
            at = round(at * 1_000_000)
        self._bound = clock.microseconds(at) if isinstance(at, datetime) else at

    def cell(self, view: Read, scope: str, shape: str, key: str) -> Cell | None:
        """The cell that was current; a value that has expired since is gone from the past too."""
        oldest = None
        for change in view.past(scope, shape, key, clock.now()):
            if (change.rev if self._by_rev else change.at) <= self._bound:
                return None if change.data is None else _cell(change, change.data)
            oldest = change
        self._refuse_forgotten(view, scope, oldest)
        return None

    def _refuse_forgotten(self, view: Read, scope: str, oldest: Change | None) -> None:
        """Absent is a lie where the answer was forgotten: say so instead."""
        cut = oldest is not None and oldest.prev is not None
        if oldest is not None and oldest.version == 1 and not cut:
            return  # it was made later than that, for the first time
        _, horizon, horizon_at = view.position(scope)
        if cut or self._bound < (horizon if self._by_rev else horizon_at):
            raise NotFound(
                f"the history of {scope} up to rev {horizon} has been forgotten",
                hint="read a later moment, or raise history_seconds",
            )


def _cell(change: Change, data: bytes) -> Cell:
    times = (change.created, change.at, change.expires)
    return Cell(change.key, data, change.version, change.rev, *times, change.by)
