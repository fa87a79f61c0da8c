"""A folder of notes: one record a file, or one a section where a file is long."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from memwell.importing.found import TAG_MOST, Found, Gathered, Skipped, label, made_id
from memwell.importing.front import Front, parted
from memwell.ops import NewRecord

LONG = 1500  # characters of a note from which on its sections are records of their own
LARGEST = 64 * 1024 * 1024  # bytes of a file that is read at all
_FENCE = re.compile(r" {0,3}(```|~~~)")
_TITLE = re.compile(r"# +(.*?)(?: +#+)? *$")
_HEADING = re.compile(r"## +(.*?)(?: +#+)? *$")


class Section(Struct):
    """A stretch of a note below one heading; `line` is where it begins in the file."""

    heading: str
    line: int
    text: list[str]


def gather(path: str, scope: str) -> Gathered:  # noqa: ARG001
    """The notes of a folder, or one note."""
    root = Path(path).expanduser()
    gathered = Gathered(0, [], [])
    if root.is_dir():
        files: Iterator[tuple[str, Path]] = _notes(root, gathered.skipped)
    else:
        files = iter([(root.name, root)])
    for name, file in files:
        gathered.read += 1
        text = _text(name, file, gathered.skipped)
        if text is not None:
            gathered.records += _records(name, text, gathered.skipped)
    return gathered


def _notes(root: Path, skipped: list[Skipped]) -> Iterator[tuple[str, Path]]:
    """Every note below a folder, sorted; links that lead outside are not followed."""
    inside, found = root.resolve(), []
    for folder, folders, files in os.walk(root):
        for name in sorted(folders):
            at = Path(folder) / name
            if at.is_symlink():
                skipped.append(Skipped(_relative(at, root), _linked(at, inside, "folder")))
            elif name.startswith("."):
                skipped += [Skipped(_relative(at, root), "the folder is hidden")] if _has_notes(at) else []
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder) / name for name in files if name.lower().endswith(".md")]
    for file in sorted(found, key=lambda file: _relative(file, root)):
        if file.is_symlink() and not file.resolve().is_relative_to(inside):
            skipped.append(Skipped(_relative(file, root), _linked(file, inside, "file")))
        else:
            yield _relative(file, root), file


def _has_notes(folder: Path) -> bool:
    return any(name.lower().endswith(".md") for _, _, files in os.walk(folder) for name in files)


def _linked(at: Path, inside: Path, kind: str) -> str:
    if at.resolve().is_relative_to(inside):
        return f"it is a link to a {kind} that is read at its own place"
    return "it is a link that leads outside the folder"


def _relative(file: Path, root: Path) -> str:
    """Where a note is, as text: bytes of a name that are no UTF-8 are shown as escapes."""
    return file.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()


def _text(name: str, file: Path, skipped: list[Skipped]) -> str | None:
    try:
        if not file.is_file():
            raise OSError("it is not a file")
        if file.stat().st_size > LARGEST:
            raise OSError(f"it is larger than {LARGEST} bytes")
        return file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or str(error)
    skipped.append(Skipped(name, reason, bad=True))
    return None


def _records(name: str, text: str, skipped: list[Skipped]) -> Iterator[Found]:
    front, body, line = parted(text)
    skipped += [Skipped(f"{name}:{number}", f"front matter: {reason}") for number, reason in front.left_out]
    title, sections = _sections(body, line)
    title = front.title or title or Path(name).stem
    if len(body) <= LONG:
        sections = [Section("", sections[0].line, _joined(sections))]
    empty = True
    for section in sections:
        said = "\n".join(section.text).strip()
        if said:
            empty = False
            yield Found(f"{name}:{section.line}", _record(name, title, section.heading, said, front))
        elif section.heading:
            skipped.append(Skipped(f"{name}:{section.line}", f"nothing stands below {section.heading!r}"))
    if empty:
        skipped.append(Skipped(name, "nothing is in it"))


def _joined(sections: list[Section]) -> list[str]:
    """The sections as they stood: of a short note the headings are a part of what it says."""
    return [line for one in sections for line in ([f"## {one.heading}"] if one.heading else []) + one.text]


def _sections(body: str, line: int) -> tuple[str, list[Section]]:
    """The first heading of a note, and its sections; what stands in a fence is no heading."""
    title, fence = "", ""
    sections = [Section("", line, [])]
    for number, text in enumerate(body.split("\n"), line):
        mark = _FENCE.match(text)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _HEADING.match(text)
        if heading and heading[1]:
            sections.append(Section(heading[1], number, []))
        elif not title and not fence and not mark and (first := _TITLE.match(text)):
            title = first[1]
        else:
            sections[-1].text.append(text)
    return title, sections


def _record(name: str, title: str, heading: str, said: str, front: Front) -> NewRecord:
    source, whole = label(f"file:{name}"), label(f"{title}: {heading}" if heading else title)
    more: dict[str, Any] = {"kind": front.kind} if front.kind else {}
    return NewRecord(
        content=said,
        title=whole or None,
        tags=[tag for tag in dict.fromkeys(label(tag, TAG_MOST) for tag in front.tags) if tag],
        metadata=dict(front.more),
        source=source,
        id=made_id(source, whole, said),
        **more,
    )
