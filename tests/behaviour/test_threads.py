"""Many at once: threads, tasks, and a process that forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import memwell
from memwell import Conflict
from memwell.testing import promise

THREADS, EACH = 8, 200
PATIENCE_S = 120.0
FORKER = """
import os, sys, memwell

def count(mem, times):
    for _ in range(times):
        while True:
            entry = mem.entry("counter")
            try:
                mem.set("counter", entry.value + 1 if entry else 1, if_version=entry.version if entry else 0)
                break
            except memwell.Conflict:
                continue

with memwell.open(sys.argv[1]) as store:
    mem = store.scope(agent="a")
    mem.set("parent", "before", ttl=60)
    child = os.fork()
    count(mem, 100)
    if child == 0:
        mem.set("child", mem.get("parent"))
        store.close()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    count(mem, 10)
    mem.set("parent", mem.get("child") + " and after")
"""


@promise("fact:threads", "fact:cas")
def test_eight_threads_count_right(mem):
    def count(_):
        for _ in range(EACH):
            while True:
                entry = mem.entry("counter")
                try:
                    if entry is None:
                        mem.set("counter", 1, if_version=0)
                    else:
                        mem.set("counter", entry.value + 1, if_version=entry.version)
                    break
                except Conflict:
                    continue

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(count, range(THREADS)))
    entry = mem.entry("counter")
    assert (entry.value, entry.version) == (THREADS * EACH, THREADS * EACH)
    assert [event.value for event in mem.history("counter")] == list(range(THREADS * EACH, 0, -1))


@promise("fact:threads", "fact:cas")
async def test_tasks_of_one_loop_count_right(path):
    async with memwell.open_async(path) as store:
        mem = store.scope(agent="a")

        async def count():
            for _ in range(20):
                while True:
                    entry = await mem.entry("counter")
                    version = entry.version if entry else 0
                    try:
                        await mem.set("counter", (entry.value if entry else 0) + 1, if_version=version)
                        break
                    except Conflict:
                        continue

        await asyncio.gather(*(count() for _ in range(10)))
        assert await mem.get("counter") == 200


@promise("store:fork")
def test_a_fork_loses_nothing_on_either_side(path):
    done = subprocess.run(
        [sys.executable, "-c", FORKER, str(path)], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    with memwell.open(path) as store:
        mem = store.scope(agent="a")
        assert mem.get("counter") == 210
        assert mem.get("parent") == "before and after"
        assert store.check().damage == []
