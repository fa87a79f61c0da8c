"""A closed store says so, in every way in, and closing is never an error."""

from __future__ import annotations

import pytest

import memwell
from memwell import Unavailable
from memwell.testing import promise

CALLS = {
    "get": lambda store, mem: mem.get("k"),
    "get in the past": lambda store, mem: mem.get("k", at=1),
    "set": lambda store, mem: mem.set("k", 2),
    "set if": lambda store, mem: mem.set("k", 2, if_version=1),
    "set_many": lambda store, mem: mem.set_many({"k": 2}),
    "get_many": lambda store, mem: mem.get_many(["k"]),
    "delete": lambda store, mem: mem.delete("k"),
    "list": lambda store, mem: mem.list(),
    "list one": lambda store, mem: mem.list(limit=1),
    "clear": lambda store, mem: mem.clear(),
    "history": lambda store, mem: mem.history("k"),
    "revert": lambda store, mem: mem.revert("k", 1),
    "batch": lambda store, mem: mem.batch().commit(),
    "watch": lambda store, mem: next(mem.watch(since=0, timeout=0.0)),
    "delete_scope": lambda store, mem: mem.delete_scope(),
    "stats": lambda store, mem: store.stats(),
    "scopes": lambda store, mem: store.scopes(),
    "sweep": lambda store, mem: store.sweep(),
    "check": lambda store, mem: store.check(),
    "export": lambda store, mem: store.export("/nowhere/export"),
}


@pytest.mark.parametrize("call", CALLS)
@promise("store:close")
def test_a_closed_store_is_unavailable(store, call):
    mem = store.scope(agent="a")
    mem.set("k", 1)
    store.close()
    with pytest.raises(Unavailable):
        CALLS[call](store, mem)


@promise("store:close")
def test_closing_twice_is_no_error(store):
    store.scope(agent="a").set("k", 1)
    store.close()
    store.close()


@promise("store:close")
def test_a_store_closes_when_its_block_is_left_by_an_error(path):
    stores = []

    def leave():
        with memwell.open(path) as opened:
            stores.append(opened)
            opened.scope(agent="a").set("k", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave()
    with pytest.raises(Unavailable):
        stores[0].scope(agent="a").get("k")
    with memwell.open(path) as store:
        assert store.scope(agent="a").get("k") == 1


@promise("store:close")
async def test_so_does_an_awaited_one(path):
    stores = []

    async def leave():
        async with memwell.open_async(path) as opened:
            stores.append(opened)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await leave()
    with pytest.raises(Unavailable):
        await stores[0].scope(agent="a").get("k")
