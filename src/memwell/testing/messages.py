"""What a message is: what is kept of it, how messages are numbered, paged, edited and deleted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from memwell import clock
from memwell.errors import Conflict, Invalid, NotFound
from memwell.ops import NewMessage
from memwell.testing.clocks import FrozenClock
from memwell.testing.faces import Awaited
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals
from memwell.testing.threads import say, standing, texts
from memwell.types import ToolCall

CALL = ToolCall("call-1", "search", {"query": "é", "deep": [None, 1.5]})
WHOLE: dict[str, dict[str, Any]] = {
    "text": {"role": "user", "content": 'é "\\ 😀\nnext line', "name": "anna", "tokens": 7},
    "no text": {"role": "system", "content": ""},
    "instructions": {"role": "developer", "content": "be brief"},
    "parts": {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "url": "a.png"}]},
    "calls": {"role": "assistant", "tool_calls": [CALL, ToolCall("call-2", "stop", "{}")]},
    "words and calls": {"role": "assistant", "content": "I look", "tool_calls": [CALL]},
    "a result": {"role": "tool", "content": "found", "tool_call_id": "call-1"},
    "metadata": {"role": "assistant", "content": "x", "metadata": {"n": 1, "deep": {"list": [None, True, 1.5]}}},
}
REFUSED: dict[str, dict[str, Any]] = {
    "an unknown role": {"role": "bot"},
    "the role of a summary": {"role": "summary"},
    "no role": {"role": None},
    "a role that is a list": {"role": []},
    "no content": {"content": None},
    "content that is a number": {"content": 5},
    "content that is bytes": {"content": b"bytes"},
    "content that is any object": {"content": object()},
    "a part that is text": {"content": ["text"]},
    "a part that is not JSON": {"content": [{"at": datetime(2030, 1, 1, tzinfo=UTC)}]},
    "a lone surrogate": {"content": "a\ud800"},
    "a NUL": {"content": "a\0b"},
    "an empty id": {"id": ""},
    "an id with a line break": {"id": "a\nb"},
    "an id such as the thread gives": {"id": "t-7"},
    "a name that is bytes": {"name": b"anna"},
    "a name with a line break": {"name": "a\nb"},
    "metadata that is a list": {"metadata": [1]},
    "metadata with a date": {"metadata": {"at": datetime(2030, 1, 1, tzinfo=UTC)}},
    "metadata with a set": {"metadata": {"a": {1, 2}}},
    "metadata with NaN": {"metadata": {"a": float("nan")}},
    "metadata with any object": {"metadata": {"a": object()}},
    "negative tokens": {"tokens": -1},
    "tokens as text": {"tokens": "7"},
    "a call that is text": {"role": "assistant", "tool_calls": ["search"]},
    "a call that is not JSON": {"role": "assistant", "tool_calls": [ToolCall("c", "search", b"bytes")]},
    "a call by the user": {"tool_calls": [CALL]},
    "a result of no call": {"role": "tool"},
}
NUMBERS: dict[str, Any] = {"none": None, "0": 0, "negative": -1, "text": "1", "a flag": True, "huge": 10**5000}


class MessageTests:
    """Messages one by one, and in pages."""

    @pytest.mark.parametrize("kind", WHOLE)
    @promise("message:fields")
    def test_a_message_comes_back_as_it_was_given(self, thread: Any, clock: FrozenClock, kind: str) -> None:
        fields = WHOLE[kind]
        made = thread.append(**fields)
        assert {name: getattr(made, name) for name in fields} == fields
        assert (made.thread, made.seq, made.id, made.version, made.covers) == ("t", 1, "t-1", 1, None)
        assert (made.created_at, made.by) == (clock.time, "tester")
        assert thread.messages() == thread.messages(raw=True) == [made]

    @promise("message:copy")
    def test_what_comes_back_is_the_callers_own(self, thread: Any) -> None:
        given: list[dict[str, Any]] = [{"text": "a"}]
        metadata: dict[str, Any] = {"list": []}
        made = thread.append("user", given, metadata=metadata)
        for mine in (given[0], metadata["list"], made.content[0], made.metadata, thread.messages()[0].metadata):
            mine.append("changed") if isinstance(mine, list) else mine.update(changed=True)
        kept = thread.messages()[0]
        assert (kept.content, kept.metadata) == ([{"text": "a"}], {"list": []})

    @pytest.mark.parametrize("wrong", REFUSED)
    @promise("thread:refused")
    def test_what_is_no_message_is_refused_and_leaves_nothing(self, threads: Any, thread: Any, wrong: str) -> None:
        say(thread, "kept")
        before = standing(threads)
        fields = {"role": "user", "content": "some text", **REFUSED[wrong]}
        many = [NewMessage(role="user", content="sound"), NewMessage(**fields)]
        refusals(Invalid, lambda: thread.append(**fields), lambda: thread.extend(many))
        changes = {name: value for name, value in REFUSED[wrong].items() if name not in ("role", "id")}
        if changes and "role" not in REFUSED[wrong]:
            refusals(Invalid, lambda: thread.edit(1, **changes))
        assert standing(threads) == before

    @pytest.mark.parametrize("wrong", NUMBERS)
    @promise("thread:refused")
    def test_what_is_no_number_is_refused(self, threads: Any, thread: Any, wrong: str) -> None:
        say(thread, "kept")
        before, number = standing(threads), NUMBERS[wrong]
        refusals(
            Invalid,
            lambda: thread.edit(number, content="x"),
            lambda: thread.delete_messages([1, number]),
            lambda: thread.cover(number, 1, "x", "digest"),
            lambda: thread.cover(1, number, "x", "digest"),
            lambda: thread.uncover(number),
        )
        if number is not None and wrong != "0":
            calls: list[Callable[[], Any]] = [
                lambda: thread.messages(before=number),
                lambda: thread.messages(after=number),
                lambda: thread.append("user", "x", if_last=number),
            ]
            refusals(Invalid, *calls, *([] if wrong == "huge" else [lambda: thread.messages(number)]))
        assert standing(threads) == before

    @promise("thread:refused")
    def test_what_can_not_be_changed_is_refused(self, threads: Any, thread: Any) -> None:
        say(thread, "kept")
        before = standing(threads)
        refusals(
            Invalid,
            lambda: thread.edit(1),
            lambda: thread.edit(1, role="assistant"),
            lambda: thread.edit(1, content="x", seq_of="y"),
            lambda: thread.edit(1, content=None),
            lambda: thread.edit(1, content="x", if_version=0),
            lambda: thread.extend(["text"]),
        )
        refusals(NotFound, lambda: thread.edit(2, content="x"))
        assert standing(threads) == before

    @promise("thread:order")
    def test_messages_are_numbered_whatever_the_clock_says(self, thread: Any, clock: FrozenClock) -> None:
        for number in range(12):
            assert thread.append("user", f"{number}").seq == number + 1
            clock.advance(-5 if number % 2 else 1)
        found = thread.messages()
        assert [message.seq for message in found] == list(range(1, 13))
        assert texts(found) == [f"{number}" for number in range(12)]
        assert thread.count() == 12

    @promise("thread:order")
    def test_many_who_append_at_once_share_one_sequence(self, thread: Any) -> None:
        def speak(name: str) -> list[int]:
            return [thread.append("user", f"{name}{number}").seq for number in range(10)]

        with ThreadPoolExecutor(4) as pool:
            given = list(pool.map(speak, "abcd"))
        assert all(numbers == sorted(numbers) for numbers in given)
        found = thread.messages()
        assert (
            [message.seq for message in found]
            == list(range(1, 41))
            == sorted(number for numbers in given for number in numbers)
        )
        for name in "abcd":
            assert [text for text in texts(found) if text[0] == name] == [f"{name}{number}" for number in range(10)]

    @promise("message:idempotent")
    def test_a_message_is_appended_once_by_its_id(self, thread: Any, clock: FrozenClock) -> None:
        made = thread.append("user", "hello", id="m", metadata={"a": 1})
        other = thread.append("user", "hello")
        clock.advance(5)
        assert thread.append("user", "hello", id="m", metadata={"a": 1}) == made
        assert thread.append("user", "hello", id=other.id) == other
        assert thread.messages() == [made, other]
        thread.search("hello")
        assert thread.append("user", "hello", id="m", metadata={"a": 1}) == made
        assert thread.append("user", "hello", id=other.id) == other
        assert thread.count() == 2

    @promise("message:idempotent")
    def test_an_id_that_says_something_else_is_refused(self, threads: Any, thread: Any) -> None:
        made = thread.append("user", "hello", id="m")
        before = standing(threads)
        for error in refusals(
            Conflict,
            lambda: thread.append("user", "other", id="m"),
            lambda: thread.append("assistant", "hello", id="m"),
            lambda: thread.append("user", "hello", id="m", metadata={"a": 1}),
            lambda: thread.extend([NewMessage(role="user", content=text, id=text[:1]) for text in ("new", "my")]),
        ):
            assert error.current == made
            assert error.hint
        assert standing(threads) == before

    @promise("message:idempotent")
    def test_an_id_counts_in_its_own_thread_and_while_the_message_is_there(self, threads: Any, thread: Any) -> None:
        thread.append("user", "hello", id="m")
        assert threads.create().append("user", "other", id="m").seq == 1
        thread.delete_messages([1])
        assert thread.append("user", "again", id="m").seq == 2

    @promise("message:idempotent")
    def test_ids_are_known_within_one_go(self, thread: Any) -> None:
        twice = [NewMessage(role="user", content="a", id="m"), NewMessage(role="user", content="b")] * 2
        assert [message.seq for message in thread.extend(twice)] == [1, 2, 1, 3]
        assert texts(thread.messages()) == ["a", "b", "b"]

    @promise("message:if_last")
    def test_with_if_last_nobody_else_has_appended_since(self, threads: Any, thread: Any) -> None:
        assert thread.append("user", "one", if_last=0).seq == 1
        assert thread.append("user", "two", id="m", if_last=1).seq == 2
        before = standing(threads)
        two = [NewMessage(role="user", content="three"), NewMessage(role="user", content="four")]
        for last in (0, 1, 3):
            late = partial(thread.append, "user", "late", if_last=last), partial(thread.extend, two, if_last=last)
            refusals(Conflict, *late)
        assert thread.append("user", "two", id="m", if_last=1).seq == 2, "the same said again is no late message"
        assert standing(threads) == before
        assert [message.seq for message in thread.extend(two, if_last=2)] == [3, 4]
        thread.delete_messages()
        refusals(Conflict, lambda: thread.append("user", "x", if_last=0))
        assert thread.append("user", "five", if_last=4).seq == 5

    @promise("message:many")
    def test_several_are_appended_in_one_go_or_none(self, thread: Any) -> None:
        assert thread.extend([]) == []
        assert [message.seq for message in say(thread, *"abc")] == [1, 2, 3]
        refusals(Invalid, lambda: thread.extend([NewMessage(role="user", content="d"), NewMessage(role="user")]))
        assert texts(thread.messages()) == ["a", "b", "c"]
        assert say(thread, "e")[0].seq == 4

    @promise("message:newest")
    def test_a_limit_gives_the_newest_oldest_first(self, thread: Any) -> None:
        say(thread, *(f"{number}" for number in range(1, 131)))
        assert texts(thread.messages(3)) == ["128", "129", "130"]
        assert texts(thread.messages(limit=1)) == ["130"]
        assert texts(thread.messages()) == [f"{number}" for number in range(31, 131)]
        assert [message.seq for message in thread.messages(None)] == list(range(1, 131))
        assert thread.messages(limit=0) == thread.messages(0, raw=True) == []
        refusals(Invalid, lambda: thread.messages(limit=-1))

    @promise("message:pages")
    def test_before_and_after_page_through_in_both_directions(self, thread: Any) -> None:
        say(thread, *(f"{number}" for number in range(1, 12)))
        thread.delete_messages([4, 5, 11])
        numbers = [1, 2, 3, 6, 7, 8, 9, 10]
        back: list[int] = []
        page = thread.messages(3)
        while page:
            back = [message.seq for message in page] + back
            page = thread.messages(3, before=page[0].seq)
        forth: list[int] = []
        page = thread.messages(3, after=0)
        while page:
            forth += [message.seq for message in page]
            page = thread.messages(3, after=page[-1].seq)
        assert back == forth == numbers
        assert [message.seq for message in thread.messages(2, after=2, before=9)] == [7, 8]
        assert [message.seq for message in thread.messages(after=3, before=7)] == [6]
        for nothing in ({"before": 1}, {"before": 0}, {"after": 10}, {"after": 999}, {"after": 8, "before": 3}):
            assert thread.messages(**nothing) == []

    @promise("message:edit")
    def test_an_edit_is_the_next_version_of_a_message(self, threads: Any, thread: Any, clock: FrozenClock) -> None:
        first = thread.append("user", "tea", id="m", tokens=3, metadata={"a": 1})
        say(thread, "milk")
        clock.advance(5)
        edited = thread.edit(1, content="coffee")
        assert (edited.content, edited.version, edited.seq, edited.id) == ("coffee", 2, 1, "m")
        assert (edited.tokens, edited.metadata, edited.created_at) == (3, {"a": 1}, first.created_at)
        assert thread.messages()[0] == edited
        assert thread.edit(1, metadata={"b": [1]}, tokens=None).metadata == {"b": [1]}
        assert [message.seq for message in thread.messages()] == [1, 2]
        assert (len(threads.search("tea")), threads.search("coffee")[0].message.version) == (0, 3)

    @promise("message:edit")
    def test_with_if_version_only_that_version_is_edited(self, thread: Any) -> None:
        say(thread, "tea")
        edited = thread.edit(1, content="coffee", if_version=1)
        (refusal,) = refusals(Conflict, lambda: thread.edit(1, content="late", if_version=1))
        assert refusal.current == edited == thread.messages()[0]
        assert thread.edit(1, content="water", if_version=2).version == 3

    @promise("message:delete")
    def test_deleted_messages_are_gone_and_no_number_comes_twice(self, threads: Any, thread: Any, library: Any) -> None:
        say(thread, "tea one", "tea two", "tea three")
        assert thread.delete_messages([3, 1, 3, 9]) == 2
        assert (texts(thread.messages()), thread.count()) == (["tea two"], 1)
        assert [hit.message.seq for hit in threads.search("tea")] == [2]
        assert thread.delete_messages([3]) == thread.delete_messages([]) == 0
        assert say(thread, "tea four")[0].seq == 4
        assert thread.delete_messages() == 2
        assert (thread.messages(), thread.count(), threads.get("t").info.last) == ([], 0, 4)
        assert say(thread, "five")[0].seq == 5
        assert library.check().damage == []

    @promise("message:delete")
    def test_a_deleted_message_says_nothing_in_the_past_either(self, library: Any, thread: Any) -> None:
        backend = (library._handle if isinstance(library, Awaited) else library)._door.engine.backend  # noqa: SLF001

        def secrets() -> int:
            now = clock.now()
            changes = backend.read(lambda view: view.changes("agent:a", 0, 1000, now), 30.0, True)
            return sum(b"secret" in (change.data or b"") for change in changes)

        say(thread, "a secret")
        thread.edit(1, content="a secret again")
        assert secrets() == 2
        thread.delete_messages([1])
        assert secrets() == 0
        say(thread, "another secret")
        assert secrets() == 1
        thread.delete()
        assert secrets() == 0
