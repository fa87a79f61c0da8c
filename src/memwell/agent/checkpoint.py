"""The file that a kernel's checkpoint is: one JSON object whose body stands beside its own SHA-256."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TypeVar

import msgspec

from memwell import clock, ops
from memwell.agent.process import Process
from memwell.codec import to_json
from memwell.engine import Engine, keep
from memwell.engine.context import Context
from memwell.engine.guard import Caller
from memwell.errors import Corrupt, Invalid, NotFound, Unavailable
from memwell.memory import Store
from memwell.scope import GLOBAL, Scope
from memwell.types import Line

T = TypeVar("T")
FORMAT = 1
_MAGIC = b'{"memwell_kernel":'


class Saved(msgspec.Struct, frozen=True):
    """A process as it was when the checkpoint was made; one that was `running` can be spawned again by its id."""

    id: str
    persistent: bool
    status: str


class Body(msgspec.Struct, frozen=True):
    """The process table, and the facts of each scope; a scope without facts is there too."""

    processes: list[Saved]
    scopes: dict[str, list[Line]]


class _File(msgspec.Struct, frozen=True):
    memwell_kernel: int
    sha256: str
    body: msgspec.Raw


def collect(store: Store, processes: Callable[[], list[Process]]) -> Body:
    """What the processes remember, each scope as of one moment, and then which processes there are."""
    names = {GLOBAL, *map(scope_of, processes()), *filter(is_kernels, store.scopes())}
    scopes = {name: _facts(store, name) for name in sorted(names)}
    table = processes()
    for process in table:
        if process.status != "running" and not process.persistent:
            scopes[scope_of(process)] = []  # it ended meanwhile, and its memory with it
    return Body([Saved(process.id, process.persistent, process.status) for process in table], scopes)


def _facts(store: Store, scope: str) -> list[Line]:
    return [line for line in store.apply(ops.Dump(scope, limit=sys.maxsize)) if line.shape == "fact"]


def put_back(engine: Engine, caller: Caller, body: Body) -> None:
    """Each scope's facts as the checkpoint has them, and no others. Killed in between, doing it again ends the same."""
    most = engine.settings.max_batch
    loads = {
        scope: [ops.Load(part, replace=True) for part in _parts(lines, most)] for scope, lines in body.scopes.items()
    }
    for op in chain.from_iterable(loads.values()):
        # Preparing a load refuses what this store can't hold, before anything is written.
        keep.load(op, Context(caller, engine.settings, engine.backend))
    for scope, lines in body.scopes.items():
        for op in loads[scope]:
            engine.apply(caller, op)
        # After the load, so that what expired meanwhile counts as gone on both sides, and nothing is lost between.
        now = clock.now()
        kept = {line.key for line in lines if line.expires is None or line.expires > now}
        others = [key for key in engine.apply(caller, ops.List(scope)) if key not in kept]
        for part in _parts(others, most):
            engine.apply(caller, ops.Batch(scope, [ops.Delete(scope, key) for key in part]))


def _parts(items: list[T], most: int) -> Iterator[list[T]]:
    """The items, as many at a time as one transaction takes."""
    return (items[start : start + most] for start in range(0, len(items), most))


def save(path: str | Path, body: Body) -> None:
    """Write the file; killed at any point, it leaves the old file or the new one."""
    target = Path(path).expanduser().absolute()
    data = to_json(body)
    whole = to_json(_File(FORMAT, hashlib.sha256(data).hexdigest(), msgspec.Raw(data)))
    try:
        _replace(target, whole)
    except OSError as error:
        raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(data)
            part.flush()
            os.fsync(part.fileno())
        Path(name).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name survives a power cut too
    finally:
        os.close(folder)


def read(path: str | Path) -> Body:
    """What a checkpoint holds, if every byte of it is as it was written."""
    try:
        data = Path(path).expanduser().read_bytes()
    except FileNotFoundError:
        raise NotFound(f"there is no checkpoint {path}", hint="check the path") from None
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error.strerror}", hint="check the path") from None
    if not data.startswith(_MAGIC):
        raise Invalid(f"{path} is not a checkpoint of a kernel", hint="make one with kernel.checkpoint()")
    try:
        return _verified(msgspec.json.decode(data, type=_File), path)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the checkpoint {path} is damaged: {error}", hint="use an older one") from None


def _verified(file: _File, path: str | Path) -> Body:
    if file.memwell_kernel != FORMAT:
        raise Invalid(f"{path} has format {file.memwell_kernel}, this version reads {FORMAT}", hint="upgrade Memwell")
    if hashlib.sha256(bytes(file.body)).hexdigest() != file.sha256:
        raise Corrupt(f"the checkpoint {path} does not match its checksum", hint="use an older one")
    body = msgspec.json.decode(file.body, type=Body)
    for scope, lines in body.scopes.items():
        if not is_kernels(scope) or any(line.scope != scope for line in lines):
            raise Invalid(f"{path} holds facts that are no process's", hint="make one with kernel.checkpoint()")
    return body


def scope_of(process: Process) -> str:
    """The scope that a process's memory is."""
    return Scope(process=process.id).text


def is_kernels(scope: str) -> bool:
    """Whether a scope is a process's own, or the one that all share."""
    return scope == GLOBAL or (scope.startswith("process:") and "/" not in scope)
