"""Each store lives in a process of its own: its garbage, caches and background threads are charged to nobody else."""

from __future__ import annotations

import gc
import multiprocessing
import shutil
import traceback
from contextlib import closing
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

from bench import data
from bench.measure import Cost, Meter
from bench.ours import Memwell
from bench.peers import Diskcache, LangGraph, LangGraphRam, Peer, Sqlite3

PEERS: dict[str, type[Peer]] = {peer.name: peer for peer in (Memwell, Sqlite3, Diskcache, LangGraph, LangGraphRam)}
_SPAWN = multiprocessing.get_context("spawn")
_PATIENCE_S = 60


def installed(name: str) -> bool:
    """Whether the package behind a peer is there."""
    module = PEERS[name].module
    try:
        return module is None or find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Worker:
    """The caller's end of a store's process; it works only when told to, so turns never overlap."""

    def __init__(self, name: str, folder: Path, keys: int, durable: bool) -> None:
        self.name, self.keys, self._folder = name, keys, folder
        folder.mkdir(parents=True)
        self._pipe, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, name, folder, keys, durable), daemon=True)
        self._process.start()
        theirs.close()

    def ready(self) -> None:
        """Wait until the keys are loaded."""
        self._answer()

    def turn(self, action: str, seed: str, count: int) -> Cost:
        """What `count` calls cost on random keys; the same seed picks the same keys."""
        self._pipe.send((action, seed, count))
        return self._answer()

    def _answer(self) -> Cost:
        answer: Cost | BaseException = self._pipe.recv()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(_PATIENCE_S)
        if self._process.is_alive():
            self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def _serve(pipe: Connection, name: str, folder: Path, keys: int, durable: bool) -> None:
    try:
        with closing(_loaded(PEERS[name], folder, keys, durable)) as peer:
            _take_turns(pipe, peer, keys)
    except EOFError:
        pass  # the caller has closed its end: no more turns
    except Exception:  # noqa: BLE001 - raised again by whoever asked
        pipe.send(RuntimeError(f"{name} failed:\n{traceback.format_exc()}"))


def _take_turns(pipe: Connection, peer: Peer, keys: int) -> None:
    gc.collect()
    gc.freeze()
    meter = Meter()
    pipe.send(Cost(0, 0))
    while True:
        action, seed, count = pipe.recv()
        pipe.send(meter.run(peer.prepare(action, data.picks(seed, keys, count))))


def _loaded(kind: type[Peer], folder: Path, keys: int, durable: bool) -> Peer:
    """Loaded, then closed and opened anew, so that every file starts without a log to read through."""
    peer = kind(folder, durable)
    peer.load(keys)
    if kind.on_disk:
        peer.close()
        peer = kind(folder, durable)
    peer.verify(keys)
    return peer
