"""Values: as an argument, from stdin, from a file; and what is not one."""

from __future__ import annotations

from pathlib import Path

import pytest

from memwell.cli import values

from .conftest import Run

GOOD = [
    "null",
    "true",
    "0",
    "-5",
    "-1.5e3",
    '""',
    '"text"',
    "[]",
    "{}",
    '[1, {"a": "é 日本"}]',
    "12345678901234567890123",
]


@pytest.mark.parametrize("text", GOOD)
def test_json_goes_in_and_comes_out(run: Run, text: str) -> None:
    assert run("memory", "write", "a", "k", text).code == 0
    assert run("memory", "read", "a", "k").out.strip() == ("-1500.0" if text == "-1.5e3" else text)


def test_null_is_a_value_and_not_absence(run: Run) -> None:
    run("memory", "write", "a", "k", "null")

    assert run("memory", "read", "a", "k") == (0, "null\n", "")


def test_from_stdin(script: Run) -> None:
    assert script("memory", "write", "a", "k", "-", stdin='{\n  "a": 1\n}\n').code == 0
    assert script("memory", "read", "a", "k").out == '{"a": 1}\n'


def test_from_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "value.json"
    file.write_text('["from", "a", "file"]')

    assert run("memory", "write", "a", "k", f"@{file}").code == 0
    assert run("memory", "read", "a", "k").out == '["from", "a", "file"]\n'


def test_a_file_that_is_missing_or_unreadable(run: Run, tmp_path: Path) -> None:
    missing = run("memory", "write", "a", "k", f"@{tmp_path}/none")
    folder = run("memory", "write", "a", "k", f"@{tmp_path}")

    assert (missing.code, folder.code) == (3, 1)
    assert "there is no file" in missing.err
    assert "can't be read: Is a directory" in folder.err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("dark", """'"dark"'"""),
        ("it's", """'"it'"'"'s"'"""),
        ("two words", """'"two words"'"""),
        ("{theme: dark}", """'{"theme": "dark"}'"""),
        ("{'theme': 'dark'}", """'{"theme": "dark"}'"""),
        ("True", "in JSON that is true"),
        ("None", "in JSON that is null"),
        ("NaN", "JSON has no such number"),
        ("-Infinity", "JSON has no such number"),
        ("", "null"),
        ("1 2", "one JSON value"),
        ('{"a":1}}', "one JSON value"),
    ],
)
def test_what_is_not_json_is_refused_with_the_way_to_write_it(run: Run, text: str, hint: str) -> None:
    ran = run("memory", "write", "a", "k", "--", text)

    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err.partition("hint: ")[2]
    assert run("memory", "list", "a").out == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"\\ud800"', "lone surrogate"),
        ('{"a": ["x\\udfffy"]}', "lone surrogate"),
        ('{"a": 1, "a": 2}', "names 'a' twice"),
        ('[{"b": {"c": 1, "d": 2, "c": 3}}]', "names 'c' twice"),
        ("[" * 5000 + "]" * 5000, "nested"),
        ("1e999", "is not JSON"),
        ("01", "is not JSON"),
        ("[1,]", "is not JSON"),
        ('"open', "it ends too soon"),
    ],
)
def test_json_that_can_not_be_kept_is_refused(run: Run, text: str, message: str) -> None:
    ran = run("memory", "write", "a", "k", text)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert run("memory", "list", "a").out == ""


@pytest.mark.parametrize("data", [b"", b"\xff", b'"\xff"', b"\x00", b"[1"])
def test_bytes_on_stdin_that_are_not_json(run: Run, data: bytes) -> None:
    ran = run("memory", "write", "a", "k", "-", stdin=data)

    assert ran.code == 2
    assert ran.err.startswith("error: stdin is not JSON: ")


def test_a_value_over_the_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("memory", "write", "a", "k", "-", "--json", stdin=f'"{"x" * 2**21}"')

    assert (ran.code, ran.error["code"], ran.error["limit"]) == (2, "too_large", 2**20)
    monkeypatch.setattr(values, "MOST_BYTES", 10)
    assert run("memory", "write", "a", "k", "-", stdin="1" * 11).code == 2


def test_bytes_in_an_argument_that_are_not_utf_8(script: Run) -> None:
    for args in (
        ["memory", "write", "a", "\udcff", "1"],
        ["memory", "list", "a", "--prefix", "\udcff"],
        ["stats", "--by", "\udcff"],
    ):
        ran = script(*args)

        assert (ran.code, ran.out) == (2, "")
        assert "is not UTF-8 text" in ran.err


@pytest.mark.parametrize("words", [["--ttx", "3"], ["-x"], ["--ttx=3"]])
def test_beside_a_negative_number_a_mistyped_option_is_still_an_error(run: Run, words: list[str]) -> None:
    assert run("memory", "write", "a", *words, "-5").code == 2
    assert run("memory", "write", "a", "k", "-5", *words).code == 2
    assert run("memory", "list", "a").out == ""


def test_a_negative_number_stands_beside_options(run: Run) -> None:
    assert run("memory", "write", "a", "k", "-5", "--ttl=60", "--by", "eve").out.startswith("version 1, expires ")
    assert run("memory", "write", "a", "--ttl", "60", "--", "-k", "-5").code == 0
    assert run("memory", "list", "a").out == "-k\nk\n"


@pytest.mark.parametrize("ttl", ["0", "-1", "nan", "inf", "x", "1e30"])
def test_a_ttl_is_a_positive_number(run: Run, ttl: str) -> None:
    assert run("memory", "write", "a", "k", "1", "--ttl", ttl).code == 2
    assert run("memory", "list", "a").out == ""
