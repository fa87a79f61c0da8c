"""Threads for people: the one that a few characters name, a conversation to be read, what a search found in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from memwell.cli import cards, show
from memwell.errors import Invalid, NotFound
from memwell.memory import Memory
from memwell.threads import Thread
from memwell.types import Message, MessageHit, ThreadInfo

COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta", "developer": "magenta"}
PAGE = 1000
INDENT = "  "
LEAST_ROOM = 20  # columns for text, however narrow the terminal is
MOST_LINES = 2  # of a hit


# Names


def opened(memory: Memory, text: str) -> Thread:
    """The thread that the text is the id of, begins the id of, or is the title of."""
    found = _by_id(memory, text)
    if found is None:
        long = len(text) >= cards.SHORTEST
        fits = [one.id for one in _all(memory) if one.title == text or (long and one.id.startswith(text))]
        found = _by_id(memory, cards.only(text, fits, "thread", memory.name, "names more than one thread"))
    if found is None:  # somebody removed it just now
        raise NotFound(f"{memory.name} has no thread {text!r}", hint="it was removed a moment ago")
    return found


def _by_id(memory: Memory, text: str) -> Thread | None:
    try:
        return memory.threads.get(text)
    except Invalid:
        return None  # a title may have what an id may not


def _all(memory: Memory) -> Iterator[ThreadInfo]:
    cursor: str | None = None
    while page := memory.threads.list(limit=PAGE, cursor=cursor):
        yield from page
        cursor = page[-1].id


def title(info: ThreadInfo) -> str:
    """What a thread is called."""
    return show.sentence(info.title) if info.title else show.name(info.id)


def catalogue(infos: Sequence[ThreadInfo]) -> Iterator[str]:
    """The table of a listing; LAST is the number of the last message."""
    ids = cards.short_ids(infos)
    rows = [
        (
            (ids[info.id], str(info.last), f"{info.created_at:%Y-%m-%d}", show.name(info.created_by)),
            cards.pieces(info.title or "-"),
        )
        for info in infos
    ]
    return cards.listed(("ID", "LAST", "DATE", "BY", "TITLE"), rows)


# A conversation


def conversation(info: ThreadInfo, messages: Sequence[Message], full: bool) -> Iterator[str]:
    """A thread to be read. Text is indented, so that nothing in it can pose as another message."""
    tools = {call.id: call.name for message in messages for call in message.tool_calls}
    yield show.style(show.fit(title(info)), bold=True)
    for message in messages:
        yield ""
        yield _head(message, tools)
        yield from _body(message, full)


def _head(message: Message, tools: dict[str, str]) -> str:
    when = show.when(message.created_at)
    if message.covers:
        first, last = message.covers
        span = str(first) if first == last else f"{first}–{last}"  # noqa: RUF001 - it is a range
        what = "left out:" if message.metadata.get("kind") == "limit" else "summary of"
        return show.style(f"── {what} {span} ──", fg="magenta") + show.style(f" {when}", dim=True)
    name = message.name or tools.get(message.tool_call_id or "") or ""
    said = f" {show.name(name)}" if name else ""
    role = show.style(message.role, fg=COLOURS.get(message.role), bold=True)
    return f"{show.style(str(message.seq), dim=True)} {role}{said}{show.style(f' · {when}', dim=True)}"


def _body(message: Message, full: bool) -> Iterator[str]:
    if message.role == "tool" and not full:
        yield INDENT + show.fit(f"← {show.sentence(plain(message))}", len(INDENT))
    else:
        yield from _paragraphs(plain(message))
    for call in message.tool_calls:
        arguments = call.arguments if isinstance(call.arguments, str) else show.to_text(call.arguments)
        line = f"→ {show.name(call.name)}({show.sentence(arguments)})"
        yield from _paragraphs(line) if full else [INDENT + _call_fit(line)]


def _call_fit(line: str) -> str:
    """A call on one line; where it is cut it still ends as a call."""
    cut = show.fit(line, len(INDENT) + 1)
    return line if cut == line else f"{cut})"


def plain(message: Message) -> str:
    """The words of a message; what is no text is named in brackets."""
    if not isinstance(message.content, list):
        return message.content or ""
    said = (part.get("text") for part in message.content)
    kinds = (str(part.get("type", "part")) for part in message.content)
    return "\n".join(text if isinstance(text, str) else f"[{kind}]" for text, kind in zip(said, kinds, strict=True))


def _paragraphs(text: str) -> Iterator[str]:
    """The lines of a text, indented; on a terminal those that are too long are wrapped."""
    room = max(LEAST_ROOM, show.columns() - len(INDENT)) if show.on_terminal(sys.stdout) else 0
    for line in text.split("\n") if text else []:
        safe = show.escape(line.removesuffix("\r").expandtabs(4))
        yield from (f"{INDENT}{part}".rstrip() for part in (wrapped(safe, room) if room else [safe]))


def wrapped(line: str, room: int) -> Iterator[str]:
    """A line in several that have room; it is broken at blanks where there are any."""
    start = used = 0
    blank = 0  # the last place to break at; blanks at the beginning are none
    spoken = False
    for at, char in enumerate(line):
        wide = show.width(char)
        if used + wide > room and at > start:
            stop = blank if blank > start else at
            yield line[start:stop]
            start = stop + 1 if line[stop] == " " else stop
            used, spoken = show.width(line[start:at]), True
            if start > at:
                continue
        used += wide
        if char == " " and spoken:
            blank = at
        spoken = spoken or char != " "
    if start < len(line) or not line:
        yield line[start:]


# What was found


def found(hits: Sequence[MessageHit], infos: dict[str, ThreadInfo]) -> Iterator[str]:
    """The hits, best first: the thread, the message with what fits, and dimmed what stands around it."""
    ids = cards.short_ids([*infos.values()])
    for number, hit in enumerate(hits):
        if number:
            yield ""
        info = infos[hit.message.thread]
        named = f" {show.sentence(info.title)}" if info.title else ""
        yield show.fit(f"{ids[info.id]}{named} · {show.when(hit.message.created_at)} · {hit.score:.3f}")
        yield from _around(hit)


def _around(hit: MessageHit) -> Iterator[str]:
    lines = {one.seq: list(_beside(one)) for one in hit.context}
    lines[hit.message.seq] = list(_lit(hit))
    for seq in sorted(lines):
        yield from lines[seq]


def _label(message: Message) -> str:
    return f"{INDENT}{message.seq:>4} {message.role:<9}  "


def _beside(message: Message) -> Iterator[str]:
    called = " ".join(f"→ {show.name(call.name)}(…)" for call in message.tool_calls)
    yield show.style(show.fit(f"{_label(message)}{show.sentence(plain(message))} {called}".rstrip()), dim=True)


def _lit(hit: MessageHit) -> Iterator[str]:
    label, line = _label(hit.message), cards.pieces(hit.snippet, hit.matches)
    room = max(LEAST_ROOM, show.columns() - len(label))
    folded = cards.folded(line, room, MOST_LINES) if show.on_terminal(sys.stdout) else iter([line])
    for number, part in enumerate(folded):
        start = " " * len(label) if number else label.replace(hit.message.role, _role(hit.message), 1)
        yield (start + cards.painted(part)).rstrip()


def _role(message: Message) -> str:
    return show.style(message.role, fg=COLOURS.get(message.role), bold=True)
