"""How a command ends when it can't: exit codes, words, JSON, and never a traceback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from memwell import errors
from memwell.cli import failure

from .conftest import SCRIPT, Run

Start = Callable[..., subprocess.Popen[str]]
EXTRAS: dict[str, dict[str, Any]] = {
    "denied": {"capability": "memory.read"},
    "too_large": {"limit": 5},
    "pending_approval": {"id": "p1"},
}
CODES = {"not_found": 3, "denied": 4, "conflict": 5, "pending_approval": 6, "invalid": 2, "too_large": 2}


@pytest.mark.parametrize("code", errors.ERRORS)
@pytest.mark.parametrize("as_json", [False, True])
def test_every_error_has_its_exit_code_and_its_words(
    code: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    error = errors.ERRORS[code]("it went wrong", hint="do this", **EXTRAS.get(code, {}))

    assert failure.report(error, as_json) == CODES.get(code, 1)
    out, err = capsys.readouterr()
    assert out == ""
    if as_json:
        told = msgspec.json.decode(err)["error"]
        assert (
            told.items()
            >= {"code": code, "message": "it went wrong", "hint": "do this", **EXTRAS.get(code, {})}.items()
        )
    else:
        assert err == "error: it went wrong\nhint: do this\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_interrupted(error: BaseException) -> None:
    assert failure.report(error, as_json=True) == 130


def test_what_nobody_expected_is_called_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert failure.report(ZeroDivisionError("by\x1b zero"), as_json=False) == 1
    assert capsys.readouterr().err == (
        "error: this is a bug in Memwell: ZeroDivisionError: by\\u001b zero\n"
        "hint: MEMWELL_DEBUG=1 shows the trace; please report it\n"
    )


def test_a_bug_shows_its_trace_only_when_asked(script: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import memwell.cli.store as s\ns.store_url = lambda: 1 / 0\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    quiet = script("path")
    monkeypatch.setenv("MEMWELL_DEBUG", "1")
    loud = script("path")

    assert (quiet.code, loud.code) == (1, 1)
    assert "this is a bug in Memwell: ZeroDivisionError" in quiet.err
    assert "Traceback" not in quiet.err
    assert "Traceback" in loud.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["memry"], "there is no command 'memry'; did you mean 'memory'?"),
        (["memory", "reed", "a", "k"], "there is no command 'reed'; did you mean 'read'?"),
        (["zzz"], "there is no command 'zzz'; there are memory, facts, "),
        (["facts", "get", "global"], "missing argument 'KEY'"),
        (["stats", "--stor", "x"], "--store"),
        (["memory", "cas", "a", "k", "two", "1"], "'two' is not a valid integer"),
        (["stats", "extra"], "unexpected extra argument"),
        (["--json"], "missing command"),
        (["--store", "", "stats"], "'--store': it is empty"),
        (["stats", "--by", ""], "'--by': it is empty"),
        (["stats", "--durability", "slow"], "'slow'"),
        (["completion", "tcsh"], "'tcsh'"),
    ],
)
def test_wrong_usage_exits_2_and_says_how(run: Run, words: list[str], message: str) -> None:
    plain, told = run(*words), run(*words, "--json")

    assert (plain.code, plain.out, told.code, told.out) == (2, "", 2, "")
    assert message in (plain.err if "--json" not in words else msgspec.json.decode(plain.err)["error"]["message"])
    assert told.error["code"] == "usage"
    assert told.error["hint"].endswith("--help' tells more")


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    for words in ([], ["memory"]):
        ran = run(*words)

        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Usage: memwell")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["memory", "write", "a", "k\x01", "1"], 2),
        (["memory", "write", "a", "", "1"], 2),
        (["memory", "write", "a", "k" * 513, "1"], 2),
        (["memory", "write", "", "k", "1"], 2),
        (["memory", "revert", "a", "k", "0"], 2),
        (["memory", "revert", "a", "k", "-1"], 2),
        (["memory", "list", "a", "--limit", "0"], 2),
        (["memory", "list", "a", "--pattern", "[z-a]"], 2),
        (["memory", "watch", "a", "--since", "-1", "--timeout", "0"], 2),
        (["--store", "postgresql://host/db", "stats"], 1),
        (["--store", "gopher:x", "stats"], 2),
    ],
)
def test_bad_input_is_an_error_with_words_and_no_trace(run: Run, words: list[str], code: int) -> None:
    ran = run(*words)

    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")
    assert "bug" not in ran.err
    assert run(*words, "--json").error["message"]


def test_options_of_every_command_stand_anywhere_and_the_last_counts(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    run("--store", "unused.db", "memory", "--store", "unused.db", "write", "a", "k", "1", "--store", other)

    assert run("memory", "--store", other, "read", "a", "k").out == "1\n"
    assert run("memory", "read", "a", "k").code == 3
    for words in (
        ["--json", "memory", "list", "a"],
        ["memory", "--json", "list", "a"],
        ["memory", "list", "a", "--json"],
    ):
        assert run(*words, "--store", other).json == ["k"]


def test_durability_is_passed_on(run: Run) -> None:
    assert run("stats", "--json").json["durability"] == "power-safe"
    assert run("--durability", "fast", "stats", "--json").json["durability"] == "crash-safe"


@pytest.mark.parametrize("words", [["memory", "list", "a"], ["export"], ["memory", "read", "a", "k000", "--json"]])
def test_a_closed_pipe_is_quiet(run: Run, words: list[str]) -> None:
    run("memory", "write", "a", "k000", "1")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([SCRIPT, *words], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["memory", "list", "a"], ["export"]])
def test_a_full_disk_under_stdout_is_said(run: Run, words: list[str]) -> None:
    run("memory", "write", "a", "k", "1")
    with open("/dev/full", "w") as full:
        done = subprocess.run([SCRIPT, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    assert done.returncode == 1
    assert "error: [Errno 28]" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr


def test_results_and_words_do_not_mix(script: Run, filled: str) -> None:
    ran = script("export")

    assert (ran.code, ran.err) == (0, "exported 5 entries\n")
    assert all(msgspec.json.decode(line) for line in ran.out.splitlines())
