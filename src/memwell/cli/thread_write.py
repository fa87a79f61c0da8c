"""`memwell thread new`, `append`, `fork`, `rename`, `rm` and `compact`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memwell.cli import show, thread_show
from memwell.cli.options import Command, open_store
from memwell.cli.values import read_text, read_value
from memwell.engine.messages import ROLES
from memwell.errors import Invalid

if TYPE_CHECKING:
    from memwell.agent.upkeep import Report
    from memwell.memory import Memory

KEEP = 10  # of the newest messages, which a model does not sum up
metadata_option = click.option("--metadata", metavar="JSON", help="An object of your own.")


@click.command("new", cls=Command, example='memwell thread new agent:support "Tea time"')
@click.argument("scope")
@click.argument("title", required=False)
@click.option("--id", metavar="ID", help="Its id; made up unless told.")
@metadata_option
def new(scope: str, title: str | None, id: str | None, metadata: str | None) -> None:
    """Begin a thread, and print its id."""
    more = None if metadata is None else read_value(metadata)
    with open_store() as store:
        made = store.scope(scope).threads.create(title, id=id, metadata=more)
    show.result(made.info, show.name(made.id))


@click.command(
    "append", cls=Command, example='memwell thread append agent:support "Release planning" user "On Friday?"'
)
@click.argument("scope")
@click.argument("thread")
@click.argument("role", type=click.Choice(ROLES))
@click.argument("content")
@click.option("--id", metavar="ID", help="Its id: a second append of it changes nothing.")
@click.option("--name", metavar="NAME", help="Who of this role it is.")
@click.option("--tool-call-id", metavar="ID", help="The call that a tool answers.")
@metadata_option
@click.option("--if-last", metavar="SEQ", type=int, help="Only if this is the last message; 0: none.")
def append(
    scope: str, thread: str, role: str, content: str, id: str | None, name: str | None, tool_call_id: str | None,
    metadata: str | None, if_last: int | None,
) -> None:  # fmt: skip
    """Put a message at the end of a thread, and print its number.

    ROLE is system, developer, user, assistant or tool. '-' reads the content from stdin, '@FILE' from a file.
    """
    text, more = read_text(content), None if metadata is None else read_value(metadata)
    with open_store() as store:
        found = thread_show.opened(store.scope(scope), thread)
        made = found.append(
            role, text, id=id, name=name, tool_call_id=tool_call_id, metadata=more, if_last=if_last
        )  # fmt: skip
    show.result(made, str(made.seq))


@click.command("fork", cls=Command, example='memwell thread fork agent:support "Release planning" --at 2')
@click.argument("scope")
@click.argument("thread")
@click.option("--at", metavar="SEQ", type=int, help="The last message that it begins with; all unless told.")
@click.option("--title", metavar="TEXT", help="Its title; that of the thread unless told.")
def fork(scope: str, thread: str, at: int | None, title: str | None) -> None:
    """Begin a thread with the messages of another, and print its id.

    What is appended to one of them does not appear in the other.
    """
    with open_store() as store:
        made = thread_show.opened(store.scope(scope), thread).fork(at, title=title)
    show.result(made.info, show.name(made.id))


@click.command("rename", cls=Command, example='memwell thread rename agent:support "Release planning" "Release 2"')
@click.argument("scope")
@click.argument("thread")
@click.argument("title")
def rename(scope: str, thread: str, title: str) -> None:
    """Give a thread another title."""
    with open_store() as store:
        info = thread_show.opened(store.scope(scope), thread).rename(title)
    show.result(info, f"renamed {show.name(info.id)}, version {info.version}")


@click.command("rm", cls=Command, example='memwell thread rm agent:support "Release planning" --yes')
@click.argument("scope")
@click.argument("thread")
@click.option("--yes", is_flag=True, help="Yes, for good.")
def rm(scope: str, thread: str, yes: bool) -> None:
    """Remove a thread with all its messages, for good."""
    if not yes:
        raise Invalid("a thread that is removed can't be brought back", hint="add --yes if that is meant")
    with open_store() as store:
        found = thread_show.opened(store.scope(scope), thread)
        count = found.delete()
    told = {"id": found.id, "removed": count}
    show.result(told, f"removed {show.name(found.id)} with {show.counted(count, 'message')}")


@click.command(
    "compact", cls=Command, example='memwell thread compact agent:support "Release planning" --max-tokens 4000'
)
@click.argument("scope")
@click.argument("thread")
@click.option("--max-tokens", metavar="N", type=int, required=True, help="What the thread may show, about.")
@click.option("--keep", metavar="N", type=int, help="With --model: the newest so many stay; 10 unless told.")
@click.option("--model", metavar="SPEC", help="Who sums up: openai:MODEL, or openai:MODEL@BASE_URL.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def compact(
    scope: str, thread: str, max_tokens: int, keep: int | None, model: str | None, dry_run: bool
) -> int:  # fmt: skip
    """Make a long thread show less.

    Without --model the oldest messages are left out; with it a model sums them up. Nothing is lost: 'thread show --raw'
    shows the messages as they were. The exit code is 1 if it can't be done. A dry run asks the model too.
    """
    if keep is not None and model is None:
        raise Invalid("--keep goes with --model", hint="without a model, as little as possible is left out")
    with open_store() as store:
        memory = store.scope(scope)
        report = _compacted(memory, thread_show.opened(memory, thread).id, max_tokens, keep, model, dry_run)
    show.result(report, _told(report))
    return 1 if any(one.skipped and not one.covered for one in report.threads) else 0


def _compacted(
    memory: Memory, thread: str, max_tokens: int, keep: int | None, model: str | None, dry_run: bool
) -> Report:
    from memwell.agent.processors import TokenLimiter
    from memwell.agent.summarizer import Summarizer

    if model is None:
        return TokenLimiter(max_tokens).process(memory, thread, dry_run=dry_run)
    kept = KEEP if keep is None else keep
    return Summarizer(model, max_tokens=max_tokens, keep=kept).process(memory, thread, dry_run=dry_run)


def _told(report: Report) -> list[str]:
    lines = []
    would = "would cover" if report.dry_run else "covered"
    for one in report.threads:
        lines += [
            f"{would} {each.first}–{each.last}: {show.fit(show.sentence(each.content), 24)}"  # noqa: RUF001 - a range
            for each in one.covered
        ]
        lines.append(f"{one.before:,} tokens before, {one.after:,} after")
        if one.skipped:
            show.say(show.sentence(one.skipped))
    return lines
