"""The file of a checkpoint: written whole or not at all, and refused when it is not what was written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import memwell
from memwell.agent.checkpoint import Body, save
from memwell.agent.kernel import Kernel
from memwell.errors import Corrupt, Invalid, NotFound, TooLarge, Unavailable
from memwell.types import Line

from .dicts import Dicts
from .given import fill, values

# The file


def test_the_file_is_json_for_its_owner_only(tmp_path: Path) -> None:
    with Kernel() as kernel:
        fill(kernel)
        kernel.checkpoint(tmp_path / "kernel.json")
    path = tmp_path / "kernel.json"
    body = json.loads(path.read_text())["body"]
    assert [line["value"] for line in body["scopes"]["process:agent%2F1"]] == [["a", None], 3]
    assert body["processes"] == [{"id": "agent/1", "persistent": True, "status": "done"}]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["kernel.json"]


def damaged(data: bytes) -> dict[str, bytes]:
    """The same file, spoilt in ways that files are."""
    half = len(data) // 2
    return {
        "cut": data[:half],
        "all but the last byte": data[:-1],
        "a flipped bit": data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :],
        "another value": data.replace(b"small", b"large"),
        "two files": data + data,
        "another checksum": data.replace(b'"sha256":"', b'"sha256":"0'),
        "no body": b'{"memwell_kernel":1,"sha256":"","body":{}}',
        "not utf-8": data.replace(b"small", b"sm\xffll"),
    }


FOREIGN = {
    "empty": b"",
    "text": b"hello",
    "json": b'{"some": "other file"}',
    "export": b'{"memwell":1}\n',
    "zeros": bytes(4096),
    "newer": b'{"memwell_kernel":2,"sha256":"","body":{}}',
}


@pytest.mark.parametrize("kind", damaged(b"x" * 10))
def test_a_damaged_file_is_an_error_that_changes_nothing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    with Kernel() as kernel:
        fill(kernel)
        kernel.checkpoint(path)
        spoilt = damaged(path.read_bytes())[kind]
        assert spoilt != path.read_bytes()
        path.write_bytes(spoilt)
        refused_without_change(kernel, path, Corrupt)


@pytest.mark.parametrize("kind", FOREIGN)
def test_so_is_a_foreign_one(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    path.write_bytes(FOREIGN[kind])
    with Kernel() as kernel:
        fill(kernel)
        refused_without_change(kernel, path, Invalid)


def refused_without_change(kernel: Kernel, path: Path, error: type[Exception]) -> None:
    kernel.shared().set("config", "later")
    before, rev = values(kernel), kernel.shared().entry("config").rev
    with pytest.raises(error):
        kernel.restore(path)
    assert values(kernel) == before
    assert kernel.shared().set("config", "still").rev == rev + 1


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    with Kernel() as kernel:
        kernel.shared().set("key", 1)
        kernel.checkpoint(path)
        whole = path.read_bytes()
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            with pytest.raises((Corrupt, Invalid)):
                kernel.restore(path)


@pytest.mark.parametrize("scope", ["agent:a", "process:a/thread:t", "nonsense"])
def test_a_checkpoint_cannot_write_to_other_scopes(scope: str, tmp_path: Path) -> None:
    line = Line(scope=scope, shape="fact", key="k", value=1, version=1, created=1, updated=1, by="me")
    for scopes in ({scope: [line]}, {"global": [line]}):
        save(tmp_path / "kernel.json", Body([], scopes))
        with Kernel() as kernel:
            with pytest.raises(Invalid, match="no process's"):
                kernel.restore(tmp_path / "kernel.json")
            assert kernel.memory.scopes() == []


def test_what_this_store_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with Kernel() as kernel:
        kernel.memory.scope(process="a").set("small", 1)
        kernel.memory.scope(process="b").set("big", "x" * 100)
        kernel.checkpoint(tmp_path / "kernel.json")
    with Kernel(max_value_bytes=50) as kernel:
        with pytest.raises(TooLarge):
            kernel.restore(tmp_path / "kernel.json")
        assert kernel.memory.scopes() == []


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    with Kernel() as kernel:
        with pytest.raises(NotFound, match=r"no\.json"):
            kernel.restore(tmp_path / "no.json")
        with pytest.raises(Unavailable, match="can't be read"):
            kernel.restore(tmp_path)
        with pytest.raises(Unavailable, match="can't be written"):
            kernel.checkpoint(tmp_path / "no" / "kernel.json")


def test_a_checkpoint_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "kernel.json"
    with Kernel() as kernel:
        fill(kernel)
        kernel.checkpoint(path)
        old = path.read_bytes()
        kernel.shared().set("config", "later")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(Unavailable, match="No space left"):
                kernel.checkpoint(path)
        assert path.read_bytes() == old
        assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from pathlib import Path
from memwell.agent.checkpoint import Body, collect, save
from memwell.agent.kernel import Kernel

stage, path = sys.argv[1:]

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def on_call(nth, real):
    calls = []
    def call(*args):
        calls.append(args)
        return die() if len(calls) == nth else real(*args)
    return call

with Kernel() as kernel:
    kernel.shared().set("generation", 1)
    kernel.checkpoint(path)
    kernel.shared().set("generation", 2)
    if stage == "before the file is on disk":
        os.fsync = on_call(1, os.fsync)
    elif stage == "before it has its name":
        Path.replace = die
    else:
        os.fsync = on_call(2, os.fsync)
    kernel.checkpoint(path)
"""


@pytest.mark.parametrize(
    ("stage", "generation"),
    [("before the file is on disk", 1), ("before it has its name", 1), ("before the folder is on disk", 2)],
)
def test_killed_at_each_step_it_leaves_the_old_file_or_the_new(stage: str, generation: int, tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    ended = subprocess.run([sys.executable, "-c", KILLED, stage, str(path)], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    with Kernel() as kernel:
        kernel.restore(path)
        assert kernel.shared().get("generation") == generation


KEEPS_SAVING = """
import sys
from memwell.agent.checkpoint import Body, collect, save
from memwell.agent.kernel import Kernel

with Kernel() as kernel:
    for generation in range(1_000_000):
        kernel.shared().set_many({f"key-{n}": [generation] * 2000 for n in range(50)})
        kernel.checkpoint(sys.argv[1])
        print(generation, flush=True)
"""


def test_killed_at_any_moment_the_file_is_whole_and_no_older_than_was_said(tmp_path: Path) -> None:
    path = tmp_path / "kernel.json"
    for lines in (1, 2, 3, 5, 8):
        command = [sys.executable, "-c", KEEPS_SAVING, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            said = [int(child.stdout.readline()) for _ in range(lines)][-1]
            child.kill()
        with Kernel() as kernel:
            kernel.restore(path)
            held = {
                number for value in kernel.shared().get_many(f"key-{n}" for n in range(50)).values() for number in value
            }
        assert len(held) == 1
        assert held.pop() >= said


def test_the_seeds_restart_story(tmp_path: Path) -> None:
    """Checkpoint to a file on one machine, restore into a store of another kind."""
    with Kernel(Dicts()) as kernel:
        fill(kernel)
        kernel.checkpoint(tmp_path / "kernel.json")
    with Kernel(tmp_path / "memory.db") as kernel:
        kernel.restore(tmp_path / "kernel.json")
    with memwell.open(tmp_path / "memory.db") as store:
        assert store.scope(process="agent/1").get("step") == 3
