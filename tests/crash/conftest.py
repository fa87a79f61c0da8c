"""What the crash tests share: a watchdog, seeded chance, progress and figures on the terminal."""

from __future__ import annotations

import faulthandler
import random
import sys
from collections.abc import Callable, Iterator

import pytest

from .scale import CAMPAIGN, PATIENCE_S, SEED

_figures: list[str] = []


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """A test that hangs is ended with the stack of every thread, however it hangs."""
    longest = PATIENCE_S * (60 if CAMPAIGN else 4)
    assert sys.__stderr__ is not None
    faulthandler.dump_traceback_later(longest, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Chance that can be repeated with MEMWELL_SEED."""
    return random.Random(f"{SEED}/{request.node.nodeid}")


@pytest.fixture
def progress(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Shows a line while a long campaign runs."""

    def show(line: str) -> None:
        if CAMPAIGN:
            with capsys.disabled():
                print(f"\n  {request.node.name}: {line}", end="", flush=True)

    return show


@pytest.fixture
def figure() -> Callable[[str], None]:
    """Keeps a line for the end of the run."""
    return _figures.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures:
        terminalreporter.section(f"fault and crash figures (MEMWELL_SEED={SEED})")
        for line in _figures:
            terminalreporter.write_line(line)
