"""What the processors have in common: work that is written once for both faces, on one thread or on many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, overload

from memwell.agent.colours import at_once
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


def changed(refusal: MemwellError | None) -> str | None:
    """Why a range was left as it is, twice."""
    return None if refusal is None else f"refused {ATTEMPTS} times: {refusal}"
