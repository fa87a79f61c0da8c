"""Any sequence of ops on threads, on every full backend, against plain lists. MEMWELL_CAMPAIGN=1 runs more of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import Phase

from memwell.engine import messages, overheard, overlays, threads
from memwell.errors import MemwellError
from memwell.testing import model, opened, promise, thread_model

from .test_machines import TIMES, explore


@pytest.mark.parametrize(
    ("name", "face", "sequences"), [("ram", "sync", 200), ("sqlite", "sync", 200), ("sqlite", "async", 15)]
)
@promise("model:threads")
def test_threads_are_as_plain_lists_of_messages_are(tmp_path, name, face, sequences):
    where = tmp_path / "memory.db" if name == "sqlite" else ":memory:"
    assert explore(thread_model, where, sequences, face=face, durability="fast") >= sequences * TIMES
    with opened("sync", where) as store:
        assert store.check().damage == []


def a_number_comes_twice(patch):
    def highest_left(view, scope, thread, body):
        cells = list(view.cells(scope, "message", threads.within(thread), None, 0))
        return int(cells[-1].key[-threads.DIGITS :]) if cells else 0

    patch.setattr(messages, "last_seq", highest_left)
    patch.setattr(threads, "last_seq", highest_left)


def an_id_is_not_looked_for(patch):
    patch.setattr(messages, "_known", lambda *args: None)


def a_summary_may_cut(patch):
    patch.setattr(overlays, "_refuse_cut", lambda *args: None)


def summaries_may_cross(patch):
    patch.setattr(overlays, "_refuse_crossing", lambda *args: None)


def edits_are_not_indexed(patch):
    real = overheard.to_doc
    patch.setattr(
        overheard,
        "to_doc",
        lambda scope, cell: real(scope, cell) if cell.version == 1 else real(scope, cell)._replace(text=None),
    )


def a_stale_summary_is_laid(patch):
    patch.setattr(overlays, "fingerprint", lambda covered: "stale")


MISTAKES = [
    a_number_comes_twice,
    an_id_is_not_looked_for,
    a_summary_may_cut,
    summaries_may_cross,
    edits_are_not_indexed,
    a_stale_summary_is_laid,
]


@pytest.mark.parametrize("mistake", MISTAKES)
@promise("model:threads")
def test_a_mistake_does_not_pass(monkeypatch, mistake):
    mistake(monkeypatch)
    phases = SimpleNamespace(generate=Phase.generate, shrink=Phase.generate)  # that it fails is enough
    monkeypatch.setattr(model, "Phase", phases)
    with pytest.raises((AssertionError, MemwellError, ExceptionGroup)):
        explore(thread_model, ":memory:", 300)
