"""Errors: drawn once, coded once, and the drawing is the truth."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from memwell import codec, errors
from memwell.errors import ERRORS, Conflict, Corrupt, Denied, MemwellError, PendingApproval, TooLarge
from memwell.testing import promise

CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, MemwellError) and kind.__module__ == "memwell.errors"
]
EXITS = {0: "ok", 1: "failure", 2: "usage", 3: "not found", 4: "denied", 5: "conflict", 6: "pending approval"}
EXTRA = {
    Conflict: {"current": None},
    Denied: {"capability": "memory.read"},
    TooLarge: {"limit": 1},
    PendingApproval: {"id": "7"},
}


def make(kind):
    return kind("what happened", hint="what to do", **EXTRA.get(kind, {}))


@promise("errors:tree")
def test_the_tree_drawn_is_the_tree_there_is():
    drawn, parents = {}, []
    for line in errors.__doc__.splitlines():
        if found := re.match(r"([├└│─ ]*)([A-Z]\w+)(?: +\((\w+)\))?", line):
            depth = len(found[1]) // 3
            parents[depth:] = [found[2]]
            drawn[found[2]] = ([parents[depth - 1]] if depth else []) + ([found[3]] if found[3] else [])
    drawn.pop("Every", None)
    real = {kind.__name__: [base.__name__ for base in kind.__bases__ if base is not Exception] for kind in CLASSES}
    assert drawn == real


@promise("errors:table")
def test_every_error_is_in_the_table_with_a_code_of_its_own():
    assert list(ERRORS.values()) == CLASSES
    assert [kind.code for kind in CLASSES] == list(ERRORS)
    assert len({kind.code for kind in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
@promise("errors:table")
def test_every_error_has_an_exit_code_and_an_http_status(kind):
    assert kind.exit_code in EXITS
    assert kind.exit_code != 0
    assert 200 <= kind.http_status < 600
    assert isinstance(kind.retryable, bool)
    assert re.fullmatch("[a-z_]+", kind.code)
    assert kind.__doc__


@promise("errors:table")
def test_what_each_error_means_outside():
    meaning = {kind.__name__: (kind.exit_code, kind.http_status, kind.retryable) for kind in CLASSES}
    assert meaning == {
        "MemwellError": (1, 500, False),
        "NotFound": (3, 404, False),
        "Conflict": (5, 409, False),
        "Denied": (4, 403, False),
        "Invalid": (2, 400, False),
        "TooLarge": (2, 413, False),
        "PendingApproval": (6, 202, False),
        "Unsupported": (1, 501, False),
        "Corrupt": (1, 500, False),
        "Unavailable": (1, 503, True),
        "Busy": (1, 503, True),
        "Unreachable": (1, 503, True),
    }


@pytest.mark.parametrize("kind", CLASSES)
@promise("errors:hint")
def test_an_error_says_what_happened_and_what_to_do(kind):
    error = make(kind)
    assert str(error) == "what happened (what to do)"
    assert (error.message, error.hint) == ("what happened", "what to do")
    assert str(kind("only this", **EXTRA.get(kind, {}))) == "only this"


@pytest.mark.parametrize("kind", CLASSES)
@promise("errors:copy")
def test_an_error_survives_copying_and_another_process(kind):
    error = make(kind)
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is kind
        assert str(again) == str(error)
        assert vars(again) == vars(error)


@promise("errors:builtin")
def test_errors_are_what_python_programmers_catch():
    assert issubclass(errors.NotFound, LookupError)
    assert issubclass(errors.Invalid, ValueError)
    assert issubclass(errors.TooLarge, ValueError)


@pytest.mark.parametrize("damaged", [5, 1.5, b"\xff", b"{"])
@promise("file:check")
def test_stored_bytes_that_are_no_value_are_damage(damaged):
    with pytest.raises(Corrupt, match="not JSON"):
        codec.decode(damaged)
