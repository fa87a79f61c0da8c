"""`memwell memory`: what the seed's page leaves open."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import msgspec
import pytest

import memwell

from .conftest import LIMIT_S, Run

Start = Callable[..., subprocess.Popen[str]]


def test_a_missing_key_exits_3_and_says_where_to_look(run: Run) -> None:
    assert run("memory", "read", "my bot", "k") == (
        3,
        "",
        "error: agent:my bot has no 'k'\nhint: 'memwell memory list 'my bot'' shows what it has\n",
    )


def test_read_as_json_gives_the_whole_entry(run: Run, filled: str) -> None:
    entry = run("memory", "read", "support", "config", "--json").json

    assert (entry["key"], entry["value"], entry["version"]) == ("config", {"theme": "light"}, 2)
    assert entry["written_by"] == "ann"


@pytest.mark.parametrize(
    ("at", "out"),
    [("1", '{"theme": "dark", "max_retries": 3}\n'), ("2", '{"theme": "light"}\n'), ("99", '{"theme": "light"}\n')],
)
def test_read_in_the_past_by_rev(run: Run, filled: str, at: str, out: str) -> None:
    assert run("memory", "read", "support", "config", "--at", at).out == out


def test_read_in_the_past_by_time(run: Run, filled: str) -> None:
    with memwell.open(filled) as store:
        second, first = store.scope(agent="support").history("config")

    assert run("memory", "read", "support", "config", "--at", first.at.isoformat()).out.count("dark") == 1
    assert run("memory", "read", "support", "config", "--at", second.at.isoformat()).out.count("light") == 1
    assert run("memory", "read", "support", "config", "--at", f"{second.at.timestamp() + 1}").out.count("light") == 1
    assert run("memory", "read", "support", "config", "--at", "2020-01-01T00:00:00Z").code == 3


@pytest.mark.parametrize("at", ["yesterday", "2020-01-01", "2020-01-01T00:00:00", "-1", "1e3", "9" * 30, ""])
def test_what_is_neither_rev_nor_zoned_time_is_refused(run: Run, filled: str, at: str) -> None:
    ran = run("memory", "read", "support", "config", "--at", at)

    assert (ran.code, ran.out) == (2, "")
    assert "hint: " in ran.err


def test_a_write_as_json_gives_the_new_entry(run: Run) -> None:
    entry = run("--json", "memory", "write", "a", "k", "1", "--by", "eve").json

    assert (entry["value"], entry["version"], entry["written_by"]) == (1, 1, "eve")


def test_a_conflict_as_json_carries_what_is_there(run: Run, filled: str) -> None:
    ran = run("memory", "cas", "support", "counter", "1", "9", "--json")

    assert ran.code == 5
    assert ran.error["code"] == "conflict"
    assert (ran.error["current"]["version"], ran.error["current"]["value"]) == (2, 2)


def test_cas_with_zero_makes_only_what_is_absent(run: Run) -> None:
    assert run("memory", "cas", "a", "k", "0", "1").out == "version 1\n"
    assert run("memory", "cas", "a", "k", "0", "2").code == 5


def test_a_conflict_on_an_absent_key_has_no_current(run: Run) -> None:
    ran = run("memory", "cas", "a", "k", "7", "1")

    assert ran.code == 5
    assert "now:" not in ran.err
    assert run("memory", "cas", "a", "k", "7", "1", "--json").error["current"] is None


def test_delete_with_a_version(run: Run, filled: str) -> None:
    assert run("memory", "delete", "support", "counter", "--if-version", "1").code == 5
    assert run("memory", "delete", "support", "counter", "--if-version", "2").out == "deleted\n"


def test_deleting_what_is_absent_is_no_error(run: Run) -> None:
    assert run("memory", "delete", "a", "k") == (0, "absent\n", "")
    assert run("memory", "delete", "a", "k", "--json").json == {"deleted": False}


def test_list_by_prefix_and_page(run: Run) -> None:
    for key in ("user_1", "USER_1", "userX1", "user_2"):
        run("memory", "write", "a", key, "1")

    assert run("memory", "list", "a", "--prefix", "user_").out == "user_1\nuser_2\n"
    assert run("memory", "list", "a", "--limit", "2").out == "USER_1\nuserX1\n"
    assert run("memory", "list", "a", "--after", "userX1", "--json").json == ["user_1", "user_2"]


def test_history_is_newest_first_with_who_and_what(run: Run, filled: str) -> None:
    run("memory", "delete", "support", "config", "--by", "eve")
    head, *rows = run("memory", "history", "support", "config").out.splitlines()

    assert head.split() == ["VERSION", "REV", "WHEN", "BY", "DID", "VALUE"]
    assert [(row.split()[0], *row.split()[3:]) for row in rows] == [
        ("2", "eve", "delete", "-"),
        ("2", "ann", "set", '{"theme":', '"light"}'),
        ("1", "ann", "set", '{"theme":', '"dark",', '"max_retries":', "3}"),
    ]


def test_history_as_json_and_with_a_limit(run: Run, filled: str) -> None:
    events = run("memory", "history", "support", "config", "--limit", "1", "--json").json

    assert [(event["version"], event["value"], event["by"]) for event in events] == [(2, {"theme": "light"}, "ann")]


def test_the_history_of_nothing_is_empty(run: Run) -> None:
    assert run("memory", "history", "a", "k") == (0, "", "")
    assert run("memory", "history", "a", "k", "--json").json == []


def test_revert_writes_an_old_value_as_a_new_version(run: Run, filled: str) -> None:
    assert run("memory", "revert", "support", "config", "1") == (0, "version 3\n", "")
    assert run("memory", "read", "support", "config").out == '{"theme": "dark", "max_retries": 3}\n'


def test_reverting_to_a_version_that_never_was_exits_3(run: Run, filled: str) -> None:
    assert run("memory", "revert", "support", "config", "9").code == 3


def test_watch_gives_what_came_after_a_rev_and_ends(run: Run, filled: str) -> None:
    lines = run("memory", "watch", "support", "--since", "2", "--timeout", "0", "--json").out.splitlines()
    events = [msgspec.json.decode(line) for line in lines]

    assert [event["rev"] for event in events] == [3, 4, 5, 6]
    assert run("memory", "watch", "support", "--since", "2", "--count", "2").out.count("\n") == 2


def test_watch_filters_by_prefix_and_pattern(run: Run, filled: str) -> None:
    everything = ("memory", "watch", "support", "--since", "0", "--timeout", "0")

    assert run(*everything, "--prefix", "count").out.count("\n") == 2
    assert "cache.a version 1  [1]" in run(*everything, "--pattern", "cache.*").out


def test_watch_shows_deletes_and_reverts(run: Run) -> None:
    run("memory", "write", "a", "k", "1")
    run("memory", "delete", "a", "k")
    run("memory", "revert", "a", "k", "1")
    shown = run("memory", "watch", "a", "--since", "0", "--timeout", "0").out.splitlines()

    assert [line.split()[3:] for line in shown] == [
        ["set", "k", "version", "1", "1"],
        ["delete", "k", "version", "1", "-"],
        ["revert", "k", "version", "2", "1"],
    ]


@pytest.mark.parametrize("timeout", ["nan", "inf", "-1", "soon"])
def test_a_timeout_is_a_number_of_seconds(run: Run, timeout: str) -> None:
    assert run("memory", "watch", "a", "--timeout", timeout).code == 2


def test_a_watcher_sees_what_another_process_writes(script: Run, start: Start) -> None:
    script("memory", "write", "a", "first", "0")
    with start("memory", "watch", "a", "--since", "0", "--count", "3", "--json") as watcher:
        script("memory", "write", "a", "k", "1")
        script("memory", "write", "other", "k", "unseen".join('""'))
        script("memory", "delete", "a", "k")
        out, err = watcher.communicate(timeout=LIMIT_S)

    assert (watcher.returncode, err) == (0, "")
    assert [msgspec.json.decode(line)["op"] for line in out.splitlines()] == ["fact.set", "fact.set", "fact.delete"]


def test_an_interrupted_watch_exits_130(script: Run, start: Start) -> None:
    script("memory", "write", "a", "k", "1")
    with start("memory", "watch", "a", "--since", "0") as watcher:
        assert watcher.stdout is not None
        watcher.stdout.readline()  # it watches now
        watcher.send_signal(signal.SIGINT)
        _, err = watcher.communicate(timeout=LIMIT_S)

    assert watcher.returncode == 130
    assert err.strip() == "error: interrupted"


def test_processes_write_to_one_store_at_once(start: Start, script: Run) -> None:
    writers = [start("memory", "write", "a", f"k{number}", str(number)) for number in range(8)]
    ended = [(writer.communicate(timeout=LIMIT_S), writer.returncode) for writer in writers]

    assert ended == [(("version 1\n", ""), 0)] * 8
    assert script("memory", "list", "a").out.split() == [f"k{number}" for number in range(8)]
