"""`memwell approvals`: what waits is seen by a reviewer, and by nobody else before."""

from __future__ import annotations

import pytest

from memwell.testing import promise

from .conftest import Run

SCOPE = "agent:support"
WAITING = "01a1e3344b90f8a02c4471e6bb90"
STYLE = "01a1e32b9e42dbe3187ed1405333"


def test_the_inbox_of_one_scope_or_of_all(run: Run, remembered: str) -> None:
    run("record", "add", "global", "Ships on Friday", "--pending")
    head, *rows = run("approvals", "list").out.splitlines()

    assert head.split() == ["ID", "SCOPE", "BY", "KIND", "DATE", "TAGS", "TEXT"]
    assert [row.split()[1:3] for row in rows] == [["agent:support", "ann"], ["global", "tester"]]
    assert [one["id"] for one in run("approvals", "list", SCOPE, "--json").json] == [WAITING]
    assert run("approvals", "list", "user:nobody") == (0, "", "")
    assert run("approvals", "list", "--limit", "1").err == "there may be more: --limit shows them\n"


@promise("cli:approvals")
def test_what_waits_is_found_once_somebody_else_approved_it(run: Run, remembered: str) -> None:
    assert run("record", "search", SCOPE, "key").out == ""
    assert "  Bob keeps the key\n" in run("approvals", "show", SCOPE, WAITING[:12]).out
    assert run("approvals", "approve", SCOPE, WAITING[:12], "--by", "ann").code == 4
    assert run("approvals", "approve", SCOPE, WAITING[:12], "--reason", "true").out == f"approved {WAITING}\n"
    assert "Bob keeps the key" in run("record", "search", SCOPE, "key").out
    record = run("record", "read", SCOPE, WAITING, "--json").json

    assert (record["provenance"]["reviewed_by"], record["reason"]) == ("tester", "true")


def test_what_is_rejected_stays_hidden(run: Run, remembered: str) -> None:
    assert run("approvals", "reject", SCOPE, WAITING, "--reason", "rumour", "--json").json["status"] == "rejected"
    assert run("record", "read", SCOPE, WAITING).code == 3
    assert run("approvals", "list") == (0, "", "")
    assert [one["reason"] for one in run("record", "list", SCOPE, "--status", "rejected", "--json").json] == ["rumour"]


@pytest.mark.parametrize("command", ["show", "approve", "reject"])
def test_only_what_waits_is_reviewed(run: Run, remembered: str, command: str) -> None:
    ran = run("approvals", command, SCOPE, STYLE)

    assert ran.code == 3
    assert "does not wait" in ran.err
    assert run("approvals", command, SCOPE, "01a1ffffffff").code == 3


def test_a_pending_write_says_that_it_waits(run: Run) -> None:
    ran = run("record", "add", "global", "Ships on Friday", "--pending")

    assert ran.code == 0
    assert ran.err == "it waits for a review: 'memwell approvals list global'\n"
