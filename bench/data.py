"""The same keys and values for everyone: 200 bytes of JSON each, groups of 100 keys, picks from a seeded sequence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

GROUP = 100
VALUE_BYTES = 200
_POOL = 997  # distinct values; a prime, so that no key gets the same one every time


def place(index: int) -> tuple[str, str]:
    """The group and the name of a key."""
    return f"g{index // GROUP:05d}", f"k{index % GROUP:02d}"


def flat(index: int) -> str:
    """The same key in stores that have one level of names."""
    group, name = place(index)
    return f"{group}/{name}"


def _value(rng: random.Random) -> dict[str, Any]:
    value = {"topic": f"{rng.getrandbits(40):010x}", "score": round(rng.random(), 3), "tags": ["style", "review"]}
    room = VALUE_BYTES - len(json.dumps(value, separators=(",", ":"))) - len(',"note":""')
    return {**value, "note": "".join(rng.choices("abcdefghij klmnopqrs", k=room))}


VALUES = [_value(random.Random(number)) for number in range(_POOL)]


def value(number: int) -> dict[str, Any]:
    """A value of 200 bytes."""
    return VALUES[number % _POOL]


def picks(seed: str, keys: int, count: int) -> list[int]:
    """Random existing keys; the same for every peer that is given the same seed."""
    rng = random.Random(seed)
    return [rng.randrange(keys) for _ in range(count)]


def portions(keys: int, size: int) -> Iterator[range]:
    """All keys in portions, for loading."""
    for start in range(0, keys, size):
        yield range(start, min(start + size, keys))
