"""`memwell record search`, `read`, `list` and `history`."""

from __future__ import annotations

from shlex import quote
from typing import Any

import click

from memwell.cli import cards, show
from memwell.cli.options import Command, embedder_option, open_store
from memwell.cli.values import read_time, read_value
from memwell.engine.search import STATUSES
from memwell.errors import NotFound

kind_option = click.option("--kind", "kinds", metavar="KIND", multiple=True, help="Only this kind; may be repeated.")
tag_option = click.option("--tag", "tags", metavar="TAG", multiple=True, help="With any of these tags.")
inherit_option = click.option("--inherit", is_flag=True, help="Look in the wider scopes too, and in global.")
after_option = click.option("--after", metavar="TIME", help="Made at this time or later, e.g. 2031-01-31.")
before_option = click.option("--before", metavar="TIME", help="Made before this time.")
filter_option = click.option("--filter", metavar="JSON", help="""Only what fits, e.g. '{"pinned": true}'.""")


@click.command("search", cls=Command, example='memwell record search agent:support "how to review" --limit 5')
@click.argument("scope")
@click.argument("query", default="")
@kind_option
@tag_option
@after_option
@before_option
@click.option("--limit", metavar="N", type=int, default=10, help="At most this many; 10 unless told.")
@filter_option
@inherit_option
@click.option("--valid-at", metavar="TIME", help="What was true then.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
@embedder_option
def search(scope: str, query: str, **which: Any) -> None:
    """Find the records of SCOPE that fit QUERY best.

    Words are compared by their stems; with an embedder also by their meaning. Without QUERY, the newest are shown.
    """
    with open_store(embedder=True) as store:
        memory = store.scope(scope)
        hits = memory.search(query, **_wanted(**which))
    show.result(hits, cards.found(hits.hits, memory.name, which["explain"]) if hits else [])
    if hits.notice:
        show.say(show.sentence(hits.notice))
    if hits.unembedded:
        show.say(f"{show.counted(hits.unembedded, 'record')} can't be found by meaning yet: 'memwell embed'")
    if not hits:
        show.say("nothing found")


def _wanted(**which: Any) -> dict[str, Any]:
    """What was given, as the library takes it."""
    times: dict[str, Any] = {name: read_time(which[name]) for name in ("after", "before", "valid_at") if name in which}
    names = {name: list(which[name]) or None for name in ("kinds", "tags")}
    wanted = {"filter": None if which["filter"] is None else read_value(which["filter"])}
    return {**which, **times, **names, **wanted}


@click.command("read", cls=Command, example="memwell record read agent:support 01a1e32b9e42")
@click.argument("scope")
@click.argument("id")
def read(scope: str, id: str) -> None:
    """Print a record; exit 3 if there is none.

    One that is deleted, waits for a review or was rejected counts as none.
    """
    with open_store() as store:
        memory = store.scope(scope)
        key = cards.resolved(memory, id)
        record = memory.records.read(key)
    if record is None:
        look = f"'memwell record list {quote(scope)} --status all' shows what else there is"
        raise NotFound(f"the record {key!r} is deleted, waits for a review or was rejected", hint=look)
    show.result(record, cards.card(record))


@click.command("list", cls=Command, example="memwell record list agent:support --kind profile")
@click.argument("scope")
@kind_option
@tag_option
@after_option
@before_option
@click.option("--status", type=click.Choice(STATUSES), default="active", help="Which ones; active unless told.")
@filter_option
@click.option("--limit", metavar="N", type=int, default=50, help="At most this many; 50 unless told.")
@click.option("--cursor", metavar="ID", help="Only older than this one: the next page.")
def list_(scope: str, cursor: str | None, limit: int, **which: Any) -> None:
    """List the records of SCOPE, newest first."""
    with open_store() as store:
        memory = store.scope(scope)
        after = None if cursor is None else cards.resolved(memory, cursor)
        records = memory.records.list(**_wanted(**which), limit=limit, cursor=after)
    show.result(records, cards.catalogue(records, with_status=which["status"] == "all") if records else [])
    if len(records) == limit:
        show.say(f"there may be more: --cursor {quote(show.name(records[-1].id))}")


@click.command("history", cls=Command, example="memwell record history agent:support 01a1e32b9e42")
@click.argument("scope")
@click.argument("id")
@click.option("--limit", metavar="N", type=int, help="At most this many, the newest.")
def history(scope: str, id: str, limit: int | None) -> None:
    """Show the writes of a record, newest first: when, who and what."""
    with open_store() as store:
        memory = store.scope(scope)
        events = memory.records.history(cards.resolved(memory, id), limit=limit)
    show.result(events, cards.past(events) if events else [])
