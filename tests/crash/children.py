"""Child processes: modules of this package, run by the same Python, spoken to by lines; every wait is bounded."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from .scale import PATIENCE_S

_PACKAGE = __name__.rpartition(".")[0]
_ROOT = Path(__file__).parents[len(_PACKAGE.split("."))]
_END = ""


class Child:
    """A process that runs a module of this package with the given arguments."""

    def __init__(self, module: str, *args: object) -> None:
        self.module = module
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", f"{_PACKAGE}.{module}", *map(str, args)],
            cwd=_ROOT,
            env={**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.pid = self._process.pid
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(_END)

    def line(self) -> str:
        """The next line that the child prints."""
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except queue.Empty:
            self._process.send_signal(signal.SIGABRT)  # faulthandler then shows where every thread stands
            self._process.wait(PATIENCE_S)
            raise AssertionError(f"{self.module} said nothing for {PATIENCE_S} s:\n{self.errors()}") from None
        if line == _END:
            raise AssertionError(f"{self.module} ended with {self.wait()}:\n{self.errors()}")
        return line

    def expect(self, word: str) -> str:
        """The rest of the next line, which must begin with the word."""
        line = self.line()
        assert line.partition(" ")[0] == word, f"{self.module} said {line!r}, not {word!r}:\n{self.errors()}"
        return line.partition(" ")[2]

    def tell(self, line: str = "") -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill -9, if it still runs; a child that failed by itself before is an error."""
        ended = self._process.poll()
        assert ended is None, f"{self.module} ended by itself with {ended}:\n{self.errors()}"
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def wait(self) -> int:
        """The exit code."""
        try:
            return self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            self._process.wait(PATIENCE_S)
            raise AssertionError(f"{self.module} did not end in {PATIENCE_S} s:\n{self.errors()}") from None

    def finish(self) -> None:
        """Wait for an end without error."""
        code = self.wait()
        assert code == 0, f"{self.module} ended with {code}:\n{self.errors()}"

    def errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-6000:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # the child ended before it read its last line
                stream.close()
        self._errors.close()
