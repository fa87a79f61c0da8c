"""Moving facts between stores and files: JSON lines with a header, a line an entry, and a checksum at the end."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from memwell import ops
from memwell.codec import check_text, to_json
from memwell.errors import Corrupt, Invalid, NotFound, Unavailable
from memwell.parts import flush, flush_folder, part_file
from memwell.scope import canonical
from memwell.store import Progress
from memwell.types import Line, Loaded

FORMAT = 1
STDIO = "-"
_CHUNK = 500
Apply = Callable[..., Any]
_decode_line = msgspec.json.Decoder(Line).decode


class Header(msgspec.Struct, frozen=True):
    """The first line."""

    memwell: int


class Trailer(msgspec.Struct, frozen=True):
    """The last line: how many entries, and the SHA-256 of all bytes before it."""

    entries: int
    sha256: str


def export(apply: Apply, path: str, scope: str | None, progress: Progress | None) -> int:
    """Write the live entries of one scope, or of all; the file has its name only once it is complete."""
    if path == STDIO:
        return _write(apply, sys.stdout.buffer, scope, progress)
    target = Path(check_text(path, "a path")).expanduser().absolute()
    try:
        with part_file(target) as part:
            with part.open("wb") as out:
                written = _write(apply, out, scope, progress)
                out.flush()
                flush(out.fileno())
            part.replace(target)
        flush_folder(target.parent)
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None
    return written


def _write(apply: Apply, out: IO[bytes], scope: str | None, progress: Progress | None) -> int:
    total = apply(ops.GetStats()).entries if progress else 0
    hashed, written = hashlib.sha256(), 0

    def line(thing: object) -> None:
        data = to_json(thing) + b"\n"
        hashed.update(data)
        out.write(data)

    line(Header(FORMAT))
    for entry in _pages(apply, None if scope is None else canonical(scope)):
        line(entry)
        written += 1
        if progress and written % _CHUNK == 0:
            progress(written, max(total, written))
    if progress:
        progress(written, written)
    out.write(to_json(Trailer(written, hashed.hexdigest())) + b"\n")
    return written


def _pages(apply: Apply, scope: str | None) -> Iterator[Line]:
    after = None
    while True:
        page: list[Line] = apply(ops.Dump(scope, after))
        yield from page
        if not page:
            return
        after = (page[-1].scope, page[-1].shape, page[-1].key)


def load(apply: Apply, path: str, replace: bool, progress: Progress | None) -> Loaded:
    """Read an export. The checksum is verified before the first entry is written."""
    try:
        if path != STDIO:
            with Path(check_text(path, "a path")).expanduser().open("rb") as source:
                return _load(apply, source, replace, progress)
        import shutil
        import tempfile

        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
            return _load(apply, spool, replace, progress)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", hint="check the path") from None
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror}", hint="check the path") from None


def _load(apply: Apply, source: IO[bytes], replace: bool, progress: Progress | None) -> Loaded:
    entries = _verify(source)
    source.seek(0)
    source.readline()
    written = kept = 0
    while written + kept < entries:
        count = min(_CHUNK, entries - written - kept)
        lines = [_decode_line(source.readline()) for _ in range(count)]
        loaded = apply(ops.Load(lines, replace))
        written, kept = written + loaded.written, kept + loaded.kept
        if progress:
            progress(written + kept, entries)
    return Loaded(written, kept)


def _verify(source: IO[bytes]) -> int:
    """The number of entries, if every line is sound and nothing is missing."""
    source.seek(0)
    first = source.readline()
    _header(first)
    hashed, number, previous = hashlib.sha256(first), 1, b""
    for line in source:
        if previous:
            _sound(previous, number)
            hashed.update(previous)
        number += 1
        previous = line
    try:
        trailer = msgspec.json.decode(previous, type=Trailer)
    except msgspec.MsgspecError:
        raise Corrupt(
            "the export is cut short: its last line is missing", hint="export again; nothing was imported"
        ) from None
    if trailer.sha256 != hashed.hexdigest() or trailer.entries != number - 2:
        raise Corrupt("the export does not match its checksum", hint="export again; nothing was imported")
    return trailer.entries


def _header(line: bytes) -> None:
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError:
        raise Invalid("this is not a Memwell export", hint="make one with 'memwell export'") from None
    if header.memwell != FORMAT:
        raise Invalid(f"this export has format {header.memwell}; this version reads {FORMAT}", hint="upgrade Memwell")


def _sound(line: bytes, number: int) -> None:
    try:
        _decode_line(line)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"line {number} is damaged: {error}", hint="export again; nothing was imported") from None
