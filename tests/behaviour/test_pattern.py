"""Globs: compared with a matcher that goes character by character, and never slow."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memwell.pattern import after_prefix, compiled
from memwell.testing import promise
from memwell.testing.ledger import fits

LETTERS = "ab/._"
KEYS = st.text(LETTERS, min_size=1, max_size=8)
PIECES = st.sampled_from(["a", "b", "/", ".", "_", "*", "**", "?", "[ab]", "[a.]"])
PATTERNS = st.lists(PIECES, min_size=1, max_size=6).map("".join)


@given(PATTERNS, KEYS)
@example("**a**b", "a/b/a/ab")
@example("*a*/**", "aa/b/")
@example("***", "a/b")
@example("*", "a/b")
@promise("fact:list:pattern")
def test_a_glob_matches_what_a_patient_reader_would_match(pattern, key):
    assert compiled(pattern).matches(key) == fits(pattern, key)


@given(PATTERNS, KEYS)
@promise("fact:list:pattern")
def test_the_literal_start_of_a_glob_is_the_start_of_all_it_matches(pattern, key):
    glob = compiled(pattern)
    assert key.startswith(glob.prefix) or not glob.matches(key)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8))
@promise("fact:list:pattern")
def test_a_key_without_signs_matches_itself_only(key):
    if not set("*?[") & set(key):
        assert compiled(key).matches(key)
        assert not compiled(key).matches(key + "x")
        assert not compiled(key).matches("x" + key)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("cache.*", ["cache.a", "cache.a.b", "cache."], ["cache", "cache/a", "xcache.a", "cache.a/b"]),
        ("a/*/c", ["a/b/c", "a//c"], ["a/b/b/c", "a/c"]),
        ("a/**/c", ["a/b/c", "a/b/b/c"], ["a/c", "b/b/c"]),
        ("**/c", ["a/c", "/c"], ["c", "a/cc"]),
        ("?", ["a", "é", "😀", "*"], ["/", "ab"]),
        ("[ab]", ["a", "b"], ["c", "ab", "[ab]"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a]", ["b", "!"], ["a", "/"]),
        ("[", ["["], ["a"]),
        ("[]", ["[]"], ["a"]),
        ("a.b|c(d)+$^\\", ["a.b|c(d)+$^\\"], ["aXb|c(d)+$^\\"]),
        ("A*", ["A", "Ab"], ["a", "ab"]),
        ("*", ["a", "a/b", "a/b/c", "é"], []),
    ],
)
@promise("fact:list:pattern")
def test_what_the_signs_mean(pattern, yes, no):
    glob = compiled(pattern)
    assert [key for key in yes if not glob.matches(key)] == []
    assert [key for key in no if glob.matches(key)] == []


@pytest.mark.parametrize("pattern", ["*a" * 100, "**a" * 100, "*a*" * 60 + "b", "?*" * 100, "**/" * 100, "[ab]*" * 80])
@promise("pattern:bounded")
def test_no_pattern_makes_a_key_expensive(pattern):
    assert compiled(pattern).matches("a" * 511 + "c") in {True, False}


@given(st.text(min_size=1, max_size=5), st.text(max_size=5))
@example("\U0010ffff", "x")
@example("a\U0010ffff\U0010ffff", "")
@example("\ud7ff", "\ue000")
@promise("fact:list:prefix")
def test_the_end_of_a_prefix_is_above_all_that_starts_with_it_and_nothing_else(prefix, other):
    end = after_prefix(prefix)
    assert end is None or (prefix + other) < end
    if end is not None and prefix <= other < end and not other.startswith(prefix):
        raise AssertionError(f"{other!r} is not below {prefix!r}")
