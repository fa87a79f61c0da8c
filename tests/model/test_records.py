"""Any sequence of ops on records, on every full backend, against a plain list. MEMWELL_CAMPAIGN=1 runs more of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import Phase

from memwell.engine import links, records
from memwell.testing import model, promise, record_model

from .test_machines import TIMES, explore


@pytest.mark.parametrize(
    ("name", "face", "sequences"), [("ram", "sync", 150), ("sqlite", "sync", 200), ("sqlite", "async", 20)]
)
@promise("model:records")
def test_records_are_as_the_list_of_their_writes_says(tmp_path, name, face, sequences):
    where = tmp_path / "memory.db" if name == "sqlite" else ":memory:"
    assert explore(record_model, where, sequences, face=face, durability="fast") >= sequences * TIMES


def a_superseder_hides_whatever_it_is(patch):
    hides = lambda view, scope, key, now: bool(view.marked(scope, "record", [f"over:{key}"]))  # noqa: E731
    patch.setattr(records, "is_superseded", hides)


def the_index_is_not_told(patch):
    real = records.to_doc
    patch.setattr(records, "to_doc", lambda scope, cell, body: real(scope, cell, body)._replace(marks=()))


def a_stale_writer_wins(patch):
    real = links.standing
    patch.setattr(records, "standing", lambda *args: real(*args[:5]))


@pytest.mark.parametrize("mistake", [a_superseder_hides_whatever_it_is, the_index_is_not_told, a_stale_writer_wins])
@promise("model:records")
def test_a_mistake_does_not_pass(monkeypatch, mistake):
    mistake(monkeypatch)
    phases = SimpleNamespace(generate=Phase.generate, shrink=Phase.generate)  # that it fails is enough
    monkeypatch.setattr(model, "Phase", phases)
    with pytest.raises((AssertionError, ExceptionGroup)):
        explore(record_model, ":memory:", 100)
