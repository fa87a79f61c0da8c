"""What the tests of the kernel have in common."""

from __future__ import annotations

from typing import Any

from memwell.agent.kernel import Kernel

SOON = 10  # seconds that a wait is bounded by; nothing here comes near it


async def count(ctx: Any) -> int:
    """A handler that counts its runs in its own memory."""
    entry = await ctx.memory.set("count", (await ctx.memory.get("count", 0)) + 1)
    return int(entry.value)


def fill(kernel: Kernel) -> None:
    """A persistent process with two facts, and a shared one."""
    remembered = {"step": 3, "plan": ["a", None]}
    kernel.spawn(lambda ctx: ctx.memory.set_many(remembered), id="agent/1", persistent=True).wait(SOON)
    kernel.shared().set("config", {"model": "small"})


def facts(kernel: Kernel) -> dict[str, dict[str, Any]]:
    """All entries of the store, by scope and key."""
    scopes = kernel.memory.scopes()
    return {scope: {entry.key: entry for entry in kernel.memory.scope(scope).entries()} for scope in scopes}


def values(kernel: Kernel) -> dict[str, dict[str, Any]]:
    """All values of the store, by scope and key."""
    return {scope: {key: entry.value for key, entry in held.items()} for scope, held in facts(kernel).items()}
