"""`memwell export`, `import`, `backup` and `check`: what reads or copies all of a store."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from memwell.cli import show
from memwell.cli.options import Command, open_store
from memwell.errors import Invalid

STDIO = "-"
_FILE = click.Path(dir_okay=False, allow_dash=True)


@click.command(cls=Command, example="memwell export memory.ndjson --scope agent:support")
@click.argument("file", type=_FILE, default=STDIO)
@click.option("--scope", metavar="SCOPE", help="Only the entries of this scope.")
def export(file: str, scope: str | None) -> None:
    """Write the live entries as JSON lines.

    They go to FILE, or to stdout. The last line has a checksum, which an import verifies before it writes anything.
    """
    if file == STDIO and show.on_terminal(sys.stdout):
        raise Invalid("an export is for a file or a pipe, not for a terminal", hint="memwell export memory.ndjson")
    with open_store(must_exist=True) as store, show.progress("export") as progress:
        count = store.export(file, scope=scope, progress=progress)
    if file == STDIO:
        sys.stdout.flush()  # before it is said to be done
        show.say(f"exported {show.counted(count, 'entry')}")
    else:
        show.result({"exported": count, "file": file}, f"exported {show.counted(count, 'entry')} to {show.name(file)}")


@click.command("import", cls=Command, example="memwell import memory.ndjson")
@click.argument("file", type=_FILE)
@click.option("--replace", is_flag=True, help="Overwrite keys that are taken; else they keep their value.")
def import_(file: str, replace: bool) -> None:
    """Read an export back.

    FILE is an export, '-' reads it from stdin. A damaged or cut one is refused before anything is written.
    """
    with open_store() as store, show.progress("import") as progress:
        loaded = store.load(file, replace=replace, progress=progress)
    show.result(loaded, f"imported {show.counted(loaded.written, 'entry')}, kept {loaded.kept:,}")
    if loaded.kept and not replace:
        show.say(f"{loaded.kept:,} were left as they are, because the key is taken; --replace overwrites")


@click.command(cls=Command, example="memwell backup memory-copy.db")
@click.argument("file", type=click.Path(dir_okay=False))
def backup(file: str) -> None:
    """Copy the store to a new file while it is in use.

    FILE is then a store of its own: open it with --store. A file that exists is never overwritten.
    """
    target = Path(file).expanduser().absolute()
    with open_store(must_exist=True) as store, show.progress("backup") as progress:
        count = store.backup(file, progress)
    show.result({"file": str(target), "bytes": count}, f"copied {show.size(count)} to {show.name(str(target))}")


@click.command(cls=Command, example="memwell check")
def check() -> int:
    """Verify the file and every stored hash.

    What is damaged is named, one a line, and the exit code is 1. Nothing is changed or deleted.
    """
    with open_store(must_exist=True) as store, show.progress("check") as progress:
        health = store.check(progress)
    named = [show.sentence(f"{damage.where}: {damage.problem}") for damage in health.damage]
    found = [f"{show.style('damaged:', fg='red')} {name}" for name in named]
    verdict = f"{show.counted(len(found), 'damaged thing')}" if found else "no damage"
    show.result(health, [*found, f"checked the file and {show.counted(health.checked, 'stored row')}: {verdict}"])
    if found:
        show.say(
            f"{show.style('hint:', fg='cyan')} keep this file as it is, and restore a backup or an export beside it"
        )
    return 1 if found else 0
