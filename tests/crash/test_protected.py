"""Files and folders that may not be written: a typed error that says so, and nothing is changed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import memwell
from memwell.errors import Unavailable

from . import audit
from .children import Child
from .disks import Disk, mounted

SCOPE = "agent:a"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with mounted(tmp_path / "disk", "4m") as disk:
        yield disk


def make(path: Path) -> None:
    with memwell.open(path) as store:
        store.scope(SCOPE).set("k", 1)


def test_a_disk_that_is_read_only(disk: Disk) -> None:
    path = disk.folder / "memory.db"
    make(path)
    disk.protect()
    for each in (path, disk.folder / "new.db", disk.folder / "new" / "memory.db"):
        with pytest.raises(Unavailable) as refused:
            memwell.open(each)
        assert "Read-only" in refused.value.message
        assert refused.value.hint
    assert [file.name for file in disk.folder.iterdir()] == ["memory.db"]


def test_a_disk_that_becomes_read_only_while_the_store_is_open(disk: Disk) -> None:
    """Linux refuses that while a file is open for writing, so the copy and the export are what meets it."""
    path = disk.folder / "memory.db"
    make(path)
    copy = disk.folder.with_name("elsewhere.db")
    copy.write_bytes(path.read_bytes())
    disk.protect()
    with memwell.open(copy) as store:
        for call, name in ((store.backup, "copy.db"), (store.export, "all.ndjson")):
            with pytest.raises(Unavailable) as refused:
                call(str(disk.folder / name))
            assert refused.value.hint


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


@pytest.mark.parametrize("what", ["file", "folder", "log"])
def test_a_user_who_may_not_write_is_refused(open_folder: Path, what: str) -> None:
    """Root may write anything, so the child gives its rights up first; any other user is bound by the modes itself."""
    path, log = open_folder / "memory.db", open_folder / "memory.db-wal"
    make(path)
    path.chmod(0o444 if what == "file" else 0o666)
    if what == "log":
        log.touch()
        log.chmod(0o400)
    open_folder.chmod(0o555 if what == "folder" else 0o777)
    with Child("stranger", path) as child:
        message = child.expect("refused")
        child.finish()
    assert "memory.db" in message
    assert message.endswith(")")  # the hint
    open_folder.chmod(0o755)
    path.chmod(0o600)
    log.unlink(missing_ok=True)
    audit.assert_sound(path)
