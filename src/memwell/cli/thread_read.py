"""`memwell thread list`, `show` and `search`."""

from __future__ import annotations

from shlex import quote

import click

from memwell.cli import show, thread_show
from memwell.cli.options import Command, open_store
from memwell.engine.messages import ROLES


@click.command("list", cls=Command, example="memwell thread list agent:support --limit 20")
@click.argument("scope")
@click.option("--limit", metavar="N", type=int, default=50, help="At most this many; 50 unless told.")
@click.option("--cursor", metavar="THREAD", help="Only older than this one: the next page.")
def list_(scope: str, limit: int, cursor: str | None) -> None:
    """List the threads of SCOPE, newest first.

    LAST is the number of the last message of a thread.
    """
    with open_store() as store:
        memory = store.scope(scope)
        after = None if cursor is None else thread_show.opened(memory, cursor).id
        infos = memory.threads.list(limit=limit, cursor=after)
    show.result(infos, thread_show.catalogue(infos) if infos else [])
    if len(infos) == limit:
        show.say(f"there may be more: --cursor {quote(show.name(infos[-1].id))}")


@click.command("show", cls=Command, example='memwell thread show agent:support "Release planning" --limit 20')
@click.argument("scope")
@click.argument("thread")
@click.option("--limit", metavar="N", type=int, default=50, help="The newest so many; 50 unless told.")
@click.option("--before", metavar="SEQ", type=int, help="Only messages before this number: the page before.")
@click.option("--raw", is_flag=True, help="See through summaries: the messages as they were.")
@click.option("--full", is_flag=True, help="Show results and arguments of tools as a whole.")
def show_(scope: str, thread: str, limit: int, before: int | None, raw: bool, full: bool) -> None:
    """Show the newest messages of a thread, oldest first.

    A summary stands in the place of the messages that it covers. Each message has its number, its role and its time.
    """
    with open_store() as store:
        found = thread_show.opened(store.scope(scope), thread)
        messages = found.messages(limit=limit, before=before, raw=raw)
    told = {"thread": found.info, "messages": messages}
    show.result(told, thread_show.conversation(found.info, messages, full))
    if not messages:
        show.say("no messages")
        return
    first = (messages[0].covers or (messages[0].seq,))[0]
    if len(messages) == limit and first > 1:
        show.say(f"there may be older ones: --before {first}")


@click.command("search", cls=Command, example='memwell thread search agent:support "when do we ship" --role user')
@click.argument("scope")
@click.argument("query")
@click.option("--thread", metavar="THREAD", help="Only in this one.")
@click.option("--role", "roles", type=click.Choice(ROLES), multiple=True, help="Only of this role; may be repeated.")
@click.option("--limit", metavar="N", type=int, default=10, help="At most this many; 10 unless told.")
def search(scope: str, query: str, thread: str | None, roles: tuple[str, ...], limit: int) -> None:
    """Find the messages of SCOPE that fit QUERY best.

    Each hit stands between the message before it and the one after it.
    """
    with open_store() as store:
        memory = store.scope(scope)
        only = None if thread is None else thread_show.opened(memory, thread).id
        hits = memory.threads.search(query, thread=only, roles=list(roles) or None, limit=limit)
        held = {hit.message.thread: memory.threads.get(hit.message.thread) for hit in hits}
    infos = {one.id: one.info for one in held.values() if one is not None}
    there = [hit for hit in hits if hit.message.thread in infos]  # and not removed since
    fit = [hit for hit in there if hit.matches] or there
    show.result(hits, thread_show.found(fit, infos))
    if not hits:
        show.say("nothing found")
    elif len(fit) < len(there):
        show.say(f"{len(there) - len(fit):,} more stand near these; --json lists them")
