"""How records stand to each other: what is there, what hides what, and what says nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

from memwell import words
from memwell.engine.body import SHAPE, Body, glance, to_record, unseal
from memwell.errors import Conflict, NotFound
from memwell.store import Cell, Read

NEAR = 0.7  # the share of words that two records have in common to be called similar
_NEAR_MOST = 5
_LOOKED_AT = 50
_GROUPS, _GROUP_MOST = 3, 4


def standing(
    view: Read, scope: str, key: str, now: int, statuses: Sequence[str], if_version: int | None = None
) -> tuple[Cell, Body]:
    """The record of that id in one of the statuses, at that version if one is given; NotFound or Conflict otherwise."""
    cell = view.cell(scope, SHAPE, key, now)
    body = None if cell is None else unseal(scope, cell)
    if cell is None or body is None or body.status not in statuses:
        kind = "" if "active" in statuses else f"{statuses[0]} "
        raise NotFound(f"{scope} has no {kind}record {key!r}", hint="'memwell record list' shows what it has")
    if if_version is not None and cell.version != if_version:
        raise Conflict(
            f"the record {key!r} is at version {cell.version}, not {if_version}",
            current=to_record(scope, cell, body),
            hint="read it again, redo the change, and retry with its version",
        )
    return cell, body


def is_superseded(view: Read, scope: str, key: str, now: int) -> bool:
    """Whether a record in force stands in its place. Each names all that stood there before it, so one look tells."""
    over = view.marked(scope, SHAPE, [f"over:{key}"])
    return any(glance(scope, found.cell).status == "active" for found in view.docs(scope, SHAPE, over, now))


def near_ones(view: Read, scope: str, body: Body, now: int) -> list[str]:
    """Ids of records that share most of their words with this one.

    Whatever shares nearly all words holds one of a few groups of them whole, so only such records are compared.
    """
    own = list(dict.fromkeys(words.stems(f"{body.title or ''} {body.content}")))
    if len(own) < _GROUPS:
        return []
    telling = sorted(own, key=len, reverse=True)[: _GROUPS * _GROUP_MOST]  # long words are rare, and rare ones quick
    ids = view.holding(scope, SHAPE, [telling[start::_GROUPS] for start in range(_GROUPS)], _LOOKED_AT)
    likeness = []
    for found in view.docs(scope, SHAPE, ids, now) if ids else ():
        other = {*" ".join((found.text or "").split("\n")[:2]).split()}  # of title and content
        share = len(other & {*own}) / len(other | {*own})
        if share >= NEAR and not (found.linked and is_superseded(view, scope, found.cell.key, now)):
            likeness.append((-share, found.cell.key))
    return [key for _, key in sorted(likeness)[:_NEAR_MOST]]
