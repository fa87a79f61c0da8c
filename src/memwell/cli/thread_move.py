"""`memwell thread export` and `import`: conversations from and to files."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from memwell.cli import show, thread_show
from memwell.cli.options import Command, open_store
from memwell.errors import Invalid, MemwellError, TooLarge
from memwell.memory import Memory
from memwell.ops import NewMessage
from memwell.threads import Thread

STDIO = "-"
BATCH = 1000
MOST_BYTES = 1024 * 1024 * 1024
_FILE = click.Path(dir_okay=False, allow_dash=True)
_FORMATS = ("openai", "anthropic", "jsonl")


@click.command("export", cls=Command, example='memwell thread export agent:support "Release planning" talk.jsonl')
@click.argument("scope")
@click.argument("thread")
@click.argument("file", type=_FILE, default=STDIO)
@click.option("--format", type=click.Choice(_FORMATS), default="jsonl", help="What it becomes; jsonl unless told.")
@click.option("--raw", is_flag=True, help="See through summaries: the messages as they were.")
def export(scope: str, thread: str, file: str, format: str, raw: bool) -> None:
    """Write the messages of a thread to FILE, or to stdout.

    jsonl: one message a line, with all that is known of it. openai: a list of messages. anthropic: an object with
    system and messages. A summary stands in the place of what it covers.
    """
    from memwell.transcripts import dump
    from memwell.transcripts.jsonl import save

    if file == STDIO and show.on_terminal(sys.stdout):
        hint = "memwell thread export SCOPE THREAD talk.jsonl"
        raise Invalid("an export is for a file or a pipe, not for a terminal", hint=hint)
    with open_store(must_exist=True) as store:
        messages = thread_show.opened(store.scope(scope), thread).messages(limit=None, raw=raw)
    data = dump(messages, format)
    exported = f"exported {show.counted(len(messages), 'message')}"
    if file == STDIO:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()  # before it is said to be done
        show.say(exported)
    else:
        save(file, data)
        told = {"exported": len(messages), "file": file, "format": format}
        show.result(told, f"{exported} to {show.name(file)}")


@click.command("import", cls=Command, example='memwell thread import agent:support talk.jsonl --title "Old talk"')
@click.argument("scope")
@click.argument("file", type=_FILE)
@click.option("--format", type=click.Choice(("auto", *_FORMATS)), default="auto", help="What it is; auto looks.")
@click.option("--title", metavar="TEXT", help="The title; the file's name unless told.")
def import_(scope: str, file: str, format: str, title: str | None) -> None:
    """Begin a thread with the messages in FILE, and print its id.

    If one of them is bad, it is named, and nothing is written. '-' reads from stdin.
    """
    from memwell.transcripts import parse

    kind, messages = parse(_read(file), format)
    with open_store() as store:
        made = _begun(store.scope(scope), title or _title(file), messages)
    told = {"thread": made.id, "imported": len(messages), "format": kind}
    show.result(told, show.name(made.id))
    show.say(f"imported {show.counted(len(messages), 'message')} ({kind})")


def _read(file: str) -> bytes:
    from memwell.transcripts.jsonl import load

    data = sys.stdin.buffer.read(MOST_BYTES + 1) if file == STDIO else load(file)
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the file is larger than {MOST_BYTES} bytes", limit=MOST_BYTES, hint="import it in parts")
    return data


def _title(file: str) -> str | None:
    from memwell.importing.found import label

    return None if file == STDIO else label(Path(file).stem) or None


def _begun(memory: Memory, title: str | None, messages: list[NewMessage]) -> Thread:
    """The new thread; if a message is refused, there is none."""
    made = memory.threads.create(title)
    try:
        for start in range(0, len(messages), BATCH):
            made.extend(messages[start : start + BATCH])
    except (MemwellError, KeyboardInterrupt):
        made.delete()
        raise
    return made
