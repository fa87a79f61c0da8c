"""What the disk itself costs at the moment: without it, nobody can tell a fast store from a slow or busy disk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import spread
from bench.report import Report

_PROBES = 40
_PAGE = bytes(4096)
_flush = getattr(os, "fdatasync", os.fsync)


@contextmanager
def probed(folder: Path, report: Report, about: str) -> Iterator[None]:
    """Note how long a bare write and flush took before and after."""
    times = _probe(folder)
    yield
    found = spread(times + _probe(folder))
    report.notes.append(
        f"{about}: a bare 4 KiB write and flush took {found.median:.2f} ms ({found.low:.2f} to {found.high:.2f})"
    )


def _probe(folder: Path) -> list[float]:
    times = []
    file = os.open(folder / "probe", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        for turn in range(_PROBES):
            start = time.perf_counter()
            os.pwrite(file, _PAGE, turn * len(_PAGE))
            _flush(file)
            times.append((time.perf_counter() - start) * 1000)
    finally:
        os.close(file)
    return times
