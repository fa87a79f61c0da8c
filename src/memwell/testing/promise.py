"""Naming what a test proves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def promise(*ids: str) -> Callable[[F], F]:
    """Say which promises a test proves, by their ids."""

    def mark(test: F) -> F:
        test.promises = ids  # type: ignore[attr-defined]
        return test

    return mark
