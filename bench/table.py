"""A report as text: Markdown tables, padded so that they read well on a terminal too."""

from __future__ import annotations

from collections.abc import Sequence

from bench.measure import Spread
from bench.report import TIMES, Case, Report, Row, Target

_VERDICT = {True: "pass", False: "FAIL", None: "not measured"}


def render(report: Report) -> str:
    """All of it."""
    where = "; ".join(f"{name} {value}" for name, value in report.setting.items())
    parts = [_costs(report.cases), _promises(report.targets), "\n".join(f"- {note}" for note in report.notes), where]
    return "\n\n".join(part for part in parts if part)


def _costs(cases: list[Case]) -> str:
    heads = ("operation", "store", "CPU µs (p10 to p90)", "wall µs (p10 to p90)", "beside the first")
    rows = [
        (case.title, row.name, _spread(row.cpu), _spread(row.wall), _ratio(case, row))
        for case in cases
        for row in case.rows
    ]
    return markdown(heads, rows)


def _ratio(case: Case, row: Row) -> str:
    return f"{case.ratio(row.name, case.rows[0].name):.2f}{TIMES}"


def _promises(targets: list[Target]) -> str:
    heads = ("promise", "measured", "target", "by", "")
    return markdown(heads, [(t.about, _measured(t), _limit(t), t.clock, _VERDICT[t.met]) for t in targets])


def _measured(target: Target) -> str:
    return "" if target.measured is None else f"{_number(target.measured)}{target.unit}"


def _limit(target: Target) -> str:
    return f"{'≤' if target.at_most else '≥'} {target.limit:g}{target.unit}"


def _spread(spread: Spread) -> str:
    return f"{_number(spread.median)} ({_number(spread.low)} to {_number(spread.high)})"


def _number(number: float) -> str:
    if isinstance(number, int):
        return str(number)
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:.2f}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    widths = [max(len(line[column]) for line in (heads, *rows)) for column in range(len(heads))]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )
