"""`memwell doctor` on a healthy store and on each kind of sick one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import memwell
from memwell.cli import doctor

from .conftest import Run

TEXT = "sound and safe, " * 300


@pytest.fixture
def file(store: str) -> Path:
    """A store in a file, closed."""
    with memwell.open(store) as opened:
        for number in range(20):
            opened.shared().set(f"key{number}", f"{number} {TEXT}")
    return Path(store)


def findings(run: Run, *words: str) -> dict[str, Any]:
    """The findings by name; for each name the worst."""
    ran = run("doctor", "--json", *words)
    found = sorted(ran.json["findings"], key=lambda finding: finding["status"] == "fail")
    assert ran.json["ok"] == (ran.code == 0)
    assert ran.code == int(any(finding["status"] == "fail" for finding in found))
    return {finding["name"]: finding for finding in found}


def test_a_healthy_store_is_all_green(run: Run, file: Path) -> None:
    found = findings(run)

    assert {finding["status"] for finding in found.values()} == {"ok"}
    assert found["memwell"]["text"].startswith(memwell.__version__)
    assert found["store"]["text"].startswith(str(file))
    assert "survives a power cut" in found["durability"]["text"]
    assert apsw.sqlite_lib_version() in found["sqlite"]["text"]
    assert "0600" in found["mode"]["text"]
    assert "20 entries in 1 scope" in found["entries"]["text"]
    assert "as they were written" in found["integrity"]["text"]


def test_for_people_it_is_one_line_a_finding(run: Run, file: Path) -> None:
    ran = run("doctor")

    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) == len(findings(run))
    assert all(line.startswith("ok    ") for line in ran.out.splitlines())


def test_colours_on_a_terminal(terminal: Callable[..., tuple[int, str]], file: Path) -> None:
    file.chmod(0o644)
    code, shown = terminal("doctor")

    assert code == 0
    assert "\x1b[32mok" in shown
    assert "\x1b[33m\x1b[1mwarn" in shown


def test_the_class_of_a_fast_store_in_words(run: Run, file: Path) -> None:
    assert "power cut may take the last" in findings(run, "--durability", "fast")["durability"]["text"]


def test_a_store_in_memory(run: Run) -> None:
    found = findings(run, "--store", ":memory:")

    assert found["durability"]["status"] == "warn"
    assert found["opens"]["status"] == "ok"


def test_a_store_that_does_not_exist_is_not_made(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "down" / "memory.db"
    found = findings(run, "--store", str(path))

    assert "the first write makes it" in found["store"]["text"]
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_store_yet(run: Run, store: str) -> None:
    Path(store).touch()

    assert "the first write makes it" in findings(run)["store"]["text"]
    assert Path(store).stat().st_size == 0


def test_garbage(run: Run, file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 64)
    found = findings(run)

    assert found["opens"]["status"] == "fail"
    assert "not a Memwell store, or its header is damaged" in found["opens"]["text"]
    assert "backup" in found["opens"]["hint"]


@pytest.mark.parametrize("kept", [0.9, 0.5, 0.1, 0.01])
def test_a_truncated_file(run: Run, file: Path, kept: float) -> None:
    os.truncate(file, int(file.stat().st_size * kept))
    failed = [finding for finding in findings(run).values() if finding["status"] == "fail"]

    assert failed
    assert all("Error" not in finding["text"] for finding in failed)


def test_a_flipped_byte_in_a_value_names_the_key(run: Run, file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[data.rfind(b"sound and safe") + 3] ^= 1
    file.write_bytes(data)
    ran = run("doctor")

    assert ran.code == 1
    assert "fail  integrity   fact 'key" in ran.out
    assert "restore a backup" in ran.out


def test_a_flipped_byte_in_any_page_is_found_or_harmless(run: Run, file: Path) -> None:
    sound, page = file.read_bytes(), 4096
    for number in range(1, len(sound) // page):
        data = bytearray(sound)
        data[number * page] ^= 0xFF
        file.write_bytes(data)
        for log in ("-wal", "-shm"):
            Path(f"{file}{log}").unlink(missing_ok=True)

        assert run("doctor").code == 1, f"page {number + 1}"


def test_a_newer_schema(run: Run, file: Path) -> None:
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", 99)
    connection.close()
    found = findings(run)

    assert "has schema 99" in found["opens"]["text"]
    assert "upgrade" in found["opens"]["hint"]


def test_a_file_of_another_program(run: Run, store: str) -> None:
    connection = apsw.Connection(store)
    connection.execute("CREATE TABLE bookmarks(url)")
    connection.close()

    assert "another program" in findings(run)["opens"]["text"]


def test_loose_permissions(run: Run, file: Path) -> None:
    file.chmod(0o644)
    found = findings(run)

    assert (found["mode"]["status"], found["mode"]["hint"]) == ("warn", f"chmod 600 {file}")


def test_a_folder_at_the_path(run: Run, tmp_path: Path) -> None:
    assert "is not a file" in findings(run, "--store", str(tmp_path))["store"]["text"]


def test_a_path_below_a_file(run: Run, file: Path) -> None:
    found = findings(run, "--store", str(file / "memory.db"))

    assert (found["disk"]["status"], found["disk"]["text"]) == ("fail", f"{file} can't be written to: Not a directory")


@pytest.fixture
def shut(run: Run) -> Iterator[Path]:
    """A folder that may not be written to by who runs the test; the superuser, whom nothing stops, steps down."""
    run("doctor")  # so that every module is loaded while it may be read
    folder, superuser = Path(tempfile.mkdtemp()), os.geteuid() == 0
    folder.chmod(0o555)
    if superuser:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if superuser:
            os.seteuid(0)
        folder.rmdir()


def test_a_folder_that_can_not_be_written_to(run: Run, shut: Path) -> None:
    found = findings(run, "--store", str(shut / "memory.db"))
    written = run("memory", "write", "a", "k", "1", "--store", str(shut / "memory.db"))

    assert found["disk"]["text"] == f"{shut} can't be written to: Permission denied"
    assert "choose another path with --store" in found["disk"]["hint"]
    assert (written.code, written.out) == (1, "")
    assert "can't be opened: Permission denied" in written.err


def test_a_backend_that_this_version_does_not_have(run: Run) -> None:
    assert findings(run, "--store", "redis://host")["opens"]["status"] == "fail"


def test_little_room_and_none(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE_ROOM", 2**80)
    assert findings(run)["disk"]["status"] == "warn"

    monkeypatch.setattr(doctor, "NO_ROOM", 2**80)
    assert findings(run)["disk"]["status"] == "fail"


def test_a_large_file_is_left_to_check(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "CHECKED_BYTES", 1)

    assert findings(run)["integrity"]["hint"] == "'memwell check' does it"


def test_a_long_log(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LONG_LOG", 1)
    with memwell.open(str(file)) as store:
        store.shared().set("k", 1)

        assert findings(run)["log"]["status"] == "warn"


def test_a_probe_that_breaks_is_a_finding(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(doctor, "_entries", broken)
    found = findings(run)

    assert found["entries"]["text"] == "RuntimeError: broken"
    assert found["integrity"]["status"] == "ok"
