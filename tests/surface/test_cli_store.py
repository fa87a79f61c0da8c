"""`memwell stats`, `sweep`, `path`, `export`, `import`, `backup` and `check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell import clock

from .conftest import Run


def test_stats(run: Run, filled: str) -> None:
    shown = dict(line.split(maxsplit=1) for line in run("stats").out.splitlines())
    document = run("stats", "--json").json

    assert shown["entries"] == "5"
    assert document.items() >= {"backend": "sqlite", "scopes": 2, "entries": 5, "facts": 5, "history": 7}.items()
    assert shown.keys() == document.keys()


def test_sweep_frees_what_has_expired(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run("memory", "write", "a", "k", "1", "--ttl", "60")
    run("memory", "write", "a", "kept", "1")
    later = clock.now() + 61_000_000
    monkeypatch.setattr(clock, "now", lambda: later)

    assert run("memory", "read", "a", "k").code == 3
    assert run("sweep") == (0, "freed 1 entry\n", "")
    assert run("sweep", "--json").json == {"freed": 0}
    assert run("memory", "list", "a").out == "kept\n"


def test_path_prints_where_the_store_is_and_makes_nothing(run: Run, store: str, tmp_path: Path) -> None:
    assert run("path") == (0, f"{store}\n", "")
    assert run("path", "--json").json == {"store": store, "path": store, "exists": False}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [(":memory:", ":memory:"), ("ram:", "ram:"), ("sqlite:/x/y.db", "/x/y.db"), ("/x/a:b.db", "/x/a:b.db")],
)
def test_the_path_of_other_urls(run: Run, url: str, shown: str) -> None:
    assert run("--store", url, "path").out == f"{shown}\n"


def test_a_relative_path_is_shown_whole(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert run("--store", "memory.db", "path").out == f"{tmp_path / 'memory.db'}\n"


def test_without_a_name_the_store_is_in_the_users_data_folder(
    script: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMWELL_STORE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    script("memory", "write", "a", "k", "1")
    path = Path(script("path").out.strip())

    assert path.is_relative_to(tmp_path)
    assert path.is_file()


def test_export_and_import_through_a_file(run: Run, filled: str, tmp_path: Path) -> None:
    file, other = str(tmp_path / "out.ndjson"), str(tmp_path / "other.db")

    assert run("export", file) == (0, f"exported 5 entries to {file}\n", "")
    assert run("import", file, "--store", other) == (0, "imported 5 entries, kept 0\n", "")
    assert run("memory", "read", "support", "config", "--store", other, "--json").json["version"] == 2


def test_export_and_import_through_a_pipe(script: Run, filled: str, tmp_path: Path) -> None:
    exported = script("export", "-", "--scope", "agent:support")
    imported = script("import", "-", "--store", str(tmp_path / "other.db"), stdin=exported.out)

    assert exported.err == "exported 4 entries\n"
    assert imported == (0, "imported 4 entries, kept 0\n", "")


def test_export_and_import_as_json(run: Run, filled: str, tmp_path: Path) -> None:
    file = str(tmp_path / "out.ndjson")

    assert run("export", file, "--json").json == {"exported": 5, "file": file}
    assert run("import", file, "--json") == (0, '{"written": 0, "kept": 5}\n', "")
    assert run("export", "--json").err == ""


def test_import_keeps_what_is_taken_unless_told(run: Run, filled: str, tmp_path: Path) -> None:
    file = str(tmp_path / "out.ndjson")
    run("export", file)
    run("facts", "set", "global", "motd", '"newer"')

    assert "--replace overwrites" in run("import", file).err
    assert run("facts", "get", "global", "motd").out == '"newer"\n'
    assert run("import", file, "--replace") == (0, "imported 5 entries, kept 0\n", "")
    assert run("facts", "get", "global", "motd").out == '"hi"\n'


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: data.replace(b"hi", b"ho"), lambda data: b"x" + data]
)
def test_a_damaged_export_is_refused_before_anything_is_written(
    run: Run, filled: str, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    file, other = tmp_path / "out.ndjson", str(tmp_path / "other.db")
    run("export", str(file))
    file.write_bytes(damage(file.read_bytes()))
    ran = run("import", str(file), "--store", other)

    assert ran.code in (1, 2)
    assert ran.err.startswith("error: ")
    assert run("facts", "scopes", "--store", other).out == ""


def test_an_export_does_not_go_to_a_terminal(terminal: Callable[..., Any], filled: str) -> None:
    code, shown = terminal("export")

    assert code == 2
    assert "not for a terminal" in shown
    assert "motd" not in shown


def test_files_that_can_not_be_read_or_written(run: Run, filled: str, tmp_path: Path) -> None:
    assert run("import", str(tmp_path / "none")).code == 3
    assert run("export", str(tmp_path)).code == 2
    assert run("export", str(tmp_path / "no" / "folder")).code == 1
    assert run("backup", str(tmp_path / "no" / "folder")).code == 1


def test_backup_is_a_store_of_its_own(run: Run, filled: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    ran = run("backup", str(copy), "--json")

    assert ran.json == {"file": str(copy), "bytes": copy.stat().st_size}
    assert run("memory", "history", "support", "config", "--store", str(copy), "--json").json[0]["version"] == 2
    assert run("backup", str(tmp_path / "again.db")).out.startswith("copied ")


def test_backup_never_overwrites(run: Run, filled: str, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")

    assert run("backup", str(taken)).code == 2
    assert taken.read_text() == "mine"


def test_check_of_a_sound_store(run: Run, filled: str) -> None:
    assert run("check") == (0, "checked the file and 12 stored rows: no damage\n", "")
    assert run("check", "--json").json == {"checked": 12, "damage": []}


def test_check_names_what_is_damaged_and_deletes_nothing(run: Run, store: str) -> None:
    with memwell.open(store) as opened:
        opened.shared().set("motd", "sound and safe")
        opened.shared().set("other", 1)
    file = Path(store)
    file.write_bytes(file.read_bytes().replace(b"sound and safe", b"sound and sOfe"))
    before = file.read_bytes()
    ran = run("check")

    assert ran.code == 1
    assert "damaged: fact 'motd' of global, version 1" in ran.out
    assert "other" not in ran.out
    assert "hint: " in ran.err
    assert len(run("check", "--json").json["damage"]) == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize("words", [["check"], ["export"], ["backup", "copy.db"]])
def test_a_mistyped_store_is_not_found_rather_than_empty(run: Run, tmp_path: Path, words: list[str]) -> None:
    typo = tmp_path / "typo.db"
    ran = run(*words, "--store", str(typo))

    assert (ran.code, ran.out) == (3, "")
    assert not typo.exists()
