"""Kill -9 at any moment: nothing acknowledged is lost, nothing is torn, and the file opens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from . import audit, ledger
from .children import Child
from .scale import scaled, until_a_random_moment
from .writer import COUNTER, LANES, ledger_of, scope_of

CYCLES = scaled(15, 200)
CYCLES_A_FILE = 25  # then a new file, so that verifying does not take longer each time
LONGEST_LIFE_S = 0.5
WRITERS = {"w0": ("sync", "full"), "w1": ("sync", "fast"), "w2": ("async", "full"), "w3": ("async", "fast")}


class Campaign:
    """One file with its ledgers, and what was found."""

    def __init__(self, folder: Path, seed: str) -> None:
        self.folder, self.path, self.ledgers, self.seed = folder, folder / "memory.db", folder / "ledgers", seed
        self.ledgers.mkdir(parents=True)

    def life(self, rng: random.Random, cycle: int) -> None:
        """Four writers, killed at random moments: all at once, or one first and the others later."""
        with ExitStack() as stack:
            writers = [
                stack.enter_context(Child("writer", self.path, self.ledgers, name, *how, f"{self.seed}/{cycle}"))
                for name, how in WRITERS.items()
            ]
            for writer in writers:
                writer.expect("writing")
            rng.shuffle(writers)
            until_a_random_moment(rng, LONGEST_LIFE_S)
            if cycle % 2:
                writers.pop().kill()
                until_a_random_moment(rng, LONGEST_LIFE_S)
            for writer in writers:
                writer.kill()

    def scopes(self) -> Iterator[str]:
        return (scope_of(name, lane) for name in WRITERS for lane in range(LANES))

    def verify(self, copied: bool) -> Counter[str]:
        """Open and compare. With `copied` a copy is opened, so that the next writers find the file as it was left."""
        path = audit.as_after_a_crash(self.path, self.folder / "copy") if copied else self.path
        audit.assert_sound(path)
        found: Counter[str] = Counter()
        with audit.raw(path) as connection:
            for scope in self.scopes():
                book = ledger_of(self.ledgers, scope)
                if book.exists():
                    verdict = ledger.verify(book, scope, connection)
                    assert verdict.lost == []
                    assert verdict.torn == []
                    found["events"] += verdict.checked
            events = list(
                connection.execute("SELECT version, rev, value FROM events WHERE scope = ? ORDER BY rev", (COUNTER,))
            )
        found["increments"] = self._count(events)
        return found

    def _count(self, events: list[tuple[int, int, bytes]]) -> int:
        """Version n of the counter is the number n, and every acknowledged increment is one of them, once."""
        assert [(version, int(value)) for version, _, value in events] == [(n, n) for n in range(1, len(events) + 1)]
        books = (ledger_of(self.ledgers, scope) for scope in self.scopes())
        told = [each for book in books if book.exists() for each in ledger.increments(book)]
        assert len(set(told)) == len(told)
        assert set(told) <= {(version, rev) for version, rev, _ in events}
        return len(told)


@pytest.mark.campaign
def test_nothing_acknowledged_is_lost_and_nothing_is_torn(
    tmp_path: Path, rng: random.Random, progress: Callable[[str], None], figure: Callable[[str], None]
) -> None:
    total: Counter[str] = Counter()
    for cycle in range(CYCLES):
        if cycle % CYCLES_A_FILE == 0:
            campaign = Campaign(tmp_path / f"file{cycle}", f"{rng.random()}")
        campaign.life(rng, cycle)
        last = cycle % CYCLES_A_FILE == CYCLES_A_FILE - 1 or cycle == CYCLES - 1
        found = campaign.verify(copied=rng.random() < 0.5 and not last)
        progress(f"cycle {cycle + 1} of {CYCLES}: {found['events']} events, {found['increments']} increments verified")
        if last:
            total += found
    assert total["events"] > CYCLES
    assert total["increments"] > 0
    figure(
        f"kill -9: {CYCLES} cycles, 4 writers: {total['events']} acknowledged events and {total['increments']} "
        "acknowledged CAS increments, 0 lost, 0 torn"
    )
