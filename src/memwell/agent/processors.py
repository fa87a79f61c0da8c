"""Processors keep threads small: each has `process`, runs on a thread, a scope or a store, and can be composed.

>>> import memwell
>>> with memwell.open(":memory:") as store:
...     mem = store.scope(agent="support")
...     thread = mem.threads.create()
...     for number in range(9):
...         _ = thread.append("user", f"question number {number} is a long one " * 9)
...     report = TokenLimiter(200).process(mem, thread.id)
...     (report.threads[0].after, thread.messages()[0].content, thread.count())
(154, '7 earlier messages are left out here.', 9)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable
from typing import Any, overload

from memwell.agent.colours import at_once, given
from memwell.agent.compaction import LIMIT, left_out, limited, shown
from memwell.agent.tokens import Count, Tokens
from memwell.agent.upkeep import Covered, Outcome, Report, Round
from memwell.aio import AsyncMemory, AsyncStore
from memwell.engine.packing import estimate
from memwell.engine.rules import check_number
from memwell.errors import Conflict, Invalid, MemwellError, NotFound, Unavailable
from memwell.memory import Memory, Store
from memwell.threads import Thread
from memwell.threads_async import AsyncThread

ATTEMPTS = 2  # a range that changes while it is worked on is looked at once more
STALE = (Conflict, NotFound, Invalid)  # what covering says when a thread is not what it was when it was read


class Processor(ABC):
    """What the processors here have in common: `work` is written once, and `process` runs it on either face."""

    @overload
    def process(
        self, memory: Memory | Store, target: str | Thread | Memory | Store | None = None, *, dry_run: bool = False
    ) -> Report: ...
    @overload
    def process(
        self,
        memory: AsyncMemory | AsyncStore,
        target: str | AsyncThread | AsyncMemory | AsyncStore | None = None,
        *,
        dry_run: bool = False,
    ) -> Coroutine[Any, Any, Report]: ...
    def process(self, memory: Any, target: Any = None, *, dry_run: bool = False) -> Any:
        """Work on a thread by its id, on a scope, or on a store; without a target, on all that `memory` holds.

        On the awaited face it is awaited. With `dry_run` nothing is changed and the report says what would be.
        """
        run = Round(memory, target, dry_run=dry_run)
        work = self.work(run)
        return work if run.awaited else at_once(work)

    @abstractmethod
    async def work(self, run: Round) -> Report:
        """Do it."""

    def report(self, run: Round, **more: Any) -> Report:
        """A report under this processor's name."""
        return Report(processor=type(self).__name__, dry_run=run.dry_run, **more)


class TtlCollector(Processor):
    """Frees what has expired, rather than soon. Nobody sees it any more in any case."""

    async def work(self, run: Round) -> Report:
        """Sweep; expired entries of one scope are not freed apart from others."""
        return self.report(run, swept=await run.sweep())


class ThreadProcessor(Processor):
    """A processor that does the same with each thread; what fails in one of many is reported, and the others go on."""

    def __init__(self, max_tokens: int, count: Count = estimate) -> None:
        check_number(max_tokens, "max_tokens", 1)
        if max_tokens is None:
            raise Invalid("max_tokens is missing", hint="give the number of tokens that a thread may show")
        self.max_tokens, self.tokens = max_tokens, Tokens(count)

    async def work(self, run: Round) -> Report:
        """Each thread in turn."""
        return self.report(run, threads=[await self._outcome(run, thread) async for thread in run.threads()])

    async def _outcome(self, run: Round, thread: Any) -> Outcome:
        try:
            return await self.tended(run, thread)
        except Unavailable:
            raise
        except MemwellError as error:
            if run.alone:
                raise
            return Outcome(scope=thread.info.scope, thread=thread.id, before=0, after=0, skipped=str(error))

    @abstractmethod
    async def tended(self, run: Round, thread: Any) -> Outcome:
        """See to one thread."""

    def outcome(self, thread: Any, before: int, after: int, covered: list[Covered], skipped: str | None) -> Outcome:
        """What became of a thread, and whether it is still too long."""
        if skipped is None and after > self.max_tokens:
            skipped = f"still over {self.max_tokens} tokens: the rest is kept"
        scope = thread.info.scope
        return Outcome(scope=scope, thread=thread.id, before=before, after=after, covered=covered, skipped=skipped)


class TokenLimiter(ThreadProcessor):
    """Leaves out the oldest messages of a thread that shows more than `max_tokens`; they stay below, unchanged.

    The system's messages at the beginning and the last user turn stay, and summaries for as long as possible.
    """

    async def tended(self, run: Round, thread: Any) -> Outcome:
        """Cover what has to be left out."""
        covered: list[Covered] = []
        refusal: MemwellError | None = None
        for _ in range(ATTEMPTS):
            pieces = await run.pieces(thread, self.tokens)
            ranges = limited(pieces, self.max_tokens, self.tokens)
            refusal = None
            try:
                for each in ranges:
                    covered.append(await run.cover(thread, each, left_out(len(each.below)), LIMIT))  # noqa: PERF401
            except STALE as error:
                refusal = error
                continue
            break
        after = shown(await run.pieces(thread, self.tokens))
        return self.outcome(thread, shown(pieces), after, covered, changed(refusal))


def changed(refusal: MemwellError | None) -> str | None:
    """Why a range was left as it is, twice."""
    return None if refusal is None else f"the thread changed meanwhile, {ATTEMPTS} times: {refusal}"


class Pipeline(Processor):
    """Processors one after the other, on the same target; any object with `process` fits."""

    def __init__(self, processors: Iterable[Any]) -> None:
        self.processors = [*processors]
        for each in self.processors:
            if not callable(getattr(each, "process", None)):
                hint = "give objects with process(memory, target, *, dry_run=False)"
                raise Invalid(f"{type(each).__name__} is no processor", hint=hint)

    async def work(self, run: Round) -> Report:
        """Each in turn; in a dry run, each sees what those before it would have done."""
        parts = [await self._part(each, run) for each in self.processors]
        return self.report(run, parts=parts)

    async def _part(self, each: Any, run: Round) -> Any:
        if isinstance(each, Processor):
            return await each.work(run)
        return await given(each.process(run.memory, run.target, dry_run=run.dry_run))
