"""Fuzzed questions: results or a clear error of ours, never one of SQLite's, never a record of another scope."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import Invalid, MemwellError

from . import audit
from .scale import scaled

MINE, THEIRS = "agent:a/user:u", ("agent:a/user:v", "agent:b", "user:v", "agent:a/user:u/session:s")
SECRET = "xyzzy"
SCRIPTS = (
    "green tea", "東京で会議", "กรุงเทพ", "दिल्ली में बैठक", "القاهرة", "ירושלים", "Москва", "Αθήνα", "서울", "አበባ",
    "😀👩‍👩‍👧", "ﬁne", "Größe", "İı", "𠮷", "e\u0301", "\u202eabc", "a\u200bb", "\ufeff",
)  # fmt: skip
OPERATORS = (
    '"', "'", "*", "^", ":", "(", ")", "{", "}", "-", "+", ",", ".", ";", "--", "/*", "*/", "%", "_", "\\", "?", "?1",
    "$a", " AND ", " OR ", " NOT ", " NEAR", "stems:", "rowid:", "words:", "{stems} : ", "1x", "2x", "x'00'",
    "NEAR(a b, 2)", "'; DROP TABLE docs; --", '" OR "1"="1', "rank MATCH 'bm25(1)'", "SELECT * FROM cells",
    "delete-all",
)  # fmt: skip
STRANGE = ("\0", "\x1f", "\n", "\r", "\t", "\x7f", "\ud800", "\udfff", "\U0010ffff", "\u2028", "\uffff", "\x85")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[memwell.Store]:
    """Some records to find, and others that must not be found."""
    with memwell.open(tmp_path_factory.mktemp("fuzz") / "memory.db", durability="fast") as store:
        mine = store.scope(MINE)
        for number, text in enumerate((*SCRIPTS, *OPERATORS)):
            mine.remember(f"note {number} {text}", tags=["t"], kind="profile" if number % 2 else "semantic")
        for name in ("agent:a", "user:u", "global"):
            store.scope(name).remember(f"a note of {name} about tea and {SCRIPTS[1]}")
        for name in THEIRS:
            for text in SCRIPTS:
                store.scope(name).remember(f"note {text} {SECRET}", tags=["t"])
        yield store


def question(rng: random.Random) -> str:
    """A question made of everything that could go wrong."""
    pieces = [
        rng.choice((rng.choice(SCRIPTS), rng.choice(OPERATORS), rng.choice(STRANGE))) for _ in range(rng.randrange(12))
    ]
    pieces += [chr(rng.randrange(0x110000)) for _ in range(rng.randrange(4))]
    pieces += [SECRET, "note"] * (rng.random() < 0.3)
    rng.shuffle(pieces)
    text = rng.choice(("", " ", "  ")).join(pieces)
    return text * (2_000_000 // max(1, len(text)) if rng.random() < 0.002 else 1)


def options(rng: random.Random) -> dict[str, Any]:
    """How it is asked, mostly well and sometimes badly."""
    odd = rng.choice((*OPERATORS, *STRANGE, *SCRIPTS, SECRET, ""))
    whole = {
        "limit": rng.choice((1, 5, 1000, 0, -1, 10**30)),
        "kinds": rng.choice((["profile"], [odd], [], odd)),
        "tags": rng.choice((["t"], [odd], ["t", odd], odd)),
        "filter": rng.choice(
            ({"kind": odd}, {odd: 1}, {f"metadata.{odd}": {"contains": odd}}, {"tags": {"in": [odd, ["t"]]}})
        ),
        "inherit": True,
        "explain": True,
    }
    return {name: whole[name] for name in rng.sample(sorted(whole), rng.choice((0, 0, 1, 1, 2, 4)))}


def scopes_seen(call: Callable[[], Any], outcomes: Counter[str]) -> set[str]:
    try:
        found = call()
    except MemwellError as error:
        outcomes[type(error).__name__ if error.message else "without a word"] += 1
        return set()
    outcomes["found" if found else "nothing"] += 1
    return {hit.record.scope for hit in found}


@pytest.mark.campaign
def test_no_question_breaks_a_search_or_sees_another_scope(
    store: memwell.Store, rng: random.Random, figure: Callable[[str], None]
) -> None:
    mem, outcomes = store.scope(MINE), Counter[str]()
    times = scaled(1000, 10_000)
    for _ in range(times):
        query, more = question(rng), options(rng)
        wider = {"agent:a", "user:u", "global"} if more.get("inherit") else set()
        seen = scopes_seen(lambda query=query, more=more: mem.search(query, **more), outcomes)
        assert seen <= {MINE} | wider, (query[:200], more)
    assert outcomes["found"] > times / 4
    assert outcomes.keys() <= {"found", "nothing", "Invalid", "TooLarge"}
    figure(f"fuzzed searches: {times}, {dict(sorted(outcomes.items()))}, nothing escaped")


@pytest.mark.campaign
def test_whatever_is_kept_is_found_by_its_own_text_and_no_other_scope_is(tmp_path: Path, rng: random.Random) -> None:
    """Fuzzed contents, too: what goes in can be searched, updated, superseded and forgotten."""
    path, refused = tmp_path / "memory.db", 0
    with memwell.open(path, durability="fast") as store:
        store.scope("agent:b").remember(f"note {SECRET}")
        records = store.scope("agent:a").records
        for number in range(scaled(150, 2000)):
            text = question(rng)[:200_000]
            try:
                made = records.remember(text, source=f"s{number % 5}", thread=rng.choice((None, "t")))
            except Invalid:
                refused += 1
                continue
            found = records.search(text, limit=100)
            assert {hit.record.scope for hit in found} <= {"agent:a"}
            for hit in found:
                assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.matches)
            assert records.read(made.id).content == made.content
            if number % 7 == 0:
                records.update(made.id, content=f"{number} {text}")
            elif number % 7 == 1:
                records.supersede(made.id, f"{number} instead of {text}")
            elif number % 7 == 2:
                records.delete(made.id)
        assert refused > 0
        assert store.forget("s1").records > 0
        seen = [(hit.record.id, hit.score) for hit in records.search("tea note", limit=100)]
        store.reindex()
        assert [(hit.record.id, hit.score) for hit in records.search("tea note", limit=100)] == seen
    audit.assert_sound(path)
