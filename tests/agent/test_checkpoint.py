"""What a checkpoint held comes back, and nothing else is touched."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from memwell.agent.checkpoint import collect
from memwell.agent.kernel import Kernel
from memwell.errors import Conflict

from .given import SOON, facts, fill, values

# Round trips


def test_what_was_saved_comes_back_in_an_empty_kernel(backend: Any, tmp_path: Path) -> None:
    with Kernel(backend) as kernel:
        fill(kernel)
        assert kernel.checkpoint(tmp_path / "kernel.json") == 3
        before = facts(kernel)
    with Kernel() as kernel:
        saved = kernel.restore(tmp_path / "kernel.json")
        after = facts(kernel)
        assert [(one.id, one.persistent, one.status) for one in saved] == [("agent/1", True, "done")]
        assert after.keys() == before.keys() == {"global", "process:agent%2F1"}
        for scope, held in before.items():
            for key, entry in held.items():
                same = [
                    (one.value, one.version, one.created_at, one.updated_at, one.expires_at, one.written_by)
                    for one in (entry, after[scope][key])
                ]
                assert same[0] == same[1]
        step = kernel.spawn(lambda ctx: ctx.memory.get("step"), id="agent/1", persistent=True).wait(SOON)
        assert step == 3


def test_it_takes_the_place_of_what_is_there(backend: Any, tmp_path: Path) -> None:
    with Kernel(backend) as kernel:
        fill(kernel)
        kernel.checkpoint(tmp_path / "kernel.json")
        saved = values(kernel)
        kernel.shared().set("config", {"model": "large"})
        kernel.shared().set("later", 1)
        kernel.memory.scope(process="agent/1").delete("plan")
        kernel.restore(tmp_path / "kernel.json")
        assert values(kernel) == saved
        kernel.restore(tmp_path / "kernel.json")  # again: the same
        assert values(kernel) == saved


def test_versions_never_go_back(backend: Any, tmp_path: Path) -> None:
    with Kernel(backend) as kernel:
        shared = kernel.shared()
        shared.set("key", "saved")
        kernel.checkpoint(tmp_path / "kernel.json")
        stale = [shared.set("key", "later").version for _ in range(3)][-1]
        kernel.restore(tmp_path / "kernel.json")
        entry = shared.entry("key")
        assert entry.value == "saved"
        assert entry.version == stale + 1
        with pytest.raises(Conflict):
            shared.set("key", "a stale writer", if_version=stale)


def test_a_key_made_again_gets_back_the_time_of_its_making(backend: Any, tmp_path: Path, time: Any) -> None:
    with Kernel(backend) as kernel:
        shared = kernel.shared()
        created = shared.set("key", "saved").created_at
        kernel.checkpoint(tmp_path / "kernel.json")
        shared.delete("key")
        time.us += 1_000_000
        assert shared.set("key", "later").created_at > created
        kernel.restore(tmp_path / "kernel.json")
        assert shared.entry("key").created_at == created


def test_a_ttl_ends_when_it_would_have(backend: Any, tmp_path: Path, time: Any) -> None:
    with Kernel(backend) as kernel:
        kernel.shared().set("short", 1, ttl=10)
        kernel.shared().set("long", 1, ttl=100)
        expires = kernel.shared().entry("long").expires_at
        kernel.checkpoint(tmp_path / "kernel.json")
        kernel.shared().set("short", 2)
        time.us += 20_000_000
        kernel.restore(tmp_path / "kernel.json")
        assert kernel.shared().list() == ["long"]  # nor is what overwrote the expired one left behind
        assert kernel.shared().entry("long").expires_at == expires
        time.us += 80_000_000
        assert kernel.shared().list() == []


def test_other_scopes_are_neither_saved_nor_touched(backend: Any, tmp_path: Path) -> None:
    with Kernel(backend) as kernel:
        others = ["agent:a", "process:a/thread:t", "agent:a/process:a"]
        for scope in others:
            kernel.memory.scope(scope).set("key", 1)
        assert kernel.checkpoint(tmp_path / "kernel.json") == 0
        kernel.memory.scope(process="new").set("key", 1)
        kernel.restore(tmp_path / "kernel.json")
        assert kernel.memory.scopes() == sorted([*others, "process:new"])


def test_more_facts_than_one_transaction_takes(tmp_path: Path) -> None:
    with Kernel(max_batch=10) as kernel:
        for number in range(25):
            kernel.shared().set(f"old-{number:02}", number)
        assert kernel.checkpoint(tmp_path / "kernel.json") == 25
        kernel.shared().clear()
        for number in range(25):
            kernel.shared().set(f"new-{number:02}", number)
        kernel.restore(tmp_path / "kernel.json")
        assert kernel.shared().list() == [f"old-{number:02}" for number in range(25)]


# Processes


def test_a_running_process_can_be_spawned_again(tmp_path: Path) -> None:
    go, wrote = threading.Event(), threading.Event()

    def body(ctx: Any) -> int:
        step = ctx.memory.set("step", ctx.memory.get("step", 0) + 1).value
        wrote.set()
        go.wait(SOON)
        return step

    with Kernel() as kernel:
        kernel.spawn(body, id="a")
        wrote.wait(SOON)
        kernel.checkpoint(tmp_path / "kernel.json")
        go.set()
    with Kernel() as kernel:
        (saved,) = kernel.restore(tmp_path / "kernel.json")
        assert (saved.id, saved.persistent, saved.status) == ("a", False, "running")
        assert kernel.spawn(body, id=saved.id, persistent=saved.persistent).wait(SOON) == 2


def test_an_ended_process_that_was_cleared_is_restored_as_cleared(tmp_path: Path) -> None:
    with Kernel() as kernel:
        kernel.spawn(lambda ctx: ctx.memory.set("key", 1), id="a").wait(SOON)
        assert kernel.checkpoint(tmp_path / "kernel.json") == 0
    with Kernel() as kernel:
        kernel.memory.scope(process="a").set("key", 2)
        kernel.restore(tmp_path / "kernel.json")
        assert kernel.memory.scopes() == []


def test_a_process_that_remembers_nothing_is_restored_so(backend: Any, tmp_path: Path) -> None:
    with Kernel(backend) as kernel:
        kernel.spawn(lambda ctx: None, id="a", persistent=True).wait(SOON)
        kernel.checkpoint(tmp_path / "kernel.json")
        kernel.spawn(lambda ctx: ctx.memory.set("key", 1), id="a", persistent=True).wait(SOON)
        kernel.restore(tmp_path / "kernel.json")
        assert kernel.memory.scopes() == []


def test_a_process_that_ends_while_it_is_saved_is_saved_as_ended() -> None:
    go, wrote = threading.Event(), threading.Event()
    looks = iter([lambda: None, go.set])

    def body(ctx: Any) -> None:
        ctx.memory.set("key", 1)
        wrote.set()
        go.wait(SOON)

    with Kernel() as kernel:
        process = kernel.spawn(body, id="a")
        wrote.wait(SOON)

        def table() -> Any:
            next(looks)()
            if go.is_set():
                process.wait(SOON)
            return kernel.processes()

        saved = collect(kernel.memory, table)
    assert [one.status for one in saved.processes] == ["done"]
    assert saved.scopes == {"global": [], "process:a": []}


def test_nothing_is_restored_under_a_running_process(tmp_path: Path) -> None:
    go = threading.Event()
    with Kernel() as kernel:
        kernel.shared().set("key", "saved")
        kernel.checkpoint(tmp_path / "kernel.json")
        kernel.shared().set("key", "later")
        process = kernel.spawn(lambda ctx: go.wait(SOON), id="slow")
        with pytest.raises(Conflict, match="process slow is running") as refusal:
            kernel.restore(tmp_path / "kernel.json")
        assert refusal.value.current is process
        assert kernel.shared().get("key") == "later"
        go.set()
