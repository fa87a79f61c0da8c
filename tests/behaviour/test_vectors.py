"""Vectors: kept fresh, within a budget, and beyond it the same answers by other means."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import memwell
from memwell.engine.large import Large
from memwell.engine.vectors import Vectors
from memwell.errors import Invalid, Unsupported
from memwell.testing import promise

DIMS = 16
PLACE = ("agent:a", "record", "hashed")


def hashed(texts):
    """A direction for each text."""
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
    return [np.random.default_rng(seed).standard_normal(DIMS) for seed in seeds]


hashed.name = "hashed"


@pytest.fixture(params=["ram", "sqlite"])
def filled(request, path):
    """A store with vectors for a few hundred records."""
    url = ":memory:" if request.param == "ram" else path
    with memwell.open(url, durability="fast", embedder=hashed) as store:
        store.scope(agent="a").records.remember_many(f"record number {number}" for number in range(300))
        store.embed()
        yield store


def direction(text):
    vector = np.asarray(hashed([text])[0], dtype="float32")
    return vector / np.linalg.norm(vector)


def asked(store, vectors, vector, most, also=()):
    backend = store._door.engine.backend
    return backend.read(lambda view: vectors(view, vector, most, also), 30, True)


def by_matrix(store, vector, most, also=(), budget=2**30):
    vectors = Vectors(budget)
    return asked(store, lambda view, *rest: vectors.nearest(view, PLACE, *rest), vector, most, also)


@promise("record:vectors")
def test_the_nearest_have_the_highest_cosines(filled):
    wanted = direction("record number 7")
    found = by_matrix(filled, wanted, 10)
    assert len(found) == 10
    assert max(found.values()) == pytest.approx(1, abs=1e-3)
    everything = by_matrix(filled, wanted, 1000)
    assert len(everything) == 300
    assert sorted(found.values()) == pytest.approx(sorted(everything.values())[-10:], abs=1e-6)


@pytest.mark.parametrize("by_graph", [True, False], ids=["graph", "scan"])
@promise("record:vectors:large")
def test_a_space_too_large_for_memory_gives_the_same(filled, by_graph):
    large = Large(PLACE, DIMS, by_graph)
    for text in ("record number 7", "record number 123", "something else"):
        wanted = direction(text)
        exact = by_matrix(filled, wanted, 10)
        other = list(by_matrix(filled, wanted, 300))[:3]
        found = asked(filled, large.nearest, wanted, 10, other)
        assert {*other} <= found.keys()
        best = sorted(found, key=lambda number: -found[number])[:5]
        assert {*best} <= {*exact, *other}
        assert all(found[number] == pytest.approx(exact[number], abs=1e-3) for number in best if number in exact)


@promise("record:vectors:large")
def test_beyond_the_budget_search_goes_on_and_sees_what_is_new(path):
    with memwell.open(path, durability="fast", embedder=hashed, vector_bytes=100 * DIMS) as store:
        mem = store.scope(agent="a")
        mem.records.remember_many(f"record number {number}" for number in range(200))
        store.embed()
        for text in ("record number 42", "record number 150"):
            vector = direction(text).tolist()
            assert mem.search(" ", vector=vector)[0].record.content == text
        late = mem.remember("a late one")
        store.embed()
        assert mem.search("", vector=direction("a late one").tolist())[0].record.id == late.id
        mem.records.delete(late.id)
        assert late.id not in [hit.record.id for hit in mem.search("", vector=direction("a late one").tolist())]


@promise("record:vectors")
def test_a_changed_record_is_found_by_its_new_meaning(filled):
    mem = filled.scope(agent="a")
    (record,) = mem.records.list(limit=1)
    assert mem.search("", vector=direction(record.content).tolist())[0].record.id == record.id
    mem.records.update(record.id, content="entirely different")
    filled.embed()
    assert mem.search("", vector=direction("entirely different").tolist())[0].record.id == record.id
    mem.records.update(record.id, pinned=True)
    assert filled.embed() == 0  # it says the same, so its vector is kept


@promise("record:vectors:filter")
def test_a_filter_that_few_pass_does_not_hide_what_meaning_finds(filled):
    mem = filled.scope(agent="a")
    made = mem.remember("the one with a number", metadata={"rare": 1}, kind="rare", tags=["few"])
    filled.embed()
    vector = direction("something far away").tolist()
    for only in ({"filter": {"metadata.rare": 1}}, {"kinds": ["rare"]}, {"tags": ["few"]}):
        assert [hit.record.id for hit in mem.search("", vector=vector, **only)] == [made.id]


@promise("record:vectors:given")
def test_a_vector_that_is_none_is_refused(filled):
    mem = filled.scope(agent="a")
    for wrong in (["a"], [], [0.0] * DIMS, [float("nan")] * DIMS, "text", [[1.0], [1.0, 2.0]]):
        with pytest.raises(Invalid):
            mem.search("x", vector=wrong)
    with pytest.raises(Unsupported, match="dimensions"):
        mem.search("x", vector=[1.0, 2.0])
    with memwell.open(":memory:") as plain, pytest.raises(Unsupported, match="no vectors"):
        plain.scope(agent="a").search("x", vector=[1.0])
