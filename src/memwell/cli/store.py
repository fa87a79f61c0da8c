"""`memwell stats`, `sweep`, `embed`, `reindex` and `path`: the store as a whole."""

from __future__ import annotations

import click
import msgspec

from memwell.cli import show
from memwell.cli.options import Command, embedder_option, open_store, store_file, store_url


@click.command(cls=Command, example="memwell stats")
def stats() -> None:
    """Show what the store holds."""
    with open_store() as store:
        held = store.stats()
    shown = msgspec.structs.asdict(held)
    width = max(map(len, shown))
    show.result(held, [f"{name:<{width}}  {_amount(name, value)}" for name, value in shown.items()])


def _amount(name: str, value: object) -> str:
    if not isinstance(value, int):
        return str(value)
    return show.size(value) if name == "bytes" else f"{value:,}"


@click.command(cls=Command, example="memwell sweep")
def sweep() -> None:
    """Free what has expired now, rather than soon.

    What has expired is never shown, swept or not; sweeping only frees its space, and the store does it by itself.
    """
    with open_store() as store:
        freed = store.sweep()
    show.result({"freed": freed}, f"freed {show.counted(freed, 'entry')}")


@click.command(cls=Command, example="memwell embed --embedder local")
@embedder_option
def embed() -> None:
    """Make the vectors that search by meaning still lacks.

    A store that is open with an embedder does this by itself, in the background; this command waits until it is done.
    """
    with open_store(must_exist=True, embedder=True) as store, show.progress("embed") as progress:
        made = store.embed(progress)
    show.result({"made": made}, "every record has its vector now")


@click.command(cls=Command, example="memwell reindex")
def reindex() -> None:
    """Make the search index anew from what is stored."""
    with open_store(must_exist=True) as store:
        count = store.reindex()
    show.result({"records": count}, f"indexed {show.counted(count, 'record')}")


@click.command(cls=Command, example="memwell path")
def path() -> None:
    """Print where the store is."""
    url = store_url()
    file = store_file(url)
    show.result(
        {"store": url, "path": str(file or url), "exists": file is not None and file.exists()},
        show.name(str(file or url)),
    )
