"""Results on stdout, words on stderr. What a memory holds is untrusted text: none of it reaches a terminal raw."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

import click
import msgspec

from memwell.cli.options import chosen
from memwell.store import Progress
from memwell.types import Entry

_SUSPECT = re.compile("[^ -~]")
# Printable by category, yet shown as nothing: what Unicode calls default ignorable, and the blank Braille pattern.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def escape(text: str) -> str:
    """The text with every control, direction override, invisible or unassigned character as an escape."""
    return _SUSPECT.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    char = match[0]
    if char.isprintable() and not _HIDDEN.match(char):
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def to_text(value: object) -> str:
    """One line of JSON that is safe to print."""
    return escape(msgspec.json.format(msgspec.json.encode(value), indent=0).decode())


def name(text: str) -> str:
    """A key, scope or author: as it is where that is plain, else as a JSON string, so that no two look the same."""
    return text if escape(text) == text and text.strip() == text and text[:1] != '"' else to_text(text)


def sentence(text: str) -> str:
    """A message on one line, safe to print."""
    return escape(" ".join(text.split()))


def when(moment: datetime | None) -> str:
    """A time in the form that --at reads."""
    return "-" if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def size(count: int) -> str:
    """A number of bytes for people."""
    number, units = float(count), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.0f} {units[0]}" if units[0] == "bytes" else f"{number:.1f} {units[0]}"


def counted(count: int, noun: str) -> str:
    """`1 entry`, `2 entries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def result(document: Any, lines: str | Iterable[str]) -> None:
    """The outcome: with --json the document, else the lines."""
    if chosen("json"):
        click.echo(to_text(document))
    elif isinstance(lines, str):
        click.echo(lines)
    else:
        for line in lines:
            click.echo(line)


def say(text: str) -> None:
    """Words beside the result."""
    if not chosen("json"):
        click.echo(text, err=True)


def style(text: str, **look: Any) -> str:
    """Coloured, unless NO_COLOR asks for none; where the output is no terminal, click takes the colour out."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **look)


def on_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at a stream; there is none where it was closed from the start."""
    return stream is not None and stream.isatty()


def written(entry: Entry) -> None:
    """The outcome of a write."""
    expires = f", expires {when(entry.expires_at)}" if entry.expires_at else ""
    result(entry, f"version {entry.version}{expires}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Rows in aligned columns, numbers to the right; on a terminal a line that is too long is cut."""
    cells = [head, *rows]
    by_column = list(zip(*cells, strict=True))
    widths = [max(map(width, column)) for column in by_column]
    numbers = [all(cell.isdigit() for cell in column[1:]) for column in by_column]
    for index, row in enumerate(cells):
        padded = (pad(*cell) for cell in zip(row, widths, numbers, strict=True))
        line = fit("  ".join(padded).rstrip())
        yield style(line, bold=True) if index == 0 else line


def fit(line: str, used: int = 0) -> str:
    """The line, cut on a terminal where `used` columns are taken already."""
    return cut(line, columns() - used) if on_terminal(sys.stdout) else line


def cut(line: str, room: int) -> str:
    """The line, or as much of it as has room."""
    if width(line) <= room:
        return line
    line = line[:room]
    while width(line) >= room > 1:
        line = line[:-1]
    return f"{line}…"


def columns() -> int:
    """How wide the terminal is."""
    return shutil.get_terminal_size().columns


def width(text: str) -> int:
    """How many columns a text takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, room: int, number: bool = False) -> str:
    """The text with blanks up to a width; numbers stand to the right."""
    blank = " " * (room - width(text))
    return blank + text if number else text + blank


@contextmanager
def progress(label: str) -> Iterator[Progress | None]:
    """A bar on stderr, where somebody sits to see it."""
    if chosen("json") or not on_terminal(sys.stderr):
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def advance(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield advance
