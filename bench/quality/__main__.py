"""How well search finds, on the labelled set: `python -m bench.quality [--embedder SPEC] [--json] [--docs PAGE]`.

Every turn is a record of one scope, in the order of the conversations; what is measured is the real search. The same
questions are asked by words alone, by meaning alone and blended, each without and with what neighbours lend.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import memwell
from bench.quality import data
from bench.quality.metrics import METRICS, means
from bench.table import markdown
from memwell.engine import rank
from memwell.ops import NewRecord

NONE = {"before": (), "after": ()}
CHANNELS: dict[str, dict[str, Any]] = {
    "words": {"words": 1.0, "meaning": 0.0, **NONE},
    "meaning": {"words": 0.0, "meaning": 1.0, **NONE},
    "blended": dict(NONE),
    "words, with neighbours": {"words": 1.0, "meaning": 0.0},
    "meaning, with neighbours": {"words": 0.0, "meaning": 1.0},
    "blended, with neighbours": {},
}
BEGIN, END = "<!-- quality:begin -->", "<!-- quality:end -->"
DEPTH = 10


@contextmanager
def blend(changes: dict[str, Any]) -> Iterator[None]:
    """Another blend than the usual one."""
    usual = rank.BLEND
    rank.BLEND = usual._replace(**changes)
    try:
        yield
    finally:
        rank.BLEND = usual


def loaded(store: memwell.Store, found: tuple[data.Conversation, ...]) -> tuple[memwell.Memory, dict[str, str]]:
    """The turns as records; which record is which turn."""
    mem = store.scope(agent="bench")
    names: dict[str, str] = {}
    for conversation in found:
        new = [
            NewRecord(content=f"{turn.speaker}: {turn.text}", kind="episodic", thread=conversation.id, id=turn.id)
            for turn in conversation.turns
        ]
        for record, turn in zip(mem.records.remember_many(new), conversation.turns, strict=True):
            names[record.id] = turn.id
    return mem, names


def measure(embedder: str | None) -> dict[str, Any]:
    """Each channel's means, over all questions and by style."""
    found = data.conversations()
    asked = list(data.questions(found))
    result: dict[str, Any] = {"records": len(list(data.records(found))), "questions": len(asked), "channels": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with memwell.open(path, by="bench", durability="fast", embedder=embedder) as store:
            mem, names = loaded(store, found)
            if embedder:
                store.embed()
                result["embedder"] = embedder
            for name, changes in CHANNELS.items():
                if embedder or name.startswith("words"):
                    result["channels"][name] = _channel(mem, names, asked, changes)
    return result


def _channel(
    mem: memwell.Memory, names: dict[str, str], asked: list[data.Question], changes: dict[str, Any]
) -> dict[str, Any]:
    ranked: list[tuple[str, list[str], frozenset[str]]] = []
    with blend(changes):
        for question in asked:
            hits = mem.search(question.question, limit=DEPTH)
            ranked.append((question.style, [names[hit.record.id] for hit in hits], question.answers))
    styles = {style: means((r, a) for s, r, a in ranked if s == style)["nDCG@10"] for style in data.STYLES}
    return {**means((r, a) for _, r, a in ranked), "styles": styles}


def rows(result: dict[str, Any]) -> str:
    """The outcome as a table."""
    head = ["channel", *METRICS, *(f"nDCG, {style}" for style in data.STYLES)]
    lines = [
        [name, *(f"{100 * row[metric]:.1f}" for metric in METRICS), *(f"{100 * v:.1f}" for v in row["styles"].values())]
        for name, row in result["channels"].items()
    ]
    return markdown(head, lines)


def main() -> None:
    """Measure, and print or put into a page of the docs."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--embedder", default=None, help="an embedder as memwell.open takes it, e.g. local")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--docs", type=Path, help="the page whose table is to be replaced")
    options = parser.parse_args()
    result = measure(options.embedder)
    text = rows(result)
    if options.docs:
        page = options.docs.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        options.docs.write_text(f"{page[:start]}\n\n{text}\n\n{page[end:]}")
    if options.json:
        json.dump(result, sys.stdout, indent=2)
        print()
    else:
        print(f"{result['records']:,} records, {result['questions']:,} questions, in per cent\n\n{text}")


if __name__ == "__main__":
    main()
