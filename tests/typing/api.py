"""Never run: type checkers read it, and every line must have the type it says."""

from __future__ import annotations

from typing import Any, assert_type

from msgspec import Struct

import memwell
from memwell import AsyncMemory, AsyncStore, Entry, Event, Memory, Store, ops


class Prefs(Struct):
    dark: bool


def plain(store: Store, mem: Memory) -> None:
    assert_type(memwell.open("memory.db", durability="fast"), Store)
    assert_type(store.scope(agent="a"), Memory)
    assert_type(mem.get("k"), Any)
    assert_type(mem.get("k", type=Prefs), Prefs | None)
    assert_type(mem.get("k", 1, type=Prefs), Prefs | int)
    assert_type(mem.entry("k"), Entry | None)
    assert_type(mem.set("k", 1), Entry)
    assert_type(mem.list(), list[str])
    assert_type(mem.history("k"), list[Event])
    assert_type(store.apply(ops.Delete("agent:a", "k")), bool)
    for event in mem.watch():
        assert_type(event, Event)


async def awaited(mem: AsyncMemory) -> None:
    async with memwell.open_async("memory.db") as store:
        assert_type(store, AsyncStore)
    assert_type(await mem.get("k", type=Prefs), Prefs | None)
    assert_type(await mem.set("k", 1), Entry)
    assert_type(await mem.list(), list[str])
    async for event in mem.watch():
        assert_type(event, Event)
