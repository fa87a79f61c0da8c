"""What a thread is: how it is made, listed, changed, forked and deleted, what is refused, and where it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memwell.config import Options
from memwell.engine.spoken import fingerprint
from memwell.errors import Conflict, Invalid, NotFound, TooLarge
from memwell.ops import NewMessage
from memwell.testing.clocks import FrozenClock
from memwell.testing.faces import opened
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals
from memwell.types import Message, ToolCall

WRONG_IDS = {"empty": "", "a slash": "a/b", "a line break": "a\nb", "a number": 5, "a surrogate": "\ud800"}


def say(thread: Any, *texts: str) -> list[Message]:
    """Append texts of the user, in one go."""
    made: list[Message] = thread.extend([NewMessage(role="user", content=text) for text in texts])
    return made


def texts(messages: list[Message]) -> list[Any]:
    """What messages say."""
    return [message.content for message in messages]


def standing(threads: Any) -> list[Any]:
    """All that a scope's threads show: what a refusal must leave as it was."""
    handles = [(info, threads.get(info.id)) for info in threads.list(limit=1000)]
    return [
        (info, thread.messages(None), thread.messages(None, raw=True), thread.overlays()) for info, thread in handles
    ]


class ThreadTests:
    """Threads as a whole."""

    options: ClassVar[Options]
    make: Callable[[Path], Any]

    @promise("thread:create")
    def test_a_thread_comes_back_as_it_was_made(self, threads: Any, clock: FrozenClock) -> None:
        made = threads.create("Release", id="r-1", metadata={"n": [1, None], "é": True}).info
        assert (made.id, made.scope, made.title) == ("r-1", "agent:a", "Release")
        assert (made.metadata, made.forked_from, made.last) == ({"n": [1, None], "é": True}, None, 0)
        assert (made.created_at, made.updated_at, made.created_by, made.version) == (
            clock.time,
            clock.time,
            "tester",
            1,
        )
        assert threads.get("r-1").info == made
        assert threads.list() == [made]
        assert threads.get("other") is None

    @promise("thread:create")
    def test_what_is_not_said_has_a_plain_default(self, threads: Any) -> None:
        one, other = threads.create().info, threads.create().info
        assert (one.title, one.metadata) == (None, {})
        assert one.id != other.id

    @promise("thread:create")
    def test_an_id_that_is_taken_is_refused_with_what_is_there(self, threads: Any) -> None:
        made = threads.create("first", id="t").info
        (refusal,) = refusals(Conflict, lambda: threads.create("second", id="t"))
        assert refusal.current == made
        assert threads.list() == [made]

    @pytest.mark.parametrize("wrong", WRONG_IDS)
    @promise("thread:refused")
    def test_what_is_no_id_is_refused_everywhere(self, threads: Any, wrong: str) -> None:
        calls = (
            lambda name: threads.create(id=name),
            threads.get,
            threads.delete,
            lambda name: threads.search("x", thread=name),
        )
        refusals(Invalid, *(lambda call=call: call(WRONG_IDS[wrong]) for call in calls))
        assert threads.list() == []

    @promise("thread:refused")
    def test_what_is_no_title_or_metadata_is_refused(self, threads: Any) -> None:
        thread = threads.create("kept", metadata={"a": 1})
        before = standing(threads)
        refusals(
            Invalid,
            lambda: threads.create(5),
            lambda: threads.create("t", metadata=[1]),
            lambda: threads.create("t", metadata={"a": {1, 2}}),
            lambda: threads.list(limit=0),
            lambda: threads.list(limit=-1),
            lambda: threads.list(cursor=""),
            lambda: thread.update(),
            lambda: thread.update(id="new"),
            lambda: thread.update(metadata="a"),
            lambda: thread.update(title="t", if_version=0),
            lambda: thread.rename(5),
            lambda: thread.fork(-1),
            lambda: thread.fork(10**5000),
            lambda: thread.fork(0, title=5),
        )
        assert standing(threads) == before

    @promise("thread:refused")
    def test_what_is_too_large_is_refused(self, opener: Callable[..., Any]) -> None:
        threads = opener(max_value_bytes=400, max_batch=2).scope(agent="a").threads
        thread = threads.create(id="t")
        thread.append("user", "x" * 200)
        before = standing(threads)
        for error in refusals(
            TooLarge,
            lambda: thread.append("user", "x" * 401),
            lambda: thread.append("user", [{"text": "x" * 401}]),
            lambda: say(thread, "a", "b", "c"),
            lambda: thread.edit(1, content="x" * 401),
            lambda: thread.delete_messages([1, 2, 3]),
            lambda: thread.cover(1, 1, "x" * 401, "digest"),
            lambda: threads.create(metadata={"a": "x" * 401}),
        ):
            assert error.limit in (400, 2)
        assert standing(threads) == before

    @promise("thread:change")
    def test_a_thread_is_renamed_and_changed_as_its_next_version(self, threads: Any, clock: FrozenClock) -> None:
        thread = threads.create("old", metadata={"a": 1})
        begun = clock.time
        say(thread, "hello")
        clock.advance(1)
        assert thread.rename("new").title == "new"
        assert thread.update(metadata={"b": 2}).metadata == {"b": 2}
        after = threads.get(thread.id).info
        assert after == thread.info
        assert (after.title, after.metadata, after.version, after.last) == ("new", {"b": 2}, 3, 1)
        assert (after.created_at, after.updated_at) == (begun, clock.time)
        assert thread.rename(None).title is None

    @promise("thread:change")
    def test_with_if_version_only_that_version_is_changed(self, threads: Any) -> None:
        thread = threads.create("old")
        assert thread.update(title="new", if_version=1).version == 2
        (refusal,) = refusals(Conflict, lambda: thread.update(title="late", if_version=1))
        assert refusal.current == thread.info == threads.get(thread.id).info

    @promise("thread:listing")
    def test_threads_are_listed_by_scope_newest_first(self, library: Any, clock: FrozenClock) -> None:
        names = ("agent:a", "agent:a/user:u", "agent:b", "global")
        for number in range(3):
            for name in names:
                library.scope(name).threads.create(f"{name} {number}", id=f"t{number}")
            clock.advance(1)
        for name in names:
            listed = library.scope(name).threads.list()
            assert [(info.scope, info.title, info.id) for info in listed] == [
                (name, f"{name} {number}", f"t{number}") for number in (2, 1, 0)
            ]
        assert library.scope(agent="c").threads.list() == []

    @promise("thread:listing")
    def test_a_listing_goes_on_after_a_cursor(self, threads: Any, clock: FrozenClock) -> None:
        made: list[str] = []
        for number in range(5):
            made.insert(0, threads.create(f"{number}").id)
            clock.advance(1)
        pages = [threads.list(limit=2), threads.list(limit=2, cursor=made[1]), threads.list(limit=2, cursor=made[3])]
        assert [[info.id for info in page] for page in pages] == [made[:2], made[2:4], made[4:]]
        assert threads.list(cursor=made[-1]) == []
        refusals(NotFound, lambda: threads.list(cursor="nothing"))

    @promise("thread:missing")
    def test_what_is_asked_of_a_missing_thread_is_not_found(self, library: Any) -> None:
        threads = library.scope(agent="a").threads
        thread = threads.create(id="t")
        library.scope(agent="b").threads.create(id="t")
        thread.delete()
        for error in refusals(
            NotFound,
            lambda: thread.append("user", "hello"),
            lambda: say(thread, "hello"),
            lambda: thread.messages(),
            lambda: thread.messages(0),
            lambda: thread.count(),
            lambda: thread.edit(1, content="x"),
            lambda: thread.delete_messages(),
            lambda: thread.rename("x"),
            lambda: thread.fork(),
            lambda: thread.cover(1, 1, "x", "digest"),
            lambda: thread.uncover(1),
            lambda: thread.overlays(),
            lambda: thread.delete(),
            lambda: threads.delete("never"),
        ):
            assert error.hint
        assert threads.list() == []
        assert library.stats().messages == 0

    @promise("thread:delete")
    def test_a_deleted_thread_is_gone_with_its_messages(self, threads: Any, library: Any) -> None:
        thread, other = threads.create(id="t"), threads.create(id="t2")
        say(thread, "tea", "milk", "tea")
        say(other, "tea")
        assert threads.delete("t") == 3
        assert threads.get("t") is None
        assert [info.id for info in threads.list()] == ["t2"]
        assert [hit.message.thread for hit in threads.search("tea")] == ["t2"]
        assert (library.stats().threads, library.stats().messages) == (1, 1)
        assert library.check().damage == []

    @promise("thread:delete", "thread:order")
    def test_a_thread_made_again_shows_nothing_of_the_old_one(self, threads: Any) -> None:
        thread = threads.create("old", id="t")
        thread.append("user", "tea", id="m")
        say(thread, "milk")
        thread.delete()
        again = threads.create("new", id="t")
        assert (again.messages(), again.overlays(), again.count()) == ([], [], 0)
        assert len(threads.search("tea")) == 0
        assert again.append("user", "tea", id="m").seq == 3, "no number comes twice"
        assert texts(again.messages()) == ["tea"]

    @promise("thread:isolated")
    def test_nothing_of_a_thread_is_seen_from_another_scope(self, library: Any) -> None:
        mine, theirs = (library.scope(agent=name).threads for name in "ab")
        say(mine.create("mine", id="t"), "tea")
        assert theirs.get("t") is None
        assert theirs.list() == []
        assert len(theirs.search("tea")) == 0
        assert theirs.create("theirs", id="t").messages() == []
        say(theirs.get("t"), "tea of theirs")
        assert library.scope(agent="a").delete_scope() > 0
        assert (mine.list(), len(mine.search("tea"))) == ([], 0)
        assert texts(theirs.get("t").messages()) == ["tea of theirs"]
        assert [hit.message.content for hit in theirs.search("tea")] == ["tea of theirs"]
        say(mine.create(id="t"), "fresh tea")
        assert [hit.message.content for hit in mine.search("tea")] == ["fresh tea"]

    @promise("thread:fork")
    def test_a_fork_has_the_messages_up_to_one_and_goes_its_own_way(self, threads: Any) -> None:
        thread = threads.create("talk", metadata={"a": 1})
        say(thread, "one", "two", "three")
        fork = thread.fork(2)
        assert (fork.info.title, fork.info.metadata, fork.info.forked_from) == ("talk", {"a": 1}, (thread.id, 2))
        assert fork.info.last == 2
        assert say(fork, "other")[0].seq == 3
        say(thread, "four")
        assert texts(fork.messages()) == ["one", "two", "other"]
        assert texts(thread.messages()) == ["one", "two", "three", "four"]
        fork.edit(1, content="one again")
        fork.delete_messages([2])
        assert texts(thread.messages()) == ["one", "two", "three", "four"]
        thread.delete()
        assert texts(fork.messages()) == ["one again", "other"]
        assert {message.thread for message in fork.messages()} == {fork.id}

    @promise("thread:fork")
    def test_a_fork_without_a_number_has_all_and_one_at_0_has_none(self, threads: Any) -> None:
        thread = threads.create("talk")
        say(thread, "one", "two")
        thread.delete_messages([2])
        assert (texts(thread.fork().messages()), thread.fork().info.last) == (["one"], 2)
        empty = thread.fork(0, title="anew")
        assert (empty.messages(), empty.info.title, say(empty, "first")[0].seq) == ([], "anew", 1)
        before = standing(threads)
        refusals(NotFound, lambda: thread.fork(3))
        assert standing(threads) == before

    @promise("thread:fork", "message:idempotent")
    def test_a_fork_knows_the_ids_and_starts_at_version_1(self, threads: Any) -> None:
        thread = threads.create(id="t")
        thread.append("user", "one", id="m")
        say(thread, "two")
        thread.edit(2, content="two again")
        fork = thread.fork()
        assert [message.id for message in fork.messages()] == ["m", f"{fork.id}-2"]
        assert fork.append("user", "one", id="m").seq == 1
        assert fork.append("user", "two again", id=f"{fork.id}-2").seq == 2
        assert fork.append("user", "two", id="t-2").seq == 3, "an id of another thread is an id like any other"
        assert [message.version for message in fork.messages()] == [1, 1, 1]
        assert fork.edit(2, content="two at last", if_version=1).version == 2

    @promise("thread:durable")
    def test_a_thread_is_there_after_opening_again(self, face: str, tmp_path: Path) -> None:
        with opened(face, self.make(tmp_path), **self.options) as store:
            if store.stats().durability == "volatile":
                pytest.skip("this store keeps no threads after it was closed")
            threads = store.scope(agent="a").threads
            thread = threads.create("kept", id="t")
            thread.append("user", "tea", id="m", metadata={"a": 1})
            thread.append("assistant", tool_calls=[ToolCall("c", "look", {"a": 1})])
            say(thread, "deleted")
            thread.delete_messages([3])
            thread.edit(1, content="green tea")
            before = standing(threads)
        with opened(face, self.make(tmp_path), **self.options) as store:
            threads = store.scope(agent="a").threads
            assert standing(threads) == before
            thread = threads.get("t")
            assert thread.append("user", "green tea", id="m", metadata={"a": 1}).seq == 1
            assert threads.search("green")[0].message.seq == 1
            assert say(thread, "next")[0].seq == 4
            assert store.check().damage == []

    @promise("thread:export")
    def test_an_export_loaded_elsewhere_gives_the_same_threads(self, library: Any, face: str, tmp_path: Path) -> None:
        threads = library.scope(agent="a").threads
        thread = threads.create("kept", id="t", metadata={"a": 1})
        thread.append("assistant", "tea", tool_calls=[ToolCall("c", "look", {"a": 1})])
        thread.append("tool", [{"text": "found"}], tool_call_id="c")
        say(thread, "more", "deleted")
        thread.edit(3, content="much more")
        thread.delete_messages([4])
        thread.cover(1, 2, "sum", fingerprint(thread.messages(2, after=0, raw=True)))
        thread.fork(3)
        library.export(str(tmp_path / "export"))
        with opened(face, ":memory:") as other:
            other.load(str(tmp_path / "export"))
            loaded = other.scope(agent="a").threads
            assert standing(loaded) == standing(threads)
            assert [hit.message for hit in loaded.search("tea")] == [hit.message for hit in threads.search("tea")]
            assert loaded.get("t").edit(3, content="most", if_version=2).version == 3
            assert say(loaded.get("t"), "next")[0].seq == 5
