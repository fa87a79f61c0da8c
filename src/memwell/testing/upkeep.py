"""What a backend owes over time: expiry at the moment, sweeping, retention, and the end of a scope."""

from __future__ import annotations

from memwell.testing.driver import NOW, OTHER, SCOPE, Driver
from memwell.testing.promise import promise


class UpkeepTests:
    """Time passes, and things go."""

    @promise("store:expiry")
    def test_an_expired_cell_is_gone_for_every_read_at_that_moment(self, driver: Driver) -> None:
        driver.made(expires=NOW + 5)
        assert driver.cell(now=NOW + 4) is not None
        assert driver.cell(now=NOW + 5) is None
        assert driver.cells(now=NOW + 5) == []
        assert driver.keys(now=NOW + 5) == driver.scopes(now=NOW + 5) == []
        assert driver.counts(NOW + 5).scopes == sum(driver.counts(NOW + 5).entries.values()) == 0
        assert driver.drop(now=NOW + 5) == 0
        assert driver.drop(None, now=NOW + 5) == 0

    @promise("store:expiry")
    def test_an_expired_value_is_gone_from_the_past_too(self, driver: Driver) -> None:
        driver.made(value="secret", expires=NOW + 5)
        driver.made(value="open", now=NOW + 1)
        assert [event.data for event in driver.past(now=NOW + 4)] == [b'"open"', b'"secret"']
        assert [event.data for event in driver.past(now=NOW + 5)] == [b'"open"', None]
        assert [event.data for event in driver.changes(now=NOW + 5)] == [None, b'"open"']
        assert [event.expires for event in driver.changes(now=NOW + 5)] == [NOW + 5, None]

    @promise("store:expiry", "store:cas")
    def test_an_expired_cell_counts_as_absent_but_the_counter_goes_on(self, driver: Driver) -> None:
        driver.made(expires=NOW + 5)
        assert driver.put(now=NOW + 5, if_version=1) is None
        again = driver.made(now=NOW + 5, if_version=0)
        assert (again.version, again.created) == (2, NOW + 5)
        driver.made(now=NOW + 6, expires=NOW + 7)
        assert driver.made(now=NOW + 7)[2:5:2] == (4, NOW + 7)

    @promise("store:sweep")
    def test_a_sweep_frees_what_has_expired_and_nothing_else(self, driver: Driver) -> None:
        for number in range(5):
            driver.made(f"k{number}", expires=NOW + 5)
        driver.made("later", expires=NOW + 6)
        driver.made("kept")
        before = [event[:6] for event in driver.changes()]
        assert driver.backend.next_expiry() == NOW + 5
        assert driver.sweep(NOW + 5, limit=2) == 5
        assert driver.sweep(NOW + 5) == 0
        assert driver.backend.next_expiry() == NOW + 6
        assert driver.keys(now=NOW + 5) == ["kept", "later"]
        assert [event[:6] for event in driver.changes(now=NOW + 5)] == before
        assert driver.made("k0", now=NOW + 5, if_version=0).version == 2

    @promise("store:sweep")
    def test_nothing_that_can_expire_means_no_next_expiry(self, driver: Driver) -> None:
        assert driver.backend.next_expiry() is None
        driver.made()
        assert driver.backend.next_expiry() is None
        driver.made(expires=NOW + 5)
        driver.drop()
        driver.sweep(NOW + 5)
        assert driver.backend.next_expiry() is None

    @promise("store:sweep")
    def test_what_was_swept_stays_gone_when_the_clock_steps_back(self, driver: Driver) -> None:
        driver.made(value="secret", expires=NOW + 5)
        driver.sweep(NOW + 5)
        assert driver.cell(now=NOW) is None
        assert [event.data for event in driver.past(now=NOW)] == [None]

    @promise("store:retention")
    def test_retention_forgets_old_events_but_never_what_is_current(self, driver: Driver) -> None:
        kept = driver.made("kept", "old but current")
        driver.made("changed", 1)
        driver.made("changed", 2, now=NOW + 10)
        driver.made("fresh", now=NOW + 10)
        forgotten = driver.changes()[1].rev
        driver.sweep(NOW + 10, before=NOW + 10)
        assert driver.cell("kept", NOW + 10) == kept
        assert [event.key for event in driver.changes(now=NOW + 10)] == ["kept", "changed", "fresh"]
        assert [event.data for event in driver.past("changed", NOW + 10)] == [b"2"]
        assert driver.position().horizon == forgotten
        assert driver.made("changed", 3, now=NOW + 11).version == 3

    @promise("store:retention")
    def test_a_forgotten_tombstone_does_not_bring_an_old_version_back(self, driver: Driver) -> None:
        for _ in range(3):
            driver.made("gone")
        driver.drop("gone")
        driver.made("short", expires=NOW + 1)
        driver.made("fresh", now=NOW + 10)
        driver.sweep(NOW + 10, before=NOW + 10, limit=1)
        assert [event.key for event in driver.changes(now=NOW + 10)] == ["fresh"]
        assert driver.put("gone", now=NOW + 11, if_version=3) is None
        assert driver.made("gone", now=NOW + 11).version > 3
        assert driver.made("short", now=NOW + 11).version > 1

    @promise("store:retention")
    def test_no_rev_comes_twice_though_its_event_is_forgotten(self, driver: Driver) -> None:
        driver.made()
        driver.drop()
        last = driver.changes()[-1].rev
        driver.sweep(NOW + 10, before=NOW + 10)
        reached = driver.position().rev
        assert driver.made(now=NOW + 11).rev > reached >= last

    @promise("store:erase")
    def test_erasing_a_scope_removes_all_with_its_history(self, driver: Driver) -> None:
        driver.made("a")
        driver.made("a")
        driver.made("b", expires=NOW + 5)
        driver.made("c")
        driver.drop("c")
        driver.made("a", scope=OTHER)
        last = driver.changes()[-1].rev
        assert driver.erase(now=NOW + 5) == 1
        assert driver.keys(now=NOW) == []
        assert driver.past("a") == driver.past("c") == []
        (event,) = driver.changes()
        assert event[1:10] == (SCOPE, "scope", "", "scope.delete", 0, None, NOW + 5, None, "tester")
        assert last <= driver.position().horizon < event.rev <= driver.position().rev
        assert driver.keys(scope=OTHER) == ["a"]
        assert driver.counts() == (1, {"fact": 1}, 1, 2)

    @promise("store:erase")
    def test_after_an_erase_every_key_starts_above_the_highest_version(self, driver: Driver) -> None:
        for _ in range(3):
            driver.made("a")
        driver.made("b")
        driver.erase()
        assert driver.put("a", if_version=3) is None
        assert driver.made("b", if_version=0).version == 4
        assert driver.made("new").version == 4
        assert driver.made("new").version == 5
        driver.erase()
        assert [event.op for event in driver.changes()] == ["scope.delete"]
        assert driver.made("b").version == 6

    @promise("store:erase")
    def test_erasing_nothing_leaves_nothing(self, driver: Driver) -> None:
        assert driver.erase() == 0
        assert driver.changes() == []
        driver.made()
        driver.erase()
        reached = driver.position()
        assert driver.erase() == 0
        assert driver.position() == reached
