"""`memwell approvals`: the inbox of records that wait until somebody other than their author has seen them."""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote
from typing import Any, TypeVar

import click

from memwell.cli import cards, show
from memwell.cli.options import Group, open_store
from memwell.errors import NotFound
from memwell.memory import Memory
from memwell.types import Record

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the record.")
MOST = 1000  # records that are looked through for one by its id


@click.group(cls=Group, example="memwell approvals list")
def approvals() -> None:
    """Review the records that wait for approval.

    Nobody reviews their own: --by or MEMWELL_AUTHOR says who you are.
    """


@approvals.command("list", example="memwell approvals list agent:support")
@click.argument("scope", required=False)
@click.option("--limit", metavar="N", type=int, default=50, help="At most this many; 50 unless told.")
def list_(scope: str | None, limit: int) -> None:
    """List what waits, oldest first: of SCOPE, or of all."""
    with open_store() as store:
        records = store.pending(limit=limit) if scope is None else store.scope(scope).records.pending(limit=limit)
    show.result(records, cards.catalogue(records, with_scope=True) if records else [])
    if len(records) == limit:
        show.say("there may be more: --limit shows them")


@approvals.command("show", example="memwell approvals show agent:support 01a1e3344b90")
@click.argument("scope")
@click.argument("id")
def show_(scope: str, id: str) -> None:
    """Print a record that waits."""
    with open_store() as store:
        record = _waiting(store.scope(scope), id)
    show.result(record, cards.card(record))


@approvals.command("approve", example="memwell approvals approve agent:support 01a1e3344b90")
@click.argument("scope")
@click.argument("id")
@_reason
def approve(scope: str, id: str, reason: str | None) -> None:
    """Let a record be seen."""
    with open_store() as store:
        memory = store.scope(scope)
        record = memory.records.approve(_waiting(memory, id).id, reason=reason)
    show.result(record, f"approved {show.name(record.id)}")


@approvals.command("reject", example="memwell approvals reject agent:support 01a1e3344b90 --reason rumour")
@click.argument("scope")
@click.argument("id")
@_reason
def reject(scope: str, id: str, reason: str | None) -> None:
    """Refuse a record."""
    with open_store() as store:
        memory = store.scope(scope)
        record = memory.records.reject(_waiting(memory, id).id, reason=reason)
    show.result(record, f"rejected {show.name(record.id)}")


def _waiting(memory: Memory, text: str) -> Record:
    key = cards.resolved(memory, text)
    for record in memory.records.pending(limit=MOST):
        if record.id == key:
            return record
    look = f"'memwell approvals list {quote(memory.name)}' shows what waits"
    raise NotFound(f"the record {key!r} does not wait for a review", hint=look)
