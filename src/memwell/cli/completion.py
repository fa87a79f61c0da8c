"""`memwell completion`: the script that a shell loads to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from memwell.cli import show
from memwell.cli.options import Command

VARIABLE = "_MEMWELL_COMPLETE"
_HELP = """\b
bash  eval "$(memwell completion bash)" in ~/.bashrc
zsh   eval "$(memwell completion zsh)" in ~/.zshrc
fish  memwell completion fish > ~/.config/fish/completions/memwell.fish
"""


@click.command(cls=Command, epilog=_HELP, example="memwell completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in your shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "memwell", VARIABLE).source()
    show.result({"shell": shell, "script": script}, script)
