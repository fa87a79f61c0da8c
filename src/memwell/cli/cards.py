"""Records for people: a row, a highlighted snippet, a card; and the id that a few characters name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from shlex import quote

from memwell.cli import show
from memwell.errors import Invalid, NotFound
from memwell.memory import Memory
from memwell.types import Event, Hit, Record, ThreadInfo

SHORTEST = 8  # characters of an id that may name it
SHOWN = 16  # characters of an id in a table: twelve of time, four of chance
MOST_LINES = 3
LEAST_ROOM = 24  # columns for text beside the others; on a narrower terminal it stands below them
INDENT = 2
CELL_MOST = 14
AMBIGUOUS_SHOWN = 5
_MADE = re.compile("[0-9a-f]{28}")  # an id that Memwell chose

Piece = tuple[str, bool]  # what is printed of one character, and whether it is highlighted
Row = tuple[Sequence[str], list[Piece]]


# Ids


def resolved(memory: Memory, text: str) -> str:
    """The id that the text is, or begins: 8 or more characters that only one record's id begins with."""
    if memory.records.history(text, limit=1):
        return text
    bounds = {"gte": text, "lte": f"{text}\U0010ffff"}
    found = (
        memory.records.list(status="all", filter={"id": bounds}, limit=AMBIGUOUS_SHOWN + 1)
        if len(text) >= SHORTEST
        else []
    )
    return only(text, [record.id for record in found], "record", memory.name)


def only(text: str, found: Sequence[str], noun: str, scope: str, does: str = "begins more than one id") -> str:
    """The one id that a text names; else the reason why there is none, or not one alone."""
    if not found:
        short = "" if len(text) >= SHORTEST else f"; of an id, give {SHORTEST} characters or more"
        look = f"'memwell {noun} list {quote(scope)}' shows what it has{short}"
        raise NotFound(f"{scope} has no {noun} {text!r}", hint=look)
    if len(found) > 1:
        named = ", ".join(found[:AMBIGUOUS_SHOWN])
        more = ", …" if len(found) > AMBIGUOUS_SHOWN else ""
        raise Invalid(f"{text!r} {does}", hint=f"give more of it: {named}{more}")
    return found[0]


def short_ids(things: Sequence[Record | ThreadInfo]) -> dict[str, str]:
    """For each id as much as tells it from the others; one that a person chose is not cut."""
    ids = {thing.id for thing in things}
    made, length = {key for key in ids if _MADE.fullmatch(key)}, SHOWN
    while len({key[:length] for key in made}) < len(made):
        length += 1
    return {key: key[:length] if key in made else show.name(key) for key in ids}


# Text


def pieces(text: str, matches: Iterable[tuple[int, int]] = ()) -> list[Piece]:
    """A text on one line, safe to print, with what is highlighted in it."""
    lit = {place for start, end in matches for place in range(start, end)}
    made: list[Piece] = []
    for place, char in enumerate(text):
        if not char.isspace():
            made.append((show.escape(char), place in lit))
        elif made and made[-1][0] != " ":
            made.append((" ", False))
    return made[:-1] if made and made[-1][0] == " " else made


def said(record: Record, text: str | None = None, matches: Iterable[tuple[int, int]] = ()) -> list[Piece]:
    """What a record says on one line, after its title."""
    body = pieces(record.content if text is None else text, matches)
    return [*pieces(f"{record.title}:"), (" ", False), *body] if record.title else body


def painted(line: Iterable[Piece]) -> str:
    """The line with its colours."""
    runs = ((lit, "".join(text for text, _ in run)) for lit, run in groupby(line, key=lambda piece: piece[1]))
    return "".join(show.style(text, fg="yellow", bold=True) if lit else text for lit, text in runs)


def folded(line: list[Piece], room: int, most: int) -> Iterator[list[Piece]]:
    """The line in at most so many that have room; what is left over is cut."""
    for number in range(1, most + 1):
        end, blank, used = 0, 0, 0
        while end < len(line) and used + show.width(line[end][0]) <= room:
            used += show.width(line[end][0])
            end += 1
            if end < len(line) and line[end][0] == " ":
                blank = end
        stop = blank or max(end, 1)
        if end == len(line) or stop == len(line):
            yield line
            return
        if number == most:
            while end and used + 1 > room:
                end -= 1
                used -= show.width(line[end][0])
            yield [*line[:end], ("…", False)]
            return
        yield line[:stop]
        line = line[stop + 1 :] if line[stop][0] == " " else line[stop:]


def listed(head: Sequence[str], rows: Sequence[Row], most: int = 1, below: Sequence[str] = ()) -> Iterator[str]:
    """A table whose last column is text: folded or cut on a terminal, whole in a pipe. `below` stands under a row."""
    seen = show.on_terminal(sys.stdout)
    cells = [[_bounded(name, cell) if seen else cell for name, cell in zip(head, row, strict=False)] for row, _ in rows]
    widths = [max(map(show.width, column)) for column in zip(head, *cells, strict=False)]
    numbers = [all(row[at].isdigit() for row in cells) for at in range(len(widths))]
    used = sum(widths) + 2 * len(widths)
    beside = not seen or show.columns() - used >= LEAST_ROOM
    indent = used if beside else INDENT
    yield show.style(show.fit("  ".join(map(show.pad, head, [*widths, 0], [*numbers, False]))), bold=True)
    for number, (row, (_, text)) in enumerate(zip(cells, rows, strict=True)):
        start = "  ".join(map(show.pad, row, widths, numbers))
        room = max(LEAST_ROOM, show.columns() - indent)
        lines = [painted(line) for line in (folded(text, room, most) if seen else [text])]
        if beside:
            yield f"{start}  {lines.pop(0)}".rstrip()
        else:
            yield show.fit(start.rstrip())
        yield from (" " * indent + line for line in lines)
        if below:
            yield show.style(show.fit(" " * INDENT + below[number]), dim=True)


def _bounded(name: str, cell: str) -> str:
    return cell if name == "ID" else show.cut(cell, CELL_MOST)


# Tables and cards


def found(hits: Sequence[Hit], scope: str, explain: bool) -> Iterator[str]:
    """The table of a search; the scope stands in it where not all hits are of this one."""
    ids, wide = short_ids([hit.record for hit in hits]), any(hit.record.scope != scope for hit in hits)
    head = ("SCORE", "KIND", "DATE", "ID", *(["SCOPE"] if wide else []), "TEXT")
    rows = [
        (
            (
                f"{hit.score:.3f}",
                show.name(hit.record.kind),
                day(hit.record),
                ids[hit.record.id],
                *([show.name(hit.record.scope)] if wide else []),
            ),
            said(hit.record, hit.snippet, hit.matches),
        )
        for hit in hits
    ]
    return listed(head, rows, MOST_LINES, [_sum(hit) for hit in hits] if explain else ())


def _sum(hit: Hit) -> str:
    parts = " + ".join(f"{name} {value:.3f}" for name, value in (hit.parts or {}).items())
    return f"= {parts or 'nothing was asked: the newest come first'}"


def catalogue(records: Sequence[Record], with_scope: bool = False, with_status: bool = False) -> Iterator[str]:
    """The table of a listing."""
    ids = short_ids(records)
    head = (
        "ID",
        *(["SCOPE", "BY"] if with_scope else []),
        "KIND",
        *(["STATUS"] if with_status else []),
        "DATE",
        "TAGS",
        "TEXT",
    )
    rows = [
        (
            (
                ids[record.id],
                *([show.name(record.scope), show.name(record.provenance.by)] if with_scope else []),
                show.name(record.kind),
                *([record.status] if with_status else []),
                day(record),
                ", ".join(map(show.name, record.tags)) or "-",
            ),
            said(record),
        )
        for record in records
    ]
    return listed(head, rows)


def past(events: Sequence[Event]) -> Iterator[str]:
    """The table of a record's history."""
    rows = [
        (
            (str(event.version), show.when(event.at), show.name(event.by), event.op.partition(".")[2]),
            pieces(_content(event)),
        )
        for event in events
    ]
    return listed(("VERSION", "WHEN", "BY", "DID", "TEXT"), rows)


def _content(event: Event) -> str:
    if event.expired:
        return "(expired)"
    return str(event.value["content"]) if isinstance(event.value, dict) and "content" in event.value else "(removed)"


def day(record: Record) -> str:
    """When a record was made."""
    return f"{record.created_at:%Y-%m-%d}"


def card(record: Record) -> Iterator[str]:
    """All that people want to know of a record; its content stands last and indented, so that it can't pose as more."""
    shown = {name: text for name, text in _fields(record) if text}
    for name, text in shown.items():
        yield f"{show.style(f'{name:<10}', dim=True)}  {text}"
    yield ""
    for line in record.content.split("\n"):
        yield f"  {show.escape(line.removesuffix(chr(13)))}".rstrip()


def _fields(record: Record) -> Iterator[tuple[str, str]]:
    origin = record.provenance
    yield "id", show.name(record.id)
    yield "scope", show.name(record.scope)
    yield "title", show.sentence(record.title or "")
    yield "kind", show.name(record.kind)
    yield "tags", _names(record.tags)
    yield "status", record.status + (f": {show.sentence(record.reason)}" if record.reason else "")
    yield "pinned", "yes" if record.pinned else ""
    yield "confidence", "" if record.confidence is None else f"{record.confidence:g}"
    yield "valid", _span(record)
    yield "written", f"{show.when(record.created_at)} by {show.name(origin.by)} ({origin.trust})"
    if record.version > 1:
        yield "changed", f"{show.when(record.updated_at)}, version {record.version}"
    yield "repeated", show.counted(record.reinforced, "time") if record.reinforced else ""
    yield "reviewed", "" if origin.reviewed_by is None else f"by {show.name(origin.reviewed_by)}"
    yield "expires", "" if record.expires_at is None else show.when(record.expires_at)
    yield "sources", _names(origin.sources)
    yield "thread", show.name(origin.thread or "")
    yield "supersedes", _names(record.supersedes)
    yield "from", _names(origin.derived_from)
    yield "metadata", show.to_text(record.metadata) if record.metadata else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(show.name, names))


def _span(record: Record) -> str:
    ends = (("from", record.valid_from), ("to", record.valid_to))
    return " ".join(f"{word} {show.when(moment)}" for word, moment in ends if moment is not None)
