"""`memwell record export` and `import`: out of one store, into another, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

SCOPE = "agent:support"
Terminal = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of a test are."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def observed(*texts: str) -> str:
    return json.dumps({"type": "entity", "name": "Ann", "entityType": "person", "observations": texts}) + "\n"


def test_out_of_one_store_and_into_another(run: Run, remembered: str, folder: Path) -> None:
    assert run("record", "export", SCOPE, "r.jsonl") == (0, "exported 3 records to r.jsonl\n", "")
    first = json.loads((folder / "r.jsonl").read_text().splitlines()[0])

    assert (first["op"], first["scope"], first["id"][:8]) == ("upsert", SCOPE, "01a1e32b")
    assert first["record"]["title"] == "Review style"
    moved = run("record", "import", "user:42", "r.jsonl", "--store", "other.db")
    assert moved == (0, "read 3 lines: wrote 3 records\n", "")
    again = run("record", "import", "user:42", "r.jsonl", "--store", "other.db")
    assert again.out == "read 3 lines: wrote 0 records, 3 were here already\n"
    assert "Review style" in run("record", "search", "user:42", "review", "--store", "other.db").out


def test_through_a_pipe(run: Run, script: Run, remembered: str) -> None:
    lines = script("record", "export", SCOPE)

    assert lines.err == "exported 3 records\n"
    assert script("record", "import", "user:42", "-", stdin=lines.out).code == 2
    assert script("record", "import", "user:42", "-", "--from", "jsonl", stdin=lines.out).code == 0
    assert len(run("record", "list", "user:42", "--json").json) == 2


def test_an_export_is_not_for_a_terminal(terminal: Terminal, remembered: str) -> None:
    assert terminal("record", "export", SCOPE)[0] == 2


def test_an_export_needs_a_store(run: Run, store: str) -> None:
    assert run("record", "export", SCOPE, "r.jsonl").code == 3
    assert not Path(store).exists()


def test_an_export_that_can_not_be_written(run: Run, remembered: str) -> None:
    ran = run("record", "export", SCOPE, "none/r.jsonl")

    assert ran.code == 1
    assert "can't be written" in ran.err


def test_bad_lines_are_named_and_the_exit_code_says_so(run: Run, folder: Path) -> None:
    (folder / "memory.jsonl").write_text(observed("likes tea") + "nonsense\x1b[31m\n" + observed())
    ran = run("record", "import", SCOPE, "memory.jsonl")

    assert (ran.code, ran.out) == (1, "read 3 lines: wrote 1 record, left out 2\n")
    assert ran.err.splitlines()[0].startswith("bad: line 2: it is neither an entity nor a relation")
    assert ran.err.splitlines()[1] == "left out: line 3: nothing was observed of 'Ann'"
    told = run("record", "import", SCOPE, "memory.jsonl", "--json")
    assert (told.code, told.err) == (1, "")
    assert [one["where"] for one in told.json["skipped"]] == ["line 2", "line 3"]


def test_of_many_reasons_the_first_are_shown(run: Run, folder: Path) -> None:
    (folder / "memory.jsonl").write_text(observed("likes tea") + "x\n" * 30)

    assert run("record", "import", SCOPE, "memory.jsonl").err.splitlines()[-1] == "and 10 more; --json lists them all"


def test_hostile_names_of_files_are_escaped(run: Run, folder: Path) -> None:
    (folder / "notes").mkdir()
    (folder / "notes" / "a\x1b[31m\u202e.md").write_bytes(b"\xff")
    (folder / "notes" / "b\u202e.md").write_text("kept")
    ran = run("record", "import", SCOPE, "notes", "--from", "markdown")

    assert ran.code == 1
    assert "\\u001b[31m\\u202e.md: it is not UTF-8 text" in ran.err
    assert run("record", "list", SCOPE, "--json").json[0]["provenance"]["sources"] == ["file:b.md"]


def test_trust_and_format_are_told(run: Run, folder: Path) -> None:
    (folder / "memory.txt").write_text(observed("likes tea"))
    run("record", "import", SCOPE, "memory.txt", "--from", "mcp", "--trust", "external")

    assert run("record", "list", SCOPE, "--json").json[0]["provenance"]["trust"] == "external"
    assert run("record", "import", SCOPE, "none").code == 3
    assert run("record", "import", "support", "memory.txt").code == 2


def test_a_bar_where_somebody_sees_it(terminal: Terminal, folder: Path) -> None:
    (folder / "memory.jsonl").write_text(observed("likes tea"))
    _, shown = terminal("record", "import", SCOPE, "memory.jsonl")

    assert "import  [" in shown
    assert "100%" in shown
