"""What a run found, as data: the rows of each case, the targets they are held to, and where it ran."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from bench.measure import Cost, Spread, spread

TIMES = "×"  # noqa: RUF001 - the sign of multiplication is meant
_PACKAGES = ("memwell", "apsw", "msgspec", "diskcache", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")


@dataclass(frozen=True)
class Row:
    """One store in one case: microseconds a call."""

    name: str
    cpu: Spread
    wall: Spread

    @classmethod
    def of(cls, name: str, costs: Iterable[Cost], calls: int) -> Row:
        """The spread of many rounds of so many calls."""
        costs = list(costs)
        cpu, wall = (spread(cost[clock] / calls * 1e6 for cost in costs) for clock in (0, 1))
        return cls(name, cpu, wall)

    def median(self, clock: Literal["cpu", "wall"]) -> float:
        """The median by one of the two clocks."""
        return self.cpu.median if clock == "cpu" else self.wall.median


@dataclass(frozen=True)
class Case:
    """One operation, measured on several stores; `clock` is the one that decides."""

    name: str
    title: str
    clock: Literal["cpu", "wall"]
    rows: list[Row]

    def ratio(self, above: str, below: str) -> float | None:
        """How many times the cost of one is the other's, or None where one of them did not run."""
        medians = {row.name: row.median(self.clock) for row in self.rows}
        return medians[above] / medians[below] if above in medians and below in medians else None


@dataclass(frozen=True)
class Target:
    """A promise: `measured` must be at most, or at least, the limit. None was not measured, and is no pass."""

    about: str
    measured: float | None
    limit: float
    at_most: bool = True
    unit: str = TIMES
    clock: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the promise is kept; None if it was not measured."""
        if self.measured is None:
            return None
        return self.measured <= self.limit if self.at_most else self.measured >= self.limit


@dataclass
class Report:
    """All of one run."""

    setting: dict[str, str]
    cases: list[Case] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a promise was broken."""
        return any(target.met is False for target in self.targets)

    def plain(self) -> dict[str, Any]:
        """As JSON types."""
        return {**asdict(self), "targets": [{**asdict(target), "met": target.met} for target in self.targets]}


def setting(file_system: str) -> dict[str, str]:
    """Where a run happened, as far as it matters to the numbers."""
    versions = {"python": platform.python_version(), "sqlite3's SQLite": sqlite3.sqlite_version}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"machine": f"{platform.machine()}, {os.cpu_count()} cores", "file system": file_system, **versions}
