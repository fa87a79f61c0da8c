"""Records on a screen: whatever they contain, lines stay lines, and the only colours are ours."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cli import cards, show
from memwell.testing import promise
from memwell.types import Event, Hit, Provenance, Record

PAINT = re.compile(r"\x1b\[[0-9;]*m")
WHEN = datetime(2031, 1, 31, 12, tzinfo=UTC)
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)


@st.composite
def records(draw: Any) -> Record:
    text = draw(texts)
    return Record(
        id=draw(st.one_of(st.just("01a1e32b9e42dbe3187ed1405333"), texts)),
        scope=draw(texts),
        store="memory",
        kind=draw(texts),
        content=text,
        title=draw(st.none() | texts),
        tags=draw(st.lists(texts, max_size=3)),
        metadata={text: [text]},
        pinned=draw(st.booleans()),
        confidence=draw(st.none() | st.floats(0, 1)),
        status=draw(st.sampled_from(["active", "pending"])),
        provenance=Provenance(by=draw(texts), sources=[text], thread=text, derived_from=[text], reviewed_by=text),
        supersedes=[text],
        lineage=[text],
        valid_from=WHEN,
        valid_to=None,
        reinforced=1,
        reason=draw(st.none() | texts),
        created_at=WHEN,
        updated_at=WHEN,
        expires_at=None,
        version=2,
        rev=1,
        digest="",
    )


def plain(line: str) -> str:
    """The line without our colours, if nothing in it could move a cursor or hide itself."""
    bare = PAINT.sub("", line)
    assert [char for char in bare if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")] == []
    return bare


@given(st.lists(records(), min_size=1, max_size=3), st.booleans())
@promise("cli:record:safe")
def test_a_row_is_a_line(found: list[Record], explain: bool) -> None:
    hits = [Hit(record, 1.0, record.content, [(0, 2)], {"words": 1.0} if explain else None) for record in found]
    events = [Event(1, "global", "k", "record.remember", 1, {"content": one.content}, WHEN, one.scope) for one in found]

    assert len(list(map(plain, cards.found(hits, "global", explain)))) == 1 + len(found) * (1 + explain)
    assert len(list(map(plain, cards.catalogue(found, with_scope=True, with_status=True)))) == 1 + len(found)
    assert len(list(map(plain, cards.past(events)))) == 1 + len(found)


@given(records())
@promise("cli:record:safe")
def test_a_card_keeps_its_fields_and_the_content_apart(record: Record) -> None:
    lines = list(map(plain, cards.card(record)))
    body = lines[lines.index("") + 1 :]

    assert len(body) == record.content.count("\n") + 1
    assert all(line == "" or line.startswith("  ") for line in body)
    assert all(re.match(r"[a-z]+ +\S", line) for line in lines[: lines.index("")])


@given(records())
@promise("cli:record:safe")
def test_json_is_one_line_that_reads_back(record: Record) -> None:
    shown = plain(show.to_text(record))

    assert "\n" not in shown
    assert msgspec.json.decode(shown, type=Record) == record


@given(st.text(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))), st.integers(12, 60), st.integers(1, 4))
@promise("cli:record:safe")
def test_text_is_folded_within_its_room_and_nothing_is_lost(
    text: str, matches: list[tuple[int, int]], room: int, most: int
) -> None:
    whole = cards.pieces(text, matches)
    shown = ["".join(piece for piece, _ in line) for line in cards.folded(whole, room, most)]

    assert len(shown) <= most
    assert all(show.width(line) <= room for line in shown)
    assert "".join(piece for piece, _ in whole) == show.sentence(text)
    if "…" not in "".join(shown):
        assert "".join(shown).replace(" ", "") == show.sentence(text).replace(" ", "")


@given(texts, st.integers(0, 5), st.integers(0, 60))
@promise("cli:record:terminal")
def test_what_is_lit_is_what_was_found(text: str, start: int, length: int) -> None:
    painted = cards.painted(cards.pieces(text, [(start, start + length)]))
    lit = "".join(re.findall(r"\x1b\[33m\x1b\[1m(.*?)\x1b\[0m", painted))

    assert plain(painted) == show.sentence(text)
    assert lit.replace(" ", "") == show.sentence(text[start : start + length]).replace(" ", "")


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (["01a1e32b9e42dbe3187ed1405333"], ["01a1e32b9e42dbe3"]),
        (
            ["01a1e32b9e42dbe3187ed1405333", "01a1e32b9e42dbe31800000000ff"],
            ["01a1e32b9e42dbe3187", "01a1e32b9e42dbe3180"],
        ),
        (["a-name-that-somebody-chose", "x\u202e"], ["a-name-that-somebody-chose", '"x\\u202e"']),
    ],
)
def test_as_much_of_an_id_as_tells_it_from_others(ids: list[str], shown: list[str]) -> None:
    made = [Record(**{**BLANK, "id": key}) for key in ids]

    assert [cards.short_ids(made)[key] for key in ids] == shown


BLANK: dict[str, Any] = {
    "scope": "global", "store": "memory", "kind": "semantic", "content": "x", "title": None, "tags": [], "metadata": {},
    "pinned": False, "confidence": None, "status": "active", "provenance": Provenance(by="ann"), "supersedes": [],
    "lineage": [],
    "valid_from": None, "valid_to": None, "reinforced": 0, "reason": None, "created_at": WHEN, "updated_at": WHEN,
    "expires_at": None, "version": 1, "rev": 1, "digest": "",
}  # fmt: skip
