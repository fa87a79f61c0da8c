"""Records from elsewhere: lines of a JSONL store, the memory of an MCP server, a folder of notes.

`load` reads all, then writes in batches; what can't be kept is named with its place and reason. Every record has an id
made from what it says and where it stood, so a second run finds it and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from memwell.codec import check_text
from memwell.errors import Conflict, Invalid, NotFound, TooLarge
from memwell.importing import jsonl, markdown, mcp
from memwell.importing.found import Found, Gathered, Skipped, readable, rows
from memwell.memory import Memory
from memwell.ops import NewRecord
from memwell.store import Progress
from memwell.types import Record, Trust

FORMATS = ("jsonl", "mcp", "markdown")
BATCH = 500
_REFUSALS = (Invalid, TooLarge, NotFound, Conflict)  # what is wrong with one record, and not with the store
_READERS: dict[str, Callable[[str, str], Gathered]] = {
    "jsonl": jsonl.gather,
    "mcp": mcp.gather,
    "markdown": markdown.gather,
}


class Imported(msgspec.Struct, frozen=True):
    """The outcome: lines or files read, records written, records that were here already, and what was left out."""

    format: str
    read: int
    written: int
    repeated: int
    skipped: list[Skipped]

    @property
    def bad(self) -> list[Skipped]:
        """What was left out because something is wrong with it."""
        return [one for one in self.skipped if one.bad]


def load(
    memory: Memory,
    path: str | Path,
    *,
    format: str = "auto",
    trust: Trust | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Import records into a scope: `load(store.scope(agent="support"), "memory.jsonl")`.

    `format` is jsonl, mcp or markdown, or found out. `trust` is what their word counts, at most that of the caller;
    unless told, what an MCP server kept counts as an agent's, lines as they say, and notes as the caller's own.
    """
    place = check_text(str(Path(path).expanduser()), "a path")
    if format not in (*FORMATS, "auto"):
        raise Invalid(f"{format!r} is no format to import", hint=f"use one of auto, {', '.join(FORMATS)}")
    with readable(place):
        name = _guess(place) if format == "auto" else format
        gathered = _READERS[name](place, memory.name)
    writing = _Writing(memory, gathered, trust)
    done = 0
    for batch in _batches(gathered.records):
        writing.keep(batch)
        done += len(batch)
        if progress:
            progress(done, len(gathered.records))
    return Imported(name, gathered.read, writing.written, writing.repeated, gathered.skipped)


def _guess(path: str) -> str:
    """The format of a folder, of a note, or of the first line that is an object."""
    if Path(path).is_dir() or path.lower().endswith(".md"):
        return "markdown"
    for _, line in rows(path):
        try:
            fields = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and "op" in fields:
            return "jsonl"
        if isinstance(fields, dict) and fields.get("type") in ("entity", "relation"):
            return "mcp"
    raise Invalid(f"{path} has no format that is known", hint=f"say which: {', '.join(FORMATS)}")


def _batches(records: Sequence[Found]) -> Iterator[list[Found]]:
    """Batches that may be written in one go, in order.

    A link needs what is there already; and what was superseded and then said again is a record of its own only once
    the superseding one is there.
    """
    batch: list[Found] = []
    inside: set[str | None] = set()
    said: set[tuple[str, str, str]] = set()
    linked = any(one.links for one in records)
    for one in _ordered(records):
        waits = linked and (inside & {*one.links} or one.said in said)
        if batch and (waits or len(batch) == BATCH):
            yield batch
            batch, inside = [], set()
        batch.append(one)
        inside.add(one.record.id)
        said.add(one.said)
    if batch:
        yield batch


def _ordered(records: Sequence[Found]) -> list[Found]:
    """As they came, but nothing before what it links to."""
    order: list[Found] = []
    left, waiting = list(records), {one.record.id for one in records}
    while left:
        later = []
        for one in left:
            if waiting & ({*one.links} - {one.record.id}):
                later.append(one)
            else:
                order.append(one)
                waiting.discard(one.record.id)
        if len(later) == len(left):
            return order + later  # they link to each other in a circle
        left = later
    return order


class _Writing:
    """What has been written so far."""

    def __init__(self, memory: Memory, gathered: Gathered, trust: Trust | None) -> None:
        self.written = self.repeated = 0
        self._records, self._trust = memory.records, trust
        self._skipped, self._titled = gathered.skipped, gathered.titled
        self._said: dict[tuple[str, str, str], str | None] = {}
        self._here: dict[str | None, str] = {}  # ids there, and the ids of the same records here

    def keep(self, batch: list[Found]) -> None:
        apart = [self._apart(one) for one in batch]
        taken = self._write([self._ready(one) for one in apart if self._is_new(one)])
        self._write([_told_apart(one) for one in taken])

    def _apart(self, found: Found) -> Found:
        """What was said of something else before in this import is told apart from it at once."""
        new = found.record
        first = self._said.setdefault(found.said, new.title)
        return _told_apart(found) if self._titled and new.title and new.title != first else found

    def _is_new(self, found: Found) -> bool:
        """What was here and was deleted does not come back by itself; what was removed for good may."""
        key = found.record.id or ""
        event = next(iter(self._records.history(key, limit=1)), None)
        if event is None or event.op in ("record.forget", "record.hard_delete"):
            return True
        if event.op == "record.delete":
            self._skipped.append(Skipped(found.where, "it was deleted here; 'memwell record restore' brings it back"))
            return False
        self._here[key] = key
        self.repeated += 1
        return False

    def _ready(self, found: Found) -> Found:
        new = found.record if self._trust is None else replace(found.record, trust=self._trust)
        over, parents = (self._linked(found, links) for links in (new.supersedes, new.derived_from))
        return replace(found, record=replace(new, supersedes=over, derived_from=parents))

    def _linked(self, found: Found, links: list[str]) -> list[str]:
        keys = [self._here.get(link, link) for link in links]
        there = [key for key in keys if self._records.read(key) is not None]
        for key in sorted({*keys} - {*there}):
            self._skipped.append(Skipped(found.where, f"its link to {key!r}, which is not here, is left out"))
        return there

    def _write(self, batch: list[Found]) -> list[Found]:
        """Keep a batch; if it is refused, each half. What is kept under another title already is given back."""
        if not batch:
            return []
        try:
            made = self._records.remember_many([found.record for found in batch])
        except _REFUSALS as error:
            if len(batch) == 1:
                self._skipped.append(Skipped(batch[0].where, error.message, bad=True))
                return []
            middle = len(batch) // 2
            return [*self._write(batch[:middle]), *self._write(batch[middle:])]
        taken = []
        for found, record in zip(batch, made, strict=True):
            if self._titled and record.id != found.record.id and found.record.title not in (None, record.title):
                taken.append(found)
            else:
                self._count(found.record, record)
        return taken

    def _count(self, new: NewRecord, record: Record) -> None:
        if record.id == new.id and new.id not in self._here:
            self.written += 1
        else:
            self.repeated += 1
        self._here[new.id] = record.id


def _told_apart(found: Found) -> Found:
    """Two things of which the same is said are two records: the second says of what it is said."""
    new = found.record
    return replace(found, record=replace(new, content=f"{new.content} ({new.title})"))
