"""Searching records: the same on every backend, in every script, with and without vectors, within the scope."""

from __future__ import annotations

import hashlib
import random
import threading
from datetime import timedelta

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memwell
from memwell import words
from memwell.engine.snippet import snippet
from memwell.errors import Corrupt, Invalid, MemwellError, Unsupported
from memwell.ops import NewRecord
from memwell.testing import frozen_clock, promise
from memwell.testing.clocks import START

VOCABULARY = [
    "tea", "green", "greens", "coffee", "review", "reviewing", "request", "requests", "Berlin", "berlin", "café",
    "cafe", "ship", "ships", "shipping", "release", "東京", "東京都", "会議", "แมว", "सूची", "قائمة", "running", "runs",
    "the", "of", "a", "42", "don't", "Größe",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12).map(" ".join)
STEPS = st.one_of(
    st.tuples(st.just("remember"), TEXTS, st.sampled_from((None, "Tea time", "Release")), st.booleans()),
    st.tuples(st.just("update"), TEXTS, st.integers(0, 20), st.none()),
    st.tuples(st.sampled_from(("delete", "restore", "remove")), st.none(), st.integers(0, 20), st.none()),
    st.tuples(st.just("supersede"), TEXTS, st.integers(0, 20), st.none()),
)
DIMS = 64


def ids(found):
    return [getattr(one, "record", one).id for one in found]


def embed(texts):
    """A bag of words in a few dimensions, where `tea` and `brew` mean the same; no text is near nothing."""
    return [_vector(text) for text in texts]


def _vector(text):
    vector = [0.01] * DIMS
    for word in words.stems(text):
        meaning = {"brew": "tea", "beverag": "tea"}.get(word, word)
        vector[hashlib.sha256(meaning.encode()).digest()[0] % DIMS] += 1.0
    return vector


@pytest.fixture(params=["ram", "sqlite"])
def where(request, tmp_path):
    return ":memory:" if request.param == "ram" else tmp_path / "memory.db"


@pytest.fixture
def records(where):
    with memwell.open(where, durability="fast", by="tester") as store:
        yield store.scope(agent="a").records


def follow(records, clock, steps):
    """Do the steps that make sense."""
    made = []
    for number, (kind, text, which, linked) in enumerate(steps):
        clock.advance(number % 3)
        chosen = made[which % len(made)] if made and isinstance(which, int) else None
        if kind == "remember":
            new = NewRecord(content=text, title=which, thread="t" if linked else None, id=f"{number:03}")
            made += [one.id for one in records.remember_many([new]) if one.id not in made]
        elif chosen is not None:
            change(records, kind, chosen, text, f"{number:03}", made)


def change(records, kind, chosen, text, new, made):
    try:
        if kind == "update":
            records.update(chosen, content=text)
        elif kind == "supersede":
            made.append(records.supersede(chosen, text, id=new).id)
        elif kind == "remove":
            records.hard_delete(chosen)
        else:
            getattr(records, kind)(chosen)
    except memwell.NotFound:
        pass


def seen(records, query):
    return [
        (hit.record.id, hit.score, hit.snippet, hit.matches, hit.parts) for hit in records.search(query, explain=True)
    ]


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=25), queries=st.lists(TEXTS, min_size=1, max_size=4))
@promise("record:search:same", "record:reindex")
def test_every_backend_gives_the_same_hits_with_the_same_scores(tmp_path_factory, steps, queries):
    path = tmp_path_factory.mktemp("same") / "memory.db"
    options = {"durability": "fast", "allow_hard_delete": True, "by": "tester"}
    with memwell.open(":memory:", **options) as ram, memwell.open(path, **options) as sqlite:
        found = []
        for store in (ram, sqlite):
            records = store.scope(agent="a").records
            with frozen_clock() as clock:
                follow(records, clock, steps)
                found.append([seen(records, query) for query in [*queries, ""]])
                store.reindex()
                assert [seen(records, query) for query in queries] == found[-1][:-1]
        assert found[0] == found[1]


@promise("record:reindex")
def test_a_listing_stays_in_order_when_the_index_is_made_anew(where):
    with memwell.open(where) as store:
        records = store.scope(agent="a").records
        made = records.remember_many([f"note number {number}" for number in range(20)])
        records.update(made[3].id, pinned=True)
        before = ids(records.list()), ids(records.search(limit=20))
        assert store.reindex() == 20
        assert (ids(records.list()), ids(records.search(limit=20))) == before


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("She was running late for the meetings", "run meeting"),
        ("The quick deployment of services failed", "failing service deploys"),
        ("Don't forget Anna's birthday", "anna birthdays"),
        ("We met at the Café Größenwahn", "cafe grossenwahn"),
        ("ﬁle ＡＢＣ①", "file abc1"),
        ("Version 2.4.1 of the API", "api 2.4.1"),
        ("snake_case and kebab-case names", "case"),
        ("İstanbul'da hava güzel", "istanbul'da guzel"),
    ],
)
@promise("record:search:words")
def test_other_forms_of_the_words_find_it(records, content, query):
    made = records.remember(content)
    records.remember("an entirely unrelated sentence")
    assert ids(records.search(query)) == [made.id]


@pytest.mark.parametrize(
    ("content", "query", "other"),
    [
        ("我们星期五在东京开会", "东京", "北京"),
        ("会議は東京で行われます", "東京 会議", "大阪"),
        ("الاجتماع في القاهرة يوم الجمعة", "القاهرة", "بغداد"),
        ("การประชุมที่กรุงเทพวันศุกร์", "กรุงเทพ", "ภูเก็ต"),
        ("बैठक शुक्रवार को दिल्ली में है", "दिल्ली", "मुंबई"),
        ("Встреча в Москве в пятницу", "москве", "Казань"),
        ("στην Αθήνα βρέχει", "ΑΘΗΝΑ", "Πάτρα"),
        ("회의는 금요일 서울에서", "서울에서", "부산에서"),
        ("הפגישה בירושלים ביום שישי", "בירושלים", "בחיפה"),
        ("የስብሰባው ቦታ አዲስ አበባ", "አበባ", "ጎንደር"),
        ("𠮷野家で昼食", "𠮷野", "松屋"),
    ],
)
@promise("record:search:scripts")
def test_every_script_is_searched(records, content, query, other):
    made = records.remember(content)
    records.remember("an entirely unrelated sentence")
    hits = records.search(query)
    assert ids(hits) == [made.id]
    assert hits[0].matches
    assert not records.search(other)


@pytest.mark.parametrize("symbols", ["😀", "🎉🎉", "…—!?", "+++", "\u200b", "\x7f"])
@promise("record:search:scripts")
def test_symbols_are_kept_and_a_query_of_symbols_does_no_harm(records, symbols):
    made = records.remember(f"party {symbols}")
    records.remember("another")
    assert records.read(made.id).content == f"party {symbols}"
    assert {*ids(records.search(symbols))} <= {*ids(records.list())}
    assert ids(records.search(f"{symbols} party")) == [made.id]


@settings(max_examples=200)
@given(
    content=st.lists(st.sampled_from([*VOCABULARY, "\n", "x" * 40]), min_size=1, max_size=120).map(" ".join),
    query=TEXTS,
)
@promise("record:search:snippet")
def test_matches_point_at_words_of_the_query(content, query):
    terms = {*words.asked(query)}
    text, matches = snippet(content, terms)
    assert text.removeprefix("…").removesuffix("…") in content
    assert len(text) <= 162
    for start, end in matches:
        assert 0 <= start < end <= len(text)
        assert {stem for stem, _, _ in words.spans(text[start:end])} & terms
    held = {stem for stem, _, _ in words.spans(content)} & terms
    assert bool(matches) == bool(held)


@promise("record:search:snippet")
def test_a_snippet_shows_the_part_that_fits(records):
    records.remember("filler words everywhere " * 30 + "the green tea of Kyoto is famous " + "more filler words " * 30)
    (hit,) = records.search("kyoto tea")
    assert "green tea of Kyoto" in hit.snippet
    assert [hit.snippet[start:end] for start, end in hit.matches] == ["tea", "Kyoto"]
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")


@promise("record:search:bounded")
def test_a_huge_record_of_one_word_is_found_in_no_time(records):
    """Were the cost to grow with the square of its length, this would take hours."""
    made = records.remember("word " * 200_000)
    assert ids(records.search("word")) == [made.id]
    assert ids(records.search("x" * 1_000_000 + " word word " * 1000)) == []
    assert ids(records.search("word " * 100_000)) == [made.id]


@promise("record:search:filter")
def test_a_filter_is_data_and_no_part_of_any_query(records):
    made = records.remember("a note", metadata={"a' OR 1=1 --": 1, "x": {"y": '"'}}, tags=['"; DROP TABLE docs'])
    assert ids(records.search("note", filter={"metadata.a' OR 1=1 --": 1})) == [made.id]
    assert ids(records.search("note", tags=['"; DROP TABLE docs'])) == [made.id]
    assert not records.search("note", filter={"metadata.x.y": "' OR 1=1"})
    assert not records.search("note", kinds=["' OR 1=1 --"])


@promise("record:search:filter")
def test_a_filter_reaches_past_what_words_find_first(records):
    """However many better hits a filter refuses, the one that it lets through is found."""
    records.remember_many([NewRecord(content=f"tea tea tea number {number}") for number in range(700)])
    wanted = records.remember("a long and winding text that mentions tea once", metadata={"wanted": True})
    assert ids(records.search("tea", filter={"metadata.wanted": True})) == [wanted.id]
    assert ids(records.search("", filter={"metadata.wanted": True}, limit=1)) == [wanted.id]


@promise("record:search:isolated")
def test_scopes_with_the_same_words_never_meet(where):
    rng = random.Random(1)
    with memwell.open(where, durability="fast") as store:
        scopes = [store.scope(f"user:{number}") for number in range(12)]
        for mem in scopes:
            for _ in range(6):
                mem.remember(" ".join(rng.choices(VOCABULARY, k=8)), thread="t", source="s")
        for mem in scopes:
            for query in ("", "tea", "東京", " ".join(VOCABULARY)):
                assert {hit.record.scope for hit in mem.search(query, limit=100)} <= {mem.name}
                assert {hit.record.scope for hit in mem.search(query, inherit=True, limit=100)} <= {mem.name}
        scopes[3].delete_scope()
        assert not scopes[3].search("tea")
        assert [len(mem.search(limit=100)) for mem in scopes].count(0) == 1


@promise("record:search:isolated")
def test_how_rare_a_word_is_elsewhere_changes_no_score(where):
    with memwell.open(where, durability="fast") as store, frozen_clock():
        mem = store.scope(agent="a")
        mem.remember("green tea")
        mem.remember("black tea")
        before = [(hit.record.id, hit.score) for hit in mem.search("green tea")]
        store.scope(agent="b").records.remember_many([f"green leaf {number}" for number in range(50)])
        assert [(hit.record.id, hit.score) for hit in mem.search("green tea")] == before


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


@promise("record:digest")
def test_a_record_that_was_tampered_with_is_not_read(path):
    with memwell.open(path) as store:
        records = store.scope(agent="a").records
        made, other = records.remember("pay Anna"), records.remember("pay nobody")
    db = apsw.Connection(str(path))
    changed = "CAST(replace(CAST(value AS TEXT), 'pay Anna', 'pay Mara') AS BLOB)"
    db.execute(f"UPDATE cells SET value = {changed} WHERE key = ?", (made.id,))
    db.close()
    with memwell.open(path) as store:
        records = store.scope(agent="a").records
        for call in (
            lambda: records.read(made.id),
            lambda: records.update(made.id, pinned=True),
            lambda: records.search("pay"),
            lambda: records.list(),
            lambda: records.delete(made.id),
        ):
            with pytest.raises(Corrupt, match="digest"):
                call()
        assert records.read(other.id) == other
        assert any(made.id in damage.where for damage in store.check().damage)


@promise("record:digest")
def test_a_record_without_its_digest_is_not_believed(path):
    with memwell.open(path) as store:
        made = store.scope(agent="a").remember("pay Anna")
    db = apsw.Connection(str(path))
    db.execute("""UPDATE cells SET value = CAST(replace(replace(CAST(value AS TEXT), '"digest"', '"figest"'),
                  'pay Anna', 'pay Mara') AS BLOB)""")
    db.close()
    with memwell.open(path) as store, pytest.raises(Corrupt):
        store.scope(agent="a").records.read(made.id)


@promise("record:isolated", "transfer:round")
def test_an_export_of_several_scopes_brings_each_its_own_words(where, tmp_path):
    with memwell.open(where) as store:
        store.scope(agent="a").remember("green tea", id="note", tags=["mine"])
        store.scope(agent="b").remember("black coffee", id="note", tags=["theirs"])
        store.export(str(tmp_path / "all.ndjson"))
    with memwell.open(":memory:") as store:
        store.load(str(tmp_path / "all.ndjson"))
        mine, theirs = store.scope(agent="a"), store.scope(agent="b")
        assert ids(mine.search("tea")) == ids(mine.search(tags=["mine"])) == ["note"]
        assert not mine.search("coffee")
        assert not mine.search("tea", tags=["theirs"])
        assert [hit.record.content for hit in theirs.search("coffee")] == ["black coffee"]


# By meaning


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
