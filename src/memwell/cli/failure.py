"""How a command ends when it could not do what was asked: words or JSON on stderr, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from memwell.cli.show import sentence, style, to_text
from memwell.errors import Conflict, MemwellError
from memwell.types import Entry, Overlay, ThreadInfo

INTERRUPTED = 130


def report(error: BaseException, as_json: bool) -> int:
    """Say what went wrong and what to do next; the exit code."""
    told, code = _told(error)
    if os.environ.get("MEMWELL_DEBUG"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    for line in [to_text({"error": told})] if as_json else _lines(told, error):
        click.echo(line, err=True)
    return code


def _told(error: BaseException) -> tuple[dict[str, Any], int]:
    match error:
        case MemwellError():
            return {"code": error.code, **vars(error), "retryable": error.retryable}, error.exit_code
        case click.Abort() | KeyboardInterrupt():
            return {"code": "interrupted", "message": "interrupted", "hint": None}, INTERRUPTED
        case click.ClickException():
            return {"code": "usage", "message": _sentence(error), "hint": _usage(error)}, error.exit_code
        case OSError():
            _give_up_stdout()
            return {"code": "failure", "message": str(error), "hint": "make room, or write somewhere else"}, 1
        case _:
            message = f"this is a bug in Memwell: {type(error).__name__}: {error}"
            return {"code": "bug", "message": message, "hint": "MEMWELL_DEBUG=1 shows the trace; please report it"}, 1


def _sentence(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    return message[:1].lower() + message[1:]


def _usage(error: click.ClickException) -> str | None:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return None
    path, pieces = error.ctx.command_path, error.ctx.command.collect_usage_pieces(error.ctx)
    return f"{' '.join([path, *pieces])}; '{path} --help' tells more"


def _give_up_stdout() -> None:
    """What could not be written would fail once more when Python flushes at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _lines(told: dict[str, Any], error: BaseException) -> list[str]:
    lines = [f"{style('error:', fg='red', bold=True)} {sentence(told['message'])}"]
    if isinstance(error, Conflict) and error.current is not None:
        lines.append(f"{style('now:', bold=True)} {_now(error.current)}")
    if told["hint"]:
        lines.append(f"{style('hint:', fg='cyan')} {sentence(told['hint'])}")
    return lines


def _now(current: Any) -> str:
    """What is there in the place of what was expected."""
    if isinstance(current, Overlay):
        return to_text(current.content)
    if isinstance(current, ThreadInfo):
        return f"version {current.version}, {to_text(current.title)}"
    return f"version {current.version}, {to_text(current.value if isinstance(current, Entry) else current.content)}"
