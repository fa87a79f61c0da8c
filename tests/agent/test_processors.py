"""Limits, expiry and pipelines: on RAM and on a file, in both faces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import memwell
from memwell.agent.colours import given
from memwell.agent.processors import Pipeline, Summarizer, TokenLimiter, TtlCollector
from memwell.agent.tokens import Tokens, text_of
from memwell.agent.upkeep import Report
from memwell.engine.spoken import fingerprint
from memwell.errors import Invalid
from memwell.ops import NewMessage
from memwell.testing import frozen_clock, promise
from memwell.types import ToolCall

from .talks import KINDS, assert_unbroken, conversation, opened, raw, scripted, shown, size, turn


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with opened(request.param, tmp_path) as store:
        yield store


@pytest.fixture
def mem(store: Any) -> Any:
    return store.scope(agent="a")


@promise("limit:oldest", "limit:kept", "compact:tools", "compact:originals")
async def test_the_oldest_part_is_left_out_and_nothing_is_lost(mem: Any) -> None:
    thread = await conversation(mem, 30)
    before = await raw(thread)
    report = await given(TokenLimiter(2000).process(mem, thread.id))
    after = await shown(thread)
    (outcome,) = report.threads
    (covered,) = outcome.covered
    assert size(after) == outcome.after <= 2000 < outcome.before == size(before)
    assert [after[0], *after[2:]] == [before[0], *before[1 + covered.messages :]]
    assert after[1].content == f"{covered.messages} earlier messages are left out here."
    assert after[1].metadata == {"kind": "limit", "messages": covered.messages}
    assert outcome.after > 2000 - size(before[covered.messages - 6 : covered.messages + 1]), "no more than needed"
    assert_unbroken(after)
    assert await raw(thread) == before


@promise("limit:oldest")
async def test_a_thread_within_the_limit_is_left_alone(mem: Any) -> None:
    thread = await conversation(mem, 3)
    report = await given(TokenLimiter(10_000).process(mem, thread.id))
    assert (report.threads[0].covered, report.threads[0].skipped) == ([], None)
    assert await given(thread.overlays()) == []


@promise("limit:again")
async def test_what_is_left_out_grows_in_one_place(mem: Any) -> None:
    thread = await conversation(mem, 10)
    for number in range(10, 20):
        await given(TokenLimiter(1000).process(mem, thread.id))
        await given(thread.extend(turn(number)))
    await given(TokenLimiter(1000).process(mem, thread.id))
    after = await shown(thread)
    assert [message.role for message in after].count("summary") == 1
    assert size(after) <= 1000
    assert after[1].metadata["messages"] == await given(thread.count()) - len(after) + 1
    assert_unbroken(after)


@promise("limit:kept")
async def test_the_last_user_turn_and_the_system_stay_whatever_the_limit(mem: Any) -> None:
    thread = await conversation(mem, 5)
    report = await given(TokenLimiter(1).process(mem, thread.id))
    after = await shown(thread)
    assert [message.role for message in after] == [
        *("system", "summary", "user", "assistant", "tool", "tool", "tool", "assistant")
    ]
    assert "still over 1 tokens" in str(report.threads[0].skipped)


@promise("limit:summary")
async def test_a_summary_goes_last_and_never_while_its_originals_are_gone(mem: Any) -> None:
    thread = await conversation(mem, 10)
    await given(Summarizer(lambda _: "It was warm. " * 30, max_tokens=100, keep=12).process(mem, thread.id))
    (summary,) = await given(thread.overlays())
    before = await shown(thread)
    await given(TokenLimiter(size([*before[:2], *before[-6:]]) + 15).process(mem, thread.id))
    assert [message.role for message in await shown(thread)][:4] == ["system", "summary", "summary", "user"]
    assert (await shown(thread))[1].content == summary.content, "messages go before summaries"
    tight = TokenLimiter(size((await shown(thread))[3:]) + 20)
    await given(thread.delete_messages(range(summary.first, summary.last + 1)))
    report = await given(tight.process(mem, thread.id))
    assert (await shown(thread))[1].content == summary.content, "its originals are gone"
    assert report.threads[0].skipped
    assert report.threads[0].covered == []


@promise("limit:summary")
async def test_a_summary_goes_if_nothing_else_helps_and_its_originals_are_there(mem: Any) -> None:
    thread = await conversation(mem, 10)
    await given(Summarizer(lambda _: "It was warm. " * 30, max_tokens=100, keep=12).process(mem, thread.id))
    before = await raw(thread)
    last = size((await shown(thread))[-6:])
    report = await given(TokenLimiter(last + 30).process(mem, thread.id))
    after = await shown(thread)
    assert [message.metadata.get("kind") for message in after[:3]] == [None, "limit", None]
    assert report.threads[0].after == size(after) <= last + 30
    assert await raw(thread) == before


async def test_a_summary_made_by_others_is_known_by_what_is_below_it(mem: Any) -> None:
    thread = await conversation(mem, 10)
    below = (await raw(thread))[1:7]
    await given(thread.cover(2, 7, "Somebody's own summary.", fingerprint(below)))
    await given(thread.edit(3, metadata={"seen": True}))
    await given(TokenLimiter(1).process(mem, thread.id))
    assert (await shown(thread))[1].content == "Somebody's own summary."


@promise("compact:conflict")
@pytest.mark.parametrize(("edits", "covered"), [(1, 1), (2, 0)])
async def test_a_limit_on_messages_that_changed_is_tried_once_more(edits: int, covered: int) -> None:
    with memwell.open(":memory:") as store:
        thread = await conversation(store.scope(agent="a"), 5)
        rounds = 0

        def count(text: str) -> int:
            """Changes a message after it was read and before it is covered."""
            nonlocal rounds
            if text == "You are a guide." and rounds < edits:
                rounds += 1
                thread.edit(3, metadata={"round": rounds})
            return len(text)

        report = TokenLimiter(2000, count=count).process(store)
        assert (len(report.threads[0].covered), len(thread.overlays())) == (covered, covered)
        assert covered or "refused 2 times" in str(report.threads[0].skipped)


@promise("compact:dry")
async def test_a_dry_run_of_a_pipeline_reports_the_same(mem: Any) -> None:
    thread = await conversation(mem, 20)
    before = await shown(thread)
    pipeline = Pipeline([Summarizer(scripted, max_tokens=2000, keep=18), TokenLimiter(400)])
    dry = await given(pipeline.process(mem, dry_run=True))
    assert await shown(thread) == before
    real = await given(pipeline.process(mem))
    assert [part.threads for part in dry.parts] == [part.threads for part in real.parts]
    assert all(part.threads[0].covered for part in real.parts)
    assert real.parts[1].threads[0].after == size(await shown(thread)) <= 400


class Counting:
    """A processor of somebody else's."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any, bool]] = []

    def process(self, memory: Any, target: Any, *, dry_run: bool = False) -> str:
        self.seen.append((memory, target, dry_run))
        return "counted"


@promise("processor:any")
async def test_any_object_with_process_fits_in_a_pipeline(store: Any, mem: Any) -> None:
    counting = Counting()
    thread = await conversation(mem, 2)
    report = await given(Pipeline([counting, TtlCollector(), TokenLimiter(100)]).process(mem, thread.id))
    assert counting.seen == [(mem, thread.id, False)]
    assert report.parts[0] == "counted"
    assert [part.processor for part in report.parts[1:]] == ["TtlCollector", "TokenLimiter"]
    for wrong in (object(), None):
        with pytest.raises(Invalid):
            Pipeline([wrong])


@promise("processor:ttl")
async def test_the_collector_frees_what_has_expired(store: Any) -> None:
    with frozen_clock() as clock:
        for name in ("a", "b"):
            await given(store.scope(agent=name).set("token", "x", ttl=60))
        await given(store.scope(agent="a").set("kept", "x"))
        clock.advance(61)
        assert (await given(TtlCollector().process(store, dry_run=True))).swept is None
        report = await given(TtlCollector().process(store))
        assert report == Report(processor="TtlCollector", swept=2)
        assert (await given(TtlCollector().process(store.scope(agent="a")))).swept == 0
        assert await given(store.scope(agent="a").list()) == ["kept"]


@promise("processor:target")
async def test_a_target_is_a_thread_a_scope_or_everything(store: Any) -> None:
    threads = [await conversation(store.scope(agent=name), 5) for name in ("a", "b", "b")]
    mem, limiter = store.scope(agent="b"), TokenLimiter(300)

    async def seen(*where: Any) -> set[str]:
        return {each.thread for each in (await given(limiter.process(*where, dry_run=True))).threads}

    ids = [thread.id for thread in threads]
    assert await seen(mem, ids[1]) == await seen(mem, threads[1]) == await seen(store, threads[1]) == {ids[1]}
    assert await seen(mem) == await seen(store, mem) == {ids[1], ids[2]}
    assert await seen(store) == await seen(store, store) == set(ids)
    for wrong in (3, object(), ["x"]):
        with pytest.raises(Invalid):
            await given(limiter.process(mem, wrong))  # type: ignore[call-overload]


async def test_more_threads_than_a_page(mem: Any) -> None:
    for _ in range(103):
        await given(mem.threads.create())
    assert len((await given(TokenLimiter(300).process(mem))).threads) == 103


async def test_two_faces_do_not_mix() -> None:
    with memwell.open(":memory:") as plain:
        async with memwell.open_async(":memory:") as awaited:
            with pytest.raises(Invalid):
                TokenLimiter(5).process(plain, awaited.scope(agent="a"))  # type: ignore[call-overload]
            with pytest.raises(Invalid):
                TokenLimiter(5).process(awaited, plain)  # type: ignore[call-overload]
    with pytest.raises(Invalid):
        TokenLimiter(5).process("memory.db")  # type: ignore[call-overload]


# Counting


@promise("tokens:own")
def test_a_message_counts_as_it_says_or_by_its_text() -> None:
    with memwell.open(":memory:") as store:
        thread = store.scope(agent="a").threads.create()
        own = thread.append("user", "four words are here", tokens=77)
        text = thread.append("user", "four words are here")
        parts = thread.append("user", [{"type": "text", "text": "seen"}, {"type": "image", "url": "x"}])
        call = thread.append("assistant", tool_calls=[ToolCall("1", "look_up", {"city": "Rome"}), ToolCall("2", "f")])
    words = Tokens(lambda text: len(text.split()))
    assert [words.of(each) for each in (own, text)] == [77, 4]
    assert Tokens().of(text) == 5
    assert text_of(parts) == 'seen\n{"type":"image","url":"x"}'
    assert text_of(call) == 'look_up({"city":"Rome"})\nf()'


@promise("tokens:own")
async def test_a_counter_of_ones_own_decides(mem: Any) -> None:
    thread = await conversation(mem, 5)
    report = await given(TokenLimiter(10, count=lambda text: 1).process(mem, thread.id))
    assert (report.threads[0].before, report.threads[0].after) == (31, 9)
    assert len(await shown(thread)) == 9, "three results go with their calls"


@pytest.mark.parametrize("wrong", [-1, 1.5, None, True])
def test_a_counter_that_gives_no_number_is_an_error(wrong: Any) -> None:
    with pytest.raises(Invalid):
        Tokens(lambda text: wrong).of_text("x")
    with pytest.raises(Invalid):
        TokenLimiter(5, count=wrong)


# Whatever the conversation

TURNS = st.lists(
    st.tuples(
        st.integers(0, 3),  # calls at once
        st.integers(0, 60),  # words of a result
        st.booleans(),  # whether the user says something first
        st.booleans(),  # whether somebody interrupts between the call and its results
    ),
    max_size=12,
)


def said(turns: list[tuple[int, int, bool, bool]]) -> list[NewMessage]:
    messages = [NewMessage(role="system", content="Be kind.")]
    for at, (calls, words, asks, interrupted) in enumerate(turns):
        messages += [NewMessage(role="user", content=f"question {at}")] * asks
        made = [ToolCall(f"c{number}", "f", "x" * words) for number in range(calls)]
        messages.append(NewMessage(role="assistant", content=f"so {at}", tool_calls=made))
        messages += [NewMessage(role="user", content="hurry up")] * interrupted
        messages += [NewMessage(role="tool", tool_call_id=call.id, content="word " * words) for call in reversed(made)]
    return messages


@promise("compact:tools", "limit:kept")
@drawn(TURNS, st.integers(1, 400), st.integers(0, 8))
def test_whatever_the_conversation_nothing_is_torn_or_lost(turns: Any, most: int, keep: int) -> None:
    with memwell.open(":memory:") as store:
        thread = store.scope(agent="a").threads.create()
        thread.extend(said(turns))
        before = thread.messages(limit=None, raw=True)
        for processor in (Summarizer(lambda _: "Sum.", max_tokens=most, keep=keep), TokenLimiter(most)):
            report = processor.process(store)
            after = thread.messages(limit=None)
            assert_unbroken_with_pauses(after)
            assert after[0] == before[0]
            assert report.threads[0].after == size(after)
            assert report.threads[0].skipped or size(after) <= most
            users = [at for at, message in enumerate(before) if message.role == "user"]
            tail = before[users[-1] :] if users else before[-1:]
            assert after[-len(tail) :] == tail
            assert thread.messages(limit=None, raw=True) == before


def assert_unbroken_with_pauses(messages: list[Any]) -> None:
    """As `assert_unbroken`, where somebody may speak between a call and its results."""
    assert_unbroken([message for message in messages if message.role != "user"])
