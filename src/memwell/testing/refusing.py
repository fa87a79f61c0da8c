"""Calls that have to be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def refusals(error: type[E], *calls: Callable[[], Any]) -> list[E]:
    """Make each call, see it refused, and give the errors."""
    raised = []
    for call in calls:
        with pytest.raises(error) as refusal:
            call()
        raised.append(refusal.value)
    return raised
