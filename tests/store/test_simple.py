"""The shipped suite on `simple`, over objects that are sync, async, and that keep text."""

from __future__ import annotations

import json

import pytest

import memwell
from memwell.errors import Invalid, Unavailable
from memwell.testing import FactBackendTests, promise
from objects import AsyncDicts, Dicts, Texts


class TestDicts(FactBackendTests):
    def make(self, tmp_path):
        self.wrapped = Dicts()
        return self.wrapped

    def raw(self, backend, scope, key):
        document = self.wrapped.get(scope, key)
        return json.dumps(document["value"]).encode() if "value" in document else None


class TestTexts(TestDicts):
    def make(self, tmp_path):
        self.wrapped = Texts()
        return self.wrapped


class TestAsyncDicts(TestDicts):
    def make(self, tmp_path):
        made = AsyncDicts()
        self.wrapped = made.dicts
        return made


@promise("store:simple")
def test_what_an_object_keeps_is_there_when_it_is_wrapped_again():
    wrapped = Texts()
    with memwell.open(wrapped) as store:
        store.scope(agent="a").set("k", 1)
        store.scope(agent="a").set("k", 2)
        store.scope(agent="a").set("gone", 1)
        store.scope(agent="a").delete("gone")
        seen = store.scope(agent="a").history("k")
    assert wrapped.closed
    with memwell.open(wrapped) as store:
        mem = store.scope(agent="a")
        assert mem.history("k") == seen
        assert mem.set("k", 3, if_version=2).rev > seen[0].rev
        assert mem.set("gone", 2).version == 2
        assert store.scopes() == ["agent:a"]


@promise("store:simple")
def test_what_an_object_held_before_counts_as_a_first_version():
    wrapped = Dicts()
    wrapped.set("agent:a", "old", {"from": "before"})
    with memwell.open(wrapped) as store:
        mem = store.scope(agent="a")
        assert mem.get("old") == {"from": "before"}
        assert mem.entry("old").version == 1
        assert mem.set("old", "new", if_version=1).version == 2
        assert mem.revert("old", 1).value == {"from": "before"}


@pytest.mark.parametrize("missing", ["get", "set", "delete", "list", "clear", "delete_scope", "stats", "close"])
@promise("store:simple")
def test_an_object_that_lacks_a_method_is_refused_by_its_name(missing):
    class Half(Dicts):
        pass

    setattr(Half, missing, None)
    with pytest.raises(Invalid, match=missing):
        memwell.open(Half())


@pytest.mark.parametrize("kind", [Dicts, AsyncDicts])
@promise("store:simple", "fault:write")
def test_an_object_that_fails_is_unavailable_and_the_error_is_kept(kind):
    class Failing(kind):
        broken = False

        def set(self, scope, key, value):
            if self.broken and key == "b":
                raise OSError("the cable was pulled")
            return super().set(scope, key, value)

    wrapped = Failing()
    with memwell.open(wrapped) as store:
        mem = store.scope(agent="a")
        mem.set("a", 1)
        wrapped.broken = True
        with pytest.raises(Unavailable, match="cable") as error:
            mem.set_many({"a": 2, "b": 2})
        assert isinstance(error.value.__cause__, OSError)
        wrapped.broken = False
        assert mem.entry("a").version == 1
        assert mem.list() == ["a"]
        assert mem.set_many({"a": 2, "b": 2})["a"].version == 2


@promise("store:simple", "file:check")
def test_damage_in_an_object_is_found_and_named():
    wrapped = Dicts()
    with memwell.open(wrapped) as store:
        store.scope(agent="a").set_many({"sound": 1, "damaged": 1})
        wrapped.spaces["agent:a"]["damaged"]["value"] = 2
        (damage,) = store.check().damage
    assert "'damaged'" in damage.where
    assert "agent:a" in damage.where
