"""Text to token ids: byte-level pair merging, with the vocabulary and the merges that a model brings along."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

# Numerals that are not decimal digits; `re` counts them as word characters, the model's vocabulary as numbers.
_NUMERALS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u09f4-\u09f9\u0bf0-\u0bf2\u0f2a-\u0f33\u1369-\u137c\u16ee-\u16f0\u17f0-\u17f9"
    "\u2070\u2074-\u2079\u2080-\u2089\u2150-\u2182\u2185-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3007"
    "\u3021-\u3029\u3038-\u303a\u3192-\u3195\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf"
)
_SPACE = r"[^\S\x1c-\x1f]"  # what Unicode calls white space; `\s` counts four control characters too
_NOT_SPACE = r"[\S\x1c-\x1f]"
_PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)"
    rf"| ?[^\W\d_{_NUMERALS}]+"  # letters, with the space before them
    rf"| ?[\d{_NUMERALS}]+"
    r"| ?(?:[^\s\w]|[_\x1c-\x1f])+"
    rf"|{_SPACE}+(?!{_NOT_SPACE})|{_SPACE}+"
)
_WORDS_KEPT = 20_000
_PIECE_LENGTH = 200  # merging takes time that grows with the square of the length, so an endless piece is cut
_NEVER = 1 << 60


def _printable_bytes() -> list[str]:
    """The character that stands for each byte in the vocabulary: itself if it can be seen, else one past 255."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in set(seen)]
    return [chr(byte) if byte in set(seen) else chr(256 + unseen.index(byte)) for byte in range(256)]


class Bpe:
    """Splits text into pieces and each piece into the ids of the vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: dict[str, int], merges: list[str]) -> None:
        self._vocabulary = vocabulary
        self._ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        self._characters = _printable_bytes()
        self._ids_of = lru_cache(_WORDS_KEPT)(self._merged)

    def ids(self, text: str, limit: int) -> list[int]:
        """The first `limit` ids of a text."""
        found: list[int] = []
        for piece in _PIECES.finditer(text):
            for start in range(piece.start(), piece.end(), _PIECE_LENGTH):
                found += self._ids_of(text[start : min(piece.end(), start + _PIECE_LENGTH)])
                if len(found) >= limit:
                    return found[:limit]
        return found

    def _merged(self, piece: str) -> tuple[int, ...]:
        """The ids of one piece: the pair that was learnt first is joined first, until no pair is known."""
        symbols = [self._characters[byte] for byte in piece.encode("utf-8", "replace")]
        while len(symbols) > 1:
            rank, pair = min((self._ranks.get(pair, _NEVER), pair) for pair in pairwise(symbols))
            if rank == _NEVER:
                break
            symbols = _joined(symbols, pair)
        return tuple(self._vocabulary[symbol] for symbol in symbols)


def _joined(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """The symbols with every occurrence of the pair made one, from the left."""
    joined: list[str] = []
    at = 0
    while at < len(symbols):
        both = tuple(symbols[at : at + 2]) == pair
        joined.append(symbols[at] + symbols[at + 1] if both else symbols[at])
        at += 2 if both else 1
    return joined
