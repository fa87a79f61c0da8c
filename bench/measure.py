"""What a piece of work costs: its wall time, and the CPU of every thread that works for it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds."""

    cpu: float
    wall: float


class Spread(NamedTuple):
    """The median of many rounds, and where eight of ten of them lie."""

    median: float
    low: float
    high: float


class Meter:
    """Charges a process for its turns. What its background threads do between two turns belongs to the turn before
    them or after, so their CPU is carried over; what the main thread does between turns (waiting, preparing) is free.
    """

    def __init__(self) -> None:
        self._others = _others()

    def run(self, work: Callable[[], object]) -> Cost:
        """Run the work, with the collector off, and say what it cost."""
        gc.collect()
        gc.disable()
        cpu, wall = time.thread_time(), time.perf_counter()
        work()
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        gc.enable()
        others = _others()
        background, self._others = others - self._others, others
        return Cost(cpu + max(0.0, background), wall)


def _others() -> float:
    """CPU of all threads but this one."""
    return time.process_time() - time.thread_time()


def spread(values: Iterable[float]) -> Spread:
    """Median, 10th and 90th percentile."""
    ordered = sorted(values)
    return Spread(statistics.median(ordered), _rank(ordered, 0.1), _rank(ordered, 0.9))


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]
