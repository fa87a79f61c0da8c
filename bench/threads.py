"""`python -m bench.threads`: append to a thread and read its end, beside openai-agents' SQLiteSession.

Both are awaited in one event loop and keep their messages in a SQLite file, equally durable: once so that a message
survives a power cut, once so that it survives a crash of the program.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import memwell
from bench import table
from bench.disk import probed
from bench.lab import WARM_UP, file_system, fresh_folder
from bench.measure import Cost, Meter
from bench.report import Case, Report, Row, Target, setting
from memwell.ops import NewMessage

BEGIN, END = "<!-- thread-speed:begin -->", "<!-- thread-speed:end -->"
OURS, PEER = "memwell", "SQLiteSession"
LENGTH = 200  # bytes of a message
PORTION = 1000  # messages that are loaded at once
NEWEST = 50


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    few: int = 100
    many: int = 100_000
    rounds: int = 41
    appends: int = 50  # of a round; a short thread is begun anew for each
    reads: int = 20


QUICK = Scale(few=10, many=1_200, rounds=3, appends=3, reads=2)


def text(number: int) -> str:
    """What a message says: all different, all of one length."""
    return f"{number} said something that is worth keeping. ".ljust(LENGTH, "x")


def portions(count: int) -> Iterator[list[str]]:
    return ([text(n) for n in range(start, min(count, start + PORTION))] for start in range(0, count, PORTION))


class Ours:
    """Threads of this package."""

    name = OURS

    async def open(self, path: Path, durable: bool) -> None:
        self._store = await memwell.open_async(path, by="bench", durability="full" if durable else "fast")
        self._threads = self._store.scope(agent="bench").threads

    async def begin(self, count: int) -> None:
        """A new thread with so many messages."""
        self._thread = await self._threads.create()
        for portion in portions(count):
            await self._thread.extend([NewMessage(role="user", content=said) for said in portion])

    async def append(self, said: str) -> object:
        return await self._thread.append("user", said)

    async def newest(self, count: int) -> list[Any]:
        return list(await self._thread.messages(count))

    async def search(self, query: str) -> object:
        return await self._threads.search(query)

    async def durability(self) -> str:
        return (await self._store.stats()).durability

    async def close(self) -> None:
        await self._store.close()


class Peer:
    """Sessions of openai-agents. One session object serves them all, so that its connection stays open."""

    name = PEER

    async def open(self, path: Path, durable: bool) -> None:
        from agents.memory import SQLiteSession

        class Normal(SQLiteSession):
            """The same, with a log that is not flushed at each commit."""

            @staticmethod
            def _configure_connection(conn: Any) -> None:
                SQLiteSession._configure_connection(conn)
                conn.execute("PRAGMA synchronous = NORMAL")

        self._session = (SQLiteSession if durable else Normal)("0", path)
        self._begun = 0

    async def begin(self, count: int) -> None:
        self._begun += 1
        self._session.session_id = f"{self._begun}"
        for portion in portions(count):
            await self._session.add_items([{"role": "user", "content": said} for said in portion])

    async def append(self, said: str) -> object:
        return await self._session.add_items([{"role": "user", "content": said}])

    async def newest(self, count: int) -> list[Any]:
        return list(await self._session.get_items(count))

    async def durability(self) -> str:
        level = await asyncio.to_thread(lambda: self._session._get_connection().execute("PRAGMA synchronous"))
        return {1: "crash-safe", 2: "power-safe"}.get(level.fetchone()[0], "unknown")

    async def close(self) -> None:
        self._session.close()


Side = Ours | Peer


@dataclass(frozen=True)
class Lane:
    """One competitor: what it does, and what is made ready before a round, which is not measured."""

    label: str
    call: Callable[[int], Awaitable[object]]
    ready: Callable[[], Awaitable[object]] | None = None


def race(loop: asyncio.AbstractEventLoop, lanes: list[Lane], rounds: int, calls: int) -> list[Row]:
    """Turn by turn, A B C A B C …, each awaiting one call after the other."""
    costs: dict[str, list[Cost]] = {lane.label: [] for lane in lanes}
    for turn in range(WARM_UP + rounds):
        for lane in lanes:
            if lane.ready is not None:
                loop.run_until_complete(lane.ready())
            numbers = range(turn * calls, (turn + 1) * calls)
            cost = Meter().run(partial(loop.run_until_complete, _each(lane.call, numbers)))
            if turn >= WARM_UP:
                costs[lane.label].append(cost)
    return [Row.of(label, took, calls) for label, took in costs.items()]


async def _each(call: Callable[[int], Awaitable[object]], numbers: range) -> None:
    for number in numbers:
        await call(number)


class Run:
    """A pair of stores for each length of thread, all equally durable."""

    def __init__(self, loop: asyncio.AbstractEventLoop, folder: Path, scale: Scale, durable: bool) -> None:
        self._loop, self._folder, self._scale, self._durable = loop, folder, scale, durable
        self.word = "durable" if durable else "fast"
        self._kinds: list[type[Ours | Peer]] = [Ours, Peer] if find_spec("agents") is not None else [Ours]
        self._sides: dict[tuple[str, int], Side] = {}
        self._open = AsyncExitStack()

    async def load(self) -> None:
        """Open the stores, and fill those of the long threads."""
        for count in (self._scale.few, self._scale.many):
            for kind in self._kinds:
                side = self._sides[kind.name, count] = kind()
                await side.open(self._folder / f"{kind.name}-{count}-{self.word}.db", self._durable)
                self._open.push_async_callback(side.close)
                await side.begin(count)

    def append(self, report: Report) -> None:
        """Append to a short thread and to a long one."""
        few, many = self._scale.few, self._scale.many
        lanes = [self._appending(side, count) for (_, count), side in self._sides.items()]
        with probed(self._folder, report, f"append, {self.word}"):
            rows = race(self._loop, lanes, self._scale.rounds, self._scale.appends)
        case = Case(f"append-{self.word}", f"append, {self.word}", "wall", rows)
        report.cases.append(case)
        about = f"{self.word} append to {many:,} messages, beside {few:,}"
        growth = case.ratio(_label(OURS, many), _label(OURS, few))
        report.targets.append(Target(about, growth, 1.5, clock="wall"))
        for count in (few, many):
            ratio = case.ratio(_label(PEER, count), _label(OURS, count))
            about = f"{self.word} append to {count:,} messages, faster than SQLiteSession"
            report.targets.append(Target(about, ratio, 3, False, clock="wall"))

    def _appending(self, side: Side, count: int) -> Lane:
        short = count == self._scale.few
        return Lane(
            _label(side.name, count),
            lambda number: side.append(text(number)),
            partial(side.begin, count) if short else None,
        )

    def newest(self, report: Report) -> None:
        """Read the end of a long thread."""
        many = self._scale.many
        sides = [side for (_, count), side in self._sides.items() if count == many]
        ends = [len(self._loop.run_until_complete(side.newest(NEWEST))) for side in sides]
        assert {*ends} == {NEWEST}, "somebody gives fewer messages than asked for"
        lanes = [Lane(side.name, lambda _, side=side: side.newest(NEWEST)) for side in sides]
        rows = race(self._loop, lanes, self._scale.rounds, self._scale.reads)
        case = Case("newest", f"last {NEWEST} of {many:,}", "wall", rows)
        report.cases.append(case)
        took = case.rows[0].wall.median / 1000
        report.targets += [
            Target(f"last {NEWEST} of {many:,} messages", took, 2, unit=" ms", clock="wall"),
            Target(
                f"last {NEWEST} of {many:,} messages, faster than SQLiteSession",
                case.ratio(PEER, OURS),
                3,
                at_most=False,
                clock="wall",
            ),
        ]

    async def first_search(self, report: Report) -> None:
        """What appending put off: the first search indexes all that was appended."""
        side = self._sides[OURS, self._scale.many]
        assert isinstance(side, Ours)
        walls = []
        for _ in range(2):
            start = time.perf_counter()
            await side.search("something 17")
            walls.append(time.perf_counter() - start)
        each = (walls[0] - walls[1]) / self._scale.many * 1e6
        report.notes.append(f"the first search of {self._scale.many:,} messages indexed them, in {each:.0f} µs each")

    async def state(self, report: Report) -> None:
        """Whether all are as durable as it says."""
        said = {side.name: await side.durability() for side in self._sides.values()}
        report.notes.append(f"{self.word}: " + ", ".join(f"{name} is {what}" for name, what in said.items()))

    async def close(self) -> None:
        await self._open.aclose()


def _label(name: str, count: int) -> str:
    return f"{name}, {count:,} messages"


def measure(folder: Path, scale: Scale, one_thread: bool = False) -> Report:
    """Everything: the durable pair, then the fast one. The session works in the threads that the loop gives it."""
    report = Report(setting(file_system(folder)))
    if find_spec("agents") is None:
        report.notes.append("openai-agents is not installed here and was left out (pip install 'memwell[bench]')")
    else:
        report.setting["openai-agents"] = version("openai-agents")
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        if one_thread:
            loop.set_default_executor(ThreadPoolExecutor(1))
            report.notes.append("SQLiteSession had one thread, and so one connection, which is the best case for it")
        for durable in (True, False):
            run = Run(loop, folder, scale, durable)
            try:
                loop.run_until_complete(run.load())
                loop.run_until_complete(run.state(report))
                run.append(report)
                if not durable:
                    run.newest(report)
                    loop.run_until_complete(run.first_search(report))
            finally:
                loop.run_until_complete(run.close())
    return report


def main() -> int:
    """Measure; 1 if a promise is broken."""
    parser = argparse.ArgumentParser("python -m bench.threads", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: proves that it runs, and judges nothing")
    parser.add_argument("--one-thread", action="store_true", help="SQLiteSession gets one thread, no pool")
    parser.add_argument("--dir", default=str(Path(__file__).parent / "out"), help="a folder on the disk to measure")
    parser.add_argument("--json", metavar="FILE", help="also write everything as JSON")
    parser.add_argument("--docs", metavar="FILE", type=Path, help="the page whose table is to be replaced")
    wanted = parser.parse_args()
    with fresh_folder(Path(wanted.dir)) as folder:
        report = measure(Path(folder), QUICK if wanted.quick else Scale(), wanted.one_thread)
    shown = table.render(report)
    print(shown)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps(report.plain(), indent=2, ensure_ascii=False) + "\n")
    if wanted.docs:
        page = wanted.docs.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        wanted.docs.write_text(f"{page[:start]}\n\n{shown}\n\n{page[end:]}")
    return 1 if report.failed and not wanted.quick else 0


if __name__ == "__main__":
    sys.exit(main())
