"""The page of seed 1, line by line, with `memwell` in place of its command, in processes of their own."""

from __future__ import annotations

import msgspec

from .conftest import Run

AGENT = "6f1d2c3b-0000-4000-8000-000000000001"


def test_reading_a_value_prints_the_line_of_the_page(script: Run) -> None:
    script("memory", "write", AGENT, "config", '{"theme": "dark", "max_retries": 3}')

    assert script("memory", "read", AGENT, "config") == (0, '{"theme": "dark", "max_retries": 3}\n', "")


def test_writing_a_value(script: Run) -> None:
    assert script("memory", "write", AGENT, "config", '{"theme": "dark"}') == (0, "version 1\n", "")
    assert script("memory", "read", AGENT, "config").out == '{"theme": "dark"}\n'


def test_writing_with_a_ttl(script: Run) -> None:
    ran = script("memory", "write", AGENT, "session-token", '"abc123"', "--ttl", "3600")
    entry = script("memory", "read", AGENT, "session-token", "--json").json

    assert ran.code == 0
    assert ran.out.startswith("version 1, expires ")
    assert entry["value"] == "abc123"
    assert entry["expires_at"] > entry["updated_at"]


def test_compare_and_swap(script: Run) -> None:
    for value in ("1", "2"):
        script("memory", "write", AGENT, "counter", value)

    assert script("memory", "cas", AGENT, "counter", "2", '"new-value"') == (0, "version 3\n", "")
    assert script("memory", "read", AGENT, "counter").out == '"new-value"\n'


def test_compare_and_swap_is_rejected_if_the_version_is_another(script: Run) -> None:
    script("memory", "write", AGENT, "counter", "1")
    ran = script("memory", "cas", AGENT, "counter", "2", '"new-value"')

    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("error: 'counter' is at version 1, not at version 2\nnow: version 1, 1\nhint: ")
    assert script("memory", "read", AGENT, "counter").out == "1\n"


def test_deleting_a_key(script: Run) -> None:
    script("memory", "write", AGENT, "session-token", '"abc123"')

    assert script("memory", "delete", AGENT, "session-token") == (0, "deleted\n", "")
    assert script("memory", "read", AGENT, "session-token").code == 3


def test_listing_keys(script: Run) -> None:
    for key in ("config", "cache.a", "cache.b", "cached"):
        script("memory", "write", AGENT, key, "1")

    assert script("memory", "list", AGENT) == (0, "cache.a\ncache.b\ncached\nconfig\n", "")
    assert script("memory", "list", AGENT, "--pattern", "cache.*") == (0, "cache.a\ncache.b\n", "")


def test_each_agent_has_its_own_memory(script: Run) -> None:
    script("memory", "write", "one", "key", "1")

    assert script("memory", "read", "two", "key").code == 3
    assert script("memory", "list", "two") == (0, "", "")


def test_an_id_with_the_separators_of_a_scope_stays_one_agent(script: Run) -> None:
    script("memory", "write", "a/user:b", "key", "1")
    scopes = script("facts", "scopes", "--json")

    assert msgspec.json.decode(scopes.out) == ["agent:a%2Fuser%3Ab"]
    assert script("memory", "read", "a/user:b", "key").out == "1\n"
    assert script("facts", "get", "agent:a/user:b", "key").code == 3
