"""The command line `memwell`. Only click is imported here: a command's module is loaded when the command is used."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from memwell import __version__
from memwell.cli.options import Group, chosen

SECTIONS = {
    "Memory": {
        "memory": ("memory:memory", "Read, write and watch the memory of one agent."),
        "facts": ("facts:facts", "Inspect and change the facts of any scope."),
        "record": ("record:record", "Remember, search and trace records of any scope."),
        "thread": ("thread:thread", "Keep, read, search and compact conversations of any scope."),
        "context": ("context:context", "Print what fits QUERY as a block for a prompt."),
        "approvals": ("approvals:approvals", "Review the records that wait for approval."),
    },
    "The store": {
        "stats": ("store:stats", "Show what the store holds."),
        "sweep": ("store:sweep", "Free what has expired now, rather than soon."),
        "embed": ("store:embed", "Make the vectors that search by meaning still lacks."),
        "reindex": ("store:reindex", "Make the search index anew from what is stored."),
        "path": ("store:path", "Print where the store is."),
        "doctor": ("doctor:doctor", "Look the store over, and say what to do about what is wrong."),
        "check": ("transfer:check", "Verify the file and every stored hash."),
    },
    "Copies": {
        "export": ("transfer:export", "Write the live entries as JSON lines."),
        "import": ("transfer:import_", "Read an export back."),
        "backup": ("transfer:backup", "Copy the store to a new file while it is in use."),
    },
    "Getting started": {
        "demo": ("demo:demo", "Take a tour on a scratch store."),
        "completion": ("completion:completion", "Print the script that completes commands in your shell."),
    },
}
COMMANDS = {name: row for section in SECTIONS.values() for name, row in section.items()}


class Root(Group):
    """The command `memwell` itself."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"memwell.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<10}", about) for name, (_, about) in section.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - the exit code is always ours to choose
        **extra: Any,
    ) -> Any:
        """Run, and exit with the code that the outcome has; nobody sees a traceback."""
        words = list(sys.argv[1:] if args is None else args)
        _write_everything()
        try:
            _refuse_undecodable(words)
            code = super().main(words, prog_name or "memwell", complete_var, standalone_mode=False, **extra)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last place that can
            from memwell.cli.failure import report

            code = report(error, as_json="--json" in words)
        sys.exit(code or 0)


def _refuse_undecodable(words: list[str]) -> None:
    """Python smuggles bytes that are not UTF-8 through as lone surrogates, which nothing can store."""
    for number, word in enumerate(words, 1):
        if not word.isascii() and any("\ud800" <= char <= "\udfff" for char in word):
            raise click.UsageError(f"argument {number} is not UTF-8 text: {word!r}")


def _write_everything() -> None:
    """On a terminal that knows fewer characters than a memory may hold, the others appear as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="memwell.escape")  # type: ignore[union-attr]


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)), error.end


codecs.register_error("memwell.escape", _escape)


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(f'{{"version": "{__version__}"}}' if chosen("json") else f"memwell {__version__}")
        ctx.exit()


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, callback=_version, help="Print the version.")
def cli() -> None:
    """One memory for every agent you run.

    The store is --store, else MEMWELL_STORE, else a file in your data folder ('memwell path' prints it).
    Results go to stdout, words to stderr. A VALUE is JSON, '-' reads it from stdin, '@FILE' from a file.
    """


def main() -> None:
    """The entry point."""
    cli()
