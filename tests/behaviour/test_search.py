"""Searching records: the same on every backend, in every script, within the scope."""

from __future__ import annotations

import random

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memwell
from memwell import words
from memwell.engine.snippet import snippet
from memwell.errors import Corrupt
from memwell.ops import NewRecord
from memwell.testing import frozen_clock, promise

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


def ids(found):
    return [getattr(one, "record", one).id for one in found]


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


@promise("record:ttl", "file:check")
def test_what_has_expired_and_was_not_swept_is_no_damage(where, clock):
    with memwell.open(where) as store:
        records = store.scope(agent="a").records
        records.remember("green tea", ttl=5, tags=["t"])
        records.remember("black tea", tags=["t"])
        clock.advance(5)
        assert store.check().damage == []
        store.sweep()
        assert store.check().damage == []
