"""What every command shares: the options it takes before or after its name, help with examples, the store to open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from memwell import Store

_EMBEDDER = "Find by meaning too: local, or openai:MODEL."
_NUMBER = re.compile(r"-\d")


def chosen(name: str) -> Any:
    """What an option of every command was given, or None."""
    return click.get_current_context().meta.get(f"memwell.{name}")


def _remember(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value == "":
        raise click.BadParameter("it is empty", ctx, param)
    if value:
        ctx.meta[f"memwell.{param.name}"] = value


class Everywhere(click.Option):
    """An option of every command; given twice, the one nearer to the end counts."""

    def __init__(self, name: str, **attrs: Any) -> None:
        super().__init__([name], expose_value=False, callback=_remember, **attrs)


COMMON = (
    Everywhere("--store", metavar="URL", type=click.Path(), help="The store: a path, or :memory:."),
    Everywhere("--json", is_flag=True, is_eager=True, help="Print the result as JSON, and errors too."),
    Everywhere("--by", metavar="NAME", help="Who writes; your login name unless told."),
    Everywhere(
        "--durability",
        type=click.Choice(["full", "fast"]),
        help="full: a write survives a power cut (default); fast: it survives a crash.",
    ),
)


embedder_option = click.option("--embedder", metavar="SPEC", expose_value=False, callback=_remember, help=_EMBEDDER)


class Framed(click.Command):
    """A command with the options of every command and with an example."""

    def __init__(self, *args: Any, example: str = "", **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        self.example = example
        self.params.extend(COMMON)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [param for param in self.get_params(ctx) if not isinstance(param, Everywhere)]
        for title, params in (("Options", own), ("Options of every command", COMMON)):
            records = [param.get_help_record(ctx) for param in params if isinstance(param, click.Option)]
            with formatter.section(title):
                formatter.write_dl([record for record in records if record])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                formatter.write("".join(f"  {line}\n" for line in self.example.splitlines()))


class Command(Framed):
    """A command that does something."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A negative number is a value; only where one stands are unknown options let through, so check them here."""
        if any(_NUMBER.match(arg) for arg in args):
            ctx.ignore_unknown_options = True
            self._refuse_unknown(ctx, args[: args.index("--")] if "--" in args else args)
        return super().parse_args(ctx, args)

    def _refuse_unknown(self, ctx: click.Context, args: list[str]) -> None:
        known = {name for param in self.get_params(ctx) for name in param.opts}
        for arg in args:
            option = arg.partition("=")[0]
            if len(arg) > 1 and arg.startswith("-") and not _NUMBER.match(arg) and option not in known:
                raise click.NoSuchOption(option, possibilities=sorted(known), ctx=ctx)


class Group(Framed, click.Group):
    """A command that has commands, in the order in which they were written down."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        Framed.format_options(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args[0] not in names and not ctx.resilient_parsing:
            raise click.UsageError(_no_command(args[0], names), ctx)
        return super().resolve_command(ctx, args)


def _no_command(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, names, n=1)
    meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(names)}"
    return f"there is no command {name!r}; {meant}"


def store_url() -> str:
    """The store that a command is about."""
    from memwell.config import default_url

    named: str | None = chosen("store")
    return default_url() if named is None else named


def store_file(url: str) -> Path | None:
    """The file of a store, or None where a store is not a file."""
    from pathlib import Path

    from memwell.store import kind_of

    kind, path = kind_of(url)
    return Path(path).expanduser().absolute() if kind == "sqlite" else None


def open_store(*, must_exist: bool = False, embedder: bool = False, hard_delete: bool = False) -> Store:
    """Open the store for a person; with `must_exist`, a mistyped path is an error and not a new, empty store.

    Only commands that search load an `embedder`; only one that was told twice may delete for good.
    """
    import memwell
    from memwell.config import Options, default_embedder

    url = store_url()
    file = store_file(url)
    if must_exist and file is not None and not file.exists():
        raise memwell.NotFound(f"there is no store at {file}", hint="'memwell path' shows which store is used, and why")
    options: Options = {"allow_hard_delete": True} if hard_delete else {}
    if chosen("durability"):
        options["durability"] = chosen("durability")
    finder = (chosen("embedder") or default_embedder()) if embedder else None
    return memwell.open(url, by=chosen("by"), trust="human", embedder=finder, **options)
