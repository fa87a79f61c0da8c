"""What a watcher sees: every event of its scope in order, without gap or repeat."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from memwell import ops
from memwell.errors import NotFound
from memwell.testing.clocks import FrozenClock
from memwell.testing.promise import promise

AT_ONCE = 0.0  # end as soon as there is nothing more to show
PATIENCE_S = 30.0


class WatchTests:
    """Watching a scope."""

    @promise("watch:order")
    def test_every_event_comes_in_order(self, store: Any) -> None:
        mem = store.scope(agent="a", by="anna")
        mem.set("a", 1)
        store.scope(agent="b").set("a", "not ours")
        mem.set_many({"c": 2, "b": 3})
        mem.delete("a")
        mem.revert("a", 1)
        mem.clear()
        mem.delete_scope()
        events = list(mem.watch(since=store.apply(ops.Changes("agent:a")).rev - 1, timeout=AT_ONCE))
        assert [event.op for event in events] == ["scope.delete"]
        mem.set("a", 1)
        mem.set("a", 2)
        mem.delete("a")
        events = list(mem.watch(since=events[-1].rev, timeout=AT_ONCE))
        assert [(event.op, event.key, event.value, event.by) for event in events] == [
            ("fact.set", "a", 1, "anna"),
            ("fact.set", "a", 2, "anna"),
            ("fact.delete", "a", None, "anna"),
        ]

    @promise("watch:resume")
    def test_a_watch_resumes_without_gap_or_repeat(self, mem: Any) -> None:
        for number in range(20):
            mem.set(f"k{number % 3}", number)
        seen: list[int] = []
        since = 0
        for _ in range(10):
            watch = mem.watch(since=since, timeout=AT_ONCE)
            for event in (next(watch), next(watch)):
                seen.append(event.value)
                since = event.rev
        assert seen == list(range(20))
        assert list(mem.watch(since=since, timeout=AT_ONCE)) == []

    @promise("watch:resume")
    def test_more_events_than_a_page_are_all_seen(self, mem: Any) -> None:
        for part in range(3):
            mem.set_many({f"k{number:03}": part for number in range(200)})
        events = list(mem.watch(since=0, timeout=AT_ONCE))
        assert [(event.key, event.value) for event in events] == [
            (f"k{number:03}", part) for part in range(3) for number in range(200)
        ]
        late = list(mem.watch("k199", since=0, timeout=AT_ONCE))
        assert [event.value for event in late] == [0, 1, 2]

    @promise("watch:filter")
    def test_a_prefix_or_pattern_chooses(self, mem: Any) -> None:
        mem.set_many({"user_1": 1, "userX1": 2, "USER_1": 3, "cache/a": 4, "cache/a/b": 5})
        for options, expected in (
            ({"prefix": "user_"}, [1]),
            ({"pattern": "cache/*"}, [4]),
            ({"pattern": "cache/**"}, [4, 5]),
            ({"pattern": "*"}, [1, 2, 3, 4, 5]),
            ({"prefix": "user", "pattern": "*1"}, [1, 2]),
        ):
            events = list(mem.watch(since=0, timeout=AT_ONCE, **options))
            assert [event.value for event in events] == expected

    @promise("watch:now")
    def test_a_watch_begins_now_unless_told(self, mem: Any) -> None:
        mem.set("before", 1)
        watch = mem.watch(timeout=AT_ONCE)
        mem.set("after", 2)
        assert [event.key for event in watch] == ["after"]

    @promise("watch:wake")
    def test_a_waiting_watcher_is_woken_by_a_write(self, mem: Any) -> None:
        seen: list[Any] = []
        watch = mem.watch(timeout=PATIENCE_S)
        watcher = threading.Thread(target=lambda: seen.extend(next(watch).value for _ in range(3)))
        watcher.start()
        for number in range(3):
            mem.set("k", number)
        watcher.join(PATIENCE_S)
        assert seen == [0, 1, 2]

    @promise("watch:batch")
    def test_a_batch_that_fails_is_never_seen(self, mem: Any) -> None:
        watch = mem.watch(timeout=AT_ONCE)
        batch = mem.batch()
        batch.set("k", 1)
        batch.revert("k", 99)
        with pytest.raises(NotFound):
            batch.commit()
        assert list(watch) == []

    @promise("watch:forgotten")
    def test_a_watch_from_before_what_was_forgotten_is_an_error(self, opener: Any, clock: FrozenClock) -> None:
        store = opener(history_seconds=100)
        mem = store.scope(agent="a")
        mem.set("k", 1)
        mem.set("k", 2)
        clock.advance(101)
        newest = mem.set("k", 3)
        store.sweep()
        with pytest.raises(NotFound, match="forgotten") as error:
            next(mem.watch(since=0, timeout=AT_ONCE))
        assert "since=" in str(error.value)
        assert [event.value for event in mem.watch(since=newest.rev - 1, timeout=AT_ONCE)] == [3]

    @promise("watch:forgotten")
    def test_a_watch_from_before_a_deleted_scope_is_an_error(self, mem: Any) -> None:
        mem.set("k", 1)
        last = mem.set("k", 2)
        mem.delete_scope()
        with pytest.raises(NotFound, match="forgotten"):
            next(mem.watch(since=0, timeout=AT_ONCE))
        assert [event.op for event in mem.watch(since=last.rev, timeout=AT_ONCE)] == ["scope.delete"]
