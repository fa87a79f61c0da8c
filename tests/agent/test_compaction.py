"""Summaries over threads: on RAM and on a file, in both faces, with conversations that call several tools at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.agent.chat import transcript
from memwell.agent.colours import given
from memwell.agent.compaction import cuts, laid_out, summed_up
from memwell.agent.processors import Summarizer, TokenLimiter
from memwell.errors import Invalid, NotFound
from memwell.testing import promise
from memwell.types import Message

from .chats import serving
from .talks import KINDS, TOKENS, assert_unbroken, conversation, opened, raw, scripted, shown, size, turn


@pytest.fixture(params=KINDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with opened(request.param, tmp_path) as store:
        yield store


@pytest.fixture
def mem(store: Any) -> Any:
    return store.scope(agent="a")


@promise("compact:summary", "compact:tools", "compact:originals")
async def test_a_conversation_is_compacted_to_2000_tokens(mem: Any) -> None:
    thread = await conversation(mem, 30)
    before = await raw(thread)
    assert size(before) > 4000
    report = await given(Summarizer(scripted, max_tokens=2000, keep=20).process(mem, thread.id))
    after = await shown(thread)
    (outcome,) = report.threads
    (covered,) = outcome.covered
    assert size(after) == outcome.after <= 2000 < outcome.before == size(before)
    assert [message.role for message in after[:3]] == ["system", "summary", "user"]
    assert after[1].content == f"Summary of {covered.messages} from 2 to {covered.last}."
    assert after[1].metadata == {"kind": "summary", "messages": covered.messages}
    assert after[2:] == before[1 + covered.messages :]
    assert len(after) >= 20 + 2
    assert outcome.skipped is None
    assert_unbroken(after)
    assert await raw(thread) == before


@promise("compact:tools")
@pytest.mark.parametrize("keep", range(14))
async def test_no_place_to_cut_parts_a_call_from_its_result(keep: int) -> None:
    with memwell.open(":memory:") as store:
        thread = await conversation(store.scope(agent="a"), 6)
        Summarizer(scripted, max_tokens=10, keep=keep).process(store)
        after = thread.messages(limit=None)
        assert_unbroken(after)
        assert len(after) >= keep + 2
        assert after[-6:] == thread.messages(limit=6, raw=True), "the last user turn stays"


@promise("compact:tools")
def test_results_as_parts_of_content_belong_to_their_calls() -> None:
    with memwell.open(":memory:") as store:
        thread = store.scope(agent="a").threads.create()
        thread.append("user", "go")
        thread.append("assistant", [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}])
        thread.append("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}])
        thread.append("assistant", "done")
        assert cuts(laid_out(thread.messages(raw=True), [], TOKENS)) == [0, 1, 3, 4]


@promise("compact:again")
async def test_an_earlier_summary_is_summed_up_with_what_came_later(mem: Any) -> None:
    thread = await conversation(mem, 10)
    seen: list[list[Message]] = []

    def run(messages: list[Message]) -> str:
        seen.append(messages)
        return f"Summary number {len(seen)}."

    summarizer = Summarizer(run, max_tokens=500, keep=6)
    await given(summarizer.process(mem, thread.id))
    again = await given(summarizer.process(mem, thread.id))
    assert len(seen) == 1, "a summary alone is not summed up again"
    assert again.threads[0].skipped is None or "nothing new" in again.threads[0].skipped
    for number in range(10, 20):
        await given(thread.extend(turn(number)))
    before = await raw(thread)
    await given(summarizer.process(mem, thread.id))
    assert [message.role for message in seen[1]][:2] == ["summary", "user"]
    assert seen[1][0].content == "Summary number 1."
    after = await shown(thread)
    assert [message.content for message in after[:2]] == ["You are a guide.", "Summary number 2."]
    assert await raw(thread) == before
    assert_unbroken(after)


@promise("compact:again")
async def test_what_was_only_left_out_is_read_when_it_is_summed_up(mem: Any) -> None:
    thread = await conversation(mem, 10)
    await given(TokenLimiter(800).process(mem, thread.id))
    assert [message.role for message in (await shown(thread))[:2]] == ["system", "summary"]
    seen: list[Message] = []
    await given(Summarizer(lambda m: seen.extend(m) or "Short.", max_tokens=100, keep=0).process(mem, thread.id))
    assert seen == (await raw(thread))[1:-6]


@promise("compact:conflict")
async def test_a_summary_of_messages_that_changed_is_dropped_and_made_once_more(store: Any, mem: Any) -> None:
    thread = await conversation(mem, 10)
    times = 0

    async def run(messages: list[Message]) -> str:
        nonlocal times
        times += 1
        if times == 1:
            await given(thread.edit(4, content="corrected"))
        assert times == 1 or any(message.content == "corrected" for message in messages)
        return f"Summary {times}."

    report = await given(Summarizer(run, max_tokens=100, keep=0).process(mem, thread.id))
    assert times == 2
    assert (await shown(thread))[1].content == "Summary 2."
    assert len(report.threads[0].covered) == 1


@promise("compact:conflict")
async def test_messages_that_go_on_changing_are_reported_and_left_alone(mem: Any) -> None:
    thread = await conversation(mem, 10)
    times = 0

    async def run(messages: list[Message]) -> str:
        nonlocal times
        times += 1
        await given(thread.edit(4, content=f"corrected {times}"))
        return "Summary."

    report = await given(Summarizer(run, max_tokens=100, keep=0).process(mem, thread.id))
    (outcome,) = report.threads
    assert (times, outcome.covered) == (2, [])
    assert "changed meanwhile" in str(outcome.skipped)
    assert await given(thread.overlays()) == []


@promise("compact:conflict")
async def test_what_is_appended_meanwhile_is_no_conflict(mem: Any) -> None:
    thread = await conversation(mem, 10)

    async def run(messages: list[Message]) -> str:
        await given(thread.append("user", "and another thing"))
        return "Summary."

    await given(Summarizer(run, max_tokens=100, keep=0).process(mem, thread.id))
    after = await shown(thread)
    assert [after[1].content, after[-1].content] == ["Summary.", "and another thing"]


def failing(messages: list[Message]) -> str:
    raise RuntimeError("the model is out")


@promise("compact:failing")
@pytest.mark.parametrize(
    ("run", "why"),
    [
        (failing, "RuntimeError: the model is out"),
        (lambda messages: "", "no text"),
        (lambda messages: "  \n", "no text"),
        (lambda messages: None, "NoneType"),
        (lambda messages: "a\0b", "can't be stored"),
        (lambda messages: "long " * 9000, "no shorter"),
    ],
)
async def test_a_model_that_fails_changes_nothing(mem: Any, run: Any, why: str) -> None:
    thread = await conversation(mem, 10)
    before = await shown(thread)
    report = await given(Summarizer(run, max_tokens=100).process(mem, thread.id))
    (outcome,) = report.threads
    assert why in str(outcome.skipped)
    assert (outcome.covered, outcome.before, outcome.after) == ([], size(before), size(before))
    assert await shown(thread) == before
    assert await given(thread.overlays()) == []


@promise("compact:dry")
async def test_a_dry_run_reports_the_same_and_changes_nothing(mem: Any) -> None:
    thread = await conversation(mem, 10)
    before = await shown(thread)
    summarizer = Summarizer(scripted, max_tokens=500)
    dry = await given(summarizer.process(mem, dry_run=True))
    assert await shown(thread) == before
    real = await given(summarizer.process(mem))
    assert (dry.threads, dry.dry_run, real.dry_run) == (real.threads, True, False)
    assert len(await shown(thread)) < len(before)


@promise("compact:originals")
async def test_a_summary_whose_originals_are_gone_stays_and_the_rest_is_summed_up(mem: Any) -> None:
    thread = await conversation(mem, 10)
    summarizer = Summarizer(scripted, max_tokens=100, keep=0)
    await given(summarizer.process(mem, thread.id))
    (first,) = await given(thread.overlays())
    await given(thread.delete_messages(range(first.first, first.last + 1)))
    for number in range(10, 20):
        await given(thread.extend(turn(number)))
    report = await given(summarizer.process(mem, thread.id))
    assert [each.first for each in report.threads[0].covered] == [first.last + 1]
    assert [message.role for message in await shown(thread)][:4] == ["system", "summary", "summary", "user"]
    assert (await shown(thread))[1].content == first.content


async def test_a_scope_and_a_store_are_worked_through_and_one_failure_stops_nothing(store: Any) -> None:
    threads = [await conversation(store.scope(agent=name), 5) for name in ("a", "a", "b")]

    def run(messages: list[Message]) -> str:
        if messages[0].thread == threads[1].id:
            raise RuntimeError("not this one")
        return "Short."

    summarizer = Summarizer(run, max_tokens=100, keep=0)
    scope = await given(summarizer.process(store, store.scope(agent="a")))
    assert {each.thread for each in scope.threads} == {threads[0].id, threads[1].id}
    everything = await given(summarizer.process(store))
    assert {each.thread: len(each.covered) for each in everything.threads} == {
        threads[0].id: 0,
        threads[1].id: 0,
        threads[2].id: 1,
    }
    with pytest.raises(NotFound):
        await given(summarizer.process(store.scope(agent="b"), threads[0].id))
    with pytest.raises(Invalid):
        await given(summarizer.process(store, threads[0].id))


def test_an_async_model_serves_plain_code(tmp_path: Path) -> None:
    async def run(messages: list[Message]) -> str:
        await asyncio.sleep(0)
        return scripted(messages)

    with memwell.open(tmp_path / "memory.db") as store:
        mem = store.scope(agent="a")
        thread = asyncio.run(conversation(mem, 10))
        Summarizer(run, max_tokens=100).process(mem, thread.id)
        assert str(thread.messages()[1].content).startswith("Summary of")


SAID = {"choices": [{"message": {"role": "assistant", "content": "All is warm."}}]}


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return "sk-secret"


@promise("compact:model")
async def test_a_model_is_asked_over_http(mem: Any, key: str) -> None:
    thread = await conversation(mem, 10)
    old = (await raw(thread))[1:-6]
    with serving((200, SAID)) as server:
        await given(Summarizer(f"openai:m@{server.url}", max_tokens=100, keep=0).process(mem, thread.id))
    assert (await shown(thread))[1].content == "All is warm."
    ((path, headers, body),) = server.seen
    assert (path, headers["Authorization"], body["model"]) == ("/v1/chat/completions", f"Bearer {key}", "m")
    assert body["messages"][1] == {"role": "user", "content": transcript(old)}
    assert len(transcript(old).splitlines()) == len(old)


@promise("compact:model")
@pytest.mark.parametrize(
    ("answers", "covered", "asked"),
    [
        ([(503, {}), (429, {}), (200, SAID)], 1, 3),
        ([(503, {})] * 4, 0, 4),
        ([(401, {"error": {"message": "bad key sk-secret"}})], 0, 1),
        ([(200, {"choices": []})], 0, 1),
        ([(200, {"other": 1})], 0, 1),
        ([(200, {"choices": [{"message": {"content": None}}]})], 0, 1),
    ],
)
def test_a_server_that_fails_is_asked_again_or_reported(answers: Any, covered: int, asked: int, key: str) -> None:
    with serving(*answers) as server, memwell.open(":memory:") as store:
        mem = store.scope(agent="a")
        thread = asyncio.run(conversation(mem, 10))
        report = Summarizer(f"openai:m@{server.url}", max_tokens=100).process(mem, thread.id)
        assert len(thread.overlays()) == len(report.threads[0].covered) == covered
    assert len(server.seen) == asked
    assert report.threads[0].skipped
    assert key not in report.threads[0].skipped


@pytest.mark.parametrize("arguments", [{"max_tokens": 0}, {"keep": -1}, {"max_tokens": None}, {"keep": None}])
def test_bad_options_are_refused(arguments: Any) -> None:
    with pytest.raises(Invalid):
        Summarizer(scripted, **arguments)


@pytest.mark.parametrize("run", [None, 3, "gpt", "openai:"])
def test_what_is_no_model_is_refused(run: Any) -> None:
    with pytest.raises(Invalid):
        Summarizer(run)


def test_nothing_is_planned_for_an_empty_thread() -> None:
    assert summed_up([], 1, 0) is None
