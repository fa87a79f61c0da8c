"""Who may do what. Every op of every caller passes here, before anything else is done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from memwell.errors import Denied
from memwell.ops import Op
from memwell.types import Trust


class Caller(Struct, frozen=True):
    """Who asks. The owner opened the store itself and may do all; anyone else has only what was granted."""

    name: str
    owner: bool = False
    trust: Trust = "system"


Guard = Callable[[Caller, Op[Any]], None]


def owners_only(caller: Caller, op: Op[Any]) -> None:
    """Deny by default: without grants, only the owner passes. The refusal names the capability, never the thing."""
    if not caller.owner:
        capability = f"{op.domain}.{op.action}"
        raise Denied(
            f"{caller.name} may not do this", capability=capability, hint=f"it needs the capability {capability}"
        )
