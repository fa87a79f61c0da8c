"""A lane is one stream of writes to a scope of its own. Each step says beforehand what it will leave behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memwell.errors import Conflict

SHORT_TTL_S = 0.02  # expires, and is swept, while the writers run
LONG_TTL_S = 3600.0
Part = tuple[str, str, int]  # key, what ("put", "fleeting" or "drop"), and the step whose content is written


def content(scope: str, key: str, number: int) -> dict[str, Any]:
    """The value that a step writes: told apart from every other, and now and then larger than a page."""
    size = 9000 if number % 17 == 0 else number * 7919 % 400
    return {"scope": scope, "key": key, "step": number, "fill": chr(97 + number % 26) * size}


@dataclass
class Step:
    """A call, and the events it makes if it takes effect."""

    number: int
    parts: list[Part]
    call: Callable[[Any], Any]
    refused: bool = False


@dataclass
class Lane:
    """What a stream knows of its scope; it alone writes there."""

    scope: str
    rng: random.Random
    live: dict[str, int] = field(default_factory=dict)  # key: version
    written: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # key: (version, step) of this life

    def next(self, number: int) -> Step:
        """The next step, by chance."""
        kinds = [self._set, self._cas, self._set_many, self._batch, self._fleeting, self._lasting, self._refused]
        kinds += [self._delete] if {"b", "c"} & self.live.keys() else []
        kinds += [self._revert] if self.written.get("a") else []
        return self.rng.choice(kinds)(number)

    def settle(self, step: Step, results: list[tuple[int, int] | None]) -> None:
        """Take note of what an acknowledged step left."""
        for (key, what, source), result in zip(step.parts, results, strict=True):
            if what == "drop":
                self.live.pop(key, None)
            else:
                assert result is not None
                self.live[key] = result[0]
                self.written.setdefault(key, []).append((result[0], source))

    def _value(self, key: str, number: int) -> dict[str, Any]:
        return content(self.scope, key, number)

    def _set(self, number: int) -> Step:
        return Step(number, [("a", "put", number)], lambda mem: mem.set("a", self._value("a", number)))

    def _cas(self, number: int) -> Step:
        version = self.live.get("b", 0)
        value = self._value("b", number)
        return Step(number, [("b", "put", number)], lambda mem: mem.set("b", value, if_version=version))

    def _set_many(self, number: int) -> Step:
        values = {key: self._value(key, number) for key in "cd"}
        return Step(number, [(key, "put", number) for key in values], lambda mem: mem.set_many(values))

    def _delete(self, number: int) -> Step:
        key = "b" if "b" in self.live else "c"
        return Step(number, [(key, "drop", number)], lambda mem: mem.delete(key))

    def _lasting(self, number: int) -> Step:
        value = self._value("d", number)
        return Step(number, [("d", "put", number)], lambda mem: mem.set("d", value, ttl=LONG_TTL_S))

    def _fleeting(self, number: int) -> Step:
        value = self._value("t", number)
        return Step(number, [("t", "fleeting", number)], lambda mem: mem.set("t", value, ttl=SHORT_TTL_S))

    def _revert(self, number: int) -> Step:
        version, source = self.rng.choice(self.written["a"][-5:])
        return Step(number, [("a", "put", source)], lambda mem: mem.revert("a", version))

    def _batch(self, number: int) -> Step:
        parts = [("a", "put", number), ("e", "put", number), ("b", "put", number), ("b", "drop", number)]

        def call(mem: Any) -> Any:
            batch = mem.batch()
            for key in "aeb":
                batch.set(key, self._value(key, number))
            batch.delete("b")
            return batch.commit()

        return Step(number, parts, call)

    def _refused(self, number: int) -> Step:
        """A batch whose last write must be refused: it leaves nothing at all."""
        stale = self.live.get("b", 0) + 1

        def call(mem: Any) -> Any:
            batch = mem.batch()
            batch.set("a", "must not be seen")
            batch.set("b", "must not be seen", if_version=stale)
            return batch.commit()

        return Step(number, [], call, refused=True)


def outcome(step: Step, result: Any) -> list[tuple[int, int] | None]:
    """The (version, rev) that the call gave for each part; None where it gives none."""
    if isinstance(result, Conflict):
        return []
    results = list(result.values()) if isinstance(result, dict) else result if isinstance(result, list) else [result]
    assert len(results) == len(step.parts)
    return [None if isinstance(one, bool) else (one.version, one.rev) for one in results]
