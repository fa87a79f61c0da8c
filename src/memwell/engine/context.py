"""What a handler knows besides its op."""

from __future__ import annotations

from msgspec import Struct

from memwell.config import Settings
from memwell.engine.guard import Caller
from memwell.engine.meaning import Meaning
from memwell.store import Backend, Progress


class Context(Struct, frozen=True, gc=False):
    """Who asks, by which limits, of which backend, whom to tell how far it is, and what finds by meaning."""

    caller: Caller
    settings: Settings
    backend: Backend
    progress: Progress | None = None
    meaning: Meaning | None = None
    facts_only: bool = False  # the backend has no index, so no records and no threads
