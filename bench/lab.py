"""Where a run happens: how much is measured, in which folder, and the processes that hold the stores."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Cost
from bench.report import Row
from bench.worker import PEERS, Worker, installed

WARM_UP = 2  # rounds at the start that fill caches and are not counted


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    keys: int = 100_000
    rounds: int = 41
    calls: int = 1000  # a round's gets or sets: enough for a checkpoint or so in each round of sets
    durable_calls: int = 100
    list_calls: int = 20
    threads: int = 16
    small: int = 10_000
    large: int = 1_000_000
    loop_seconds: float = 5.0
    starts: int = 15


QUICK = Scale(
    keys=300,
    rounds=3,
    calls=20,
    durable_calls=5,
    list_calls=3,
    threads=4,
    small=200,
    large=400,
    loop_seconds=0.1,
    starts=3,
)


@dataclass(frozen=True)
class Lane:
    """One competitor of a case: a label, the process, what it does and how often in a round."""

    label: str
    worker: Worker
    action: str
    calls: int


@dataclass
class Lab:
    """The scale and the folder of a run, and the stores that have been loaded so far."""

    scale: Scale
    folder: Path
    _open: ExitStack = field(default_factory=ExitStack)
    _workers: dict[tuple[str, int, bool], Worker] = field(default_factory=dict)

    def worker(self, name: str, durable: bool = False, keys: int | None = None) -> Worker:
        """A store with its keys loaded; asked for again, the same one."""
        keys = keys or self.scale.keys
        made = self._workers.get((name, keys, durable))
        if made is None:
            folder = self.folder / f"{name.replace(' ', '-')}-{keys}-{'full' if durable else 'fast'}"
            made = self._open.enter_context(Worker(name, folder, keys, durable))
            made.ready()
            self._workers[name, keys, durable] = made
        return made

    def all(self, action: str, calls: int, durable: bool = False, without: tuple[str, ...] = ()) -> list[Lane]:
        """Every peer that is installed, for the same work."""
        names = [name for name in PEERS if installed(name) and name not in without]
        return [Lane(name, self.worker(name, durable), action, calls) for name in names]

    def race(self, case: str, lanes: list[Lane], same_keys: bool = True) -> list[Row]:
        """Turn by turn, A B C A B C …, so that whatever else the machine does falls on all alike."""
        costs: dict[str, list[Cost]] = {lane.label: [] for lane in lanes}
        for turn in range(WARM_UP + self.scale.rounds):
            for lane in lanes:
                seed = f"{case} {turn}" if same_keys else f"{case} {turn} {lane.label}"
                cost = lane.worker.turn(lane.action, seed, lane.calls)
                if turn >= WARM_UP:
                    costs[lane.label].append(cost)
        return [Row.of(lane.label, costs[lane.label], lane.calls) for lane in lanes]

    def close(self) -> None:
        self._open.close()


def file_system(folder: Path) -> str:
    """The kind of file system that a folder is on, where the machine tells."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    real = os.path.realpath(folder)
    above = [(len(point), kind) for point, kind in mounts if os.path.commonpath([real, point]) == point]
    return max(above)[1] if above else "unknown"


def fresh_folder(parent: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder of this run's own, gone when it ends."""
    parent.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="run-", dir=parent)
