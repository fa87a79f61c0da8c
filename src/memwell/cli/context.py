"""`memwell context`: what a prompt should know, within so many tokens."""

from __future__ import annotations

import click

from memwell.cli import show
from memwell.cli.options import Command, embedder_option, open_store
from memwell.cli.record_read import inherit_option, kind_option, tag_option


@click.command("context", cls=Command, example='memwell context agent:support "review this" --max-tokens 500')
@click.argument("scope")
@click.argument("query")
@click.option("--max-tokens", metavar="N", type=int, default=1000, help="At most about so many; 1000 unless told.")
@kind_option
@tag_option
@inherit_option
@embedder_option
def context(
    scope: str, query: str, max_tokens: int, kinds: tuple[str, ...], tags: tuple[str, ...], inherit: bool
) -> None:
    """Print what fits QUERY as a block for a prompt.

    One line a record, fenced, so that nothing in a record can pose as an instruction.
    """
    only = {"kinds": list(kinds) or None, "tags": list(tags) or None}
    with open_store(embedder=True) as store:
        packed = store.scope(scope).records.context(query, max_tokens, inherit=inherit, **only)
    show.result(packed, [show.escape(line) for line in packed.text.splitlines()])
    left = f", {packed.left_out:,} had no room" if packed.left_out else ""
    show.say(f"{show.counted(len(packed.records), 'record')}, about {show.counted(packed.tokens, 'token')}{left}")
