"""Watching across threads, faces and processes."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading

import memwell
from memwell.testing import opened, promise

PATIENCE_S = 60.0
EVENTS = 40
WRITER = """
import sys, memwell
with memwell.open(sys.argv[1], by="another process") as store:
    mem = store.scope(agent="a")
    for number in range(int(sys.argv[2])):
        mem.set(f"k{number % 3}", number)
        store.scope(agent="b").set("noise", number)
"""


@promise("watch:process")
def test_both_faces_see_what_another_process_writes(path):
    seen = {"sync": [], "async": []}

    def collect(watch, events):
        for event in watch:
            events.append(event)
            if len(events) == EVENTS:
                return

    with opened("sync", path) as plain, opened("async", path) as awaited:
        watches = {
            "sync": plain.scope(agent="a").watch(timeout=PATIENCE_S),
            "async": awaited.scope(agent="a").watch(timeout=PATIENCE_S),
        }
        threads = [threading.Thread(target=collect, args=(watches[face], seen[face])) for face in seen]
        for thread in threads:
            thread.start()
        subprocess.run([sys.executable, "-c", WRITER, str(path), str(EVENTS)], check=True, timeout=PATIENCE_S)
        for thread in threads:
            thread.join(PATIENCE_S)
    for events in seen.values():
        assert [event.value for event in events] == list(range(EVENTS))
        assert {event.by for event in events} == {"another process"}
    assert seen["sync"] == seen["async"]


@promise("watch:resume", "watch:process")
def test_a_watch_resumes_where_another_one_in_another_store_ended(path):
    with memwell.open(path) as store:
        mem = store.scope(agent="a")
        for number in range(5):
            mem.set("k", number)
        watch = mem.watch(since=0, timeout=0.0)
        seen = [next(watch) for _ in range(3)]
    with opened("async", path) as store:
        store.scope(agent="a").set("k", 5)
        rest = list(store.scope(agent="a").watch(since=seen[-1].rev, timeout=0.0))
    assert [event.value for event in seen + rest] == list(range(6))


@promise("watch:timeout")
def test_a_watch_ends_when_nothing_comes(mem):
    mem.set("before", 1)
    assert list(mem.watch(timeout=0.0)) == []
    assert list(mem.watch(timeout=0.02)) == []
    watch = mem.watch(since=0, timeout=0.0)
    assert [event.key for event in watch] == ["before"]
    mem.set("after", 1)
    assert [event.key for event in watch] == ["after"]


@promise("watch:order")
def test_a_watcher_sees_every_event_of_many_writers_once_and_in_order(mem):
    writers, each = 4, 25
    watch = mem.watch(timeout=PATIENCE_S)
    threads = [
        threading.Thread(target=lambda name=name: [mem.set(f"{name}", number) for number in range(each)])
        for name in range(writers)
    ]
    for thread in threads:
        thread.start()
    seen = [next(watch) for _ in range(writers * each)]
    for thread in threads:
        thread.join(PATIENCE_S)
    assert [event.rev for event in seen] == sorted({event.rev for event in seen})
    for name in range(writers):
        assert [event.value for event in seen if event.key == str(name)] == list(range(each))


@promise("watch:forget")
def test_a_watch_that_nobody_holds_is_forgotten(path):
    with memwell.open(path) as store:
        mem, watchers = store.scope(agent="a"), store._door.engine.watchers
        watch = mem.watch()
        assert watchers.bells
        del watch
        gc.collect()
        mem.set("k", 1)
        assert not watchers.bells


@promise("watch:async")
async def test_waiting_can_be_cancelled_and_taken_up_again(path):
    async with memwell.open_async(path) as store:
        mem = store.scope(agent="a")
        watch = mem.watch()
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        await mem.set("k", 1)
        assert (await asyncio.wait_for(anext(watch), PATIENCE_S)).value == 1
