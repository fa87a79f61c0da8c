"""A record that somebody wants kept: checked before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from memwell import codec
from memwell.config import Settings
from memwell.engine.body import TRUSTS, Body, lower
from memwell.engine.context import Context
from memwell.engine.rules import bounded, check_key
from memwell.errors import Invalid, TooLarge
from memwell.ops import NewRecord
from memwell.types import Provenance

NAME_MOST = 128
TITLE_MOST = 1024
NAMES_MOST = 256  # tags, links and the like of one record
CHANGEABLE = (
    "content", "kind", "title", "tags", "metadata", "pinned", "confidence", "valid_from", "valid_to", "ttl",
)  # fmt: skip


def draft(new: NewRecord, context: Context) -> Body:
    """The body that a new record gets, stamped with who the caller is."""
    checked = _typed(new, context.settings)
    caller = context.caller
    trust = caller.trust if checked.trust is None else lower(caller.trust, _one_of(checked.trust, TRUSTS, "trust"))
    origin = Provenance(
        by=caller.name,
        trust=trust,  # type: ignore[arg-type]
        run=check_label(checked.run, "run"),
        thread=check_label(checked.thread, "thread"),
        tool=check_label(checked.tool, "tool"),
        messages=_names(checked.messages, "messages"),
        sources=[] if checked.source is None else _names([checked.source], "source", TITLE_MOST),
        derived_from=[check_key(name, context.settings) for name in _few(checked.derived_from, "derived_from")],
        claimed=checked.claimed,
    )
    body = Body(
        content=checked.content,
        kind=checked.kind,
        title=checked.title,
        tags=checked.tags,
        metadata=checked.metadata,
        pinned=checked.pinned,
        confidence=checked.confidence,
        status="pending" if checked.pending else "active",
        store=_names([checked.store], "store")[0],
        supersedes=[check_key(name, context.settings) for name in _few(checked.supersedes, "supersedes")],
        valid_from=checked.valid_from,
        valid_to=checked.valid_to,
        provenance=origin,
    )
    return sound(body, context.settings)


def _typed(new: Any, settings: Settings) -> NewRecord:
    """Struct fields are not checked when they are set, so they are here; what is no JSON is named by its path."""
    if not isinstance(new, NewRecord):
        raise Invalid(f"a record is a NewRecord, not {type(new).__name__}")
    for name in ("metadata", "claimed"):
        codec.encode(getattr(new, name), settings.max_value_bytes)
    try:
        checked: NewRecord = msgspec.convert(msgspec.to_builtins(new), NewRecord)
    except (msgspec.ValidationError, TypeError) as error:
        raise Invalid(f"this is no record: {error}", hint="content, kind and title are text, tags a list") from None
    return msgspec.structs.replace(checked, valid_from=new.valid_from, valid_to=new.valid_to)


def sound(body: Body, settings: Settings) -> Body:
    """A body that may be stored, or the reason why not."""
    if not codec.check_text(body.content, "content").strip():
        raise Invalid("a record has some content", hint="say what is to be remembered")
    if len(body.content.encode()) > settings.max_value_bytes:
        limit = settings.max_value_bytes
        raise TooLarge(f"the content is longer than {limit} bytes", limit=limit, hint="keep it in parts")
    if body.title is not None:
        _names([body.title], "title", TITLE_MOST)
    _names([body.kind], "kind")
    tags = list(dict.fromkeys(_names(body.tags, "tags")))
    confidence = body.confidence
    if confidence is not None and not (isinstance(confidence, (int, float)) and 0 <= confidence <= 1):
        raise Invalid(f"the confidence is {confidence!r}", hint="give a number from 0 to 1")
    start, end = (check_time(getattr(body, name), name) for name in ("valid_from", "valid_to"))
    if start and end and end <= start:
        raise Invalid("valid_to is not after valid_from", hint="leave one of them out where it is open")
    return msgspec.structs.replace(body, tags=tags)


def changed(body: Body, changes: dict[str, Any], context: Context) -> Body:
    """The body with some fields changed by the caller."""
    unknown = set(changes) - set(CHANGEABLE)
    if unknown or not changes:
        what = f"{sorted(unknown)[0]!r} can't be changed" if unknown else "nothing is changed"
        raise Invalid(what, hint=f"give one of {', '.join(CHANGEABLE)}")
    fields = {name: value for name, value in changes.items() if name != "ttl"}
    for name, value in fields.items():
        if name == "metadata":
            codec.encode(value, context.settings.max_value_bytes)
    probe = NewRecord(**{"content": body.content, "kind": body.kind, **fields})
    checked = _typed(probe, context.settings)
    origin = msgspec.structs.replace(body.provenance, updated_by=context.caller.name)
    if "content" in fields or "title" in fields:
        trust = lower(origin.trust, context.caller.trust)
        origin = msgspec.structs.replace(origin, trust=trust)
    new = {name: getattr(checked, name) for name in fields}
    return sound(msgspec.structs.replace(body, provenance=origin, **new), context.settings)


def check_time(when: object, name: str) -> datetime | None:
    """A time with its zone, or None."""
    if when is None:
        return None
    if not isinstance(when, datetime):
        raise Invalid(f"{name} is {when!r}, which is no time", hint="give an aware datetime")
    if when.tzinfo is None:
        raise Invalid(f"the time {name} has no zone", hint="add one, e.g. tzinfo=datetime.UTC")
    return when


def check_names(names: object, name: str) -> list[str] | None:
    """A list of names to filter by, or None for all."""
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise Invalid(f"{name} is a list of text, not {type(names).__name__}", hint=f'e.g. {name}=["profile"]')
    return _names(list(names), name)


def _names(names: Sequence[object], what: str, longest: int = NAME_MOST) -> list[str]:
    for name in names:
        text = codec.check_text(name, what)
        if not text.strip() or len(text) > longest or not text.isprintable():
            raise Invalid(f"{what} is {text[:40]!r}", hint=f"use 1 to {longest} printable characters")
    return _few(names, what)


def _few(names: Sequence[Any], what: str) -> list[Any]:
    if len(names) > NAMES_MOST:
        raise TooLarge(f"{len(names)} {what}, the limit is {NAMES_MOST}", limit=NAMES_MOST)
    return list(names)


def check_label(text: str | None, what: str, longest: int = TITLE_MOST) -> str | None:
    """A short printable text, or None."""
    return None if text is None else _names([text], what, longest)[0]


def _one_of(value: object, known: Sequence[str], what: str) -> str:
    if value not in known:
        raise Invalid(f"{what} is {value!r}", hint=f"use one of {', '.join(known)}")
    return str(value)


def drafts(records: Sequence[NewRecord], context: Context) -> list[tuple[NewRecord, Body]]:
    """Several, if they are not too many."""
    return [(new, draft(new, context)) for new in bounded(records, "records", context.settings)]
