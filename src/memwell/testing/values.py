"""What a fact can hold: any JSON, nothing else, and always the reader's own copy."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from memwell.errors import Invalid, TooLarge
from memwell.testing.promise import promise
from memwell.testing.refusing import refusals

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**53 + 1, -(2**63), 2**64 - 1, 10**30, 0.1, -0.0, 1e308, 5e-324, "", "é 😀", "\0\x1f",
    "\u2028", '"\\', [], {}, [[]], {"": None}, {"é": {"a b": [1, 2.0, "3", None, True]}}, ["x" * 1000],
]  # fmt: skip
NOT_JSON: dict[str, list[Any]] = {
    "$": [float("nan"), float("inf"), {1, 2}, b"bytes", datetime(2030, 1, 1, tzinfo=UTC), Decimal("1.5"), object(), 1j],
    "$.a[1]": [
        {"a": [0, float("nan")]},
        {"a": [0, {1}]},
        {"a": [0, b""]},
        {"a": [0, datetime.max.replace(tzinfo=UTC)]},
    ],
    "$['a b'].c": [{"a b": {"c": float("-inf")}}, {"a b": {"c": "\ud800"}}],
}
BAD = [(path, value) for path, values in NOT_JSON.items() for value in values]


def _exactly(value: Any) -> str:
    """The value and the type of everything in it: 1, 1.0 and True are three values."""
    return repr(value)


class ValueTests:
    """Values and keys."""

    @pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
    @promise("fact:value:json")
    def test_any_json_value_comes_back_as_it_was(self, mem: Any, value: Any) -> None:
        assert _exactly(mem.set("k", value).value) == _exactly(value)
        assert _exactly(mem.get("k", "absent")) == _exactly(value)
        assert _exactly(mem.entry("k").value) == _exactly(value)
        assert _exactly(mem.history("k")[0].value) == _exactly(value)

    @promise("fact:value:none")
    def test_none_is_a_value_and_not_absence(self, mem: Any) -> None:
        assert mem.get("k", "absent") == "absent"
        mem.set("k", None)
        assert mem.get("k", "absent") is None
        assert mem.list() == ["k"]
        assert mem.get_many(["k", "other"]) == {"k": None}
        assert mem.entry("k").value is None
        assert mem.entry("other") is None
        assert mem.delete("k") is True

    @pytest.mark.parametrize(("path", "value"), BAD, ids=lambda part: repr(part)[:24])
    @promise("fact:value:refused", "trap:value:changed")
    def test_what_is_not_json_is_refused_by_its_path_before_anything_is_written(
        self, mem: Any, path: str, value: Any
    ) -> None:
        before = mem.set("k", "kept")
        with pytest.raises(Invalid) as refusal:
            mem.set("k", value)
        assert refusal.value.message.startswith(f"{path} is ")
        with pytest.raises(Invalid):
            mem.set_many({"new": 1, "k": value})
        assert mem.entry("k") == before
        assert mem.list() == ["k"]
        assert len(mem.history("k")) == 1

    @promise("fact:value:copy", "trap:value:live")
    def test_a_value_is_the_callers_own_copy(self, mem: Any) -> None:
        given: dict[str, list[Any]] = {"list": [1]}
        made = mem.set("k", given)
        given["list"].append("after the set")
        handed = [made.value, mem.get("k"), mem.entry("k").value, mem.get_many(["k"])["k"]]
        handed += [mem.entries()[0].value, mem.history("k")[0].value, mem.get("k", at=made.rev)]
        for value in handed:
            assert value == {"list": [1]}
            value["list"].append("by a reader")
        assert mem.get("k") == {"list": [1]}
        assert mem.history("k")[0].value == {"list": [1]}

    @promise("fact:value:copy", "trap:value:live")
    def test_the_same_value_set_twice_is_two_copies(self, mem: Any) -> None:
        value: list[int] = []
        many = mem.set_many({"a": value, "b": value})
        value.append(1)
        many["a"].value.append(2)
        assert mem.get_many(["a", "b"]) == {"a": [], "b": []}

    @pytest.mark.parametrize(
        "key", ["k", "x" * 512, " ", "é 😀", "a/b:c%d", "'; DROP TABLE cells; --", "\u2028", "global"]
    )
    @promise("fact:key")
    def test_any_text_is_a_key(self, mem: Any, key: str) -> None:
        mem.set(key, 1)
        assert mem.list() == [key]
        assert mem.list(prefix=key) == [key]
        assert mem.get(key) == 1
        assert mem.delete(key) is True

    @pytest.mark.parametrize("key", ["", "a\nb", "\x00", "\x7f", "\x85", "\ud800", 7, None, b"k"])
    @promise("fact:key")
    def test_what_is_no_key_is_refused_everywhere(self, mem: Any, key: Any) -> None:
        refusals(
            Invalid,
            lambda: mem.get(key),
            lambda: mem.set(key, 1),
            lambda: mem.delete(key),
            lambda: mem.history(key),
            lambda: mem.entry(key),
            lambda: mem.get_many([key]),
            lambda: mem.set_many({"fine": 1, key: 1}),
            lambda: mem.revert(key, 1),
        )
        assert mem.list() == []

    @promise("fact:limits")
    def test_limits_hold_and_are_settings(self, opener: Any) -> None:
        mem = opener(max_key_chars=3, max_value_bytes=10).scope(agent="a")
        mem.set("abc", "12345678")
        for key, value, limit in (("abcd", 1, 3), ("abc", "123456789", 10)):
            with pytest.raises(TooLarge) as refusal:
                mem.set(key, value)
            assert refusal.value.limit == limit
        assert mem.get("abc") == "12345678"

    @promise("fact:limits")
    def test_the_limits_are_512_characters_and_1_mib(self, mem: Any) -> None:
        largest = "x" * (1024 * 1024 - 2)
        assert mem.set("k", largest).version == 1
        assert mem.get("k") == largest
        for key, value, limit in (("k", largest + "x", 1024 * 1024), ("x" * 513, 1, 512)):
            with pytest.raises(TooLarge) as refusal:
                mem.set(key, value)
            assert refusal.value.limit == limit
        assert mem.entry("k").version == 1
