"""Text as words that search compares: folded, stemmed, in any script; the same for what is stored and what is asked."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any

LONGEST = 64  # characters of a word that count
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_PLAIN = re.compile(rf"[a-z0-9]{{1,{LONGEST}}}")
_OWNED = re.compile(r"'s\b")
_TAIL = re.compile(r"['\u2019]s$")
# Scripts that put no space between words: each pair of neighbouring characters is taken for a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]+"
)

_SILENT = """
a about after again all also am an and any are as at be because been before being but by can could d did do does
doing don done down each else ever few for from further get gets getting got had has have having he her here hers
him his how i if in into is it its just let ll m may me might more most much must my no nor not now of off on once
only or other our out over own please re s same shall she should so some such t tell than that the their them then
there these they this those through to too under until up us ve very was we were what when where which while who
whom whose why will with would yes you your arent cant couldnt didnt doesnt dont hadnt hasnt havent hes im isnt ive
lets shes shouldnt thats theres theyre theyve wasnt werent weve whats wheres whos wont wouldnt youd youll youre
youve
"""
STOP = frozenset(_SILENT.split())  # words that say nothing


def stems(text: str) -> list[str]:
    """The words of a text in order, as they are compared; words that say nothing are left out."""
    plain = text.replace("\u2019", "'")
    if plain.isascii():  # as below, without asking where each stands
        plain = _OWNED.sub("", plain.lower()).replace("'", "") if "'" in plain else plain.lower()
        return [_known.get(word) or _stem(word) for word in _PLAIN.findall(plain) if word not in STOP]
    return [stem for stem, _, _ in spans(text)]


def asked(text: str) -> list[str]:
    """The words of a question, each once; one that consists of words that say nothing keeps them."""
    found = stems(text) or [_stem(word) for word, _, _ in _split(text)]
    return list(dict.fromkeys(found))


def spans(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of a text with the places where they stand."""
    for word, start, end in _split(text):
        if word not in STOP:
            yield _known.get(word) or _stem(word), start, end


def normal(text: str) -> str:
    """A text for finding what says exactly the same: case, width and blanks don't count."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _split(text: str) -> Iterator[tuple[str, int, int]]:
    for match in (_WORD if text.isascii() else _marked_word()).finditer(text):
        raw = match[0]
        if raw.isascii():
            yield _TAIL.sub("", raw).replace("'", "").lower()[:LONGEST], match.start(), match.end()
        else:
            yield from _foreign(raw, match.start())


def _foreign(raw: str, at: int) -> Iterator[tuple[str, int, int]]:
    """A word with other letters than ASCII's, cut where a script without spaces begins or ends."""
    reached = 0
    for run in _UNSPACED.finditer(raw):
        if run.start() > reached:
            yield _fold(raw[reached : run.start()]), at + reached, at + run.start()
        for place in range(run.start(), max(run.start() + 1, run.end() - 1)):
            end = min(place + 2, run.end())
            yield _fold(raw[place:end]), at + place, at + end
        reached = run.end()
    if reached < len(raw):
        yield _fold(raw[reached:]), at + reached, at + len(raw)


@cache
def _marked_word() -> re.Pattern[str]:
    """Words in which vowel signs and accents stand as characters of their own."""
    marks = "".join(char for char in map(chr, range(0x300, 0x1EFFF)) if unicodedata.category(char) in ("Mn", "Mc"))
    return re.compile(rf"[^\W_](?:[^\W_]|[{re.escape(marks)}])*(?:['\u2019][^\W_](?:[^\W_]|[{re.escape(marks)}])*)*")


# Accents and points that may be left out: of Latin, Greek and Cyrillic, of Hebrew and of Arabic.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670]")


def _fold(word: str) -> str:
    """Without case and accents; what is left of it, or its code points if that is nothing."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", _TAIL.sub("", word)).casefold())
    kept = "".join(char for char in bare if char.isalnum() or unicodedata.category(char) in ("Mn", "Mc"))
    return kept[:LONGEST] or "u" + "".join(f"{ord(char):x}" for char in word)[:LONGEST]


_known: dict[str, str] = {}
_KNOWN_MOST = 200_000
_stemming = threading.Lock()  # the stemmer keeps the word it works on


def _stem(word: str) -> str:
    found = _known.get(word)
    if found is None:
        with _stemming:
            found = _stemmer().stemWord(word) if word.isascii() and not word.isdigit() else word
            if len(_known) >= _KNOWN_MOST:
                _known.clear()
            _known[word] = found
    return found


@cache
def _stemmer() -> Any:
    from snowballstemmer import stemmer

    return stemmer("english")
