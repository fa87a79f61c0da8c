"""What a store under test can do, and the peers: each opened the way its careful user would."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench import data

SCOPE = "agent:bench"
CACHE = "PRAGMA cache_size = -16000"  # what Memwell asks for; the default of sqlite3 is an eighth of it
Work = Callable[[], object]


class Peer:
    """A store under test. `durable` asks for writes that survive a power cut."""

    name: ClassVar[str]
    module: ClassVar[str | None] = None  # what must be installed for it
    on_disk: ClassVar[bool] = True
    get: Callable[..., Any]
    set: Callable[..., Any]
    list: Callable[..., Any] | None = None

    def __init__(self, folder: Path, durable: bool) -> None:
        self.path, self.durable = str(folder / "store.db"), durable
        self.open()

    def open(self) -> None:
        raise NotImplementedError

    def load(self, keys: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def address(self, index: int) -> tuple[Any, ...]:
        """How this store names a key."""
        return (data.flat(index),)

    def group(self, index: int) -> tuple[Any, ...]:
        """How this store names the group of 100 keys that a key is in."""
        return (f"{data.place(index)[0]}/",)

    def value(self, index: int) -> Any:
        """The value under a key."""
        return self.get(*self.address(index))

    def verify(self, keys: int) -> None:
        """A store that finds nothing would be fast: make sure that it finds what was loaded."""
        for index in (0, keys // 2, keys - 1):
            assert self.value(index) == data.value(index), f"{self.name} lost key {index}"
        if self.list is not None:
            assert len(self.list(*self.group(0))) == min(keys, data.GROUP), f"{self.name} does not list its keys"

    def prepare(self, action: str, picks: Sequence[int]) -> Work:
        """The turn to be timed: a plain loop over arguments that were made beforehand, the same for every store."""
        if action == "set":
            arguments = [(*self.address(index), data.value(index + turn)) for turn, index in enumerate(picks)]
        else:
            arguments = [(self.group if action == "list" else self.address)(index) for index in picks]
        return _calls(getattr(self, action), arguments)


def _calls(call: Callable[..., object], arguments: Iterable[tuple[Any, ...]]) -> Work:
    def work() -> None:
        for each in arguments:
            call(*each)

    return work


class Sqlite3(Peer):
    """What one writes by hand with the standard library: one table, one prepared statement an operation, no history."""

    name = "sqlite3"
    _TABLE = """CREATE TABLE IF NOT EXISTS facts(
        scope TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL,
        PRIMARY KEY(scope, key)) WITHOUT ROWID"""
    _GET = "SELECT value, version FROM facts WHERE scope = ? AND key = ?"
    _SET = """INSERT INTO facts VALUES(?, ?, ?, 1)
        ON CONFLICT(scope, key) DO UPDATE SET value = excluded.value, version = version + 1"""
    _LIST = "SELECT key FROM facts WHERE scope = ? AND key >= ? AND key < ? ORDER BY key"

    def open(self) -> None:
        self._connection = connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'NORMAL'}")
        connection.execute(CACHE)
        connection.execute(self._TABLE)
        execute, dumps, loads = connection.cursor().execute, json.dumps, json.loads

        def get(key: str) -> Any:
            row = execute(self._GET, (SCOPE, key)).fetchone()
            return None if row is None else (loads(row[0]), row[1])

        def put(key: str, value: Any) -> None:
            execute(self._SET, (SCOPE, key, dumps(value)))

        def keys(prefix: str) -> Any:
            return [key for (key,) in execute(self._LIST, (SCOPE, prefix, prefix[:-1] + "0"))]  # "0" follows "/"

        self.get, self.set, self.list = get, put, keys

    def value(self, index: int) -> Any:
        return self.get(*self.address(index))[0]

    def load(self, keys: int) -> None:
        self._connection.execute("BEGIN")
        for index in range(keys):
            self.set(data.flat(index), data.value(index))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


class Diskcache(Peer):
    """diskcache.Cache with eviction off; it has no groups to list."""

    name = "diskcache"
    module = "diskcache"

    def open(self) -> None:
        from diskcache import Cache

        self._cache = Cache(
            self.path, eviction_policy="none", cull_limit=0, size_limit=2**40, sqlite_synchronous=1 + self.durable
        )
        self.get, self.set = self._cache.get, self._cache.set

    def load(self, keys: int) -> None:
        with self._cache.transact():
            for index in range(keys):
                self.set(data.flat(index), data.value(index))

    def close(self) -> None:
        self._cache.close()


class LangGraph(Peer):
    """LangGraph's SqliteStore: as its `from_conn_string` opens it where durable, else on WAL/NORMAL."""

    name = "langgraph sqlite"
    module = "langgraph.store.sqlite"

    def open(self) -> None:
        from langgraph.store.sqlite import SqliteStore

        self._opening = SqliteStore.from_conn_string(self.path)
        self._use(self._opening.__enter__())
        self._store.setup()
        if not self.durable:
            for pragma in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"):
                self._store.conn.execute(pragma)

    def _use(self, store: Any) -> None:
        self._store = store
        self.get, self.set = store.get, store.put
        self.list = lambda namespace: store.search(namespace, limit=data.GROUP)

    def value(self, index: int) -> Any:
        return self.get(*self.address(index)).value

    def load(self, keys: int) -> None:
        from langgraph.store.base import PutOp

        for portion in data.portions(keys, 1000):
            places = [(self.address(index), data.value(index)) for index in portion]
            self._store.batch([PutOp(namespace, name, value) for (namespace, name), value in places])

    def address(self, index: int) -> tuple[Any, ...]:
        """A group is a namespace, because a namespace is all that it can search by: the best case for it."""
        group, name = data.place(index)
        return ("bench", group), name

    def group(self, index: int) -> tuple[Any, ...]:
        return (("bench", data.place(index)[0]),)

    def close(self) -> None:
        self._opening.__exit__(None, None, None)


class LangGraphRam(LangGraph):
    """LangGraph's InMemoryStore: dicts, gone with the process."""

    name = "langgraph ram"
    module = "langgraph.store.memory"
    on_disk = False

    def open(self) -> None:
        from langgraph.store.memory import InMemoryStore

        self._use(InMemoryStore())

    def close(self) -> None:
        pass
