"""What a format can't say is named by its place, bad lines by their numbers; and the validators do refuse."""

from __future__ import annotations

import pytest

import memwell
from memwell import Invalid, NotFound, Unavailable
from memwell.ops import NewMessage
from memwell.testing import promise
from memwell.transcripts import dump, from_anthropic, from_jsonl, from_openai, parse, to_anthropic, to_jsonl, to_openai
from memwell.transcripts import jsonl as files
from memwell.types import ToolCall
from surface.formats import Broken, check_anthropic, check_openai

from .talk import conversation, stored


@pytest.fixture
def thread():
    with memwell.open(":memory:") as store:
        yield conversation(store.scope(agent="a").threads.create("Weather"))


# What can't be said


def user(*parts):
    return {"role": "user", "content": list(parts)}


@promise("transcript:place")
@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ("text", "messages:"),
        (["text"], "messages[0]:"),
        ([{"role": "user", "content": "a"}, {"role": "robot", "content": "a"}], "messages[1]:"),
        ([{"role": "user"}], "messages[0]:"),
        ([{"role": "user", "content": 1}], "messages[0].content:"),
        ([user({"type": "text", "text": "a"}, {"text": "a"})], "messages[0].content[1]:"),
        ([user({"type": "text"})], "messages[0].content[0]:"),
        ([{"role": "tool", "content": "a"}], "messages[0]:"),
        ([{"role": "user", "content": "a", "tool_call_id": "c"}], "messages[0]:"),
        ([{"role": "user", "content": "a", "tool_calls": [{}]}], "messages[0]:"),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "messages[0].tool_calls[0]:"),
        ([{"role": "assistant", "tool_calls": ["c"]}], "messages[0].tool_calls[0]:"),
        ([{"role": "assistant", "content": "a", "function_call": {"name": "f"}}], "messages[0]:"),
    ],
)
def test_what_is_no_message_of_openai_is_named(messages, place):
    with pytest.raises(Invalid) as refused:
        from_openai(messages)

    assert refused.value.message.startswith(place)
    assert refused.value.hint


@promise("transcript:place")
@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ([{"role": "system", "content": "a"}], "messages[0]:"),
        ([{"role": "user", "content": "a", "name": "ann"}], "messages[0]:"),
        ([{"role": "user", "content": None}], "messages[0].content:"),
        ([user({"type": "tool_use", "id": "c", "name": "f", "input": {}})], "messages[0].content[0]:"),
        ([user({"type": "text", "text": "a"}, {"type": "tool_result", "tool_use_id": "c"})], "messages[0].content[0]:"),
        ([user({"type": "tool_result"})], "messages[0].content[0]:"),
        ([{"role": "assistant", "content": [{"type": "tool_result"}]}], "messages[0].content[0]:"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f"}]}], "messages[0].content[0]:"),
    ],
)
def test_what_is_no_message_of_anthropic_is_named(messages, place):
    with pytest.raises(Invalid) as refused:
        from_anthropic(messages)

    assert refused.value.message.startswith(place)
    assert refused.value.hint


HI = NewMessage(role="user", content="Hi")
CALL = NewMessage(role="assistant", tool_calls=[ToolCall("c", "f", "not json")])
DONE = NewMessage(role="tool", content="done", tool_call_id="c")


@promise("transcript:place")
@pytest.mark.parametrize(
    ("convert", "new", "place"),
    [
        (to_openai, [HI, DONE], "message 2:"),
        (to_openai, [HI, CALL, DONE, DONE], "message 4:"),
        (to_openai, [HI, CALL, HI], "message 2:"),
        (to_anthropic, [HI, CALL, HI], "message 2:"),
        (to_anthropic, [HI, CALL, DONE], "message 2:"),
        (to_anthropic, [NewMessage(role="assistant", content="Hi")], "message 1:"),
        (to_anthropic, [NewMessage(role="user", content=[{"type": "input_audio"}])], "message 1, part 0:"),
        (to_anthropic, [HI, NewMessage(role="assistant", tool_calls=[ToolCall("a b", "f")])], "message 2:"),
        (to_openai, [NewMessage(role="assistant", content=[{"type": "thinking"}])], "message 1, part 0:"),
        (to_openai, [NewMessage(role="user", content=[{"type": "image", "source": {"type": "file"}}])], "message 1,"),
        (to_openai, [NewMessage(role="user", content=[{"type": "document", "source": {}}])], "message 1,"),
        (to_anthropic, [NewMessage(role="user", content=[{"type": "file", "file": {"file_id": "f"}}])], "message 1,"),
        (to_anthropic, [NewMessage(role="user", content=[{"type": "image_url"}])], "message 1,"),
    ],
)
def test_what_a_format_can_not_say_is_named(convert, new, place):
    with pytest.raises(Invalid) as refused:
        convert(stored(new))

    assert refused.value.message.startswith(place)
    assert refused.value.hint
    assert stored(from_jsonl(to_jsonl(stored(new)))) == stored(new)


@promise("transcript:place")
def test_calls_at_the_end_may_wait_for_their_results():
    call = NewMessage(role="assistant", tool_calls=[ToolCall("c", "f", "{}")])

    assert len(to_openai(stored([HI, call]))) == 2
    assert to_anthropic(stored([HI, call]))["messages"][1]["content"][0]["type"] == "tool_use"


@promise("transcript:anthropic")
def test_blank_text_is_nothing_for_anthropic():
    blank, answer = NewMessage(role="assistant", content=" "), NewMessage(role="user", content="Hello?")
    body = to_anthropic(stored([HI, blank, answer]))

    check_anthropic(body)
    assert len(body["messages"]) == 1


# Files


@promise("transcript:lines")
def test_bad_lines_are_named_by_number():
    good = '{"role": "user", "content": "a"}'
    lines = [
        good,
        "",
        "not json",
        good,
        "[1]",
        '{"role": "user"}',
        '{"role": "user", "content": "a", "memwell": {"x": 1}}',
    ]
    with pytest.raises(Invalid, match=r"^line 3: .* \(also bad: 5, 6, 7\)"):
        from_jsonl(lines)
    with pytest.raises(Invalid, match=r"^line 2: "):
        from_jsonl([good.encode(), b"\xff"])
    assert [one.content for one in from_jsonl([good, "\n", good.encode()])] == ["a", "a"]


@promise("transcript:jsonl")
def test_a_transcript_in_a_file(tmp_path, thread):
    shown = thread.messages(limit=None)
    path = tmp_path / "talk.jsonl"

    assert files.write(path, shown) == 14
    assert [one.id for one in files.read(path)] == [one.id for one in shown]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(NotFound):
        files.read(tmp_path / "none")
    with pytest.raises(Unavailable):
        files.read(tmp_path)
    with pytest.raises(Unavailable):
        files.write(tmp_path / "no" / "folder", shown)


@promise("transcript:guess")
def test_a_format_is_recognised(thread):
    shown = thread.messages(limit=None)
    for form in ("openai", "anthropic", "jsonl"):
        assert parse(dump(shown, form))[0] == form
        assert parse(dump(shown, form), form)[1] == parse(dump(shown, form))[1]
    assert parse(b'{"role": "user", "content": "a"}')[0] == "jsonl"
    assert parse(b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}')[0] == "openai"
    for bad in (b"", b"words", b"3", b"{}", b'["a"]', b"\xff", b"[" * 5000):
        with pytest.raises(Invalid):
            parse(bad)
    with pytest.raises(Invalid):
        parse(b"[]", "xml")
    with pytest.raises(Invalid):
        dump([], "auto")


# The validators have to fail where a rule is broken


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user"}],
        [{"role": "user", "content": "a", "memwell": {}}],
        [{"role": "tool", "content": "a", "tool_call_id": "c"}],
        [{"role": "assistant", "content": None}],
        [user({"type": "image"})],
    ],
)
@promise("transcript:valid")
def test_a_list_that_openai_refuses_fails(messages):
    with pytest.raises(Broken):
        check_openai(messages)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "assistant", "content": "a"}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": "a"}],
        [{"role": "user", "content": " "}],
        [user({"type": "tool_result", "tool_use_id": "c"})],
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": "a"},
        ],
    ],
)
@promise("transcript:valid")
def test_a_body_that_anthropic_refuses_fails(messages):
    with pytest.raises(Broken):
        check_anthropic({"messages": messages})
