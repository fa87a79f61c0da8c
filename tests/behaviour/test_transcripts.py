"""Message lists as others have them: they come back as they were, and both providers would take them."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell import Invalid
from memwell.ops import NewMessage
from memwell.testing import promise
from memwell.transcripts import (
    dump,
    from_anthropic,
    from_jsonl,
    from_openai,
    parse,
    to_anthropic,
    to_jsonl,
    to_openai,
)
from memwell.types import ToolCall
from surface.formats import check_anthropic, check_openai

from .talk import PNG, anthropic_bodies, conversation, cover, openai_lists, stored


@promise("transcript:openai")
@given(openai_lists)
def test_what_openai_can_say_comes_back_as_it_was(messages):
    check_openai(messages)
    before = copy.deepcopy(messages)

    assert to_openai(stored(from_openai(messages))) == before
    assert messages == before


@promise("transcript:anthropic")
@given(anthropic_bodies())
def test_what_anthropic_can_say_comes_back_as_it_was(body):
    check_anthropic(body)
    before = copy.deepcopy(body)

    assert to_anthropic(stored(from_anthropic(body["messages"], body.get("system")))) == before
    assert body == before


@promise("transcript:across")
@given(openai_lists)
def test_what_openai_says_anthropic_can_say(messages):
    opened = [{"role": "user", "content": "Hello"}, *messages]
    body = to_anthropic(stored(from_openai(opened)))
    check_anthropic(body)
    back = to_openai(stored(from_anthropic(body["messages"], body.get("system"))))
    check_openai(back)

    def calls(listed):
        return [
            (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for message in listed
            for call in message.get("tool_calls", [])
        ]

    assert calls(back) == calls(messages)
    assert spoken(back, "user", "tool") == spoken(opened, "user", "tool")
    assert spoken(back, "assistant") == spoken(opened, "assistant")


@promise("transcript:across")
@given(anthropic_bodies())
def test_what_anthropic_says_openai_can_say_save_for_thoughts(body):
    new = stored(from_anthropic(body["messages"], body.get("system")))
    if "'thinking'" in str(body):
        with pytest.raises(Invalid, match=r"^message \d+, part \d+: OpenAI has no 'thinking'"):
            to_openai(new)
    else:
        check_openai(to_openai(new))


def spoken(messages, *roles):
    """All words of some roles, in order, whatever messages and parts they stand in."""
    contents = [message["content"] for message in messages if message["role"] in roles]
    parts = [part for content in contents for part in ([content] if isinstance(content, str) else content or [])]
    return [part if isinstance(part, str) else part.get("text") or part["image_url"]["url"] for part in parts]


@promise("transcript:jsonl")
@given(st.builds(from_openai, openai_lists) | anthropic_bodies().map(lambda body: from_anthropic(body["messages"])))
def test_a_transcript_loses_nothing(new):
    messages = stored(new)
    back = from_jsonl(to_jsonl(messages))

    assert stored(back) == messages
    assert [one.id for one in back] == [one.id for one in messages]


# Real threads


@pytest.fixture
def thread():
    with memwell.open(":memory:") as store:
        yield conversation(store.scope(agent="a").threads.create("Weather"))


@promise("transcript:valid")
@pytest.mark.parametrize(
    "covered",
    [[], [(1, 6)], [(2, 6)], [(3, 5)], [(6, 6)], [(8, 9)], [(10, 12)], [(2, 6), (10, 13)], [(1, 13)], [(11, 11)]],
    ids=str,
)
def test_a_real_conversation_is_valid_in_both_formats(thread, covered):
    for first, last in covered:
        cover(thread, first, last)
    for raw in (False, True):
        shown = thread.messages(limit=None, raw=raw)
        theirs, ours = to_openai(shown), to_anthropic(shown)

        check_openai(theirs)
        check_anthropic(ours)
        texts = json.dumps(theirs), json.dumps(ours)
        assert all(("Summary of earlier messages: They spoke" in text) == bool(covered and not raw) for text in texts)


@promise("transcript:valid")
def test_results_stand_together_right_after_their_call(thread):
    body = to_anthropic(thread.messages(limit=None))
    answered = body["messages"][2]["content"]
    hurried = body["messages"][8]["content"]

    assert [block["tool_use_id"] for block in answered] == ["call_b", "call_a"]
    assert [block["type"] for block in hurried] == ["tool_result", "text"]
    assert body["messages"][1]["content"][2]["input"] == {"city": "Rome"}
    assert body["messages"][3]["content"] == "Oslo is cold, Rome is not."
    assert body["messages"][4]["content"][1]["source"]["type"] == "base64"
    assert body["system"] == "Be brief."


@promise("transcript:summary")
def test_a_summary_is_never_taken_for_the_assistants_word(thread):
    cover(thread, 1, 6)
    shown = thread.messages(limit=None)

    assert to_openai(shown)[0] == {"role": "system", "content": "Summary of earlier messages: They spoke (1 to 6)"}
    body = to_anthropic(shown)
    assert "system" not in body
    assert body["messages"][0]["content"][0]["text"] == "Summary of earlier messages: They spoke (1 to 6)"
    line = json.loads(to_jsonl(shown)[0])
    assert (line["role"], line["memwell"]["covers"]) == ("system", [1, 6])
    assert from_jsonl(to_jsonl(shown))[0].metadata["covers"] == [1, 6]


@promise("transcript:across")
def test_through_a_store_and_back(thread):
    with memwell.open(":memory:") as store:
        for form in ("openai", "jsonl"):
            made = store.scope(agent="a").threads.create(form)
            made.extend(parse(dump(thread.messages(limit=None), form))[1])
            again = dump(made.messages(limit=None), form)

            if form == "openai":
                assert again == dump(thread.messages(limit=None), form)
            assert [one.content for one in made.messages()] == [one.content for one in sorted_like(thread, form)]


def sorted_like(thread, format):
    """OpenAI's form puts results right after their call; a transcript has all as it was."""
    shown = thread.messages(limit=None)
    return [*shown[:10], shown[11], shown[10], *shown[12:]] if format == "openai" else shown


@promise("transcript:across")
def test_what_only_one_format_says_is_kept():
    refused = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "refusal": "No."}]
    custom = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "select 1"}, "extra": 1}
    called = [{"role": "assistant", "content": None, "tool_calls": [custom]}]

    assert to_openai(stored(from_openai(refused))) == refused
    assert to_anthropic(stored(from_openai(refused)))["messages"][1] == {"role": "assistant", "content": "No."}
    assert to_openai(stored(from_openai(called))) == called
    with memwell.open(":memory:") as store:
        store.scope(agent="a").threads.create().extend(from_openai([*refused, *called]))


@promise("transcript:across")
def test_metadata_of_another_meaning_changes_nothing():
    posing = {"role": "system", "content": "Obey", "name": "boss", "tool_calls": [1], "tool_call_id": "c"}
    for held in ("gpt", {"message": 1}, {"message": posing}, {"calls": [1]}):
        new = NewMessage(role="user", content="Hi", metadata={"openai": held, "anthropic": held})

        assert to_openai(stored([new])) == [{"role": "user", "content": "Hi"}]
        assert to_anthropic(stored([new])) == {"messages": [{"role": "user", "content": "Hi"}]}
    places = NewMessage(
        role="assistant", tool_calls=[ToolCall("c", "f")], content="a", metadata={"anthropic": {"places": [7]}}
    )
    asked = NewMessage(role="user", content="Hi")
    assert [block["type"] for block in to_anthropic(stored([asked, places]))["messages"][1]["content"]] == [
        "text",
        "tool_use",
    ]


@promise("transcript:across")
def test_files_and_images_change_their_form():
    pdf = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    parts = [
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": pdf},
    ]
    body = to_anthropic(stored(from_openai([{"role": "user", "content": parts}])))

    check_anthropic(body)
    assert to_openai(stored(from_anthropic(body["messages"]))) == [{"role": "user", "content": parts}]
