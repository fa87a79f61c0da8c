"""Searching records by meaning: blended with words, never stale, and never in the way when the embedder fails."""

from __future__ import annotations

import hashlib
import threading
from datetime import timedelta

import pytest

import memwell
from memwell import words
from memwell.errors import Invalid, MemwellError, Unsupported
from memwell.testing import frozen_clock, promise
from memwell.testing.clocks import START

from .test_search import ids

DIMS = 64


@pytest.fixture(params=["ram", "sqlite"])
def where(request, tmp_path):
    return ":memory:" if request.param == "ram" else tmp_path / "memory.db"


def embed(texts):
    """A bag of words in a few dimensions, where `tea` and `brew` mean the same; no text is near nothing."""
    return [_vector(text) for text in texts]


def _vector(text):
    vector = [0.01] * DIMS
    for word in words.stems(text):
        meaning = {"brew": "tea", "beverag": "tea"}.get(word, word)
        vector[hashlib.sha256(meaning.encode()).digest()[0] % DIMS] += 1.0
    return vector


@promise("record:pending")
def test_a_pending_record_has_no_vector_and_is_found_by_no_meaning(where):
    with memwell.open(where, embedder=embed, by="author") as store:
        mem = store.scope(agent="a")
        waiting = mem.remember("green tea", pending=True)
        assert store.embed() == 0
        assert not mem.search("brew")
        store.scope(agent="a", by="reviewer").records.approve(waiting.id)
        store.embed()
        assert ids(mem.search("brew")) == [waiting.id]
        mem.records.delete(waiting.id)
        assert not mem.search("brew")


@promise("record:search:meaning")
def test_meaning_finds_what_no_word_does_and_both_are_blended(where):
    with memwell.open(where, embedder=embed) as store:
        records = store.scope(agent="a").records
        tea, both, other = records.remember_many(["green tea", "brew green coffee", "the violin plays"])
        store.embed()
        hits = records.search("brew", explain=True)
        assert {*ids(hits)[:2]} == {tea.id, both.id}
        assert ids(hits)[0] == both.id
        parts = {hit.record.id: hit.parts for hit in hits}
        assert parts[tea.id]["words"] == 0 < parts[tea.id]["meaning"]
        assert parts[both.id]["words"] > 0 < parts[both.id]["meaning"]
        assert hits.unembedded == 0
        assert hits.notice is None
        assert ids(records.search("beverage", filter={"content": {"contains": "tea"}})) == [tea.id]
        assert ids(records.search(vector=_vector("violin"), limit=1)) == [other.id]


@promise("record:search:meaning")
def test_a_vector_that_fits_nothing_is_refused(where):
    with memwell.open(where, embedder=embed) as store:
        records = store.scope(agent="a").records
        records.remember("green tea")
        store.embed()
        for wrong in (["a"], [], [0.0] * DIMS, [1.0] * 3, [float("nan")] * DIMS):
            with pytest.raises(MemwellError):
                records.search("tea", vector=wrong)
    with memwell.open(":memory:") as store, pytest.raises(Unsupported):
        store.scope(agent="a").search("tea", vector=[1.0])
    with memwell.open(":memory:") as store, pytest.raises(Unsupported, match="embedder"):
        store.embed()
    with pytest.raises(Invalid):
        memwell.open(":memory:", embedder=5)


class Gate:
    """An embedder that lets texts through only when it is open; a question always passes."""

    def __init__(self, name="gate", dims=DIMS):
        self.name, self.dims = name, dims
        self.open = threading.Event()
        self.seen = []

    def embed(self, texts):
        if not self.open.is_set():
            raise memwell.Unavailable("the gate is closed", hint="open it")
        self.seen += texts
        return embed(texts)

    def embed_query(self, text):
        return embed([text])[0]


@promise("record:search:unembedded")
def test_a_search_says_what_could_not_be_found_by_meaning_yet(where):
    gate = Gate()
    with memwell.open(where, embedder=gate) as store:
        records = store.scope(agent="a").records
        records.remember_many(["green tea", "black tea", "a violin"])
        hits = records.search("tea")
        assert len(hits) == 2
        assert hits.unembedded == 3
        gate.open.set()
        store.embed()
        assert records.search("tea").unembedded == 0
        gate.open.clear()
        records.remember("a fourth")
        assert records.search("tea").unembedded == 1


@promise("record:search:model")
def test_another_model_embeds_everything_anew_while_search_goes_on(tmp_path):
    path, first, second = tmp_path / "memory.db", Gate("first"), Gate("second")
    first.open.set()
    with memwell.open(path, embedder=first) as store:
        records = store.scope(agent="a").records
        tea, _ = records.remember_many(["green tea", "a violin"])
        store.embed()
        assert ids(records.search("brew"))[0] == tea.id
        assert sorted(first.seen) == ["a violin", "green tea"]
    with memwell.open(path, embedder=second) as store:
        records = store.scope(agent="a").records
        hits = records.search("tea")
        assert ids(hits) == [tea.id]
        assert hits.unembedded == 2
        second.open.set()
        store.embed()
        assert sorted(second.seen) == ["a violin", "green tea"]
        hits = records.search("brew")
        assert ids(hits)[0] == tea.id
        assert hits.unembedded == 0
    with memwell.open(path, embedder=first) as store:
        assert store.embed() == 0
        assert ids(store.scope(agent="a").search("brew"))[0] == tea.id


@promise("record:search:model")
def test_what_was_changed_is_embedded_anew(where):
    gate = Gate()
    gate.open.set()
    with memwell.open(where, embedder=gate) as store:
        records = store.scope(agent="a").records
        made = records.remember("green tea")
        other = records.remember("tea, and a biscuit, and a newspaper")
        records.remember("a violin")
        store.embed()
        assert ids(records.search("brew"))[0] == made.id
        records.update(made.id, content="a piano")
        store.embed()
        assert ids(records.search("brew"))[0] == other.id
        assert ids(records.search("piano"))[0] == made.id


@promise("record:search:model")
def test_no_record_is_found_by_the_meaning_of_one_that_is_gone(where):
    gate = Gate()
    gate.open.set()
    with memwell.open(where, embedder=gate, allow_hard_delete=True) as store:
        records = store.scope(agent="a").records
        records.remember("a violin")
        gone = records.remember("green tea")
        store.embed()
        assert ids(records.search("brew"))[0] == gone.id
        gate.open.clear()
        records.hard_delete(gone.id)
        new = records.remember("a piano")
        hits = records.search("brew", explain=True)
        assert new.id not in ids(hits)
        assert hits.unembedded == 1


@promise("record:search:model", "record:reindex")
def test_the_index_made_anew_mixes_no_vectors_up(where):
    gate = Gate()
    gate.open.set()
    with memwell.open(where, embedder=gate) as store:
        records = store.scope(agent="a").records
        tea, violin = records.remember("green tea", id="z"), records.remember("a violin", id="a")
        store.embed()
        assert ids(records.search("brew"))[0] == tea.id
        gate.open.clear()
        store.reindex()
        hits = records.search("brew", explain=True)
        assert violin.id not in ids(hits[:1])
        gate.open.set()
        store.embed()
        hits = records.search("brew")
        assert ids(hits)[0] == tea.id
        assert hits.unembedded == 0


@promise("record:search:notice")
def test_an_embedder_that_fails_leaves_search_by_words(where):
    def broken(texts):
        raise RuntimeError("no such model")

    with memwell.open(where, embedder=broken) as store:
        records = store.scope(agent="a").records
        made = records.remember("green tea")
        hits = records.search("tea")
        assert ids(hits) == [made.id]
        assert "no such model" in hits.notice
        assert records.context("tea").records
        with pytest.raises(memwell.Unavailable, match="no such model"):
            store.embed()


@promise("record:search:notice")
def test_a_text_that_is_near_nothing_keeps_no_other_from_being_embedded(where):
    def zeros(texts):
        return [_vector(text) if "tea" in text else [0.0] * DIMS for text in texts]

    with memwell.open(where, embedder=zeros) as store:
        records = store.scope(agent="a").records
        records.remember("😀")
        tea = records.remember("green tea")
        store.embed()
        assert ids(records.search("tea"))[0] == tea.id


@promise("record:search:meaning")
def test_records_without_a_word_that_says_anything_are_found_by_meaning(where):
    with memwell.open(where, embedder=embed) as store:
        records = store.scope(agent="a").records
        made = records.remember_many(["it is", "😀", "…"])
        store.embed()
        assert {*ids(records.search("tea"))} <= {*ids(made)}
        assert {*ids(records.search("it is", explain=True))} <= {*ids(made)}


@promise("record:ttl")
def test_recency_counts_and_expiry_ends_a_vector(where):
    with frozen_clock(START) as clock, memwell.open(where, embedder=embed) as store:
        records = store.scope(agent="a").records
        old = records.remember("tea one", ttl=10_000_000)
        clock.advance(timedelta(days=90).total_seconds())
        new = records.remember("tea two")
        store.embed()
        assert ids(records.search("tea")) == [new.id, old.id]
        clock.advance(10_000_000)
        assert ids(records.search("brew")) == [new.id]
