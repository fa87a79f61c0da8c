"""The eight methods of a custom backend, plain and awaited: what an engineer would write on a first afternoon."""

from __future__ import annotations

import asyncio
from typing import Any


class Dicts:
    """The eight methods over dicts."""

    name = "dicts"

    def __init__(self) -> None:
        self.spaces: dict[str, dict[str, Any]] = {}
        self.closed = 0

    def get(self, scope: str, key: str) -> Any:
        return self.spaces.get(scope, {}).get(key)

    def set(self, scope: str, key: str, value: Any) -> None:
        self.spaces.setdefault(scope, {})[key] = value

    def delete(self, scope: str, key: str) -> bool:
        return self.spaces.get(scope, {}).pop(key, None) is not None

    def list(self, scope: str, prefix: str = "") -> list[str]:
        return [key for key in self.spaces.get(scope, {}) if key.startswith(prefix)]

    def clear(self, scope: str) -> None:
        self.spaces.pop(scope, None)

    def delete_scope(self, scope: str) -> None:
        self.spaces.pop(scope, None)

    def stats(self) -> dict[str, int]:
        return {"namespaces": len(self.spaces)}

    def close(self) -> None:
        self.closed += 1


class AsyncDicts:
    """The same, with every method a coroutine that yields to its loop."""

    name = "async-dicts"

    def __init__(self) -> None:
        self.inner = Dicts()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method

        async def call(*args: Any) -> Any:
            await asyncio.sleep(0)
            return method(*args)

        return call
