"""What the readers of every format share: what they found, where it stood, and how files are opened."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from memwell.errors import NotFound, Unavailable
from memwell.ops import NewRecord
from memwell.words import normal

STDIO = "-"
TITLE_MOST = 1024
TAG_MOST = 128


class Skipped(Struct, frozen=True):
    """Something that was left out: where it stood, why, and whether something is wrong with it."""

    where: str
    reason: str
    bad: bool = False


class Found(Struct, frozen=True):
    """A record to be kept, and where it stood."""

    where: str
    record: NewRecord

    @property
    def links(self) -> list[str]:
        return [*self.record.supersedes, *self.record.derived_from]

    @property
    def said(self) -> tuple[str, str, str]:
        """Equal for what says the same."""
        return self.record.store, self.record.kind, normal(self.record.content)


class Gathered(Struct):
    """All that was read: how many lines or files, and what became of them."""

    read: int
    records: list[Found]
    skipped: list[Skipped]
    titled: bool = True  # what is said under two titles is said of two things


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Errors of the disk, as ours."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"there is no file or folder {path}", hint="check the path") from None
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror or error}", hint="check the path") from None


def rows(path: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; blank ones are no lines."""
    if path == STDIO:
        yield from _numbered(sys.stdin.buffer.read().splitlines())
        return
    with Path(path).expanduser().open("rb") as file:
        yield from _numbered(file)


def _numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line


def label(text: str, most: int = TITLE_MOST) -> str:
    """A title, tag or source: on one line, without what can't be seen, and not too long."""
    line = " ".join("".join(char if char.isprintable() else " " * char.isspace() for char in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def made_id(*said: str) -> str:
    """The same id for the same words at the same place, however often they are read."""
    return sha256("\0".join(map(normal, said)).encode()).hexdigest()[:28]
