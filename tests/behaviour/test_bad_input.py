"""Bad input: each with a clear error of its own type that says what to do, and nothing changed."""

from __future__ import annotations

import contextlib
import inspect
import sys
from datetime import datetime

import pytest

import memwell
from memwell import Invalid, MemwellError, TooLarge, ops
from memwell.errors import Unsupported
from memwell.testing import promise

MIB = 1024 * 1024
NAIVE = datetime(2030, 1, 1)  # noqa: DTZ001 - that is what is refused


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


CALLS = {
    "an empty scope field": (Invalid, lambda store, mem: store.scope(agent="a", user="")),
    "no scope field": (Invalid, lambda store, mem: store.scope(user=None)),
    "an unknown scope field": (Invalid, lambda store, mem: store.scope(customer="c")),
    "a bare word for a scope": (Invalid, lambda store, mem: store.scope("support")),
    "a control character in a key": (Invalid, lambda store, mem: mem.set("a\x07b", 1)),
    "a newline in a key": (Invalid, lambda store, mem: mem.set("a\nb", 1)),
    "an empty key": (Invalid, lambda store, mem: mem.set("", 1)),
    "a key that is no text": (Invalid, lambda store, mem: mem.set(7, 1)),
    "a key with a lone surrogate": (Invalid, lambda store, mem: mem.set("\ud800", 1)),
    "a key that is too long": (TooLarge, lambda store, mem: mem.set("x" * 513, 1)),
    "NaN": (Invalid, lambda store, mem: mem.set("k", float("nan"))),
    "infinity in a list": (Invalid, lambda store, mem: mem.set("k", [float("inf")])),
    "a set": (Invalid, lambda store, mem: mem.set("k", {1})),
    "bytes": (Invalid, lambda store, mem: mem.set("k", b"1")),
    "a datetime": (Invalid, lambda store, mem: mem.set("k", NAIVE)),
    "a number for a dict key": (Invalid, lambda store, mem: mem.set("k", {1: 2})),
    "a lone surrogate": (Invalid, lambda store, mem: mem.set("k", "\udfff")),
    "a lone surrogate as a name": (Invalid, lambda store, mem: mem.set("k", {"\udfff": 1})),
    "2 MiB": (TooLarge, lambda store, mem: mem.set("k", "x" * 2 * MIB)),
    "a list in itself": (Invalid, lambda store, mem: mem.set("k", _endless())),
    "a nesting of 100,000": (Invalid, lambda store, mem: mem.set("k", nested(100_000))),
    "a nesting of 1,000": (Invalid, lambda store, mem: mem.set("k", nested(1_000))),
    "a negative ttl": (Invalid, lambda store, mem: mem.set("k", 2, ttl=-1)),
    "a ttl of zero": (Invalid, lambda store, mem: mem.set("k", 2, ttl=0)),
    "an endless ttl": (Invalid, lambda store, mem: mem.set("k", 2, ttl=float("inf"))),
    "a ttl that is no number": (Invalid, lambda store, mem: mem.set("k", 2, ttl=float("nan"))),
    "a ttl of True": (Invalid, lambda store, mem: mem.set("k", 2, ttl=True)),
    "a ttl beyond the year 9999": (Invalid, lambda store, mem: mem.set("k", 2, ttl=10**12)),
    "a version that is no whole number": (Invalid, lambda store, mem: mem.set("k", 2, if_version=1.0)),
    "a version in words": (Invalid, lambda store, mem: mem.set("k", 2, if_version="1")),
    "a version of True": (Invalid, lambda store, mem: mem.set("k", 2, if_version=True)),
    "a negative version": (Invalid, lambda store, mem: mem.set("k", 2, if_version=-1)),
    "a delete with such a version": (Invalid, lambda store, mem: mem.delete("k", if_version=1.5)),
    "a revert to no version": (Invalid, lambda store, mem: mem.revert("k", "1")),
    "a naive datetime": (Invalid, lambda store, mem: mem.get("k", at=NAIVE)),
    "a moment in words": (Invalid, lambda store, mem: mem.get("k", at="yesterday")),
    "a limit of zero": (Invalid, lambda store, mem: mem.list(limit=0)),
    "a negative limit": (Invalid, lambda store, mem: mem.entries(limit=-1)),
    "a limit of 1.5": (Invalid, lambda store, mem: mem.list(limit=1.5)),
    "a limit of True": (Invalid, lambda store, mem: mem.history("k", limit=True)),
    "a bad limit of scopes": (Invalid, lambda store, mem: store.scopes(limit=0)),
    "an empty pattern": (Invalid, lambda store, mem: mem.list(pattern="")),
    "a pattern that is too long": (Invalid, lambda store, mem: mem.list(pattern="x" * 513)),
    "a set of characters upside down": (Invalid, lambda store, mem: mem.list(pattern="[z-a]")),
    "a pattern that is no text": (Invalid, lambda store, mem: mem.list(pattern=7)),
    "a prefix that is no text": (Invalid, lambda store, mem: mem.list(prefix=7)),
    "values that are no dict": (Invalid, lambda store, mem: store.apply(ops.SetMany("agent:a", [1]))),
    "a watch from before the beginning": (Invalid, lambda store, mem: next(mem.watch(since=-1, timeout=0.0))),
    "a batch in a batch": (Invalid, lambda store, mem: store.apply(ops.Batch("agent:a", [ops.Batch("agent:a", [])]))),
    "a batch of two scopes": (
        Invalid,
        lambda store, mem: store.apply(ops.Batch("agent:a", [ops.Set("agent:a", "k", 2), ops.Set("agent:b", "k", 2)])),
    ),
    "a batch with a sweep": (Invalid, lambda store, mem: store.apply(ops.Batch("agent:a", [ops.Sweep()]))),
    "a batch of no ops": (Invalid, lambda store, mem: store.apply(ops.Batch("agent:a", ["set"]))),
}


def _endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize("name", CALLS)
@promise("input:refused")
def test_bad_input_is_an_error_of_its_own_type_and_changes_nothing(store, name):
    mem = store.scope(agent="a")
    mem.set("k", "kept")
    before = (mem.entries(), mem.history("k"), store.stats())
    error, call = CALLS[name]
    with pytest.raises(error) as refusal:
        call(store, mem)
    _is_clear(refusal.value)
    assert (mem.entries(), mem.history("k"), store.stats()) == before
    assert mem.set("k", "goes on").version == 2


def _is_clear(error):
    assert isinstance(error, MemwellError)
    assert error.message
    assert len(error.message) < 2000
    assert error.code in {"invalid", "too_large", "unsupported"}
    assert not error.retryable


@pytest.mark.parametrize(
    "options",
    [
        {"durabilty": "fast"},
        {"durability": "sloppy"},
        {"busy_timeout": 0},
        {"busy_timeout": float("nan")},
        {"sweep_seconds": -1},
        {"history_seconds": 0},
        {"max_value_bytes": "1 MiB"},
        {"max_key_chars": True},
        {"max_batch": float("inf")},
    ],
    ids=repr,
)
@pytest.mark.parametrize("opening", [memwell.open, memwell.open_async])
@promise("input:settings")
def test_an_unknown_or_senseless_setting_is_named(opening, options, path):
    with pytest.raises(Invalid, match=next(iter(options))):
        opening(path, **options)
    assert not path.exists()


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("", Invalid),
        ("a\0b", Invalid),
        ("ftp://host/store", Invalid),
        ("postgresql://host/db", Unsupported),
        ("redis://host", Unsupported),
        ("https://host", Unsupported),
        (None, Invalid),
        (7, Invalid),
        (object(), Invalid),
    ],
)
@promise("input:url")
def test_what_is_no_store_is_refused(url, error):
    with pytest.raises(error):
        memwell.open(url)


@promise("fact:value:deep")
def test_a_value_may_be_200_levels_deep(mem):
    assert mem.set("k", nested(200)).value == nested(200)
    assert mem.get("k") == nested(200)
    with pytest.raises(Invalid, match="deeper than 200 levels"):
        mem.set("k", nested(201))
    assert mem.get("k") == nested(200)


@promise("fact:value:deep")
def test_a_callers_deep_stack_is_not_taken_for_damage(path):
    def below(frames, call):
        return call() if frames == 0 else below(frames - 1, call)

    with memwell.open(path) as store:
        mem = store.scope(agent="a")
        mem.set("k", nested(200))
        nearly_all = sys.getrecursionlimit() - len(inspect.stack(0)) - 100
        with contextlib.suppress(RecursionError):
            assert below(nearly_all, lambda: mem.get("k")) == nested(200)
        assert mem.get("k") == nested(200)
