"""What appears: nothing of a memory reaches a terminal raw, colours and bars only where somebody sees them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.cli import show

from .conftest import Run

Terminal = Callable[..., tuple[int, str]]
HOSTILE = {
    "escape": "\x1b[31mred\x1b]0;title\x07",
    "c1": "\x9b31m\x85",
    "delete": "\x7f",
    "bidi": "\u202egnp.exe\u2066",
    "zero-width": "a\u200b\u200d\u2060\ufeffb",
    "lines": "a\r\nb\u2028c\u2029d",
    "tags": "\U000e0041\U000e0042",
    "selectors": "x\ufe0f\U000e0100",
    "fillers": "\u3164\u115f\uffa0\u2800",
}
RAW = frozenset("".join(HOSTILE.values())) - frozenset("abcdx31mregn.]0;titlp[")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_hostile_value_is_escaped_and_still_the_same_json(
    run: Run, store: str, text: str, json_flag: list[str]
) -> None:
    with memwell.open(store) as opened:
        opened.shared().set("k", {text: [text]})
    out = run("facts", "get", "global", "k", *json_flag).out
    value = json.loads(out)

    assert not RAW & set(out.rstrip("\n"))
    assert (value["value"] if json_flag else value) == {text: [text]}


@pytest.mark.parametrize(
    "command",
    [
        ["facts", "list", "global"],
        ["memory", "list", "a"],
        ["facts", "scopes"],
        ["memory", "history", "a", "k\u202ey"],
        ["memory", "watch", "a", "--since", "0", "--timeout", "0"],
        ["memory", "read", "a", "no\u202ekey"],
    ],
)
@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_a_hostile_key_scope_or_author_is_escaped(
    run: Run, store: str, command: list[str], json_flag: list[str]
) -> None:
    with memwell.open(store, by="eve\x1b[2J") as opened:
        for mem in (opened.shared(), opened.scope(agent="a"), opened.scope(agent="b\x1b[1m\u202e")):
            mem.set("k\u202ey", "v")
    ran = run(*command, *json_flag)

    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)
    assert "\\u202e" in ran.out + ran.err or "eve" in ran.out


def test_a_key_with_something_to_escape_is_a_json_string_so_that_no_two_look_alike(run: Run) -> None:
    for key in ("k\u200b", "k\\u200b", '"k"', " k", "plain key", "ключ"):
        run("memory", "write", "a", key, "1")

    assert set(run("memory", "list", "a").out.splitlines()) == {
        '"k\\u200b"', "k\\u200b", '"\\"k\\""', '" k"', "plain key", "ключ",
    }  # fmt: skip


@given(st.text())
def test_whatever_is_escaped_reads_back_and_has_nothing_invisible(text: str) -> None:
    shown = show.to_text(text)

    assert msgspec.json.decode(shown) == text
    assert not [
        char for char in shown if unicodedata.category(char)[0] in "C" or unicodedata.category(char) in ("Zl", "Zp")
    ]


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_names_look_different(one: str, other: str) -> None:
    assert (show.name(one) == show.name(other)) == (one == other)


def test_columns_line_up_also_for_wide_and_combining_characters() -> None:
    lines = list(
        show.table(("KEY", "N", "VALUE"), [("日本", "1", "x"), ("e\u0301", "10", "y"), ("long key", "7", "z")])
    )

    assert lines[1:] == ["日本       1  x", "e\u0301         10  y", "long key   7  z"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 * 2**30, "5.0 GiB"), (2**60, "1048576.0 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert show.size(count) == text


def test_colours_only_on_a_terminal(terminal: Terminal, script: Run, filled: str) -> None:
    command = ("memory", "history", "support", "config")

    assert "\x1b[1mVERSION" in terminal(*command)[1]
    assert "\x1b" not in script(*command).out


def test_no_color_is_respected(terminal: Terminal, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    for command in (["memory", "history", "support", "config"], ["doctor"], ["memory", "read", "support", "none"]):
        assert "\x1b" not in terminal(*command)[1]


def test_a_long_line_is_cut_on_a_terminal_and_whole_in_a_pipe(terminal: Terminal, script: Run, run: Run) -> None:
    run("facts", "set", "global", "日本", f'"{"日" * 100}"')
    for command in (["facts", "list", "global"],):
        _, shown = terminal(*command, columns=60)

        assert "…" in shown
        assert max(map(show.width, shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())) <= 60
        assert "日" * 100 in script(*command).out


def test_watch_lines_are_cut_and_coloured_on_a_terminal(terminal: Terminal, run: Run) -> None:
    run("memory", "write", "a", "k", f'"{"x" * 200}"')
    _, shown = terminal("memory", "watch", "a", "--since", "0", "--timeout", "0", columns=70)

    assert "\x1b[32mset" in shown
    assert shown.endswith("…\n")


@pytest.mark.parametrize("words", [["export", "out.ndjson"], ["import", "in.ndjson"], ["backup", "copy.db"], ["check"]])
def test_a_progress_bar_where_somebody_sees_it(
    terminal: Terminal,
    run: Run,
    script: Run,
    filled: str,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
) -> None:
    monkeypatch.chdir(str(tmp_path))
    run("export", "in.ndjson")
    _, shown = terminal(*words)

    assert f"{words[0]}  [" in shown
    assert "100%" in shown


@pytest.mark.parametrize("words", [["export", "out.ndjson"], ["check"]])
def test_no_progress_bar_in_a_pipe(script: Run, filled: str, words: list[str], tmp_path: object) -> None:
    assert script(*words, cwd=tmp_path).err == ""


def test_a_stream_that_knows_fewer_characters_shows_the_others_as_escapes(
    script: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("memory", "write", "a", "k", '"é 日 😀"')
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    out = script("memory", "read", "a", "k", encoding="latin-1").out

    assert out == '"é \\u65e5 \\ud83d\\ude00"\n'
    assert json.loads(out) == "é 日 😀"
