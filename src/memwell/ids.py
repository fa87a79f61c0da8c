"""Names for new things: unique without asking anybody, and in the order in which they were made."""

from __future__ import annotations

import secrets

from memwell import clock


def new_id() -> str:
    """28 hex digits: twelve of time in milliseconds, sixteen of chance."""
    return f"{clock.now() // 1000:012x}{secrets.token_hex(8)}"
