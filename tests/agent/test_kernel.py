"""Processes: each sentence of the seed on process memory, on every kind of backend, in both colours."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.agent.kernel import Kernel
from memwell.errors import Conflict, Invalid, TooLarge

from .dicts import Dicts
from .given import SOON, count

# Basics


def test_a_process_has_the_basics(backend: Any, colour: Any) -> None:
    async def body(ctx: Any) -> Any:
        await ctx.memory.set("key", {"any": "value"})
        value = await ctx.memory.get("key")
        deleted = await ctx.memory.delete("key"), await ctx.memory.delete("key")
        await ctx.memory.set_many({"prefix:a": 1, "prefix:b": 2, "other": 3})
        keys = await ctx.memory.list("prefix:")
        return value, deleted, keys, await ctx.memory.clear(), await ctx.memory.list()

    with Kernel(backend) as kernel:
        process = kernel.spawn(colour(body))
        assert process.wait(SOON) == ({"any": "value"}, (True, False), ["prefix:a", "prefix:b"], 3, [])
        assert (process.status, process.result, process.error) == ("done", process.wait(), None)


def test_the_handler_knows_its_id_and_its_arguments(colour: Any) -> None:
    async def body(ctx: Any, first: int, *, second: int) -> Any:
        return ctx.id, first, second

    with Kernel() as kernel:
        assert kernel.spawn(colour(body), 1, id="a", second=2).wait(SOON) == ("a", 1, 2)


def test_two_processes_cannot_see_each_other(backend: Any, colour: Any) -> None:
    both = threading.Barrier(2, timeout=SOON)

    async def body(ctx: Any) -> Any:
        await ctx.memory.set(f"mine-{ctx.id}", ctx.id)
        await ctx.memory.set("same", ctx.id)
        both.wait()
        other = "b" if ctx.id == "a" else "a"
        seen = await ctx.memory.list(), await ctx.memory.get("same"), await ctx.memory.history(f"mine-{other}")
        both.wait()
        await ctx.memory.clear()
        return seen

    with Kernel(backend) as kernel:
        processes = [kernel.spawn(colour(body), id=name) for name in "ab"]
        assert [process.wait(SOON) for process in processes] == [
            (["mine-a", "same"], "a", []),
            (["mine-b", "same"], "b", []),
        ]


@pytest.mark.parametrize("id", ["a/b", "a:b", "a%2Fb", "process:a", "ü 😀", "global"])
def test_any_text_is_an_id_and_no_id_reaches_another_scope(id: str, backend: Any) -> None:
    with Kernel(backend) as kernel:
        kernel.shared().set("key", "shared")
        kernel.spawn(lambda ctx: ctx.memory.set("key", "a"), id="a", persistent=True).wait(SOON)
        process = kernel.spawn(lambda ctx: (ctx.id, ctx.memory.get("key"), ctx.memory.set("key", id)), id=id)
        assert process.wait(SOON)[:2] == (id, None)
        assert kernel.shared().get("key") == "shared"
        assert kernel.memory.scope(process="a").get("key") == "a"


# Persistence


def test_by_default_memory_is_lost_with_the_kernel(colour: Any) -> None:
    for _ in range(2):
        with Kernel() as kernel:
            assert kernel.spawn(colour(count), id="a", persistent=True).wait(SOON) == 1


def test_a_stable_id_picks_up_where_it_left_off(backend: Any, colour: Any) -> None:
    with Kernel(backend) as kernel:
        assert [kernel.spawn(colour(count), id="a", persistent=True).wait(SOON) for _ in range(3)] == [1, 2, 3]


def test_also_after_a_restart(tmp_path: Path, colour: Any) -> None:
    for expected in (1, 2, 3):
        with Kernel(tmp_path / "memory.db") as kernel:
            assert kernel.spawn(colour(count), id="a", persistent=True).wait(SOON) == expected


@pytest.mark.parametrize("fails", [False, True])
def test_an_ended_process_is_cleared_unless_persistent(backend: Any, colour: Any, fails: bool) -> None:
    async def body(ctx: Any) -> None:
        await ctx.memory.set("key", 1)
        await ctx.memory.set("key", 2)
        if fails:
            raise RuntimeError("oh")

    with Kernel(backend) as kernel:
        for name in ("gone", "kept"):
            process = kernel.spawn(colour(body), id=name, persistent=name == "kept")
            if fails:
                with pytest.raises(RuntimeError, match="oh"):
                    process.wait(SOON)
            else:
                process.wait(SOON)
        assert kernel.memory.scopes() == ["process:kept"]
        assert kernel.memory.scope(process="gone").history("key") == []
        assert [event.value for event in kernel.memory.scope(process="kept").history("key")] == [2, 1]


def test_a_process_that_was_killed_has_not_ended(tmp_path: Path) -> None:
    """A crash leaves its memory in the file: the id picks it up, and it goes when the process ends."""
    with memwell.open(tmp_path / "memory.db") as store:
        store.scope(process="a").set("count", 41)
    with Kernel(tmp_path / "memory.db") as kernel:
        assert kernel.spawn(count, id="a").wait(SOON) == 42
        assert kernel.spawn(count, id="a").wait(SOON) == 1


# Backends


def test_a_kernel_closes_the_backend_it_was_given_as_an_object() -> None:
    backend = Dicts()
    with Kernel(backend):
        pass
    assert backend.closed == 1


def test_a_kernel_uses_an_open_store_and_leaves_it_open() -> None:
    with memwell.open(":memory:", by="me") as store:
        with Kernel(store) as kernel:
            kernel.spawn(count, id="a", persistent=True).wait(SOON)
            kernel.shared().set("by", None)
        assert store.scope(process="a").get("count") == 1
        assert store.shared().entry("by").written_by == "me"


async def test_or_an_open_async_store() -> None:
    async with memwell.open_async(":memory:") as store:
        async with Kernel(store) as kernel:
            await kernel.spawn(count, id="a", persistent=True)
        assert await store.scope(process="a").get("count") == 1


def test_settings_are_given_where_the_store_is_opened() -> None:
    with Kernel(max_value_bytes=10) as kernel, pytest.raises(TooLarge):
        kernel.shared().set("key", "x" * 10)
    with memwell.open(":memory:") as store, pytest.raises(Invalid, match="settings already"):
        Kernel(store, max_value_bytes=10)


def test_what_is_no_backend_is_refused() -> None:
    with pytest.raises(Invalid, match="no method 'get'"):
        Kernel(object())


# Shared memory


def test_processes_share_by_the_shared_accessor(backend: Any, colour: Any) -> None:
    async def writer(ctx: Any) -> None:
        await ctx.shared.set("global_config", {"model": "small"})

    async def reader(ctx: Any) -> Any:
        return await ctx.shared.get("global_config"), await ctx.memory.list()

    with Kernel(backend) as kernel:
        kernel.spawn(colour(writer), id="w").wait(SOON)
        assert kernel.spawn(colour(reader)).wait(SOON) == ({"model": "small"}, [])
        assert kernel.shared().get("global_config") == {"model": "small"}
        assert kernel.memory.shared().entry("global_config").written_by == "process:w"


async def test_the_shared_accessor_awaited(backend: Any) -> None:
    async with Kernel(backend) as kernel:
        await kernel.shared_async().set("key", 1)
        assert await kernel.shared_async().get("key") == 1


def test_compare_and_swap_holds_between_processes(backend: Any) -> None:
    def add(ctx: Any) -> None:
        for _ in range(10):
            while True:
                old = ctx.shared.entry("total")
                try:
                    ctx.shared.set("total", (old.value if old else 0) + 1, if_version=old.version if old else 0)
                    break
                except Conflict:
                    continue

    with Kernel(backend) as kernel:
        for process in [kernel.spawn(add) for _ in range(4)]:
            process.wait(SOON)
        assert kernel.shared().get("total") == 40


# Stats


async def test_stats_in_both_colours(backend: Any) -> None:
    names = {type(None): "ram", str: "sqlite"}
    async with Kernel(backend) as kernel:
        kernel.shared().set("a", 1)
        await kernel.spawn(count, id="p", persistent=True)
        stats = await kernel.stats_async()
        assert stats == kernel.stats()
        name = names.get(type(backend)) or backend.name
        assert (stats.backend, stats.scopes, stats.entries) == (name, 2, 2)
