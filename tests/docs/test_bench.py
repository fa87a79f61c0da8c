"""The benchmark runs: every case on tiny sizes, with whatever peers are installed. Nothing here judges a speed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import memwell

from .pages import ROOT

CASES = "get,await,list,set,durable,threads,growth,loop"  # start-up installs the package, which takes an index


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run left its results."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "page.md").write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    outputs = [
        f"--{kind}={folder / name}" for kind, name in (("json", "r.json"), ("svg", "r.svg"), ("docs", "page.md"))
    ]
    done = bench("--quick", f"--only={CASES}", f"--dir={folder / 'stores'}", *outputs)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def results(folder: Path) -> Any:
    return json.loads((folder / "r.json").read_text())


def test_each_case_measures_cpu_and_wall(results: Any) -> None:
    names = {case["name"] for case in results["cases"]}
    assert names == {"get", "await", "list", "set", "durable", "threads", "growth-get", "growth-set"}
    costs = [cost for case in results["cases"] for row in case["rows"] for cost in (row["cpu"], row["wall"])]
    assert all(0 < low <= median <= high for median, low, high in costs)


def test_a_peer_is_measured_or_said_to_be_missing(results: Any) -> None:
    measured = {row["name"] for case in results["cases"] if case["name"] == "get" for row in case["rows"]}
    left_out = {note.partition(" is not installed")[0] for note in results["notes"] if " is not installed" in note}
    assert {"memwell", "sqlite3"} <= measured
    assert measured | left_out == {"memwell", "sqlite3", "diskcache", "langgraph sqlite", "langgraph ram"}


def test_the_loop_was_made_to_wait_and_got_work_done(results: Any) -> None:
    pauses = [target for target in results["targets"] if target["about"].startswith("worst pause")]
    done = [int(note.split()[-3].replace(",", "")) for note in results["notes"] if note.endswith(" calls done")]
    assert len(pauses) == len(done) == 5
    assert all(done)
    assert all(target["measured"] > 0 for target in pauses), "the ticker never ran"


async def test_a_task_that_never_lets_go_is_seen_as_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.loop import ticks

    async def hog(end: float) -> None:
        while time.perf_counter() < end:
            pass

    begin = time.perf_counter()
    first = asyncio.gather(hog(begin + 0.05))  # scheduled before the ticker, and done when that starts
    late, _ = await asyncio.gather(ticks(begin, begin + 0.05), first)
    assert late > 0.04


def test_the_chart_is_an_image_with_a_bar_for_each_store(folder: Path, results: Any) -> None:
    bars = ElementTree.parse(folder / "r.svg").findall("{http://www.w3.org/2000/svg}rect")
    drawn = [case for case in results["cases"] if case["name"] in ("get", "set", "durable", "list")]
    assert len(bars) == sum(len(case["rows"]) for case in drawn)


def test_a_page_gets_the_tables_between_its_marks(folder: Path) -> None:
    page = (folder / "page.md").read_text()
    assert page.startswith("before\n<!-- measured: begin -->\n\n| operation")
    assert page.endswith("\n<!-- measured: end -->\nafter\n")
    assert "old" not in page.splitlines()


def test_nothing_is_left_behind(folder: Path) -> None:
    assert list((folder / "stores").iterdir()) == []


@pytest.mark.parametrize(("measured", "met"), [(1.0, True), (2.0, True), (2.1, False), (None, None)])
def test_a_broken_promise_fails_the_run(measured: Any, met: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.report import Report, Target

    most, least = Target("", measured, 2.0), Target("", None if measured is None else 4 - measured, 2.0, at_most=False)
    assert (most.met, least.met) == (met, met)
    assert Report({}, targets=[most]).failed is (met is False)


def test_an_unknown_case_is_refused() -> None:
    done = bench("--only=speed")
    assert done.returncode == 2
    assert "'speed' is not one of get," in done.stderr


# The benches that are programs of their own

OWN = {"bench.search": ["search", "scopes"], "bench.threads": ["append-durable", "append-fast", "newest"]}
MARK = {"bench.search": "search-speed", "bench.threads": "thread-speed"}


@pytest.fixture(scope="module")
def own(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The program, and where a quick run of it left its results."""
    program, folder = request.param, tmp_path_factory.mktemp("own")
    mark, page = MARK[program], folder / "page.md"
    page.write_text(f"before\n<!-- {mark}:begin -->\nold\n<!-- {mark}:end -->\nafter\n")
    outputs = [f"--json={folder / 'r.json'}", f"--docs={page}", f"--dir={folder / 'stores'}"]
    command = [sys.executable, "-m", program, "--quick", *outputs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert list((folder / "stores").iterdir()) == []
    return program, folder


@pytest.mark.parametrize("own", OWN, indirect=True)
def test_a_bench_of_its_own_measures_its_cases_and_fills_its_page(own: tuple[str, Path]) -> None:
    program, folder = own
    results, page = json.loads((folder / "r.json").read_text()), (folder / "page.md").read_text()
    assert [case["name"] for case in results["cases"]] == OWN[program]
    assert all("memwell" in case["rows"][0]["name"] for case in results["cases"])
    costs = [cost for case in results["cases"] for row in case["rows"] for cost in (row["cpu"], row["wall"])]
    assert all(0 < low <= median <= high for median, low, high in costs)
    unmeasured = [target["about"] for target in results["targets"] if target["measured"] is None]
    assert all(" than " in about for about in unmeasured), "only a peer can be missing"
    assert page.startswith(f"before\n<!-- {MARK[program]}:begin -->\n\n| operation")
    assert page.endswith(f"\n<!-- {MARK[program]}:end -->\nafter\n")
    assert "old" not in page.splitlines()


@pytest.mark.parametrize("own", ["bench.threads"], indirect=True)
def test_threads_are_compared_at_equal_durability(own: tuple[str, Path]) -> None:
    results = json.loads((own[1] / "r.json").read_text())
    peers = 0 if any("openai-agents is not installed" in note for note in results["notes"]) else 1
    for word, kind in (("durable", "power-safe"), ("fast", "crash-safe")):
        (said,) = [note for note in results["notes"] if note.startswith(f"{word}: ")]
        assert [each.split()[-1] for each in said.split(", ")] == [kind] * (1 + peers)
    assert len(results["cases"][-1]["rows"]) == 1 + peers


def test_quality_is_measured_by_words_on_a_part_of_the_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.quality import data
    from bench.quality.__main__ import CHANNELS, _channel, loaded, rows

    found = data.conversations()[:4]
    asked = list(data.questions(found))
    with memwell.open(tmp_path / "memory.db", durability="fast") as store:
        mem, names = loaded(store, found)
        words = {name: _channel(mem, names, asked, CHANNELS[name]) for name in CHANNELS if name.startswith("words")}
    alone, helped = words["words"], words["words, with neighbours"]
    assert 0.5 < alone["styles"]["words"] <= 1
    assert alone["recall@5"] <= alone["recall@10"] < helped["recall@10"] <= 1
    assert [line.split("|")[1].strip() for line in rows({"channels": words}).splitlines()[2:]] == list(words)
