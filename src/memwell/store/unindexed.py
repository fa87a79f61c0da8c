"""For a backend that keeps facts only: nothing in it can be searched."""

from __future__ import annotations

from typing import Any, NoReturn

from memwell.errors import Unsupported


class Unindexed:
    """Answers every question about the index with a clear refusal."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            "this store keeps facts only", hint="keep records and threads in a file or another full store"
        )

    terms = reached = reach = holding = marked = docs = doc_id = newest = neighbours = _refuse
    scopes_marked = vectors = vectors_of = unembedded = count_unembedded = _refuse
    index = unindex = unindex_all = save_vectors = redact = _refuse
