"""The comparison as an SVG: one block of bars an operation, each block on its own scale, readable on light and dark."""

from __future__ import annotations

from html import escape

from bench.report import TIMES, Case, Report

_CASES = {
    "get": "get, CPU",
    "set": "set with history (fast), CPU",
    "durable": "set, durable, wall",
    "list": "list 100 of 100,000 keys, CPU",
}
_LEFT, _BAR, _RIGHT, _LINE, _HEAD = 150, 400, 150, 22, 40
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #24292f } .head { font-weight: 600 } .name { text-anchor: end }
rect { fill: #a8b3bf } .ours { fill: #0a7d62 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } rect { fill: #57606a } .ours { fill: #2fb894 } }
"""


def render(report: Report) -> str:
    """The chart of those cases that compare stores."""
    cases = {case.name: case for case in report.cases}
    parts, top = [], 0
    for name, title in _CASES.items():
        if name in cases:
            parts.append(_block(cases[name], title, top))
            top += _HEAD + _LINE * len(cases[name].rows)
    width, height = _LEFT + _BAR + _RIGHT, top + _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Microseconds a call; shorter is faster"><style>{_STYLE}</style>\n{"".join(parts)}</svg>\n'
    )


def _block(case: Case, title: str, top: int) -> str:
    longest = max(row.median(case.clock) for row in case.rows)
    head = f'<text class="head" x="8" y="{top + 28}">{escape(title)} (µs, shorter is faster)</text>\n'
    bars = []
    for line, row in enumerate(case.rows):
        y, micros = top + _HEAD + _LINE * line, row.median(case.clock)
        length = max(1.0, _BAR * micros / longest)
        kind = ' class="ours"' if row.name == "memwell" else ""
        bars.append(
            f'<text class="name" x="{_LEFT - 10}" y="{y + 13}">{escape(row.name)}</text>'
            f'<rect{kind} x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_LINE - 6}" rx="2"/>'
            f'<text x="{_LEFT + length + 8:.1f}" y="{y + 13}">{micros:,.{0 if micros >= 100 else 1}f} '
            f"· {case.ratio(row.name, 'memwell') or 0:.2g}{TIMES}</text>\n"
        )
    return head + "".join(bars)
