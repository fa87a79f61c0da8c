"""Memwell as a store under test: called, awaited, and shared by threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import memwell
from bench import data
from bench.peers import SCOPE, Peer, Work


class Memwell(Peer):
    """This package; also awaited, and from many threads."""

    name = "memwell"

    def open(self) -> None:
        self._options: Any = {"by": "bench", "durability": "full" if self.durable else "fast"}
        self._store = memwell.open(self.path, **self._options)
        memory = self._store.scope(SCOPE)
        self.get, self.set, self.list, self.set_many = memory.get, memory.set, memory.list, memory.set_many
        self._loop = asyncio.new_event_loop()
        self._pool: ThreadPoolExecutor | None = None
        self._awaited: memwell.AsyncStore | None = None

    def load(self, keys: int) -> None:
        for portion in data.portions(keys, 10_000):
            self.set_many({data.flat(index): data.value(index) for index in portion})

    def prepare(self, action: str, picks: Sequence[int]) -> Work:
        if action == "await":
            return self._awaits([self.address(index) for index in picks])
        if action.startswith("threads:"):
            return self._shares(int(action.partition(":")[2]), picks)
        return super().prepare(action, picks)

    def _awaits(self, arguments: list[tuple[Any, ...]]) -> Work:
        if self._awaited is None:
            self._awaited = self._loop.run_until_complete(self._open_awaited())
        get = self._awaited.scope(SCOPE).get

        async def work() -> None:
            for each in arguments:
                await get(*each)

        return lambda: self._loop.run_until_complete(work())

    async def _open_awaited(self) -> memwell.AsyncStore:
        return await memwell.open_async(self.path, **self._options)

    def _shares(self, threads: int, picks: Sequence[int]) -> Work:
        """The picks dealt out to threads that live as long as the store, so that each keeps its connection."""
        pool = self._pool = self._pool or ThreadPoolExecutor(threads)
        start = threading.Barrier(threads)

        def share(work: Work) -> None:
            start.wait()  # nobody begins until all have a thread
            work()

        works = [super(Memwell, self).prepare("set", picks[turn::threads]) for turn in range(threads)]
        return lambda: list(pool.map(share, works))

    def close(self) -> None:
        if self._awaited is not None:
            self._loop.run_until_complete(self._awaited.close())
        self._loop.close()
        if self._pool is not None:
            self._pool.shutdown()
        self._store.close()
