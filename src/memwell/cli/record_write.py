"""`memwell record add`, `edit`, `supersede`, `rm`, `restore` and `forget`."""

from __future__ import annotations

from collections.abc import Callable
from shlex import quote
from typing import Any, TypeVar

import click

from memwell.cli import cards, show
from memwell.cli.options import Command, open_store
from memwell.cli.values import read_text, read_time, read_value
from memwell.errors import Invalid
from memwell.types import Record

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
CLEARABLE = ("title", "tags", "metadata", "confidence", "valid_from", "valid_to")

if_version_option = click.option("--if-version", metavar="N", type=int, help="Only if this is its version.")
_SAID = (
    click.option("--kind", metavar="KIND", help="episodic, procedural, profile, semantic, or any name."),
    click.option("--title", metavar="TEXT", help="A line that says what it is about."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be repeated."),
    click.option("--confidence", metavar="0..1", type=float, help="How sure it is."),
    click.option("--ttl", metavar="SECS", type=float, help="Expire after this many seconds."),
    click.option("--valid-from", metavar="TIME", help="True from then on, e.g. 2031-01-31."),
    click.option("--valid-to", metavar="TIME", help="True until then."),
    click.option("--metadata", metavar="JSON", help="An object of your own."),
)
_TOLD = (
    click.option("--source", metavar="TEXT", help="Where it comes from; 'record forget' takes it back."),
    click.option("--thread", metavar="ID", help="The conversation it comes from."),
    click.option("--pending", is_flag=True, help="Hide it until somebody else approves it."),
)
_pin = click.option("--pin", "pinned", is_flag=True, help="Put it before others.")


def _with(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _given(**fields: Any) -> dict[str, Any]:
    """What was said on the command line, as the library takes it; what was not said is left out."""
    given = {name: value for name, value in fields.items() if value is not None and value is not False and value != ()}
    for name in ("valid_from", "valid_to"):
        if name in given:
            given[name] = read_time(given[name])
    if "metadata" in given:
        given["metadata"] = read_value(given["metadata"])
    if "tags" in given:
        given["tags"] = list(given["tags"])
    return given


def _kept(record: Record) -> None:
    """The id alone is the result, so that a script can go on with it."""
    show.result(record, show.name(record.id))
    if record.status == "pending":
        show.say(f"it waits for a review: 'memwell approvals list {quote(show.name(record.scope))}'")
    elif record.reinforced:
        show.say(f"it was known, and is now confirmed {show.counted(record.reinforced, 'time')}")
    if record.similar:
        show.say(f"nearly the same: {', '.join(map(show.name, record.similar))}")


def _changed(record: Record, what: str) -> None:
    show.result(record, f"{what} {show.name(record.id)}, version {record.version}")


@click.command("add", cls=Command, example='memwell record add agent:support "Prefers short reviews" --tag style')
@click.argument("scope")
@click.argument("content")
@_with(_SAID)
@_pin
@_with(_TOLD)
def add(scope: str, content: str, **fields: Any) -> None:
    """Remember CONTENT, and print the id of the record.

    '-' reads the content from stdin, '@FILE' from a file. One that says exactly the same is confirmed instead.
    """
    text, more = read_text(content), _given(**fields)
    with open_store() as store:
        _kept(store.scope(scope).remember(text, **more))


@click.command("edit", cls=Command, example="memwell record edit agent:support 01a1e32b9e42 --pin --tag style")
@click.argument("scope")
@click.argument("id")
@click.option("--content", metavar="TEXT", help="What it says; - from stdin, @FILE from a file.")
@_with(_SAID)
@click.option("--pin/--unpin", "pinned", default=None, help="Put it before others, or no more.")
@click.option("--clear", metavar="FIELD", multiple=True, type=click.Choice(CLEARABLE), help="Empty this field.")
@if_version_option
def edit(
    scope: str, id: str, content: str | None, pinned: bool | None, clear: tuple[str, ...], if_version: int | None,
    **fields: Any,
) -> None:  # fmt: skip
    """Change fields of a record, as its next version.

    Tags and metadata are replaced as a whole. FIELD is title, tags, metadata, confidence, valid_from or valid_to.
    """
    empty: dict[str, Any] = {name: {"tags": [], "metadata": {}}.get(name) for name in clear}
    changes = {**empty, **_given(**fields)}
    if pinned is not None:
        changes["pinned"] = pinned
    if content is not None:
        changes["content"] = read_text(content)
    with open_store() as store:
        memory = store.scope(scope)
        _changed(memory.records.update(cards.resolved(memory, id), if_version=if_version, **changes), "changed")


@click.command(
    "supersede", cls=Command, example='memwell record supersede agent:support 01a1e32b9e42 "Prefers long reviews"'
)
@click.argument("scope")
@click.argument("id")
@click.argument("content")
@_with(_SAID)
@_pin
@_with(_TOLD)
@if_version_option
def supersede(scope: str, id: str, content: str, if_version: int | None, **fields: Any) -> None:
    """Put CONTENT in the place of a record, which stays readable.

    The new record takes over kind, title, tags and pin of the old one unless told otherwise. Its id is printed.
    """
    text, more = read_text(content), _given(**fields)
    with open_store() as store:
        memory = store.scope(scope)
        key = cards.resolved(memory, id)
        old = memory.records.read(key)
        taken = {} if old is None else {"kind": old.kind, "title": old.title, "tags": old.tags, "pinned": old.pinned}
        _kept(memory.records.supersede(key, text, if_version=if_version, **{**taken, **more}))


@click.command("rm", cls=Command, example="memwell record rm agent:support 01a1e32b9e42 --reason outdated")
@click.argument("scope")
@click.argument("id")
@click.option("--reason", metavar="TEXT", help="Why; it is kept with the record.")
@click.option("--hard", is_flag=True, help="Remove it for good, with its content in the history.")
@click.option("--yes", is_flag=True, help="Yes, for good.")
@if_version_option
def rm(scope: str, id: str, reason: str | None, hard: bool, yes: bool, if_version: int | None) -> None:
    """Delete a record; 'record restore' brings it back.

    With --hard and --yes nothing brings it back.
    """
    if hard and not yes:
        raise Invalid("--hard removes the record for good", hint="add --yes if that is meant")
    if hard and (reason is not None or if_version is not None):
        raise Invalid("--hard takes neither --reason nor --if-version", hint="there is nothing left to keep them with")
    with open_store(hard_delete=hard) as store:
        memory = store.scope(scope)
        key = cards.resolved(memory, id)
        if hard:
            memory.records.hard_delete(key)
            show.result({"id": key, "removed": True}, f"removed {show.name(key)} for good")
        else:
            _changed(memory.records.delete(key, reason=reason, if_version=if_version), "deleted")


@click.command("restore", cls=Command, example="memwell record restore agent:support 01a1e3301c77")
@click.argument("scope")
@click.argument("id")
def restore(scope: str, id: str) -> None:
    """Bring a deleted record back."""
    with open_store() as store:
        memory = store.scope(scope)
        _changed(memory.records.restore(cards.resolved(memory, id)), "restored")


@click.command("forget", cls=Command, example="memwell record forget agent:support file:notes/tea.md --yes")
@click.argument("scope")
@click.argument("source")
@click.option("--yes", is_flag=True, help="Yes, for good.")
def forget(scope: str, source: str, yes: bool) -> None:
    """Remove all that came from SOURCE for good.

    What was derived from it goes too; a record that has other sources as well stays, without this one.
    """
    if not yes:
        raise Invalid("what is forgotten can't be brought back", hint="add --yes if that is meant")
    with open_store() as store:
        receipt = store.scope(scope).records.forget(source)
    removed = show.counted(receipt.records, "record")
    kept = f"; {receipt.kept:,} have other sources too and stay" if receipt.kept else ""
    show.result(receipt, f"forgot {removed}, and {receipt.derived:,} derived from them{kept}")
