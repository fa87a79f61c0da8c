"""Which records a search may show: kinds, tags, times, and a small language of comparisons.

A filter is {"field": value}, {"field": {"op": value}}, {"and": [...]}, {"or": [...]} or {"not": {...}}; several
fields in one dict must all hold. A field is one of a record's own, or `metadata.` and a path. It is data: nothing of
it ever becomes part of a query's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memwell.engine.body import Body
from memwell.engine.drafts import check_names, check_time
from memwell.errors import Invalid
from memwell.store import Cell

Test = Callable[[Cell, Body], bool]
Compare = Callable[[Any, Any], bool]
_MISSING = object()
_DEEPEST = 20
_PARTS_MOST = 500


def _ordered(compare: Compare) -> Compare:
    """A comparison that holds only between things that have an order: numbers, texts, times."""

    def test(found: Any, wanted: Any) -> bool:
        try:
            return found is not None and wanted is not None and compare(found, wanted)
        except TypeError:
            return False

    return test


def _contains(found: Any, wanted: Any) -> bool:
    if isinstance(found, str):
        return isinstance(wanted, str) and wanted.casefold() in found.casefold()
    if isinstance(found, dict):
        return isinstance(wanted, str) and wanted in found
    return isinstance(found, list) and any(_equal(one, wanted) for one in found)


def _equal(found: Any, wanted: Any) -> bool:
    return bool(found == wanted) and isinstance(found, bool) == isinstance(wanted, bool)


COMPARISONS: dict[str, Compare] = {
    "eq": _equal,
    "ne": lambda found, wanted: not _equal(found, wanted),
    "gt": _ordered(lambda found, wanted: found > wanted),
    "gte": _ordered(lambda found, wanted: found >= wanted),
    "lt": _ordered(lambda found, wanted: found < wanted),
    "lte": _ordered(lambda found, wanted: found <= wanted),
    "in": lambda found, wanted: any(_equal(found, one) for one in wanted),
    "contains": _contains,
}
_TIMES = {"created_at": "created", "updated_at": "updated", "expires_at": "expires"}
_OF_BODY = (
    "kind", "content", "title", "tags", "pinned", "confidence", "status", "store", "valid_from", "valid_to",
    "reinforced", "supersedes",
)  # fmt: skip
_OF_ORIGIN = ("by", "trust", "run", "thread", "tool", "messages", "sources", "derived_from")
FIELDS = ("id", *_OF_BODY, *_OF_ORIGIN, *_TIMES)


def compiled(filter: object) -> Test | None:
    """A filter as a test of records; anything that is not one is refused with the place where it goes wrong."""
    if filter is None:
        return None
    budget = [_PARTS_MOST]
    return _group(filter, "filter", 0, budget)


def _group(filter: object, path: str, depth: int, budget: list[int]) -> Test:
    budget[0] -= 1
    if depth > _DEEPEST or budget[0] < 0:
        raise Invalid("the filter is too large", hint=f"at most {_DEEPEST} levels and {_PARTS_MOST} parts")
    if not isinstance(filter, Mapping) or not filter:
        raise Invalid(f"{path} is {filter!r}", hint='write {"field": value} or {"and": [...]}')
    tests = [_part(name, wanted, f"{path}.{name}", depth, budget) for name, wanted in filter.items()]
    return tests[0] if len(tests) == 1 else lambda cell, body: all(test(cell, body) for test in tests)


def _part(name: object, wanted: Any, path: str, depth: int, budget: list[int]) -> Test:
    if name in ("and", "or"):
        if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not wanted:
            raise Invalid(f"{path} is not a list of filters", hint='write {"or": [{"kind": "profile"}, ...]}')
        tests = [_group(one, f"{path}[{index}]", depth + 1, budget) for index, one in enumerate(wanted)]
        combine = all if name == "and" else any
        return lambda cell, body: combine(test(cell, body) for test in tests)
    if name == "not":
        inner = _group(wanted, path, depth + 1, budget)
        return lambda cell, body: not inner(cell, body)
    value = _field(name, path)
    if not isinstance(wanted, Mapping):
        return _comparison(value, "eq", wanted, path, name)
    if not wanted:
        raise Invalid(f"{path} compares with nothing", hint=f"use one of {', '.join(COMPARISONS)}")
    tests = [_comparison(value, op, operand, f"{path}.{op}", name) for op, operand in wanted.items()]
    return lambda cell, body: all(test(cell, body) for test in tests)


def _comparison(value: Callable[[Cell, Body], Any], op: object, wanted: Any, path: str, name: object) -> Test:
    compare = COMPARISONS.get(op) if isinstance(op, str) else None
    if compare is None:
        raise Invalid(f"{path} is no comparison", hint=f"use one of {', '.join(COMPARISONS)}")
    if op == "in" and (isinstance(wanted, str) or not isinstance(wanted, Sequence)):
        raise Invalid(f"{path} is not a list", hint='write {"kind": {"in": ["profile", "semantic"]}}')
    if name in _TIMES or name in ("valid_from", "valid_to"):
        wanted = [_time(one, path) for one in wanted] if op == "in" else _time(wanted, path)
    return lambda cell, body: (
        ((found := value(cell, body)) is not _MISSING and compare(found, wanted)) or (found is _MISSING and op == "ne")
    )


def _field(name: object, path: str) -> Callable[[Cell, Body], Any]:
    if isinstance(name, str):
        if name == "id":
            return lambda cell, body: cell.key  # noqa: ARG005
        if name in _TIMES:
            column = _TIMES[name]
            return lambda cell, body: getattr(cell, column)  # noqa: ARG005
        if name in _OF_BODY:
            return lambda cell, body: _microseconds(getattr(body, name))  # noqa: ARG005
        if name in _OF_ORIGIN:
            return lambda cell, body: getattr(body.provenance, name)  # noqa: ARG005
        if name.startswith("metadata."):
            steps = name.split(".")[1:]
            return lambda cell, body: _walk(body.metadata, steps)  # noqa: ARG005
    raise Invalid(f"{path} is no field", hint=f"use one of {', '.join(FIELDS)}, or metadata.NAME")


def _walk(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            return _MISSING
        value = value[step]
    return value


def _time(value: object, path: str) -> int | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise Invalid(f"{path}: {value!r} is no time", hint="write 2031-01-31T12:00:00Z") from None
    return _microseconds(check_time(value, path))  # type: ignore[no-any-return]


def _microseconds(value: Any) -> Any:
    from memwell import clock

    return clock.microseconds(value) if isinstance(value, datetime) else value


def shown(op: Any) -> tuple[Test, list[list[str]]]:
    """The test that a search or listing puts to each record, and the marks that a record must have one of each."""
    from memwell import clock

    tests: list[Test] = []
    marks: list[list[str]] = []
    for names, mark in ((check_names(op.kinds, "kinds"), "kind"), (check_names(op.tags, "tags"), "tag")):
        if names is not None:
            marks.append([f"{mark}:{name}" for name in names])
    after, before = (check_time(getattr(op, name, None), name) for name in ("after", "before"))
    if after is not None:
        start = clock.microseconds(after)
        tests.append(lambda cell, body: cell.created >= start)  # noqa: ARG005
    if before is not None:
        end = clock.microseconds(before)
        tests.append(lambda cell, body: cell.created < end)  # noqa: ARG005
    valid_at = check_time(getattr(op, "valid_at", None), "valid_at")
    if valid_at is not None:
        tests.append(lambda cell, body: _valid(body, valid_at))  # noqa: ARG005
    own = compiled(getattr(op, "filter", None))
    if own is not None:
        tests.append(own)
    if not tests:
        return (lambda cell, body: True), marks  # noqa: ARG005
    return (lambda cell, body: all(test(cell, body) for test in tests)), marks


def _valid(body: Body, at: datetime) -> bool:
    return (body.valid_from is None or body.valid_from <= at) and (body.valid_to is None or at < body.valid_to)
