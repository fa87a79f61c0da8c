"""The front matter of a note: a small, strict part of YAML. `key: value`, `key: [a, b]`, and lists of `- a`."""

from __future__ import annotations

import re

from msgspec import Struct

_KEY = re.compile(r"([A-Za-z_][\w-]*):(?: +(.*))?$")
_ITEM = re.compile(r" *- +(.+)$")
_NOT_PLAIN = tuple("{[&*!|>%@`?")  # what begins a value that is more than text


class Front(Struct):
    """What the front matter says, and the lines of it that are not understood."""

    title: str = ""
    kind: str = ""
    tags: list[str] = []
    more: dict[str, str] = {}
    left_out: list[tuple[int, str]] = []


def parted(text: str) -> tuple[Front, str, int]:
    """The front matter, the text after it, and the number of the line where that begins."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return Front(), text, 1
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() in ("---", "..."):
            return _front(lines[1 : number - 1]), "\n".join(lines[number:]), number + 1
    return Front(), text, 1  # it never ends: a line of dashes, and no front matter


def _front(lines: list[str]) -> Front:
    front, key = Front(), ""
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item, pair = _ITEM.match(line), _KEY.match(line)
        if item and key == "tags":
            front.tags.append(_tag(item[1]))
        elif pair:
            key = pair[1].lower()
            reason = _take(front, key, (pair[2] or "").strip())
            if reason:
                front.left_out.append((number, reason))
        else:
            front.left_out.append((number, f"{line.strip()[:40]!r} is not understood, and left out"))
    return front


def _take(front: Front, key: str, value: str) -> str | None:
    """Note what a key says; the reason why not."""
    if key == "tags":
        front.tags += [_tag(one) for one in value.removeprefix("[").removesuffix("]").split(",") if one.strip()]
        return None
    if not value:
        return None if key != "title" else f"{key!r} says nothing"
    if value.startswith(_NOT_PLAIN):
        return f"the value of {key!r} is not plain text, and left out"
    if key in ("title", "kind"):
        setattr(front, key, _plain(value))
    else:
        front.more[key] = _plain(value)
    return None


def _tag(value: str) -> str:
    return _plain(value).removeprefix("#").strip()


def _plain(value: str) -> str:
    """A value without the quotes around it."""
    text = value.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
