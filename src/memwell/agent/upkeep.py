"""One run over threads, on either face: which ones, what is shown in them, and covering; a dry run only pretends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from memwell import clock, ops
from memwell.agent.colours import given, is_awaited
from memwell.agent.compaction import Piece, Range, laid_out
from memwell.agent.tokens import Tokens
from memwell.aio import AsyncMemory, AsyncStore
from memwell.errors import Invalid, NotFound
from memwell.memory import Memory, Store
from memwell.threads import Thread
from memwell.threads_async import AsyncThread
from memwell.types import Overlay

_PAGE = 100
_HANDLES = (Memory, Store, Thread, AsyncMemory, AsyncStore, AsyncThread)


class Covered(Struct, frozen=True):
    """A range of a thread that was covered: how many originals are below, and what stands in their place."""

    first: int
    last: int
    messages: int
    content: str


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of a thread: the tokens that it showed before and after, and why something was left undone."""

    scope: str
    thread: str
    before: int
    after: int
    covered: list[Covered] = []
    skipped: str | None = None


class Report(Struct, frozen=True, kw_only=True):
    """What a processor did, or with `dry_run` would do. `parts` are the reports of a pipeline's processors.

    `swept` is how many expired entries were freed; a dry run can't know.
    """

    processor: str
    dry_run: bool = False
    threads: list[Outcome] = []
    swept: int | None = None
    parts: list[Any] = []


class Round:
    """A run of processors over a thread, a scope or a whole store."""

    def __init__(self, memory: Any, target: Any = None, *, dry_run: bool = False) -> None:
        self.awaited = is_awaited(memory)
        self.memory, self.dry_run = memory, dry_run
        self.target = memory if target is None else self._checked(target)
        self._assumed: dict[tuple[str, str], list[Overlay]] = {}

    @property
    def alone(self) -> bool:
        """Whether it is about one thread only."""
        return isinstance(self.target, (str, Thread, AsyncThread))

    def _checked(self, target: Any) -> Any:
        if isinstance(target, str):
            if not isinstance(self.memory, (Memory, AsyncMemory)):
                raise Invalid("a thread is found in its scope", hint="give store.scope(...) with the id of a thread")
            return target
        if not isinstance(target, _HANDLES):
            hint = "give the id of a thread, a scope or a store"
            raise Invalid(f"the target is {type(target).__name__}", hint=hint)
        if isinstance(target, (AsyncMemory, AsyncStore, AsyncThread)) != self.awaited:
            raise Invalid("the memory and the target are of two faces", hint="take both from the same store")
        return target

    async def threads(self) -> AsyncIterator[Any]:
        """The handles of all threads in question; one that goes meanwhile is left out."""
        if isinstance(self.target, str):
            thread = await given(self.memory.threads.get(self.target))
            if thread is None:
                hint = "mem.threads.list() shows what there is"
                raise NotFound(f"{self.memory.name} has no thread {self.target!r}", hint=hint)
            yield thread
        elif self.alone:
            yield self.target
        else:
            async for memory in self._memories():
                async for thread in self._threads_of(memory):
                    yield thread

    async def _memories(self) -> AsyncIterator[Any]:
        if isinstance(self.target, (Memory, AsyncMemory)):
            yield self.target
            return
        for name in await given(self.target.scopes()):
            yield self.target.scope(name)

    async def _threads_of(self, memory: Any) -> AsyncIterator[Any]:
        cursor = None
        while page := await given(memory.threads.list(limit=_PAGE, cursor=cursor)):
            for info in page:
                thread = await given(memory.threads.get(info.id))
                if thread is not None:
                    yield thread
            cursor = page[-1].id

    async def pieces(self, thread: Any, tokens: Tokens) -> list[Piece]:
        """A thread as it is shown, and as it would be after what a dry run has covered."""
        overlays = await given(thread.overlays())
        originals = await given(thread.messages(limit=None, raw=True))
        return laid_out(originals, [*overlays, *self._assumed.get(_name(thread), [])], tokens)

    async def cover(self, thread: Any, each: Range, content: str, kind: str) -> Covered:
        """Lay a text over a range, if that is still what was read."""
        metadata = {"kind": kind, "messages": len(each.below)}
        if self.dry_run:
            self._assume(thread, each, content, metadata)
        else:
            await given(thread.cover(each.first, each.last, content, each.digest, metadata=metadata))
        return Covered(each.first, each.last, len(each.below), content)

    def _assume(self, thread: Any, each: Range, content: str, metadata: dict[str, Any]) -> None:
        made = Overlay(
            thread=thread.id,
            first=each.first,
            last=each.last,
            content=content,
            digest=each.digest,
            metadata=metadata,
            created_at=clock.moment(clock.now()),
            by="",
        )
        self._assumed.setdefault(_name(thread), []).append(made)

    async def sweep(self) -> int | None:
        """Free what has expired; how many entries, or None if nothing is to be changed."""
        return None if self.dry_run else await given(self.memory._apply(ops.Sweep()))  # noqa: SLF001 - one store


def _name(thread: Any) -> tuple[str, str]:
    return thread.info.scope, thread.id
