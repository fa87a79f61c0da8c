"""Values on the command line: JSON as an argument, from stdin or from a file; revs and times."""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from memwell.cli.show import escape
from memwell.errors import Invalid, NotFound, TooLarge, Unavailable

MOST_BYTES = 64 * 1024 * 1024  # what is read before the store's own limit is asked
_PYTHON = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_NOT_NUMBERS = {"NaN", "Infinity", "-Infinity", "nan", "inf", "-inf"}
_SHOWN = 60


def read_value(text: str) -> Any:
    """The value that an argument gives: JSON, `-` for stdin, `@file` for a file."""
    if text == "-":
        return _parse(_bounded(sys.stdin.buffer.read(MOST_BYTES + 1)), "stdin")
    if text.startswith("@"):
        return _parse(_from_file(text[1:]), escape(text[1:]))
    return _parse(text.encode(), None)


def read_text(text: str) -> str:
    """The text that an argument gives: itself, `-` for stdin, `@file` for a file; the newline at an end is no part."""
    if text != "-" and not text.startswith("@"):
        return text
    data = (
        _bounded(sys.stdin.buffer.read(MOST_BYTES + 1))
        if text == "-"
        else _from_file(text[1:], "after @ comes the path of a file; text that begins with @ can come from stdin: -")
    )
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        name = "stdin" if text == "-" else escape(text[1:])
        raise Invalid(f"{name} is not UTF-8 text", hint="save it as UTF-8") from None


def _from_file(path: str, hint: str = "after @ comes the path of a file with JSON") -> bytes:
    try:
        with Path(path).expanduser().open("rb") as file:
            return _bounded(file.read(MOST_BYTES + 1))
    except FileNotFoundError:
        raise NotFound(f"there is no file {escape(path)!r}", hint=hint) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unavailable(f"{escape(path)} can't be read: {reason}", hint="check the path after @") from None


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the value is larger than {MOST_BYTES} bytes", limit=MOST_BYTES, hint="store it in parts")
    return data


def _parse(data: bytes, source: str | None) -> Any:
    try:
        value = msgspec.json.decode(data)
        if b"{" in data:
            json.loads(data, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise Invalid("the value is nested too deeply", hint="store it flatter, or in parts") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refusal(data, source, str(error)) from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(
                f"the object names {name!r} twice", hint="a name stands once in an object; which one is meant?"
            )


def _refusal(data: bytes, source: str | None, reason: str) -> Invalid:
    text = data.decode(errors="replace")
    if _has_lone_surrogate(text):
        return Invalid("the value is text with a lone surrogate, which is not JSON", hint="surrogates come in pairs")
    shown = escape(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
    what = source or (f"{shown!r}" if text.strip() else "an empty argument")
    return Invalid(f"{what} is not JSON: {_reason(reason)}", hint=_advice(text.strip(), source, reason))


def _reason(reason: str) -> str:
    return reason.removeprefix("JSON is malformed: ").replace("Input data was truncated", "it ends too soon")


def _has_lone_surrogate(text: str) -> bool:
    """The parser only says that the text ends too soon; the standard library reads it, and so shows what is wrong."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _advice(text: str, source: str | None, reason: str) -> str:
    if text in _NOT_NUMBERS:
        return "JSON has no such number; store null, or text in quotes"
    if text in _PYTHON:
        return f"in JSON that is {_PYTHON[text]}"
    if not text:
        return """empty text is '""', nothing at all is null"""
    if "trailing characters" in reason and re.match(r"[\[{\d-]", text):
        return "one value is one JSON value; something follows its end"
    if source or re.match(r"""[\[{"'\d-]""", text):
        return """JSON has double quotes; in a shell put single quotes around it all: '{"theme": "dark"}'"""
    quoted = msgspec.json.encode(text if len(text) <= _SHOWN else "text").decode()
    return f"text stands in double quotes, and those in single quotes for the shell: {escape(shlex.quote(quoted))}"


def read_moment(text: str | None) -> int | float | datetime | None:
    """What --at gives: a rev (a whole number), a time with its zone, or seconds since 1970 with a decimal point."""
    if text is None:
        return None
    if re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"\d+\.\d*", text, re.ASCII):
        return float(text)
    return _time(text)


def read_time(text: str | None) -> datetime | None:
    """A time with its zone, or a day, which begins at midnight UTC."""
    if text is None:
        return None
    day = re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)
    return _time(f"{text}T00:00:00Z" if day else text, "a time", "give 2031-01-31T12:00:00Z, or a day: 2031-01-31")


def _time(
    text: str,
    kind: str = "a rev or a time",
    example: str = "give a rev such as 12, or a time such as 2031-01-31T12:00:00Z",
) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{escape(text)!r} is not {kind}", hint=example) from None
    if moment.tzinfo is None:
        raise Invalid(f"the time {text} has no zone", hint=f"add Z for UTC, or an offset: {moment.isoformat()}Z")
    return moment


def seconds(text: str) -> float:
    """A number of seconds from zero."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise click.BadParameter(f"{text!r} is not a number of seconds")
    return number
