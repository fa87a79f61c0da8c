"""`memwell facts`: any scope."""

from __future__ import annotations

import pytest

from .conftest import Run


@pytest.mark.parametrize("scope", ["global", "agent:support/user:42", "user:42", "agent:a%2Fb"])
def test_set_get_and_rm_in_any_scope(run: Run, scope: str) -> None:
    assert run("facts", "set", scope, "k", '{"a": [1, null]}') == (0, "version 1\n", "")
    assert run("facts", "get", scope, "k") == (0, '{"a": [1, null]}\n', "")
    assert run("facts", "rm", scope, "k") == (0, "deleted\n", "")
    assert run("facts", "get", scope, "k").code == 3


def test_the_order_of_a_scopes_fields_does_not_matter(run: Run) -> None:
    run("facts", "set", "user:42/agent:support", "k", "1")

    assert run("facts", "get", "agent:support/user:42", "k").out == "1\n"


@pytest.mark.parametrize("scope", ["", "support", "agent:", "agent:a/", "planet:mars", "agent:a/agent:b", "agent:a%zz"])
def test_a_doubtful_scope_is_refused(run: Run, scope: str) -> None:
    ran = run("facts", "set", scope, "k", "1")

    assert (ran.code, ran.out) == (2, "")
    assert run("facts", "scopes").out == ""


def test_set_with_a_version_and_a_ttl(run: Run) -> None:
    assert run("facts", "set", "global", "k", "1", "--if-version", "0", "--ttl", "60").out.startswith("version 1, exp")
    assert run("facts", "set", "global", "k", "2", "--if-version", "0").code == 5
    assert run("facts", "rm", "global", "k", "--if-version", "2").code == 5


def test_list_shows_a_table(run: Run, filled: str) -> None:
    head, *rows = run("facts", "list", "agent:support").out.splitlines()

    assert head.split() == ["KEY", "VERSION", "UPDATED", "EXPIRES", "VALUE"]
    assert [row.split()[:2] for row in rows] == [
        ["cache.a", "1"],
        ["config", "2"],
        ["counter", "2"],
        ["session-token", "1"],
    ]


def test_list_as_json_gives_entries(run: Run, filled: str) -> None:
    entries = run("facts", "list", "agent:support", "--prefix", "co", "--json").json

    assert [(entry["key"], entry["value"]) for entry in entries] == [("config", {"theme": "light"}), ("counter", 2)]


def test_list_takes_pattern_limit_and_after(run: Run, filled: str) -> None:
    def keys(*options: str) -> list[str]:
        return [entry["key"] for entry in run("facts", "list", "agent:support", "--json", *options).json]

    assert keys("--pattern", "c*") == ["cache.a", "config", "counter"]
    assert keys("--limit", "1", "--after", "config") == ["counter"]


def test_a_scope_that_holds_nothing_lists_nothing(run: Run) -> None:
    assert run("facts", "list", "global") == (0, "", "")
    assert run("facts", "list", "global", "--json").json == []


def test_get_in_the_past(run: Run, filled: str) -> None:
    assert run("facts", "get", "agent:support", "counter", "--at", "3").out == "1\n"


def test_scopes(run: Run, filled: str) -> None:
    assert run("facts", "scopes") == (0, "agent:support\nglobal\n", "")
    assert run("facts", "scopes", "--limit", "1", "--json").json == ["agent:support"]
    assert run("facts", "scopes", "--after", "agent:support").out == "global\n"
