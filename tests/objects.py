"""Objects with the eight methods of a simple backend, as somebody would write them."""

from __future__ import annotations

import json


class Dicts:
    """Keeps what it is given in dicts, as it is."""

    name = "dicts"

    def __init__(self):
        self.spaces = {}
        self.closed = False

    def get(self, scope, key):
        return self.spaces.get(scope, {}).get(key)

    def set(self, scope, key, value):
        self.spaces.setdefault(scope, {})[key] = value

    def delete(self, scope, key):
        return self.spaces.get(scope, {}).pop(key, None) is not None

    def list(self, scope, prefix=""):
        return [key for key in self.spaces.get(scope, {}) if key.startswith(prefix)]

    def clear(self, scope):
        self.spaces.get(scope, {}).clear()

    def delete_scope(self, scope):
        self.spaces.pop(scope, None)

    def stats(self):
        return {"scopes": len(self.spaces), "entries": sum(map(len, self.spaces.values()))}

    def close(self):
        self.closed = True


class Texts(Dicts):
    """Keeps JSON text, as a file or a server would."""

    name = "texts"

    def get(self, scope, key):
        text = super().get(scope, key)
        return None if text is None else json.loads(text)

    def set(self, scope, key, value):
        super().set(scope, key, json.dumps(value))


class AsyncDicts:
    """The same, awaited."""

    def __init__(self):
        self.dicts = Dicts()

    async def get(self, scope, key):
        return self.dicts.get(scope, key)

    async def set(self, scope, key, value):
        self.dicts.set(scope, key, value)

    async def delete(self, scope, key):
        return self.dicts.delete(scope, key)

    async def list(self, scope, prefix=""):
        return self.dicts.list(scope, prefix)

    async def clear(self, scope):
        self.dicts.clear(scope)

    async def delete_scope(self, scope):
        self.dicts.delete_scope(scope)

    async def stats(self):
        return self.dicts.stats()

    async def close(self):
        self.dicts.close()
