"""Each trap that real systems of threads fell into is put back here, and the test that guards against it must fail."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memwell.engine import messages, overlays, threads
from memwell.store.ram import Ram
from memwell.store.sqlite.rows import Rows
from memwell.testing import frozen_clock, opened, promise
from memwell.testing.covering import CUT, CoverTests
from memwell.testing.messages import MessageTests
from memwell.testing.threads import ThreadTests
from promises import PROMISES

FAILED = (AssertionError, pytest.fail.Exception)


def a_limit_gives_the_oldest(patch):
    def oldest(view, scope, thread, after, before, limit, now):
        cells = view.cells(scope, threads.MESSAGE, threads.within(thread, after, before), limit, now)
        return messages.decoded([cell.data for cell in cells], thread)

    patch.setattr(messages, "originals", oldest)


def a_listing_ignores_its_scope(patch):
    cells_of = {Ram: Ram.cells, Rows: Rows.cells}

    def everywhere(kind):
        def cells(self, scope, shape, span, limit, now):
            names = self.scopes("", None, now) if shape == threads.SHAPE else [scope]
            return iter([cell for name in names for cell in cells_of[kind](self, name, shape, span, limit, now)])

        return cells

    for kind in cells_of:
        patch.setattr(kind, "cells", everywhere(kind))


def a_clock_orders_messages(patch):
    real = messages.originals
    by_time = lambda *args: sorted(real(*args), key=lambda message: message.created_at)  # noqa: E731
    patch.setattr(messages, "originals", by_time)


def a_message_sent_twice_is_there_twice(patch):
    real = messages._draft
    patch.setattr(messages, "_draft", lambda *args: replace(real(*args), id=""))


def a_missing_thread_is_made(patch):
    real = messages.held

    def lenient(view, scope, thread, now):
        if view.cell(scope, threads.SHAPE, thread, now) is None:
            return threads.Body()
        return real(view, scope, thread, now)

    patch.setattr(messages, "held", lenient)


def a_summary_cuts_a_call_from_its_result(patch):
    patch.setattr(overlays, "_refuse_cut", lambda *args: None)


def a_summary_goes_with_what_it_sums_up(patch):
    real = messages.remove

    def both(view, scope, shape, key, now, context, op):
        real(view, scope, shape, key, now, context, op)
        view.drop(threads.Drop(scope, threads.OVERLAY, key, now, context.caller.name, op))

    patch.setattr(messages, "remove", both)


def what_is_covered_is_deleted(patch):
    real = overlays._refuse_crossing

    def destructive(view, op, thread, now):
        real(view, op, thread, now)
        for seq in range(op.first, op.last + 1):
            view.drop(threads.Drop(op.scope, threads.MESSAGE, threads.message_key(thread, seq), now, "x", "x"))

    patch.setattr(overlays, "_refuse_crossing", destructive)


def _newest(store, mem, thread, clock):
    MessageTests().test_a_limit_gives_the_newest_oldest_first(thread)


def _listing(store, mem, thread, clock):
    thread.delete()
    ThreadTests().test_threads_are_listed_by_scope_newest_first(store, clock)


def _order(store, mem, thread, clock):
    MessageTests().test_messages_are_numbered_whatever_the_clock_says(thread, clock)


def _twice(store, mem, thread, clock):
    MessageTests().test_a_message_is_appended_once_by_its_id(thread, clock)


def _missing(store, mem, thread, clock):
    thread.delete()
    ThreadTests().test_what_is_asked_of_a_missing_thread_is_not_found(store)


def _cut(store, mem, thread, clock):
    CoverTests().test_no_summary_cuts_a_call_from_its_result(mem.threads, thread, CUT[0])


def _gone(store, mem, thread, clock):
    CoverTests().test_a_summary_stays_when_what_it_sums_up_is_deleted(thread)


def _place(store, mem, thread, clock):
    CoverTests().test_a_summary_stands_in_the_place_of_what_it_covers(thread, clock)


TRAPS = [
    ("thread:trap:oldest", a_limit_gives_the_oldest, _newest),
    ("thread:trap:listing", a_listing_ignores_its_scope, _listing),
    ("thread:trap:clock", a_clock_orders_messages, _order),
    ("thread:trap:twice", a_message_sent_twice_is_there_twice, _twice),
    ("thread:trap:missing", a_missing_thread_is_made, _missing),
    ("thread:trap:cut", a_summary_cuts_a_call_from_its_result, _cut),
    ("thread:trap:gone", a_summary_goes_with_what_it_sums_up, _gone),
    ("thread:trap:lost", what_is_covered_is_deleted, _place),
]


@pytest.mark.parametrize("where", [":memory:", "memory.db"])
@pytest.mark.parametrize(("_", "trap", "check"), TRAPS, ids=[trap.__name__ for _, trap, _ in TRAPS])
@promise(
    "thread:trap:oldest",
    "thread:trap:listing",
    "thread:trap:clock",
    "thread:trap:twice",
    "thread:trap:missing",
    "thread:trap:cut",
    "thread:trap:gone",
    "thread:trap:lost",
)
def test_a_trap_put_back_is_caught(_, trap, check, where, tmp_path):
    def passes():
        url = where if where.startswith(":") else tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with frozen_clock() as clock, opened("sync", url, durability="fast") as store:
            mem = store.scope(agent="a")
            check(store, mem, mem.threads.create(id="t"), clock)

    passes()
    with pytest.MonkeyPatch.context() as patch:
        trap(patch)
        with pytest.raises(FAILED):
            passes()
    passes()


@promise("traps:guarded")
def test_every_trap_is_put_back_here():
    assert {name for name, _, _ in TRAPS} == {name for name in PROMISES if name.startswith("thread:trap:")}
