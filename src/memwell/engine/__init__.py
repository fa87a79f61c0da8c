"""The engine: one function applies every op. Access, limits, the audit event and metrics live here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

from msgspec.structs import replace

from memwell import ops
from memwell.config import Settings
from memwell.embed import Embedder
from memwell.engine import (
    facts,
    forgetting,
    keep,
    messages,
    overheard,
    overlays,
    packing,
    records,
    search,
    threads,
    watch,
)
from memwell.engine.body import SHAPE as RECORD
from memwell.engine.body import to_doc, unseal
from memwell.engine.context import Context
from memwell.engine.guard import Caller, Guard, owners_only
from memwell.engine.keeper import Keeper
from memwell.engine.meaning import Meaning
from memwell.engine.rules import bounded
from memwell.errors import Invalid, Unavailable, Unsupported
from memwell.ops import Op
from memwell.scope import canonical
from memwell.store import Backend, Cell, Done, Progress, Write, WriteJob
from memwell.store.index import Doc

R = TypeVar("R")
Observe = Callable[[Op[Any], float, BaseException | None], None]


def batch(op: ops.Batch, context: Context) -> WriteJob[list[Any]]:
    """Each op prepared as if alone, run in the order given; any error undoes all."""
    jobs = []
    for inner in bounded(op.ops, "ops", context.settings):
        if not isinstance(inner, Op) or inner.whole or isinstance(inner, ops.Batch):
            raise Invalid(f"{type(inner).__name__} can't be part of a batch")
        scope = getattr(inner, "scope", None)
        if scope is None or canonical(scope) != op.scope:
            raise Invalid("a batch writes to one scope", hint=f"this one is for {op.scope}")
        jobs.append(HANDLERS[type(inner)](inner, context))

    def job(view: Write) -> list[Any]:
        return [each(view) for each in jobs]

    return job


HANDLERS: dict[type[Op[Any]], Callable[[Any, Context], Any]] = {
    ops.Get: facts.get,
    ops.GetEntry: facts.entry,
    ops.GetMany: facts.get_many,
    ops.Set: facts.SetJob,
    ops.SetMany: facts.set_many,
    ops.Delete: facts.delete,
    ops.List: facts.keys,
    ops.Entries: facts.entries,
    ops.Clear: facts.clear,
    ops.History: facts.history,
    ops.Revert: facts.revert,
    ops.Batch: batch,
    ops.Remember: records.remember,
    ops.RememberMany: records.remember_many,
    ops.ReadRecord: records.read,
    ops.RecordHistory: records.history,
    ops.Update: records.update,
    ops.Supersede: records.supersede,
    ops.DeleteRecord: records.delete,
    ops.Restore: records.restore,
    ops.HardDelete: records.hard_delete,
    ops.Review: records.review,
    ops.Pending: records.pending,
    ops.ListRecords: search.listing,
    ops.Search: search.search,
    ops.Pack: packing.pack,
    ops.ExportRecords: search.export,
    ops.Forget: forgetting.forget,
    ops.CreateThread: threads.create,
    ops.ListThreads: threads.listing,
    ops.GetThread: threads.get,
    ops.UpdateThread: threads.update,
    ops.ForkThread: threads.fork,
    ops.DeleteThread: threads.delete,
    ops.Append: messages.append,
    ops.ReadMessages: messages.read,
    ops.CountMessages: messages.count,
    ops.EditMessage: messages.edit,
    ops.DeleteMessages: messages.delete,
    ops.SearchMessages: overheard.search,
    ops.Cover: overlays.cover,
    ops.Uncover: overlays.uncover,
    ops.Overlays: overlays.listing,
    ops.Changes: watch.changes,
    ops.DeleteScope: keep.delete_scope,
    ops.Scopes: keep.scopes,
    ops.GetStats: keep.stats,
    ops.Dump: keep.dump,
    ops.Load: keep.load,
    ops.Sweep: keep.sweep,
    ops.Embed: keep.embed,
    ops.Reindex: keep.reindex,
    ops.Check: keep.check,
    ops.Backup: keep.backup,
    ops.Describe: keep.describe,
}

_MAY_EXPIRE = (ops.Batch, ops.Load, ops.Remember, ops.RememberMany, ops.Supersede, ops.Update)


def _derived(scope: str, shape: str, cell: Cell) -> Doc | None:
    """What search keeps of a cell, for a backend that reads its cells from a log."""
    if shape == RECORD:
        return to_doc(scope, cell, unseal(scope, cell))
    return overheard.to_doc(scope, cell) if shape == threads.MESSAGE else None


class Engine:
    """Applies ops to one backend, for any caller, in three phases: prepare, apply, publish."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings,
        guard: Guard = owners_only,
        observe: Observe | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.backend, self.settings = backend, settings
        self.traits = backend.traits
        self.closed = False
        if (derive_by := getattr(backend, "derive_by", None)) is not None:
            derive_by(_derived)  # a log keeps records, and leaves what search needs of them to be worked out
        self.watchers = watch.Watchers()
        self._guard, self._observe = guard, observe
        self.meaning = None if embedder is None else Meaning(backend, settings, embedder)
        self._keeper = Keeper(backend, settings, self._sweep)
        if settings.history_seconds is not None or backend.next_expiry() is not None:
            self._keeper.start()
        if self.meaning is not None:
            self.meaning.start()

    def apply(self, caller: Caller, op: Op[R], wait: float | None = None, progress: Progress | None = None) -> R:
        """Do what the op asks, or raise; a `wait` of 0 raises Busy rather than wait for another writer."""
        start = 0.0 if self._observe is None else perf_counter()
        try:
            op = self._admit(caller, op)
            job = self._handler(op)(op, self._context(caller, progress))
            patience = self.settings.busy_timeout if wait is None else wait
            if op.whole:
                result = job
            elif op.action == "read":
                result = self.backend.read(job, patience, not op.single)
            else:
                result = self.backend.write(job, patience, op.single)
                self._publish(op)
        except BaseException as error:
            if self._observe is not None:
                self._observe(op, perf_counter() - start, error)
            raise
        if self._observe is not None:
            self._observe(op, perf_counter() - start, None)
        return result  # type: ignore[no-any-return]

    def submit(self, caller: Caller, op: Op[Any], done: Done) -> None:
        """Prepare a write now, let the backend's writer run it, and call `done` from there."""
        start = perf_counter()
        op = self._admit(caller, op)
        job = self._handler(op)(op, self._context(caller))

        def finished(result: Any, error: BaseException | None) -> None:
            if error is None:
                self._publish(op)
            if self._observe is not None:
                self._observe(op, perf_counter() - start, error)
            done(result, error)

        self.backend.submit(job, self.settings.busy_timeout, op.single, finished)

    def _admit(self, caller: Caller, op: Op[R]) -> Op[R]:
        """Guard first; then the scope in its one spelling."""
        self._guard(caller, op)
        if self.closed:
            raise Unavailable("the store is closed", hint="open it again")
        scope = getattr(op, "scope", None)
        if scope is not None:
            spelling = canonical(scope)
            if spelling != scope:
                op = replace(op, scope=spelling)
        if isinstance(op, ops.Batch):
            for inner in op.ops:
                if isinstance(inner, Op):
                    self._guard(caller, inner)
        return op

    def _context(self, caller: Caller, progress: Progress | None = None) -> Context:
        return Context(caller, self.settings, self.backend, progress, self.meaning, self.traits.facts_only)

    def _handler(self, op: Op[Any]) -> Callable[[Any, Context], Any]:
        try:
            return HANDLERS[type(op)]
        except KeyError:
            raise Unsupported(f"{type(op).__name__} is not an op that the engine knows") from None

    def _publish(self, op: Op[Any]) -> None:
        if getattr(op, "ttl", None) is not None or isinstance(op, _MAY_EXPIRE):
            self._keeper.start()
        if self.meaning is not None and (op.domain == "record" or isinstance(op, (ops.Batch, ops.Load))):
            self.meaning.start()
        if self.watchers.bells:
            self.watchers.publish(getattr(op, "scope", None))

    def _sweep(self) -> int:
        return self.apply(Caller("memwell", owner=True), ops.Sweep())

    def close(self) -> None:
        """Stop upkeep, finish what was accepted, close the backend."""
        self.closed = True
        self._keeper.stop()
        if self.meaning is not None:
            self.meaning.stop()
        self.backend.close()
