"""Whom a memory belongs to: the text form, failing closed, and who is wider than whom."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell import Invalid, Scope, TooLarge, ops
from memwell.scope import FIELDS, canonical
from memwell.testing import promise

# Any id a system might use, with what the text form itself is made of well represented.
IDS = st.text(st.one_of(st.sampled_from("%:/2F35A"), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=30)
SCOPES = st.dictionaries(st.sampled_from(FIELDS), IDS, min_size=1, max_size=4)

BAD_TEXTS = [
    *("", " ", "agent", "agent:", ":a", ":", "/", "agent:a/", "/agent:a", "agent:a//user:u", "agent:a/user:"),
    *("agent:a/user", "agent:a/agent:b", "agent:a/agent:a", "Agent:a", "agents:a", "tenant", "everyone", "GLOBAL"),
    *("global:", "global/agent:a", "agent:a/global", "agent:a:b", "agent:%", "agent:%2", "agent:%00", "agent:%zz"),
    *("agent:%2F%", "*", "agent:a\ud800"),
]
BAD_FIELDS = [
    *({"user": ""}, {"user": None}, {"agent": "a", "user": ""}, {"agent": "a", "user": None}, {"user": 42}),
    *({"user": b"u"}, {"user": ["u"]}, {"user": "\ud800"}, {"User": "u"}, {"global": "x"}),
    *({"customer": "c"}, {"agent": "a", "customer": "c"}),
]


@given(SCOPES)
@example({"agent": "a/user:u"})
@example({"agent": "%2F"})
@example({"user": "global"})
@promise("scope:text")
def test_the_text_form_gives_every_scope_back(fields):
    scope = Scope(**fields)
    again = Scope.parse(scope.text)
    assert again == scope
    assert dict(again.fields) == fields
    assert hash(again) == hash(scope)
    assert str(scope) == scope.text == canonical(scope.text)


@given(SCOPES, SCOPES)
@promise("scope:text")
def test_two_scopes_have_two_texts(one, other):
    assert (Scope(**one).text == Scope(**other).text) == (one == other)


@given(SCOPES, st.randoms(use_true_random=False))
@promise("scope:order")
def test_the_fields_have_one_order(fields, random):
    parts = Scope(**fields).text.split("/")
    assert [part.partition(":")[0] for part in parts] == [name for name in FIELDS if name in fields]
    random.shuffle(parts)
    assert canonical("/".join(parts)) == Scope(**fields).text


@given(SCOPES)
@promise("scope:text")
def test_small_letters_in_an_escape_are_the_same_scope(fields):
    text = Scope(**fields).text
    assert canonical(text.replace("%2F", "%2f").replace("%3A", "%3a")) == text


@promise("scope:text")
def test_the_text_form_reads_as_it_is_written():
    assert Scope(agent="support").text == "agent:support"
    assert Scope(user="42", agent="support").text == "agent:support/user:42"
    assert Scope(user="a/b:c%d").text == "user:a%2Fb%3Ac%25d"
    assert Scope.shared().text == "global"
    assert Scope.parse("global") == Scope.shared() != Scope(user="global")


@promise("scope:fields")
def test_the_fields_are_these_and_no_other():
    named = "tenant workspace project environment agent user workflow process session thread"
    assert tuple(named.split()) == FIELDS
    for name in FIELDS:
        assert Scope(**{name: "x"}).text == f"{name}:x"


@pytest.mark.parametrize("text", BAD_TEXTS)
@promise("scope:closed", "trap:scope:kind")
def test_a_doubtful_text_is_an_error(text):
    with pytest.raises(Invalid) as refusal:
        Scope.parse(text)
    assert refusal.value.hint or "surrogate" in refusal.value.message


@pytest.mark.parametrize("fields", BAD_FIELDS, ids=repr)
@promise("scope:closed", "trap:scope:empty")
def test_a_doubtful_field_is_an_error(fields):
    with pytest.raises(Invalid):
        Scope(**fields)


@given(st.text(string.ascii_lowercase + ":/%", max_size=12))
@promise("scope:closed", "trap:scope:kind")
def test_a_text_is_a_scope_or_an_error_and_only_global_is_global(text):
    try:
        scope = Scope.parse(text)
    except (Invalid, TooLarge):
        return
    assert (scope == Scope.shared()) == (text == "global")
    assert all(scope.fields.values())


@promise("scope:closed", "trap:scope:empty", "trap:scope:kind")
def test_a_store_refuses_a_doubtful_scope_and_nothing_is_seen_or_changed(store):
    store.shared().set("k", "everyone's")
    before = (store.stats(), store.scopes())
    for fields in BAD_FIELDS:
        with pytest.raises(Invalid):
            store.scope(**fields)
    for text in [*BAD_TEXTS, None, 7]:
        with pytest.raises(Invalid):
            store.scope(text)
        if isinstance(text, str):
            for op in _ops_on(text):
                with pytest.raises(Invalid):
                    store.apply(op)
    for refused in (lambda: store.scope(), lambda: store.scope("agent:a", user="u")):
        with pytest.raises(Invalid):
            refused()
    assert (store.stats(), store.scopes()) == before


def _ops_on(scope):
    return [
        ops.Get(scope, "k"),
        ops.Set(scope, "k", "widened"),
        ops.Delete(scope, "k"),
        ops.List(scope),
        ops.Clear(scope),
        ops.DeleteScope(scope),
        ops.Changes(scope, 0),
        ops.Batch(scope, [ops.Set(scope, "k", "widened")]),
        ops.Batch("agent:a", [ops.Set(scope, "k", "widened")]),
        ops.Dump(scope),
    ]


@given(SCOPES)
@promise("scope:wider")
def test_wider_scopes_are_the_subsets_nearest_first_and_never_a_sibling(fields):
    scope = Scope(**fields)
    wider = list(scope.wider())
    assert len(wider) == len(set(wider)) == 2 ** len(fields) - 1
    assert wider[-1] == Scope.shared()
    assert scope not in wider
    for each in wider:
        assert each.fields.items() < scope.fields.items()
    sizes = [len(each.fields) for each in wider]
    assert sizes == sorted(sizes, reverse=True)


@promise("scope:wider")
def test_who_is_wider_for_a_reader_with_two_fields():
    wider = [scope.text for scope in Scope(agent="a", user="u").wider()]
    assert wider == ["agent:a", "user:u", "global"]
    assert list(Scope.shared().wider()) == []


@promise("scope:text")
def test_a_scope_does_not_change():
    scope = Scope(user="u")
    for change in (lambda: setattr(scope, "text", "global"), lambda: setattr(scope, "other", 1)):
        with pytest.raises(AttributeError):
            change()
    assert repr(scope) == "Scope.parse('user:u')"


@promise("scope:limits")
def test_a_scope_has_a_limit():
    with pytest.raises(TooLarge) as refusal:
        Scope(user="x" * 2048)
    assert refusal.value.limit == 2048


@promise("scope:process", "scope:shared")
def test_processes_agents_and_the_shared_memory_are_scopes(store):
    for name in ("process:1", "agent:1", "workflow:1", "user:1", "global"):
        store.scope(name).set("k", name)
    assert store.shared().get("k") == "global"
    assert {name: store.scope(name).get("k") for name in store.scopes()} == {name: name for name in store.scopes()}
