"""What a backend owes for transactions: all or nothing, one after the other, and an end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from memwell.errors import Unavailable
from memwell.store import Backend, Write
from memwell.testing.driver import NOW, OTHER, SCOPE, SHAPE, WAIT, Driver, a_drop, a_put
from memwell.testing.promise import promise

Step = Callable[[Write], Any]
STEPS: dict[str, Step] = {
    "a new key": lambda view: view.put(a_put("new")),
    "an overwrite": lambda view: view.put(a_put("a", "changed")),
    "many at once": lambda view: view.put_all([a_put("new"), a_put("a", 8), a_put("gone"), a_put("a", 9)]),
    "two writes of one key": lambda view: (view.put(a_put("a", 8)), view.put(a_put("a", 9))),
    "a new key in a new scope": lambda view: view.put(a_put("new", scope="user:new")),
    "a drop": lambda view: view.drop(a_drop("a")),
    "a drop of all": lambda view: view.drop(a_drop(None)),
    "a drop and a new life": lambda view: (view.drop(a_drop("a")), view.put(a_put("a", "again"))),
    "an erased scope": lambda view: view.erase(SCOPE, NOW, "tester", "scope.delete"),
    "an erased scope and a new life": lambda view: (
        view.erase(SCOPE, NOW, "tester", "scope.delete"),
        view.put(a_put("a", "again")),
    ),
}


class Stop(Exception):
    """Raised in the middle of a job."""


def _fill(driver: Driver) -> None:
    for key in ("a", "b"):
        driver.made(key, "first")
        driver.made(key, "second")
    driver.made("gone")
    driver.drop("gone")
    driver.made("a", scope=OTHER)


class TransactionTests:
    """Jobs that succeed, fail, and meet."""

    @pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
    @pytest.mark.parametrize("step", STEPS)
    @promise("store:rollback")
    def test_a_failing_job_leaves_nothing(self, driver: Driver, step: str, error: type[BaseException]) -> None:
        _fill(driver)
        before = driver.snapshot()

        def job(view: Write) -> None:
            STEPS[step](view)
            raise error

        with pytest.raises(error):
            driver.backend.write(job, WAIT)
        assert driver.snapshot() == before
        assert driver.made("a").version == 3
        assert driver.made("new", scope="user:new").version == 1

    @promise("store:rollback")
    def test_a_failing_job_gives_no_rev_to_two_writes(self, driver: Driver) -> None:
        first = driver.made()
        with pytest.raises(Stop):
            driver.backend.write(_fails_after_a_put, WAIT)
        second = driver.made("other")
        assert [event.rev for event in driver.changes(first.rev)] == [second.rev]
        assert driver.position().rev >= second.rev > first.rev

    @promise("store:rollback", "watch:resume")
    def test_a_failing_job_is_nothing_that_a_watcher_could_have_missed(self, driver: Driver) -> None:
        seen = driver.made()
        with pytest.raises(Stop):
            driver.backend.write(_fails_after_a_put, WAIT)
        driver.erase()
        assert driver.position().horizon <= seen.rev
        assert [event.op for event in driver.changes(seen.rev)] == ["scope.delete"]

    @promise("store:transaction")
    def test_a_job_sees_its_own_writes(self, driver: Driver) -> None:
        def job(view: Write) -> tuple[Any, ...]:
            view.put(a_put("a", 1))
            seen = view.cell(SCOPE, SHAPE, "a", NOW)
            view.drop(a_drop("a"))
            return seen and seen.data, view.cell(SCOPE, SHAPE, "a", NOW), len(view.changes(SCOPE, 0, 9, NOW))

        assert driver.backend.write(job, WAIT) == (b"1", None, 2)

    @promise("store:submit")
    def test_a_submitted_job_tells_its_result_or_its_error(self, driver: Driver) -> None:
        assert _submitted(driver.backend, lambda view: view.put(a_put()))[1] is None
        result, error = _submitted(driver.backend, _fails_after_a_put)
        assert result is None
        assert isinstance(error, Stop)
        cell = driver.cell()
        assert cell is not None
        assert (cell.version, cell.data) == (1, b"1")

    @promise("store:threads")
    def test_threads_count_right(self, driver: Driver) -> None:
        threads, each = 4, 25

        def count() -> None:
            for _ in range(each):
                while not driver.backend.write(_increment, WAIT):
                    pass

        workers = [threading.Thread(target=count) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        cell = driver.cell()
        assert cell is not None
        assert (cell.data, cell.version) == (b"100", threads * each)
        assert [event.version for event in driver.changes()] == list(range(1, threads * each + 1))

    @promise("store:close")
    def test_a_closed_backend_says_so(self, driver: Driver) -> None:
        driver.backend.close()
        driver.backend.close()
        with pytest.raises(Unavailable, match="closed"):
            driver.cell()
        with pytest.raises(Unavailable, match="closed"):
            driver.put()

    @promise("store:describe")
    def test_it_says_what_it_is_and_is_sound(self, driver: Driver) -> None:
        traits = driver.backend.traits
        assert traits.name
        assert traits.durability in {"power-safe", "crash-safe", "volatile"}
        assert isinstance(driver.backend.describe(), dict)
        driver.made()
        steps: list[tuple[int, int]] = []
        health = driver.backend.check(lambda done, total: steps.append((done, total)))
        assert health.damage == []
        assert health.checked >= 1
        assert steps[-1][0] == steps[-1][1]
        driver.backend.tend()


def _fails_after_a_put(view: Write) -> None:
    view.put(a_put(value="never"))
    raise Stop


def _increment(view: Write) -> bool:
    cell = view.cell(SCOPE, SHAPE, "k", NOW)
    number, version = (int(cell.data), cell.version) if cell else (0, 0)
    return view.put(a_put("k", number + 1, if_version=version)) is not None


def _submitted(backend: Backend, job: Step) -> tuple[Any, BaseException | None]:
    told: list[tuple[Any, BaseException | None]] = []
    there = threading.Event()

    def done(result: Any, error: BaseException | None) -> None:
        told.append((result, error))
        there.set()

    backend.submit(job, WAIT, False, done)
    assert there.wait(WAIT), "nobody was told"
    return told[0]
