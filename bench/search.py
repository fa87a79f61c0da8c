"""`python -m bench.search`: search and ingest of 100,000 records, beside LangGraph's SqliteStore with the same vectors.

The records are random texts with the word frequencies of the labelled set, questions are pieces of real ones. Vectors
are random and the same for both stores: speed does not depend on what they mean.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import memwell
from bench import table
from bench.lab import file_system, fresh_folder
from bench.measure import Cost, Meter
from bench.quality import data
from bench.report import Case, Report, Row, Target, setting
from memwell.ops import NewRecord

DIMS = 384
BATCH = 500
BEGIN, END = "<!-- search-speed:begin -->", "<!-- search-speed:end -->"
WORDS, BLENDED, PEER = "memwell, words", "memwell, blended", "langgraph sqlite, vectors"


class Texts:
    """Random texts that have words as often as people use them, and names that are rare."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        turns = list(data.records(data.conversations()))
        self._spoken = [turn.text for turn in turns]
        counts = Counter(word for text in self._spoken for word in text.split())
        self._words, self._weights = list(counts), list(counts.values())

    def record(self) -> str:
        """One of 8 to 28 words and two rare ones."""
        draw = self._random
        words = draw.choices(self._words, self._weights, k=draw.randint(8, 28))
        words += [f"name{min(20_000, int(draw.paretovariate(0.6)))}" for _ in range(2)]
        draw.shuffle(words)
        return " ".join(words)

    def question(self) -> str:
        """Three to eight words that somebody said in a row."""
        draw = self._random
        size = draw.randint(3, 8)
        while True:
            words = draw.choice(self._spoken).split()
            if len(words) >= size:
                start = draw.randrange(len(words) - size + 1)
                return " ".join(words[start : start + size])


def vectors(texts: list[str]) -> Any:
    """A random direction for each text, the same each time."""
    import numpy

    seeds = [int.from_bytes(sha256(text.encode()).digest()[:8]) for text in texts]
    drawn = numpy.stack([numpy.random.default_rng(seed).standard_normal(DIMS) for seed in seeds])
    return drawn / numpy.linalg.norm(drawn, axis=1, keepdims=True)


vectors.name = "random"  # type: ignore[attr-defined]


def portions(texts: list[str]) -> Iterator[list[str]]:
    return (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))


def ingest(mem: memwell.Memory, texts: list[str]) -> float:
    """Records a second, in batches, found by words at once."""
    start = time.perf_counter()
    for portion in portions(texts):
        mem.records.remember_many(NewRecord(content=text) for text in portion)
    return len(texts) / (time.perf_counter() - start)


def peer(folder: Path, texts: list[str]) -> Callable[[str], object] | None:
    """LangGraph's search over the same texts and vectors; None where its vectors can't be had."""
    if find_spec("langgraph") is None or find_spec("pysqlite3") is None:
        return None
    import pysqlite3
    from langgraph.store.base import PutOp
    from langgraph.store.sqlite import SqliteStore

    connection = pysqlite3.connect(str(folder / "langgraph.db"), check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    embed = lambda found: vectors(found).tolist()  # noqa: E731
    store = SqliteStore(connection, index={"dims": DIMS, "embed": embed, "fields": ["text"]})
    store.setup()
    for number, portion in enumerate(portions(texts)):
        store.batch([PutOp(("agent",), f"{number}-{index}", {"text": text}) for index, text in enumerate(portion)])
    return lambda question: store.search(("agent",), query=question, limit=10)


def race(lanes: dict[str, Callable[[str], object]], questions: list[str]) -> dict[str, list[Cost]]:
    """Question by question, A B C A B C …"""
    meter = Meter()
    costs: dict[str, list[Cost]] = {name: [] for name in lanes}
    for turn, question in enumerate(questions):
        for name, ask in lanes.items():
            cost = meter.run(lambda ask=ask, question=question: ask(question))
            if turn >= len(questions) // 20:
                costs[name].append(cost)
    return costs


def large(folder: Path, report: Report, count: int, asked: int) -> None:
    """One scope with many records."""
    texts = Texts()
    records = [texts.record() for _ in range(count)]
    questions = [texts.question() for _ in range(asked)]
    given = dict(zip(questions, vectors(questions).tolist(), strict=True))
    with memwell.open(folder / "words.db", by="bench", durability="fast") as store:
        rate = ingest(store.scope(agent="bench"), records)
    path = folder / "memory.db"
    with (
        memwell.open(folder / "words.db", by="bench", durability="fast") as plain,
        memwell.open(path, by="bench", durability="fast", embedder=vectors) as both,
    ):
        words, blended = plain.scope(agent="bench"), both.scope(agent="bench")
        ingest(blended, records)
        both.embed()
        lanes: dict[str, Callable[[str], object]] = {
            WORDS: words.search,
            BLENDED: lambda question: blended.search(question, vector=given[question]),
        }
        other = peer(folder, records)
        if other is not None:
            lanes[PEER] = other
        costs = race(lanes, questions)
    case = Case("search", f"search of {count:,}", "wall", [Row.of(name, took, 1) for name, took in costs.items()])
    report.cases.append(case)
    by_words = sorted(cost.wall * 1e3 for cost in costs[WORDS])
    p50 = {name: sorted(cost.wall * 1e3 for cost in took)[len(took) // 2] for name, took in costs.items()}
    report.targets += [
        Target(f"word search of {count:,}, p50", p50[WORDS], 15, unit=" ms", clock="wall"),
        Target(f"word search of {count:,}, p99", by_words[int(len(by_words) * 0.99)], 60, unit=" ms", clock="wall"),
        Target("blended search with a given vector, p50", p50[BLENDED], 40, unit=" ms", clock="wall"),
        Target("ingest by words, in batches", rate, 5000, False, unit=" records/s", clock="wall"),
        Target("blended search, faster than LangGraph's by vectors", case.ratio(PEER, BLENDED), 1, False, clock="wall"),
    ]


def small(folder: Path, report: Report, scopes: int, count: int, asked: int) -> None:
    """A small scope among many."""
    texts = Texts(8)
    with memwell.open(folder / "scopes.db", by="bench", durability="fast") as store:
        for number in range(scopes):
            ingest(store.scope(user=f"{number}"), [texts.record() for _ in range(count)])
        draw = random.Random(9)
        asks = [(store.scope(user=f"{draw.randrange(scopes)}"), texts.question()) for _ in range(asked)]
        meter = Meter()
        costs = [meter.run(lambda mem=mem, question=question: mem.search(question)) for mem, question in asks]
    name = f"search of {count:,} among {scopes:,} scopes"
    report.cases.append(Case("scopes", name, "wall", [Row.of(WORDS, costs, 1)]))
    walls = sorted(cost.wall * 1e3 for cost in costs)
    report.targets.append(Target(f"{name}, p50", walls[len(walls) // 2], 3, unit=" ms", clock="wall"))


def main() -> int:
    """Measure; 1 if a promise is broken."""
    parser = argparse.ArgumentParser("python -m bench.search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: proves that it runs, and judges nothing")
    parser.add_argument("--only", choices=["large", "small"], help="one large scope, or a small one among many")
    parser.add_argument("--dir", default=str(Path(__file__).parent / "out"), help="a folder on the disk to measure")
    parser.add_argument("--json", metavar="FILE", help="also write everything as JSON")
    parser.add_argument("--docs", metavar="FILE", type=Path, help="the page whose table is to be replaced")
    wanted = parser.parse_args()
    with fresh_folder(Path(wanted.dir)) as folder:
        report = Report(setting(file_system(Path(folder))))
        if wanted.only != "small":
            large(Path(folder), report, 300 if wanted.quick else 100_000, 20 if wanted.quick else 400)
        if wanted.only != "large":
            small(Path(folder), report, *((5, 20, 10) if wanted.quick else (1000, 1000, 400)))
    text = table.render(report)
    print(text)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps(report.plain(), indent=2, ensure_ascii=False) + "\n")
    if wanted.docs:
        page = wanted.docs.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        wanted.docs.write_text(f"{page[:start]}\n\n{text}\n\n{page[end:]}")
    return 1 if report.failed and not wanted.quick else 0


if __name__ == "__main__":
    sys.exit(main())
