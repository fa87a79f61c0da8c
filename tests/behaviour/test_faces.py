"""Two faces, one meaning: opening, the same names in both, and what awaiting adds."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import memwell
from memwell import aio, memory
from memwell.testing import promise
from objects import AsyncDicts, Dicts

PAIRS = [(memory.Store, aio.AsyncStore), (memory.Memory, aio.AsyncMemory), (memory.Batch, aio.AsyncBatch)]


def public(kind):
    return {name: member for name, member in vars(kind).items() if callable(member) and not name.startswith("_")}


@pytest.mark.parametrize(("sync", "awaited"), PAIRS)
@promise("face:same")
def test_both_faces_have_the_same_methods_with_the_same_parameters(sync, awaited):
    assert public(sync).keys() == public(awaited).keys()
    for name, method in public(sync).items():
        twin = public(awaited)[name]
        assert inspect.signature(method).parameters.keys() == inspect.signature(twin).parameters.keys()
        assert method.__doc__
        assert twin.__doc__


@promise("face:open")
def test_a_store_is_opened_by_path_url_or_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for where, backend in (
        (tmp_path / "a.db", "sqlite"),
        (str(tmp_path / "b.db"), "sqlite"),
        (f"sqlite:{tmp_path}/c.db", "sqlite"),
        ("d.db", "sqlite"),
        (":memory:", "ram"),
        (Dicts(), "dicts"),
        (AsyncDicts(), "asyncdicts"),
    ):
        with memwell.open(where) as store:
            store.scope(agent="a").set("k", 1)
            assert store.scope(agent="a").get("k") == 1
            assert store.stats().backend == backend
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.db", "b.db", "c.db", "d.db"]


@promise("face:open")
async def test_an_awaited_store_is_opened_in_two_ways(path):
    async with memwell.open_async(path, by="anna") as store:
        assert (await store.scope(agent="a").set("k", 1)).written_by == "anna"
    store = await memwell.open_async(path)
    assert await store.scope(agent="a").get("k") == 1
    await store.close()


@promise("face:author")
def test_who_writes_is_told_or_found_out(path, monkeypatch):
    monkeypatch.setenv("MEMWELL_AUTHOR", "from the environment")
    with memwell.open(path) as store:
        mem = store.scope(agent="a")
        assert mem.set("k", 1).written_by == "from the environment"
        assert store.scope(agent="a", by="somebody").set("k", 1).written_by == "somebody"
        assert store.shared(by="else").set("k", 1).written_by == "else"
    with memwell.open(path, by="the opener") as store:
        assert store.scope(agent="a").set("k", 1).written_by == "the opener"
        batch = store.scope(agent="a", by="batcher").batch()
        batch.set("k", 2)
        assert batch.commit()[0].written_by == "batcher"


@promise("face:memory")
def test_two_stores_in_memory_are_two():
    with memwell.open(":memory:") as one, memwell.open(":memory:") as two:
        one.shared().set("k", 1)
        assert two.shared().get("k") is None


@promise("face:shared")
def test_two_openings_of_one_file_are_one_store(path):
    with memwell.open(path) as one, memwell.open(path, durability="fast") as two:
        first = one.shared().set("k", 1)
        assert two.shared().entry("k") == first
        with pytest.raises(memwell.Conflict):
            two.shared().set("k", 2, if_version=0)
        assert two.shared().set("k", 2, if_version=1).version == 2
        assert one.shared().get("k") == 2


@pytest.mark.parametrize("durability", ["full", "fast"])
@promise("face:concurrent")
async def test_many_awaits_at_once_each_get_their_own_answer(path, durability):
    async with memwell.open_async(path, durability=durability) as store:
        mem = store.scope(agent="a")
        made = await asyncio.gather(*(mem.set(f"k{number}", number) for number in range(100)))
        assert [entry.value for entry in made] == list(range(100))
        values = await asyncio.gather(*(mem.get(f"k{number}") for number in range(100)))
        assert values == list(range(100))
        refused = await asyncio.gather(*(mem.set("one", n, if_version=0) for n in range(20)), return_exceptions=True)
        assert sum(isinstance(answer, memwell.Entry) for answer in refused) == 1
        assert sum(isinstance(answer, memwell.Conflict) for answer in refused) == 19


@pytest.mark.parametrize("durability", ["full", "fast"])
@promise("face:cancel")
async def test_cancelling_an_await_leaves_the_store_whole(path, durability):
    async with memwell.open_async(path, durability=durability) as store:
        mem = store.scope(agent="a")
        tasks = [asyncio.ensure_future(mem.set("k", number)) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        last = await mem.set("k", "last")
        events = await mem.history("k")
        assert [event.version for event in events] == list(range(last.version, 0, -1))
        assert await mem.get("k") == "last"
    with memwell.open(path) as store:
        assert store.scope(agent="a").get("k") == "last"
        assert store.check().damage == []


@promise("face:repr")
def test_a_handle_says_what_it_is(store):
    assert "agent:a/user:u" in repr(store.scope(agent="a", user="u"))
    assert store.scope("user:u/agent:a").name == "agent:a/user:u"
