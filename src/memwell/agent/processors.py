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

from collections.abc import Iterable
from typing import Any

from memwell.agent.colours import given
from memwell.agent.compaction import LIMIT, left_out, limited, shown
from memwell.agent.processing import ATTEMPTS, STALE, Processor, ThreadProcessor, changed
from memwell.agent.summarizer import Summarizer
from memwell.agent.upkeep import Covered, Outcome, Report, Round
from memwell.errors import Invalid, MemwellError

__all__ = ["Outcome", "Pipeline", "Processor", "Report", "Summarizer", "TokenLimiter", "TtlCollector"]


class TtlCollector(Processor):
    """Frees what has expired, rather than soon. Nobody sees it any more in any case."""

    async def work(self, run: Round) -> Report:
        """Sweep; expired entries of one scope are not freed apart from others."""
        return self.report(run, swept=await run.sweep())


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
