"""Settings of a store, each with its default and its limits; nothing else reads the environment."""

from __future__ import annotations

import os
from typing import Literal, TypedDict, Unpack

from msgspec import Struct

from memwell.errors import Invalid

Durability = Literal["full", "fast"]
DURABILITIES = ("full", "fast")


class Settings(Struct, frozen=True, kw_only=True):
    """How a store behaves. Times are seconds, sizes bytes."""

    durability: Durability = "full"
    busy_timeout: float = 30.0
    history_seconds: float | None = None
    max_key_chars: int = 512
    max_value_bytes: int = 1024 * 1024
    max_batch: int = 10_000
    sweep_seconds: float = 60.0
    allow_hard_delete: bool = False
    allow_export: bool = True
    vector_bytes: int = 512 * 1024 * 1024

    def __post_init__(self) -> None:
        if self.durability not in DURABILITIES:
            raise Invalid(f"durability {self.durability!r} is unknown", hint="use 'full' or 'fast'")
        for name in ("busy_timeout", "max_key_chars", "max_value_bytes", "max_batch", "sweep_seconds", "vector_bytes"):
            _positive(name, getattr(self, name))
        if self.history_seconds is not None:
            _positive("history_seconds", self.history_seconds)
        for name in ("allow_hard_delete", "allow_export"):
            if not isinstance(getattr(self, name), bool):
                raise Invalid(f"{name} is True or False, not {getattr(self, name)!r}")


class Options(TypedDict, total=False):
    """The settings as keyword arguments of `open`."""

    durability: Durability
    busy_timeout: float
    history_seconds: float | None
    max_key_chars: int
    max_value_bytes: int
    max_batch: int
    sweep_seconds: float
    allow_hard_delete: bool
    allow_export: bool
    vector_bytes: int


def settings_from(**options: Unpack[Options]) -> Settings:
    """Settings from keyword arguments; an unknown one is named."""
    unknown = set(options) - set(Settings.__struct_fields__)
    if unknown:
        known = ", ".join(Settings.__struct_fields__)
        raise Invalid(f"{sorted(unknown)[0]!r} is not a setting", hint=f"the settings are {known}")
    return Settings(**options)


def _positive(name: str, number: float) -> None:
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < float("inf"):
        raise Invalid(f"{name} must be a positive number, not {number!r}")


def default_url() -> str:
    """The store of a command that names none: MEMWELL_STORE, else a file in the user's data folder."""
    named = os.environ.get("MEMWELL_STORE")
    if named:
        return named
    from platformdirs import user_data_path

    return str(user_data_path("memwell", appauthor=False) / "memory.db")


def default_author() -> str:
    """Who writes, unless told: MEMWELL_AUTHOR, else the name this user logged in with."""
    named = os.environ.get("MEMWELL_AUTHOR")
    if named:
        return named
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def default_embedder() -> str | None:
    """The embedder of a command that searches and names none: MEMWELL_EMBEDDER, else none."""
    return os.environ.get("MEMWELL_EMBEDDER") or None
