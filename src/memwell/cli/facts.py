"""`memwell facts`: the facts of any scope; what its commands have in common with those of `memwell memory`."""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote
from typing import Any, TypeVar

import click

from memwell.cli import show
from memwell.cli.options import Group, open_store
from memwell.cli.values import read_moment, read_value
from memwell.errors import NotFound
from memwell.memory import Memory

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

ttl_option = click.option("--ttl", metavar="SECS", type=float, help="Expire after this many seconds.")
if_version_option = click.option("--if-version", metavar="N", type=int, help="Only if this is its version; 0: absent.")
at_option = click.option(
    "--at", metavar="REV_OR_TIME", help="As it was: a rev, or a time such as 2031-01-31T12:00:00Z."
)


def listing_options(command: Decorated) -> Decorated:
    """Which keys, and how many."""
    for option in (
        click.option("--after", metavar="KEY", help="Only keys after this one: the next page."),
        click.option("--limit", metavar="N", type=int, help="At most this many."),
        click.option("--pattern", metavar="GLOB", help="Keys that fit: * within a /, ** across, ? one, [ab] a set."),
        click.option("--prefix", metavar="TEXT", help="Keys that start with exactly this."),
    ):
        command = option(command)
    return command


@click.group(cls=Group, example="memwell facts list agent:support/user:42")
def facts() -> None:
    """Inspect and change the facts of any scope.

    A SCOPE is kind:id, or several joined by '/', or global, which all share.
    """


@facts.command("list", example="memwell facts list agent:support/user:42 --prefix pref/")
@click.argument("scope")
@listing_options
def list_(scope: str, **which: Any) -> None:
    """List the facts of SCOPE with their values."""
    with open_store() as store:
        entries = store.scope(scope).entries(**which)
    rows = [
        (show.name(e.key), str(e.version), show.when(e.updated_at), show.when(e.expires_at), show.to_text(e.value))
        for e in entries
    ]
    show.result(entries, show.table(("KEY", "VERSION", "UPDATED", "EXPIRES", "VALUE"), rows) if rows else [])


@facts.command("get", example="memwell facts get global motd")
@click.argument("scope")
@click.argument("key")
@at_option
def get(scope: str, key: str, at: str | None) -> None:
    """Print the value of KEY; exit 3 if there is none."""
    with open_store() as store:
        print_value(store.scope(scope), key, at, f"facts list {quote(scope)}")


@facts.command("set", example="""memwell facts set global motd '"Be kind"' --ttl 3600""")
@click.argument("scope")
@click.argument("key")
@click.argument("value")
@ttl_option
@if_version_option
def set_(scope: str, key: str, value: str, ttl: float | None, if_version: int | None) -> None:
    """Write VALUE, which is JSON, under KEY."""
    parsed = read_value(value)
    with open_store() as store:
        show.written(store.scope(scope).set(key, parsed, ttl=ttl, if_version=if_version))


@facts.command("rm", example="memwell facts rm global motd")
@click.argument("scope")
@click.argument("key")
@if_version_option
def rm(scope: str, key: str, if_version: int | None) -> None:
    """Take KEY away."""
    with open_store() as store:
        remove(store.scope(scope), key, if_version)


@facts.command("scopes", example="memwell facts scopes")
@click.option("--limit", metavar="N", type=int, help="At most this many.")
@click.option("--after", metavar="SCOPE", help="Only scopes after this one: the next page.")
def scopes(limit: int | None, after: str | None) -> None:
    """List the scopes that hold anything."""
    with open_store() as store:
        names = store.scopes(limit=limit, after=after)
    show.result(names, map(show.name, names))


def print_value(memory: Memory, key: str, at: str | None, look: str) -> None:
    """The value, or with --json the whole entry; `look` is the command that shows which keys there are."""
    entry = memory.entry(key, at=read_moment(at))
    if entry is None:
        then = f" at {at}" if at else ""
        raise NotFound(f"{memory.name} has no {key!r}{then}", hint=f"'memwell {look}' shows what it has")
    show.result(entry, show.to_text(entry.value))


def remove(memory: Memory, key: str, if_version: int | None) -> None:
    """Take a key away; that it was not there is no error."""
    deleted = memory.delete(key, if_version=if_version)
    show.result({"deleted": deleted}, "deleted" if deleted else "absent")
