"""`memwell memory`: the memory of one agent, which is the scope `agent:<id>`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from shlex import quote
from typing import Any

import click

from memwell.cli import show
from memwell.cli.facts import at_option, if_version_option, listing_options, print_value, remove, ttl_option
from memwell.cli.options import Group, open_store
from memwell.cli.values import read_value, seconds
from memwell.memory import Memory
from memwell.scope import Scope
from memwell.types import Event


@contextmanager
def _memory_of(agent: str) -> Iterator[Memory]:
    scope = Scope(agent=agent)
    with open_store() as store:
        yield store.scope(scope)


@click.group(cls=Group, example="memwell memory read support config")
def memory() -> None:
    """Read, write and watch the memory of one agent.

    AGENT is the id of an agent; its memory is the scope agent:AGENT.
    """


@memory.command("read", example="memwell memory read support config")
@click.argument("agent")
@click.argument("key")
@at_option
def read(agent: str, key: str, at: str | None) -> None:
    """Print the value of KEY; exit 3 if there is none."""
    with _memory_of(agent) as mem:
        print_value(mem, key, at, f"memory list {quote(agent)}")


@memory.command("write", example="""memwell memory write support session-token '"abc123"' --ttl 3600""")
@click.argument("agent")
@click.argument("key")
@click.argument("value")
@ttl_option
def write(agent: str, key: str, value: str, ttl: float | None) -> None:
    """Write VALUE, which is JSON, under KEY.

    '-' reads the value from stdin, '@FILE' from a file. Without --ttl it does not expire.
    """
    parsed = read_value(value)
    with _memory_of(agent) as mem:
        show.written(mem.set(key, parsed, ttl=ttl))


@memory.command("cas", example="memwell memory cas support counter 2 42")
@click.argument("agent")
@click.argument("key")
@click.argument("expected_version", type=int)
@click.argument("value")
@ttl_option
def cas(agent: str, key: str, expected_version: int, value: str, ttl: float | None) -> None:
    """Write VALUE only if KEY is at EXPECTED_VERSION; 0 means that it must be absent.

    If it is not, nothing is written, the exit code is 5, and what is there now is shown.
    """
    parsed = read_value(value)
    with _memory_of(agent) as mem:
        show.written(mem.set(key, parsed, ttl=ttl, if_version=expected_version))


@memory.command("delete", example="memwell memory delete support session-token")
@click.argument("agent")
@click.argument("key")
@if_version_option
def delete(agent: str, key: str, if_version: int | None) -> None:
    """Take KEY away; its history stays."""
    with _memory_of(agent) as mem:
        remove(mem, key, if_version)


@memory.command("list", example='memwell memory list support --pattern "cache.*"')
@click.argument("agent")
@listing_options
def list_(agent: str, **which: Any) -> None:
    """List the keys, sorted, one a line."""
    with _memory_of(agent) as mem:
        keys = mem.list(**which)
    show.result(keys, map(show.name, keys))


@memory.command("history", example="memwell memory history support config --limit 10")
@click.argument("agent")
@click.argument("key")
@click.option("--limit", metavar="N", type=int, help="At most this many, the newest.")
def history(agent: str, key: str, limit: int | None) -> None:
    """Show the writes of KEY, newest first: which version, when, who and what."""
    with _memory_of(agent) as mem:
        events = mem.history(key, limit=limit)
    rows = [
        (str(e.version), str(e.rev), show.when(e.at), show.name(e.by), e.op.partition(".")[2], _value(e))
        for e in events
    ]
    show.result(events, show.table(("VERSION", "REV", "WHEN", "BY", "DID", "VALUE"), rows) if rows else [])


@memory.command("revert", example="memwell memory revert support config 1")
@click.argument("agent")
@click.argument("key")
@click.argument("version", type=int)
def revert(agent: str, key: str, version: int) -> None:
    """Write the value that KEY had at VERSION as a new version."""
    with _memory_of(agent) as mem:
        show.written(mem.revert(key, version))


@memory.command("watch", example="memwell memory watch support --prefix cache. --timeout 60")
@click.argument("agent")
@click.option("--prefix", metavar="TEXT", help="Keys that start with exactly this.")
@click.option("--pattern", metavar="GLOB", help="Keys that fit: * within a /, ** across, ? one, [ab] a set.")
@click.option("--since", metavar="REV", type=int, help="First all that came after this rev; 0 is everything.")
@click.option("--timeout", metavar="SECS", type=seconds, help="End after so long without an event.")
@click.option("--count", metavar="N", type=click.IntRange(min=1), help="End after this many events.")
def watch(agent: str, count: int | None, **which: Any) -> None:
    """Print every change as it happens, also of other processes; Ctrl-C ends it.

    With --json an event is one line of JSON. To go on later without gap or repeat, give the last rev to --since.
    """
    with _memory_of(agent) as mem:
        events = mem.watch(**which)
        for event in islice(events, count):
            show.result(event, _line(event))


def _value(event: Event) -> str:
    if event.expired:
        return "(expired)"
    return "-" if event.deleted else show.to_text(event.value)


def _line(event: Event) -> str:
    what = f"{show.name(event.key)} version {event.version}" if event.key else show.name(event.scope)
    before = f"{event.rev:>4}  {show.when(event.at)}  {show.name(event.by)}  "
    did = f"{event.op.partition('.')[2]:<6}"
    after = show.fit(f"  {what}  {_value(event)}", len(before) + len(did))
    return before + show.style(did, fg="red" if event.deleted else "green") + after
