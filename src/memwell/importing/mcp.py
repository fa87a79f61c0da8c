"""The memory file of the MCP reference server: a line is an entity with observations, or a relation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from memwell.importing.found import STDIO, TAG_MOST, Found, Gathered, Skipped, label, made_id, rows
from memwell.ops import NewRecord


class Entity(Struct, frozen=True, tag="entity", tag_field="type", rename="camel"):
    """Something of which something was observed."""

    name: str
    entity_type: str = ""
    observations: list[str] = []


class Relation(Struct, frozen=True, tag="relation", tag_field="type", rename="camel"):
    """How one entity stands to another."""

    start: str = field(name="from")
    to: str
    relation_type: str


_decode = msgspec.json.Decoder(Entity | Relation).decode


def gather(path: str, scope: str) -> Gathered:  # noqa: ARG001
    """Every observation and every relation."""
    source = label(f"mcp:{'stdin' if path == STDIO else Path(path).name}")
    gathered = Gathered(0, [], [])
    for number, line in rows(path):
        gathered.read += 1
        where = f"line {number}"
        try:
            thing = _decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            gathered.skipped.append(Skipped(where, f"it is neither an entity nor a relation: {error}", bad=True))
            continue
        if isinstance(thing, Relation):
            gathered.records.append(Found(where, _relation(thing, source)))
            continue
        gathered.records += [Found(where, record) for record in _observations(thing, source)]
        if not thing.observations:
            gathered.skipped.append(Skipped(where, f"nothing was observed of {thing.name!r}"))
    return gathered


def _observations(entity: Entity, source: str) -> Iterator[NewRecord]:
    title, tag = label(entity.name), label(entity.entity_type, TAG_MOST)
    for text in entity.observations:
        yield NewRecord(
            content=text,
            title=title or None,
            tags=[tag] if tag else [],
            source=source,
            trust="agent",
            id=made_id(source, entity.name, text),
        )


def _relation(relation: Relation, source: str) -> NewRecord:
    said = f"{relation.start} {relation.relation_type} {relation.to}"
    return NewRecord(content=said, tags=["relation"], source=source, trust="agent", id=made_id(source, said))
