"""Every promise has a test, and every test of behaviour says which promise it proves."""

from __future__ import annotations

import ast
from pathlib import Path

from promises import PROMISES

TESTS = Path(__file__).parent
SHIPPED = TESTS.parent / "src" / "memwell" / "testing"
FOLDERS = (SHIPPED, TESTS / "behaviour", TESTS / "model", TESTS / "store")
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]


def every_test():
    """Where each test stands, and the promises it names."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                yield f"{path.name}:{node.name}", list(named(node))


def named(test):
    for call in test.decorator_list:
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "promise":
            yield from (argument.value for argument in call.args)


def test_every_promise_is_proved():
    proved = {promise for _, promises in every_test() for promise in promises}
    assert sorted(PROMISES.keys() - proved) == []


def test_every_test_proves_a_promise():
    assert [where for where, promises in every_test() if not promises] == []
    assert sorted({name for _, promises in every_test() for name in promises} - PROMISES.keys()) == []


def test_a_promise_is_one_sentence():
    for sentence in PROMISES.values():
        assert sentence.endswith(".")
        assert sentence.count(". ") == 0
    assert len(set(PROMISES.values())) == len(PROMISES)
