"""`memwell doctor`: what is wrong and what to do about it, one line a finding. It makes no store, changes no entry."""

from __future__ import annotations

import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote

import click
import msgspec

from memwell import __version__
from memwell.cli import show
from memwell.cli.options import Command, open_store, store_file, store_url
from memwell.errors import MemwellError
from memwell.memory import Store

CHECKED_BYTES = 64 * 1024 * 1024  # a larger file takes longer to verify than one wants to wait for a doctor
LONG_LOG = 256 * 1024 * 1024
LITTLE_ROOM, NO_ROOM = 100 * 1024 * 1024, 1024 * 1024
MOST_DAMAGE = 5
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_DURABILITY = {
    "power-safe": ("ok", "power-safe: what was acknowledged survives a power cut", None),
    "crash-safe": (
        "ok",
        "crash-safe: writes survive a crash of the program; a power cut may take the last ones",
        "use --durability full where that matters",
    ),
    "volatile": ("warn", "volatile: everything is gone when the program ends", "name a file with --store to keep it"),
}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    status: str
    name: str
    text: str
    hint: str | None = None


@click.command(cls=Command, example="memwell doctor")
def doctor() -> int:
    """Look the store over, and say what to do about what is wrong.

    The exit code is 1 if anything fails. A store that does not exist yet is not made.
    """
    findings = list(examine(store_url()))
    healthy = all(finding.status != "fail" for finding in findings)
    show.result({"ok": healthy, "findings": findings}, [line for finding in findings for line in _lines(finding)])
    return 0 if healthy else 1


def _lines(finding: Finding) -> Iterator[str]:
    status = show.style(f"{finding.status:<4}", fg=_COLOURS[finding.status], bold=finding.status != "ok" or None)
    yield f"{status}  {finding.name:<10}  {show.sentence(finding.text)}"
    if finding.hint:
        yield f"{'':18}{show.style('→', dim=True)} {show.sentence(finding.hint)}"


def examine(url: str) -> Iterator[Finding]:
    """Every finding about a store, as far as it can be looked into."""
    yield Finding("ok", "memwell", f"{__version__} on Python {platform.python_version()}")
    file = store_file(url)
    if file is not None:
        yield _place(file)
        yield _folder(file)
        if not file.is_file() or file.stat().st_size == 0:
            return
        yield _mode(file)
    yield from _probe("opens", _inside)


def _place(file: Path) -> Finding:
    if file.exists() and not file.is_file():
        return Finding("fail", "store", f"{file} is not a file", "name another path with --store")
    if not file.exists() or file.stat().st_size == 0:
        return Finding("ok", "store", f"{file}: no store yet, the first write makes it")
    return Finding("ok", "store", f"{file}, {show.size(file.stat().st_size)}")


def _folder(file: Path) -> Finding:
    """Whether the folder, or the nearest one that exists, can be written to: a store keeps its log beside it."""
    folder = next(parent for parent in file.parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        problem = f"{folder} can't be written to: {error.strerror or error}"
        return Finding("fail", "disk", problem, "choose another path with --store, or change who may write there")
    text = f"{show.size(free)} free in {folder}"
    if free >= LITTLE_ROOM:
        return Finding("ok", "disk", text)
    return Finding("fail" if free < NO_ROOM else "warn", "disk", text, "make room: on a full disk every write fails")


def _mode(file: Path) -> Finding:
    mode = file.stat().st_mode & 0o777
    if mode & 0o077:
        return Finding(
            "warn",
            "mode",
            f"{mode:04o}: other users of this machine may open the file",
            f"chmod 600 {quote(str(file))}",
        )
    return Finding("ok", "mode", f"{mode:04o}, yours alone")


def _inside() -> Iterator[Finding]:
    with open_store() as store:
        facts = store.describe()
        yield Finding("ok", "opens", f"yes, with the backend {facts['backend']}")
        if "schema" in facts:
            yield Finding("ok", "schema", f"{facts['schema']}, the one that this version writes")
            yield Finding("ok", "sqlite", f"{facts['sqlite']}, journal {facts['journal']}")
            yield _log(facts["log_bytes"])
        status, text, hint = _DURABILITY[facts["durability"]]
        yield Finding(status, "durability", text, hint)
        yield from _probe("entries", lambda: _entries(store))
        yield from _probe("integrity", lambda: _integrity(store, facts.get("bytes", 0)))


def _probe(name: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What a look finds; that it can't look is a finding too."""
    try:
        yield from look()
    except MemwellError as error:
        yield Finding("fail", name, error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor that falls ill helps nobody
        yield Finding("fail", name, f"{type(error).__name__}: {error}", "restore a backup or an export beside it")


def _log(count: int) -> Finding:
    if count > LONG_LOG:
        return Finding(
            "warn",
            "log",
            f"{show.size(count)} not yet moved into the file",
            "does a program read for hours without closing the store?",
        )
    return Finding("ok", "log", f"{show.size(count)} not yet moved into the file" if count else "empty")


def _entries(store: Store) -> Iterator[Finding]:
    held = store.stats()
    scopes, history = show.counted(held.scopes, "scope"), show.counted(held.history, "event")
    yield Finding("ok", "entries", f"{show.counted(held.entries, 'entry')} in {scopes}, {history} of history")


def _integrity(store: Store, size: int) -> Iterator[Finding]:
    if size > CHECKED_BYTES:
        yield Finding("ok", "integrity", f"not verified, the file has {show.size(size)}", "'memwell check' does it")
        return
    health = store.check()
    for damage in health.damage[:MOST_DAMAGE]:
        yield Finding("fail", "integrity", f"{damage.where}: {damage.problem}")
    if health.damage:
        total = f"{show.counted(len(health.damage), 'damaged thing')} in all; 'memwell check' lists them"
        yield Finding("fail", "integrity", total, "keep the file, and restore a backup or an export beside it")
    else:
        rows = show.counted(health.checked, "stored row")
        yield Finding("ok", "integrity", f"the file and {rows} are as they were written")
