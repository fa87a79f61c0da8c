"""The summarizer: what is old in a thread is summed up by a model, and the summary laid over it."""

from __future__ import annotations

from typing import Any

from memwell.agent.chat import Run, runner
from memwell.agent.colours import called
from memwell.agent.compaction import Piece, Range, shown, summed_up
from memwell.agent.processing import ATTEMPTS, STALE, ThreadProcessor, changed
from memwell.agent.tokens import Count
from memwell.agent.upkeep import Outcome, Round
from memwell.codec import check_text
from memwell.engine.packing import estimate
from memwell.engine.rules import check_number
from memwell.errors import Invalid, MemwellError

SUMMARY = "summary"  # the kind of its overlays
_REASON_CHARS = 300


class _NoSummary(Exception):
    """Nothing came of it; the text says why."""


class Summarizer(ThreadProcessor):
    """Sums up a thread that shows more than `max_tokens`: all but the newest `keep` messages and the last user turn.

    `run` is a function, plain or async, from messages to text; or "openai:MODEL[@BASE_URL]". It is called outside
    of any transaction, and its summary is dropped if the messages change meanwhile.
    """

    def __init__(self, run: Run | str, *, max_tokens: int = 4000, keep: int = 10, count: Count = estimate) -> None:
        super().__init__(max_tokens, count)
        check_number(keep, "keep", 0)
        if keep is None:
            raise Invalid("keep is missing", hint="give how many of the newest messages are never summed up")
        self.keep, self._run = keep, runner(run)

    async def tended(self, run: Round, thread: Any) -> Outcome:
        """Sum up, and once more if the messages changed while the model was at it."""
        refusal: MemwellError | None = None
        before = 0
        for _ in range(ATTEMPTS):
            pieces = await run.pieces(thread, self.tokens)
            before = shown(pieces)
            each = summed_up(pieces, self.max_tokens, self.keep)
            if each is None:
                return self.outcome(thread, before, before, [], self._nothing(pieces))
            try:
                text = await self._summary(each, run.awaited)
                covered = await run.cover(thread, each, text, SUMMARY)
            except _NoSummary as why:
                return self.outcome(thread, before, before, [], str(why))
            except STALE as error:
                refusal = error
                continue
            return self.outcome(thread, before, before - each.tokens + self.tokens.of_text(text), [covered], None)
        return self.outcome(thread, before, before, [], changed(refusal))

    def _nothing(self, pieces: list[Piece]) -> str | None:
        """Why there is nothing to sum up in a thread that is too long."""
        if shown(pieces) <= self.max_tokens:
            return None
        return f"over {self.max_tokens} tokens, but nothing new is older than what is kept"

    async def _summary(self, each: Range, awaited: bool) -> str:
        """What the model says, if it is of use."""
        try:
            text: Any = await called(self._run, each.to_read(), awaited=awaited)
        except Exception as error:  # it is somebody's function: whatever it raises is reported
            raise _NoSummary(f"the summarizer failed: {type(error).__name__}: {error}"[:_REASON_CHARS]) from error
        if not isinstance(text, str):
            raise _NoSummary(f"the summarizer gave {type(text).__name__}, not text")
        if not text.strip():
            raise _NoSummary("the summarizer gave no text")
        try:
            check_text(text, "the summary")
        except Invalid as error:
            raise _NoSummary(str(error)) from None
        if self.tokens.of_text(text) >= each.tokens:
            raise _NoSummary("the summary is no shorter than what it sums up")
        return text
