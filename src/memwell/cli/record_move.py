"""`memwell record export` and `import`: records from and to files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, get_args

import click

from memwell.cli import show
from memwell.cli.options import Command, chosen, open_store
from memwell.errors import Invalid
from memwell.types import Trust

if TYPE_CHECKING:
    from memwell.importing import Imported

STDIO = "-"
MOST_REASONS = 20
_FORMATS = ("auto", "jsonl", "mcp", "markdown")


@click.command("export", cls=Command, example="memwell record export agent:support records.jsonl")
@click.argument("scope")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True), default=STDIO)
def export(scope: str, file: str) -> None:
    """Write the records of SCOPE as JSON lines, oldest first.

    They go to FILE, or to stdout, and are lines of a JSONL store. Deleted records are not among them.
    """
    from memwell.importing.jsonl import export as write

    if file == STDIO and show.on_terminal(sys.stdout):
        hint = "memwell record export SCOPE records.jsonl"
        raise Invalid("an export is for a file or a pipe, not for a terminal", hint=hint)
    with open_store(must_exist=True) as store:
        count = write(store.scope(scope).records.export(), file)
    exported = f"exported {show.counted(count, 'record')}"
    if file == STDIO:
        sys.stdout.flush()  # before it is said to be done
        show.say(exported)
    else:
        show.result({"exported": count, "file": file}, f"{exported} to {show.name(file)}")


@click.command("import", cls=Command, example="memwell record import agent:support notes --from markdown")
@click.argument("scope")
@click.argument("path", type=click.Path(allow_dash=True))
@click.option("--from", "format", type=click.Choice(_FORMATS), default="auto", help="What it is; auto looks.")
@click.option("--trust", type=click.Choice(get_args(Trust)), help="What its word counts.")
def import_(scope: str, path: str, format: str, trust: Trust | None) -> int:
    """Keep what is in PATH as records of SCOPE.

    jsonl: the lines of an export or of a JSONL store. mcp: the memory file of the MCP reference server. markdown: a
    folder of notes. What is here already is not written again. The exit code is 1 if something in PATH is bad.
    """
    from memwell.importing import load

    if path == STDIO and format == "auto":
        raise Invalid("what comes from stdin can't be looked at twice", hint="say what it is with --from")
    with open_store() as store, show.progress("import") as progress:
        done = load(store.scope(scope), path, format=format, trust=trust, progress=progress)
    _tell(done)
    return 1 if done.bad else 0


def _tell(done: Imported) -> None:
    thing = "file" if done.format == "markdown" else "line"
    left_out = f", left out {len(done.skipped):,}" if done.skipped else ""
    known = f", {done.repeated:,} were here already" if done.repeated else ""
    show.result(
        done,
        f"read {show.counted(done.read, thing)}: wrote {show.counted(done.written, 'record')}{known}{left_out}",
    )
    for one in done.skipped[:MOST_REASONS]:
        mark = show.style("bad:", fg="red") if one.bad else show.style("left out:", fg="cyan")
        show.say(f"{mark} {show.sentence(one.where)}: {show.sentence(one.reason)}")
    if len(done.skipped) > MOST_REASONS and not chosen("json"):
        show.say(f"and {len(done.skipped) - MOST_REASONS:,} more; --json lists them all")
