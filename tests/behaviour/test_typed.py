"""Typed values: a model goes in, and comes out of `get(key, type=...)`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pydantic
import pytest

from memwell import Invalid
from memwell.testing import promise


class Struct(msgspec.Struct):
    name: str
    tags: list[str] = []
    seen: datetime | None = None


@dataclass
class Data:
    name: str
    tags: list[str] = field(default_factory=list)
    seen: datetime | None = None


class Model(pydantic.BaseModel):
    name: str
    tags: list[str] = []
    seen: datetime | None = None


class Nested(msgspec.Struct):
    inner: Data
    others: dict[str, Struct]


MODELS = [Struct, Data, Model]
SEEN = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.mark.parametrize("kind", MODELS)
@promise("fact:typed")
def test_a_model_goes_in_and_comes_out(mem, kind):
    given = kind(name="é", tags=["a", "b"], seen=SEEN)
    entry = mem.set("k", given)
    assert mem.get("k", type=kind) == given
    assert mem.get("k") == entry.value
    assert {**entry.value, "seen": None} == {"name": "é", "tags": ["a", "b"], "seen": None}
    assert datetime.fromisoformat(entry.value["seen"]) == SEEN


@pytest.mark.parametrize("kind", MODELS)
@promise("fact:typed")
def test_what_one_kind_wrote_another_reads(mem, kind):
    mem.set("k", kind(name="a", seen=SEEN))
    for other in MODELS:
        assert mem.get("k", type=other) == other(name="a", seen=SEEN)


@promise("fact:typed")
def test_models_in_models_and_plain_types(mem):
    given = Nested(inner=Data("a"), others={"b": Struct("b")})
    mem.set("k", given)
    assert mem.get("k", type=Nested) == given
    mem.set("numbers", [1, 2])
    assert mem.get("numbers", type=tuple[int, ...]) == (1, 2)
    assert mem.get("numbers", type=set[int]) == {1, 2}


@pytest.mark.parametrize("kind", MODELS)
@promise("fact:typed")
def test_what_does_not_fit_is_an_error_that_names_the_type(mem, kind):
    mem.set("k", {"title": "no name"})
    with pytest.raises(Invalid, match=kind.__name__):
        mem.get("k", type=kind)
    assert mem.get("k") == {"title": "no name"}


@pytest.mark.parametrize("kind", MODELS)
@promise("fact:typed")
def test_absent_is_the_default_and_not_a_model(mem, kind):
    assert mem.get("k", type=kind) is None
    assert mem.get("k", "none", type=kind) == "none"


@promise("fact:typed", "fact:value:refused")
def test_a_model_that_is_not_json_is_refused(mem):
    @dataclass
    class Number:
        value: float

    for value in (Number(float("nan")), {"inside": Number(1.0)}, [Struct("a")]):
        with pytest.raises(Invalid):
            mem.set("k", value)
    assert mem.list() == []
