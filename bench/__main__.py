"""`python -m bench`: measure Memwell beside its peers, print the ratios, and fail if a promise is broken."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from bench import cases, chart, table
from bench.lab import QUICK, Lab, Scale, file_system, fresh_folder
from bench.loop import pauses
from bench.report import Report, setting
from bench.startup import startup
from bench.worker import PEERS, installed

CASES: dict[str, Callable[[Lab, Report], None]] = {
    "get": cases.get,
    "await": cases.awaited,
    "list": cases.listing,
    "set": cases.set_fast,
    "durable": cases.set_durable,
    "threads": cases.threads,
    "growth": cases.growth,
    "loop": pauses,
    "startup": startup,
}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def main() -> int:
    """Run what was asked for; 1 if a promise is broken."""
    wanted = _parser().parse_args()
    parent = Path(wanted.dir)
    with fresh_folder(parent) as folder:
        kind = file_system(Path(folder))
        if kind in ("tmpfs", "ramfs"):
            _say(f"warning: {parent} is on {kind}, so durable writes cost nothing there; use --dir for a real disk")
        report = Report(setting(kind))
        _run(Lab(QUICK if wanted.quick else Scale(), Path(folder)), report, wanted.only)
    text = table.render(report)
    print(text)
    if wanted.json:
        Path(wanted.json).write_text(json.dumps(report.plain(), indent=2, ensure_ascii=False) + "\n")
    if wanted.svg:
        Path(wanted.svg).write_text(chart.render(report))
    if wanted.docs:
        _fill(Path(wanted.docs), text)
    return 1 if report.failed and not wanted.quick else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description=__doc__)
    names = ", ".join(CASES)
    parser.add_argument("--only", type=_names, default=list(CASES), help=f"some of {names}; commas between")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: proves that it runs, and judges nothing")
    parser.add_argument("--dir", default=str(Path(__file__).parent / "out"), help="a folder on the disk to measure")
    parser.add_argument("--json", metavar="FILE", help="also write everything as JSON")
    parser.add_argument("--svg", metavar="FILE", help="also draw the chart")
    parser.add_argument("--docs", metavar="FILE", help="also write the tables between the marks of a page")
    return parser


def _names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(CASES)}")
    return text.split(",")


def _run(lab: Lab, report: Report, wanted: list[str]) -> None:
    for name in PEERS:
        if not installed(name):
            report.notes.append(f"{name} is not installed here and was left out (pip install 'memwell[bench]')")
            _say(report.notes[-1])
    try:
        for name in wanted:
            _say(f"measuring {name} …")
            CASES[name](lab, report)
    finally:
        lab.close()


def _fill(page: Path, text: str) -> None:
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
