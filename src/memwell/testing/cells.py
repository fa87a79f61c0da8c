"""What a backend owes for cells: puts, drops, versions, order and events."""

from __future__ import annotations

from typing import ClassVar

import pytest

from memwell.errors import Unsupported
from memwell.store import Span
from memwell.testing.driver import NOW, OTHER, SCOPE, WAIT, Driver, a_put
from memwell.testing.promise import promise

# By code point: case, an accent composed and decomposed, spaces, wildcards of SQL and of globs, beyond 16 bits.
ORDERED = [" ", "%", "*", "A", "USER_1", "[a]", "a", "a ", "a/b", "e\u0301", "user_1", "userX1", "é", "\uffee", "😀"]
ORDERED.sort(key=lambda key: [ord(char) for char in key])


class CellTests:
    """One cell, and many."""

    facts_only: ClassVar[bool] = False  # whether the backend refuses every shape but facts

    @promise("store:put")
    def test_a_put_is_read_back_whole(self, driver: Driver) -> None:
        made = driver.made("k", {"a": [1, None]}, expires=NOW + 5)
        assert made.rev > 0
        assert made[:3] == ("k", b'{"a":[1,null]}', 1)
        assert made[4:] == (NOW, NOW, NOW + 5, "tester")
        assert driver.cell() == made

    @promise("store:put")
    def test_a_put_over_a_live_cell_counts_up_and_keeps_created(self, driver: Driver) -> None:
        first = driver.made("k", 1, expires=NOW + 9)
        second = driver.made("k", 2, now=NOW + 1, by="somebody")
        assert second.version == 2
        assert second.rev > first.rev
        assert (second.created, second.updated) == (NOW, NOW + 1)
        assert (second.expires, second.by, second.data) == (None, "somebody", b"2")
        assert driver.cell(now=NOW + 1) == second

    @promise("store:cas")
    def test_a_stale_put_changes_nothing(self, driver: Driver) -> None:
        driver.made()
        before = driver.snapshot()
        for stale in (0, 2, 7):
            assert driver.put(value="late", if_version=stale) is None
        assert driver.put("absent", if_version=1) is None
        assert driver.snapshot() == before

    @promise("store:cas")
    def test_a_put_with_the_current_version_applies(self, driver: Driver) -> None:
        assert driver.made("k", 1, if_version=0).version == 1
        assert driver.made("k", 2, if_version=1).version == 2
        assert driver.made("k", 3, if_version=2, now=NOW + 1).created == NOW

    @promise("store:cas")
    def test_dropped_counts_as_absent_but_the_counter_goes_on(self, driver: Driver) -> None:
        driver.made()
        driver.drop()
        assert driver.put(if_version=1) is None
        assert driver.made(if_version=0, now=NOW + 1)[2:5:2] == (2, NOW + 1)

    @promise("store:drop")
    def test_a_drop_says_whether_something_was_there(self, driver: Driver) -> None:
        assert driver.drop() == 0
        driver.made()
        assert driver.drop(if_version=2) == 0
        assert driver.drop(if_version=1) == 1
        assert driver.drop() == 0
        assert driver.cell() is None
        assert [change.op for change in driver.past()] == ["fact.delete", "fact.set"]

    @promise("store:drop")
    def test_dropping_all_leaves_one_event_a_key_in_order(self, driver: Driver) -> None:
        for key in ("b", "a", "c"):
            driver.made(key)
        driver.made("a", scope=OTHER)
        driver.drop("c")
        reached = driver.position().rev
        assert driver.drop(None) == 2
        assert driver.keys() == []
        assert [(event.key, event.op, event.data) for event in driver.changes(reached)] == [
            ("a", "fact.clear", None),
            ("b", "fact.clear", None),
        ]
        assert driver.keys(scope=OTHER) == ["a"]
        assert driver.drop(None) == 0

    @promise("store:order")
    def test_keys_are_sorted_by_code_point_and_none_is_taken_for_another(self, driver: Driver) -> None:
        for key in reversed(ORDERED):
            driver.made(key, key)
        assert driver.keys() == ORDERED
        assert [cell.data.decode() for cell in driver.cells()] == [f'"{key}"' for key in ORDERED]

    @promise("store:span")
    def test_a_span_bounds_what_is_seen(self, driver: Driver) -> None:
        for key in ORDERED:
            driver.made(key)
        for first in ("", "a", "user_"):
            for end in (None, "b", "user`"):
                for after in (None, " ", "a", "aa", "user_1"):
                    expected = [
                        key
                        for key in ORDERED
                        if key >= first and (end is None or key < end) and (after is None or key > after)
                    ]
                    span = Span(first, end, after)
                    assert driver.keys(span) == [cell.key for cell in driver.cells(span)] == expected
                    assert driver.keys(span, limit=2) == [cell.key for cell in driver.cells(span, 2)] == expected[:2]

    @promise("store:events")
    def test_each_write_takes_the_next_rev_and_leaves_one_event(self, driver: Driver) -> None:
        made = [driver.made("a", 1), driver.made("b", 2, expires=NOW + 5), driver.made("a", 3)]
        driver.drop("b")
        events = driver.changes()
        assert [event.rev for event in events] == sorted({event.rev for event in events})
        assert [event.rev for event in events[:3]] == [cell.rev for cell in made]
        assert [event[1:10] for event in events] == [
            (SCOPE, "fact", "a", "fact.set", 1, b"1", NOW, None, "tester"),
            (SCOPE, "fact", "b", "fact.set", 1, b"2", NOW, NOW + 5, "tester"),
            (SCOPE, "fact", "a", "fact.set", 2, b"3", NOW, None, "tester"),
            (SCOPE, "fact", "b", "fact.delete", 1, None, NOW, None, "tester"),
        ]
        assert driver.past("a") == [events[2], events[0]]
        assert driver.past("b") == [events[3], events[1]]
        assert [event.prev for event in events] == [None, None, events[0].rev, events[1].rev]
        assert driver.position().rev >= events[-1].rev
        assert driver.changes(driver.position().rev) == []

    @promise("store:events")
    def test_changes_come_in_pages_of_one_scope(self, driver: Driver) -> None:
        assert driver.position().horizon == 0
        assert driver.changes() == []
        for number in range(7):
            driver.made(f"k{number}")
            driver.made("k", scope=OTHER)
        whole, paged, after = driver.changes(), [], 0
        assert [event.key for event in whole] == [f"k{number}" for number in range(7)]
        for _ in whole:
            paged += driver.changes(after, limit=3)
            after = paged[-1].rev
        assert paged == whole
        assert driver.past("nothing") == []

    @promise("store:isolation")
    def test_scopes_do_not_see_each_other(self, driver: Driver) -> None:
        driver.made("k", "mine")
        theirs = driver.made("k", "theirs", scope=OTHER)
        assert theirs.version == 1
        driver.drop()
        assert driver.cell(scope=OTHER) == theirs
        assert driver.scopes() == [OTHER]
        driver.erase()
        assert driver.cell(scope=OTHER) == theirs
        assert driver.put("k", scope="agent:a/user:u", if_version=0) is not None

    @promise("store:counts")
    def test_scopes_and_counts_show_what_is_live(self, driver: Driver) -> None:
        assert driver.scopes() == []
        assert driver.counts()[:1] + driver.counts()[2:] == (0, 0, 0)
        driver.made("a", "four")
        driver.made("b", expires=NOW + 5)
        driver.made("k", scope=OTHER)
        driver.drop(scope=OTHER)
        driver.made("k", scope="user:u", expires=NOW + 5)
        assert driver.scopes() == [SCOPE, "user:u"]
        assert driver.scopes(after=SCOPE) == ["user:u"]
        assert driver.scopes(limit=1) == [SCOPE]
        assert driver.shapes() == ["fact"]
        assert driver.counts() == (2, {"fact": 3}, len('"four"') + 2, 5)
        assert driver.counts(NOW + 5) == (1, {"fact": 1}, len('"four"'), 5)

    @promise("store:put")
    def test_many_puts_at_once_are_the_same_as_one_after_the_other(self, driver: Driver) -> None:
        puts = [a_put("a", 1), a_put("b", 2, expires=NOW + 5), a_put("a", 3, by="somebody"), a_put("dropped", 4)]
        for scope in (SCOPE, OTHER):
            driver.made("b", "old", scope=scope, now=NOW - 1)
            driver.made("dropped", scope=scope)
            driver.drop("dropped", scope=scope)
        at_once = [put._replace(scope=OTHER) for put in puts]
        singly = [driver.backend.write(lambda view, put=put: view.put(put), WAIT) for put in puts]  # type: ignore[misc]
        together = driver.backend.write(lambda view: view.put_all(at_once), WAIT)
        assert [cell._replace(rev=0) for cell in together] == [cell and cell._replace(rev=0) for cell in singly]
        assert [cell.rev for cell in together] == [event.rev for event in driver.changes(scope=OTHER)[3:]]
        assert [event[3:10] for event in driver.changes(scope=OTHER)] == [event[3:10] for event in driver.changes()]
        assert driver.backend.write(lambda view: view.put_all([]), WAIT) == []

    @promise("store:load")
    def test_a_loaded_cell_keeps_its_version_and_creation(self, driver: Driver) -> None:
        assert driver.made(version=7, created=NOW - 9)[2:5:2] == (7, NOW - 9)
        assert driver.made(version=3, created=NOW - 5)[2:5:2] == (8, NOW - 5)
        assert driver.made()[2:5:2] == (9, NOW - 5)

    @promise("store:shapes")
    def test_shapes_do_not_see_each_other(self, driver: Driver) -> None:
        driver.made("k", "fact")
        if self.facts_only:
            with pytest.raises(Unsupported):
                driver.put("k", "note", shape="note")
        else:
            assert driver.made("k", "note", shape="note").version == 1
            assert driver.drop(None) == 1
            note = driver.cell(shape="note")
            assert note is not None
            assert note.data == b'"note"'
            assert driver.counts().entries.get("note") == 1
            assert driver.shapes() == ["fact", "note"]
