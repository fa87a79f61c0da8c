"""What a lane was about to do and what it was told is done, kept outside the store and read after the crash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from .steps import Part, content

_EVENTS = "SELECT rev, key, version, op, value, expires FROM events WHERE scope = ? ORDER BY rev"


class Ledger:
    """One line before each call and one after it. A line is one write(2): the kernel keeps it when the process dies."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def intend(self, number: int, parts: list[Part]) -> None:
        self._write(["intend", number, parts])

    def acknowledge(self, number: int, results: list[Any]) -> None:
        self._write(["acknowledge", number, results])

    def counted(self, version: int, rev: int) -> None:
        """An increment of the counter that all lanes share."""
        self._write(["counted", version, rev])

    def settle(self, number: int, applied: bool) -> None:
        """After a crash: whether the step in flight took effect."""
        self._write(["settle", number, applied])

    def _write(self, line: object) -> None:
        os.write(self._descriptor, json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        os.close(self._descriptor)


@dataclass
class Claim:
    """A step as the ledger tells it: `results` if it was acknowledged, `applied` if that was found out later."""

    number: int
    parts: list[Part]
    results: list[list[int] | None] | None = None
    applied: bool | None = None


def claims(path: Path) -> list[Claim]:
    """All steps, in order."""
    found: list[Claim] = []
    for word, number, detail in _lines(path):
        if word == "intend":
            found.append(Claim(number, [tuple(part) for part in detail]))
        elif word == "acknowledge":
            assert found[-1].number == number
            found[-1].results = detail
        elif word == "settle":
            assert found[-1].number == number
            found[-1].applied = detail
    return found


def increments(path: Path) -> Iterator[tuple[int, int]]:
    """The (version, rev) of every acknowledged increment."""
    return ((version, rev) for word, version, rev in _lines(path) if word == "counted")


def _lines(path: Path) -> Iterator[list[Any]]:
    return (json.loads(line) for line in path.read_bytes().splitlines())


class Verdict(NamedTuple):
    """What became of a lane's steps: events that were acknowledged and found, and every contradiction."""

    checked: int
    lost: list[str]
    torn: list[str]


def verify(path: Path, scope: str, connection: apsw.Connection) -> Verdict:
    """Compare a lane's ledger with the events of its scope, one by one, and settle the step that was in flight."""
    events = list(connection.execute(_EVENTS, (scope,)))
    lost: list[str] = []
    torn: list[str] = []
    checked = position = 0
    for claim in claims(path):
        found = events[position : position + len(claim.parts)]
        fits = len(found) == len(claim.parts) and all(
            _fits(scope, part, event) for part, event in zip(claim.parts, found, strict=True)
        )
        if claim.results is not None:
            if not fits or not _as_told(claim, found):
                lost.append(f"{scope} step {claim.number}: told {claim}, found {_brief(found)}")
                break
            checked += len(found)
        elif claim.applied is None:
            claim.applied = fits and bool(found)
            _settle(path, claim)
        if claim.results is not None or claim.applied:
            position += len(claim.parts)
    if not lost and position != len(events):
        torn.append(f"{scope}: events that no step explains: {_brief(events[position:])}")
    return Verdict(checked, lost, torn)


def _settle(path: Path, claim: Claim) -> None:
    ledger = Ledger(path)
    ledger.settle(claim.number, bool(claim.applied))
    ledger.close()


def _fits(scope: str, part: Part, event: tuple[Any, ...]) -> bool:
    """Whether an event is what the part of a step leaves; a fleeting value may be swept, but never be another."""
    (key, what, source), (_, found_key, _, _, value, expires) = part, event
    if found_key != key:
        return False
    if what == "drop" or value is None:
        return value is None and (what == "drop" or (what == "fleeting" and expires is not None))
    return bool(json.loads(value) == content(scope, key, source))


def _as_told(claim: Claim, found: list[tuple[Any, ...]]) -> bool:
    assert claim.results is not None
    return all(
        result is None or (event[2], event[0]) == tuple(result)
        for result, event in zip(claim.results, found, strict=True)
    )


def _brief(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [event[:4] for event in events[:6]]
