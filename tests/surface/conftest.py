"""Two ways to run the command line: the installed script in a process of its own, and click's runner for breadth."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from click.testing import CliRunner

import memwell
from memwell.cli import cli
from memwell.types import ToolCall

SCRIPT = str(Path(sys.executable).with_name("memwell"))
LIMIT_S = 60


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        assert self.out.count("\n") == 1, self
        return msgspec.json.decode(self.out)

    @property
    def error(self) -> Any:
        """The error that --json put on stderr."""
        assert self.out == "", self
        return msgspec.json.decode(self.err)["error"]


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of the store that every command of a test uses."""
    path = str(tmp_path / "memory.db")
    monkeypatch.setenv("MEMWELL_STORE", path)
    monkeypatch.setenv("MEMWELL_AUTHOR", "tester")
    for name in ("MEMWELL_DEBUG", "MEMWELL_EMBEDDER", "NO_COLOR", "PYTHONUNBUFFERED"):
        monkeypatch.delenv(name, raising=False)
    return path


@pytest.fixture
def run() -> Run:
    """Run a command in this process."""

    def call(*args: str, stdin: str | bytes | None = None) -> Ran:
        result = CliRunner().invoke(cli, args, input=stdin, prog_name="memwell")
        return Ran(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def script() -> Run:
    """Run the installed command in a process of its own."""

    def call(*args: str, stdin: str = "", **options: Any) -> Ran:
        done = subprocess.run(
            [SCRIPT, *args], input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False, **options
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def start() -> Callable[..., subprocess.Popen[str]]:
    """Start the installed command and let it run."""

    def call(*args: str, **options: Any) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        return subprocess.Popen([SCRIPT, *args], **pipes)

    return call


@pytest.fixture
def terminal() -> Callable[..., tuple[int, str]]:
    """Run the installed command on a terminal of its own; the exit code and all that appeared on it."""

    def call(*args: str, columns: int = 80) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        sized = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        process = subprocess.Popen([SCRIPT, *args], stdin=theirs, stdout=theirs, stderr=theirs, env=sized)
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        os.close(ours)
        return process.wait(LIMIT_S), shown.decode().replace("\r\n", "\n")

    return call


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.fixture
def filled(store: str) -> str:
    """A store that holds something."""
    with memwell.open(store, by="ann") as opened:
        mem = opened.scope(agent="support")
        mem.set("config", {"theme": "dark", "max_retries": 3})
        mem.set("config", {"theme": "light"})
        mem.set("counter", 1)
        mem.set("counter", 2)
        mem.set("session-token", "abc123")
        mem.set("cache.a", [1])
        opened.shared().set("motd", "hi")
    return store


@pytest.fixture
def spoken(store: str) -> str:
    """A store with a thread: a question, two calls of a tool at once, their results, and an answer; all by ann."""
    calls = [ToolCall("call_a", "calendar", '{"of": "ann"}'), ToolCall("call_b", "calendar", {"of": "ben"})]
    with memwell.open(store, by="ann", trust="human") as opened:
        thread = opened.scope(agent="support").threads.create("Release planning", id="01a1e32b9e42dbe3187ed1405777")
        thread.append("system", "Be brief.")
        thread.append("user", "When do we ship the release?", name="ann")
        thread.append("assistant", "Let me look.", tool_calls=calls)
        thread.append("tool", "free on Thursday", tool_call_id="call_a")
        thread.append("tool", "free on Thursday and Friday", tool_call_id="call_b")
        thread.append("assistant", "On Thursday, when both are free.")
    return store


@pytest.fixture
def remembered(store: str) -> str:
    """A store with records: one to be seen, one that was deleted, one that waits; all by ann."""
    with memwell.open(store, by="ann", trust="human") as opened:
        mem = opened.scope(agent="support")
        mem.remember(
            "Prefers concise reviews of pull requests",
            id="01a1e32b9e42dbe3187ed1405333",
            kind="profile",
            title="Review style",
            tags=["style", "pr"],
            source="chat:1",
        )
        mem.remember("The staging database is restored every night", id="01a1e32ba5c8da4212e38849ef5f")
        mem.remember("Tea is at four", id="01a1e3301c778841fe62d1083e2b", source="file:notes/tea.md")
        mem.records.delete("01a1e3301c778841fe62d1083e2b", reason="moved")
        mem.remember("Bob keeps the key", id="01a1e3344b90f8a02c4471e6bb90", pending=True)
    return store
