"""Searching what was said: across the threads of a scope, with what stands around it, as it is now."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.errors import Invalid
from memwell.testing.covering import lay
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals
from memwell.testing.threads import say, standing, texts

FILLER = [f"nothing of note {number}" for number in range(6)]  # more than what stands around a hit


class OverhearTests:
    """Searching messages."""

    @promise("thread:search")
    def test_words_find_messages_in_all_threads_of_the_scope(self, threads: Any, thread: Any) -> None:
        say(thread, "Where is the teapot?", *FILLER)
        other = threads.create(id="other")
        say(other, *FILLER, "TEAPOTS are in the kitchen")
        thread.append("user", [{"type": "text", "text": "a teapot of parts"}, {"type": "image", "url": "teapot"}])
        found = [hit for hit in threads.search("teapot") if "teapot" in str(hit.message.content).lower()]
        assert {(hit.message.thread, hit.message.seq) for hit in found} == {("t", 1), ("t", 8), ("other", 7)}
        hits = threads.search("kitchen teapot", explain=True)
        assert (hits[0].message.thread, hits[0].message.seq) == ("other", 7)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert hits[0].parts is not None
        assert sum(hits[0].parts.values()) == pytest.approx(hits[0].score, abs=1e-5)
        assert len(threads.search("aardvark")) == 0

    @promise("thread:search:snippet")
    def test_a_snippet_shows_the_words_of_the_query(self, thread: Any) -> None:
        say(thread, "x " * 500 + "the green teapot stands here" + " y" * 500)
        (hit,) = thread.search("teapots")
        assert len(hit.snippet) < 1000
        assert [hit.snippet[start:end] for start, end in hit.matches] == ["teapot"]

    @promise("thread:search:context")
    def test_a_hit_shows_what_stands_before_and_after_it(self, threads: Any, thread: Any) -> None:
        say(threads.create(id="other"), "elsewhere")
        say(thread, "before", "the teapot", "after", *FILLER, "a kettle")
        hit = threads.search("teapot")[0]
        assert (hit.message.seq, texts(hit.context)) == (2, ["before", "after"])
        last = threads.search("kettle")[0]
        assert (last.message.seq, texts(last.context)) == (10, [FILLER[-1]])
        thread.delete_messages([1])
        assert texts(threads.search("teapot")[0].context) == ["after"]

    @promise("thread:search:narrow")
    def test_a_search_is_narrowed_to_a_thread_and_to_roles(self, threads: Any, thread: Any) -> None:
        other = threads.create(id="other")
        for each in (thread, other):
            each.append("user", "a teapot")
            each.append("assistant", "the teapot")
        for hits in (thread.search("teapot"), threads.search("teapot", thread="t")):
            assert sorted((hit.message.thread, hit.message.seq) for hit in hits) == [("t", 1), ("t", 2)]
        spoken = threads.search("teapot", roles=["assistant", "tool"])
        assert sorted((hit.message.thread, hit.message.seq) for hit in spoken) == [("other", 2), ("t", 2)]
        (one,) = threads.search("teapot", thread="other", roles=["user"])
        assert (one.message.thread, one.message.seq) == ("other", 1)
        assert len(threads.search("teapot", limit=3)) == 3
        assert len(threads.search("teapot", thread="missing")) == 0

    @promise("thread:search:fresh")
    def test_a_search_sees_what_is_there_now(self, threads: Any, thread: Any) -> None:
        def found(word: str) -> set[tuple[str, int]]:
            return {(hit.message.thread, hit.message.seq) for hit in threads.search(word)}

        thread.append("user", "teapot", id="m")
        assert found("teapot") == {("t", 1)}
        thread.edit(1, content="kettle")
        assert (found("teapot"), found("kettle")) == (set(), {("t", 1)})
        fork = thread.fork()
        assert found("kettle") == {("t", 1), (fork.id, 1)}
        thread.delete_messages([1])
        assert found("kettle") == {(fork.id, 1)}
        fork.delete()
        assert found("kettle") == set()
        thread.append("user", "kettle", id="m")
        assert found("kettle") == {("t", 2)}

    @promise("thread:search:fresh")
    def test_what_a_summary_covers_is_found_still(self, threads: Any, thread: Any) -> None:
        said = say(thread, "teapot", "kettle")
        lay(thread, 1, 2, "things of the kitchen")
        assert threads.search("teapot")[0].message == said[0]

    @promise("thread:search:fresh")
    def test_many_messages_are_indexed_before_a_search(self, threads: Any, thread: Any) -> None:
        for batch in range(3):
            say(thread, *(f"number {number}" for number in range(batch * 600, batch * 600 + 600)), "rare teapot")
        assert {hit.message.seq for hit in threads.search("rare", limit=100) if "rare" in hit.message.content} == {
            601,
            1202,
            1803,
        }

    @promise("thread:search:fresh", "record:reindex")
    def test_making_the_index_anew_changes_no_search(self, library: Any, threads: Any, thread: Any) -> None:
        say(thread, "a teapot", "a kettle", "teapot and kettle")
        before = threads.search("teapot kettle", explain=True)
        library.reindex()
        assert threads.search("teapot kettle", explain=True) == before

    @pytest.mark.parametrize("query", ["", " \n", None, 5, b"tea"])
    @promise("thread:search:refused")
    def test_what_is_no_query_is_refused(self, threads: Any, thread: Any, query: Any) -> None:
        say(thread, "tea")
        before = standing(threads)
        refusals(Invalid, lambda: threads.search(query), lambda: thread.search(query))
        assert standing(threads) == before

    @promise("thread:search:refused")
    def test_a_senseless_bound_is_refused(self, threads: Any) -> None:
        refusals(
            Invalid,
            *(lambda limit=limit: threads.search("tea", limit=limit) for limit in (0, -1, None, "1", True, 10**9)),
            lambda: threads.search("tea", roles=["bot"]),
            lambda: threads.search("tea", roles=[5]),
            lambda: threads.search("tea", thread=""),
        )

    @pytest.mark.parametrize(
        "query", ['"', "tea AND", "NEAR(tea", "te*", "tea' OR 1=1", "tea\0", "\ud800 tea", "x " * 9000]
    )
    @promise("thread:search")
    def test_a_query_is_words_and_nothing_else(self, threads: Any, thread: Any, query: str) -> None:
        say(thread, "tea")
        assert all(hit.message.content == "tea" for hit in threads.search(query))
