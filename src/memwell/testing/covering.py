"""What a summary is: it lies over messages, takes their place, cuts nothing in two, and loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.engine.spoken import fingerprint
from memwell.errors import Conflict, Invalid, NotFound
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals
from memwell.testing.threads import say, standing, texts
from memwell.types import Overlay, ToolCall

# A talk in which ids of calls come again, as some models give them: what each message calls, or answers.
TALK = ("user", "call a", "answer a", "user", "call a b", "answer b", "answer a", "user", "call c")
WHOLE = ((1, 1), (1, 3), (2, 3), (1, 4), (4, 4), (4, 7), (5, 7), (2, 8), (1, 8), (8, 8))
CUT = ((1, 2), (2, 2), (3, 3), (3, 5), (3, 6), (4, 6), (5, 6), (6, 7), (7, 7), (7, 8), (1, 5), (1, 9), (9, 9))


def lay(thread: Any, first: int, last: int, content: str = "", **more: Any) -> Overlay:
    """Cover a range as it is now."""
    digest = fingerprint(thread.messages(None, after=first - 1, before=last + 1, raw=True))
    made: Overlay = thread.cover(first, last, content or f"{first}-{last}", digest, **more)
    return made


def numbers(thread: Any, *args: Any, **options: Any) -> list[Any]:
    """What is shown: a number for a message, a range for a summary."""
    return [message.covers or message.seq for message in thread.messages(*args, **options)]


def talk(thread: Any) -> None:
    """Append TALK."""
    for line in TALK:
        kind, *ids = line.split()
        if kind == "call":
            thread.append("assistant", tool_calls=[ToolCall(name, "look") for name in ids])
        elif kind == "answer":
            thread.append("tool", "found", tool_call_id=ids[0])
        else:
            thread.append("user", "hello")


class CoverTests:
    """Summaries over messages."""

    @promise("cover:place")
    def test_a_summary_stands_in_the_place_of_what_it_covers(self, thread: Any, clock: FrozenClock) -> None:
        said = say(thread, *"abcdef")
        clock.advance(1)
        made = lay(thread, 2, 4, "b to d", metadata={"model": "small"})
        assert (made.thread, made.first, made.last, made.content) == ("t", 2, 4, "b to d")
        assert (made.metadata, made.created_at, made.by) == ({"model": "small"}, clock.time, "tester")
        assert thread.overlays() == [made]
        shown = thread.messages()
        assert [shown[0], *shown[2:]] == [said[0], *said[4:]]
        summary = shown[1]
        assert (summary.role, summary.content, summary.covers, summary.seq) == ("summary", "b to d", (2, 4), 4)
        assert (summary.metadata, summary.created_at, summary.by) == ({"model": "small"}, clock.time, "tester")
        assert thread.messages(raw=True) == said
        assert thread.count() == 6
        assert say(thread, "g")[0].seq == 7

    @promise("cover:pages")
    def test_a_summary_counts_as_one_message_in_every_page(self, thread: Any) -> None:
        say(thread, *"abcdefghij")
        for first, last in ((1, 2), (4, 6), (10, 10)):
            lay(thread, first, last)
        shown: list[Any] = [(1, 2), 3, (4, 6), 7, 8, 9, (10, 10)]
        assert numbers(thread) == numbers(thread, None) == shown
        for size in range(1, 9):
            assert numbers(thread, size) == shown[-size:]
            assert numbers(thread, size, after=0) == shown[:size]
            back: list[Any] = []
            page = thread.messages(size)
            while page:
                back = [message.covers or message.seq for message in page] + back
                page = thread.messages(size, before=page[0].seq)
            forth: list[Any] = []
            page = thread.messages(size, after=0)
            while page:
                forth += [message.covers or message.seq for message in page]
                page = thread.messages(size, after=page[-1].seq)
            assert back == forth == shown
        assert numbers(thread, 0) == []
        assert numbers(thread, after=3, before=9) == [(4, 6), 7, 8]
        assert numbers(thread, 2, after=3, before=9) == [7, 8]
        assert numbers(thread, before=6) == [(1, 2), 3], "nothing of what is covered shows at the edge of a page"

    @promise("cover:pages")
    def test_a_long_thread_with_summaries_shows_its_end(self, thread: Any) -> None:
        say(thread, *(f"{number}" for number in range(500)))
        lay(thread, 1, 450)
        assert numbers(thread, 51) == [(1, 450), *range(451, 501)]
        assert numbers(thread, 50) == list(range(451, 501))
        assert numbers(thread, 1, after=0) == [(1, 450)]

    @promise("cover:uncover")
    def test_what_is_uncovered_shows_again(self, thread: Any) -> None:
        said = say(thread, *"abcd")
        lay(thread, 2, 3)
        assert thread.uncover(1) is False
        assert numbers(thread) == [1, (2, 3), 4]
        assert thread.uncover(2) is True
        assert thread.uncover(2) is False
        assert thread.messages() == said
        assert thread.overlays() == []
        lay(thread, 2, 3, "anew")
        assert texts(thread.messages()) == ["a", "anew", "d"]

    @promise("cover:changed")
    def test_a_range_that_changed_since_it_was_read_is_refused(self, threads: Any, thread: Any) -> None:
        def digest() -> str:
            return fingerprint(thread.messages(None, after=1, before=5, raw=True))

        say(thread, *"abcde")
        stale = [digest()]
        thread.edit(3, content="changed")
        stale.append(digest())
        thread.delete_messages([3])
        before = standing(threads)
        calls = [lambda old=old: thread.cover(2, 4, "sum", old) for old in (*stale, "", "no digest", None)]
        for error in refusals(Conflict, *calls):
            assert error.hint
        assert standing(threads) == before
        assert thread.cover(2, 4, "sum", digest()).content == "sum"

    @pytest.mark.parametrize("span", CUT, ids=str)
    @promise("cover:whole")
    def test_no_summary_cuts_a_call_from_its_result(self, threads: Any, thread: Any, span: tuple[int, int]) -> None:
        talk(thread)
        before = standing(threads)
        (error,) = refusals(Invalid, lambda: lay(thread, *span))
        assert error.hint
        assert standing(threads) == before

    @promise("cover:whole")
    def test_a_range_with_whole_calls_is_covered(self, thread: Any) -> None:
        talk(thread)
        for first, last in WHOLE:
            lay(thread, first, last)
            assert (first, last) in numbers(thread)
            assert thread.uncover(first)

    @promise("cover:whole")
    def test_a_result_far_from_its_call_is_not_cut_off_either(self, thread: Any) -> None:
        thread.append("assistant", "wait", tool_calls=[ToolCall("c", "look")])
        say(thread, *(f"{number}" for number in range(250)))
        thread.append("tool", "found", tool_call_id="c")
        refusals(Invalid, lambda: lay(thread, 1, 1), lambda: lay(thread, 252, 252))
        lay(thread, 2, 251)
        lay(thread, 1, 252)
        assert numbers(thread) == [(1, 252)]

    @promise("cover:nested")
    def test_a_wider_summary_lies_over_a_narrower_one(self, thread: Any) -> None:
        said = say(thread, *"abcdefgh")
        lay(thread, 2, 3)
        lay(thread, 5, 6)
        outer = lay(thread, 1, 6)
        assert numbers(thread) == [(1, 6), 7, 8]
        assert thread.overlays() == [outer]
        assert thread.messages(raw=True) == said
        assert thread.uncover(1)
        assert numbers(thread) == [1, (2, 3), 4, (5, 6), 7, 8]

    @pytest.mark.parametrize("span", [(1, 3), (3, 4), (3, 3), (4, 4), (4, 7), (5, 5), (6, 6), (5, 8)], ids=str)
    @promise("cover:crossing")
    def test_summaries_never_cross(self, threads: Any, thread: Any, span: tuple[int, int]) -> None:
        say(thread, *"abcdefgh")
        held = lay(thread, 3, 5), lay(thread, 6, 7)
        before = standing(threads)
        (refusal,) = refusals(Conflict, lambda: lay(thread, *span))
        assert refusal.current in held
        assert refusal.hint
        assert standing(threads) == before

    @promise("cover:crossing")
    def test_the_same_range_is_summed_up_anew(self, thread: Any) -> None:
        say(thread, *"abc")
        lay(thread, 1, 2, "first")
        lay(thread, 1, 2, "second")
        assert texts(thread.messages()) == ["second", "c"]
        assert len(thread.overlays()) == 1

    @promise("cover:gone")
    def test_a_summary_stays_when_what_it_sums_up_is_deleted(self, thread: Any) -> None:
        say(thread, *"abcdef")
        lay(thread, 2, 4)
        thread.delete_messages([1, 2, 3, 4])
        assert numbers(thread) == [(2, 4), 5, 6]
        assert numbers(thread, raw=True) == [5, 6]
        assert numbers(thread, 1, after=0) == numbers(thread, before=5) == [(2, 4)]
        thread.delete_messages()
        assert numbers(thread) == numbers(thread, 1) == numbers(thread, after=0) == [(2, 4)]
        assert thread.count() == 0
        assert say(thread, "g")[0].seq == 7
        assert numbers(thread) == [(2, 4), 7]

    @promise("cover:refused")
    def test_what_is_no_summary_is_refused(self, threads: Any, thread: Any) -> None:
        say(thread, *"abc")
        thread.delete_messages([2])
        before = standing(threads)
        refusals(
            Invalid,
            lambda: lay(thread, 3, 1),
            lambda: thread.cover(1, 1, 5, "digest"),
            lambda: thread.cover(1, 1, "a\0b", "digest"),
            lambda: thread.cover(1, 1, "text", "digest", metadata=[1]),
            lambda: thread.cover(1, 1, "text", "digest", metadata={"a": {1, 2}}),
        )
        refusals(NotFound, lambda: lay(thread, 1, 2), lambda: lay(thread, 2, 3), lambda: lay(thread, 3, 9))
        assert standing(threads) == before

    @promise("cover:fork")
    def test_a_fork_takes_the_summaries_that_end_within_it(self, thread: Any) -> None:
        say(thread, *"abcdef")
        lay(thread, 1, 2)
        lay(thread, 4, 5)
        fork, whole = thread.fork(4), thread.fork()
        assert numbers(fork) == [(1, 2), 3, 4]
        assert numbers(whole) == [(1, 2), 3, (4, 5), 6]
        assert {overlay.thread for overlay in whole.overlays()} == {whole.id}
        assert whole.uncover(1)
        assert numbers(whole) == [1, 2, 3, (4, 5), 6]
        thread.delete()
        assert texts(fork.messages(raw=True)) == ["a", "b", "c", "d"]
        assert numbers(fork) == [(1, 2), 3, 4]
