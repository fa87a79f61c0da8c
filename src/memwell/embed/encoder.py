"""A small transformer encoder in plain numpy: token ids in, one unit vector a text out.

Texts are laid end to end, so the large products waste nothing on padding; only attention looks at one length at a
time. What is done number by number is done in blocks that stay in the processor's cache.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from memwell.embed.pack import Floats, Pack

_BLOCK = 1 << 16  # numbers worked on at a time
# erf(x / sqrt 2) is the tanh of x times this polynomial in x squared, to 3e-5; past the last of them it is 1.
_POLYNOMIAL = np.array([0.797507584, 0.037005997, -0.000351592987], np.float32)
_FAR = np.float32(30)

Weight = tuple[Floats, Floats]


class Layer(NamedTuple):
    """The weights of one layer, each a matrix to multiply with from the right, or a scale, and what to add."""

    attend: Weight
    gather: Weight
    gather_norm: Weight
    widen: Weight
    narrow: Weight
    narrow_norm: Weight


class Encoder:
    """The network; it holds only constants, so any number of threads may use it at once."""

    def __init__(self, pack: Pack) -> None:
        self._arch = pack.arch
        self._words = pack.eight("word_emb")
        self._places = pack.floats("pos_emb") + pack.floats("type_emb")[0]
        self._norm = pack.floats("emb_ln.w"), pack.floats("emb_ln.b")
        self._layers = [_layer(pack, f"l{number}.") for number in range(pack.arch.layers)]

    def vectors(self, texts: list[list[int]]) -> Floats:
        """One unit vector a text, from its first token; the texts come sorted by length."""
        lengths = [len(ids) for ids in texts]
        places = np.concatenate([np.arange(length) for length in lengths]) + self._arch.position_offset
        x = self._words.rows(np.concatenate(texts)) + self._places[places]
        self._normalise(x, self._norm)
        for layer in self._layers[:-1]:
            x = self._through(layer, x, lengths, slice(None))
        x = self._through(self._layers[-1], x, lengths, np.cumsum([0, *lengths[:-1]]))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)

    def _through(self, layer: Layer, x: Floats, lengths: list[int], rows: Any) -> Floats:
        """One layer; what comes after attention is worked out for the given rows only."""
        y = _times(self._attended(_times(x, layer.attend), lengths)[rows], layer.gather)
        y += x[rows]
        self._normalise(y, layer.gather_norm)
        z = _times(_bent(_times(y, layer.widen)), layer.narrow)
        z += y
        self._normalise(z, layer.narrow_norm)
        return z

    def _attended(self, qkv: Floats, lengths: list[int]) -> Floats:
        """Every token looks at all tokens of its own text."""
        heads = self._arch.heads
        seen = np.empty((len(qkv), self._arch.hidden), np.float32)
        start = 0
        for length, same in groupby(lengths):
            count = len(list(same))
            end = start + count * length
            q, k, v = qkv[start:end].reshape(count, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
            out = seen[start:end].reshape(count, length, heads, -1).transpose(0, 2, 1, 3)
            for part in _parts(count, heads, length):
                _look(q[part], k[part], v[part], out[part])
            start = end
        return seen

    def _normalise(self, x: Floats, norm: Weight) -> None:
        """Layer normalisation, in place."""
        x -= x.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
        x /= np.sqrt(spread + np.float32(self._arch.layer_norm_eps))
        x *= norm[0]
        x += norm[1]


def _layer(pack: Pack, name: str) -> Layer:
    """A layer with the constant factors of its formulas multiplied in."""
    layer = Layer(*(_weight(pack, name + part) for part in ("qkv", "ao", "aln", "f1", "f2", "fln")))
    hidden, heads = pack.arch.hidden, pack.arch.heads
    for part in layer.attend:
        part[..., :hidden] *= np.float32((hidden // heads) ** -0.5)
    layer.narrow[0][...] *= np.float32(0.5)
    return layer


def _weight(pack: Pack, name: str) -> Weight:
    return np.ascontiguousarray(pack.floats(f"{name}.w").T), pack.floats(f"{name}.b")


def _parts(count: int, heads: int, length: int) -> list[tuple[slice, slice]]:
    """Blocks of texts, or of the heads of one text, whose scores are few enough to stay in cache."""
    texts = max(1, _BLOCK // (heads * length * length))
    some = max(1, min(heads, _BLOCK // (length * length)))
    return [
        (slice(text, text + texts), slice(head, head + some))
        for text in range(0, count, texts)
        for head in range(0, heads, some)
    ]


def _times(x: Floats, weight: Weight) -> Floats:
    y: Floats = x @ weight[0]
    y += weight[1]
    return y


def _look(q: Floats, k: Floats, v: Floats, out: Floats) -> None:
    """Softmax of q times k, times v; the division comes last, where there is least to divide."""
    scores = q @ k.swapaxes(-1, -2)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    np.divide(scores @ v, scores.sum(axis=-1, keepdims=True), out=out)


def _bent(x: Floats) -> Floats:
    """Twice GELU, in place: x times (1 + erf(x / sqrt 2))."""
    rows = max(1, _BLOCK // x.shape[1])
    room, squares = np.empty((2, min(rows, len(x)), x.shape[1]), np.float32)
    for at in range(0, len(x), rows):
        part = x[at : at + rows]
        y, square = room[: len(part)], squares[: len(part)]
        np.minimum(np.multiply(part, part, out=square), _FAR, out=square)
        np.multiply(square, _POLYNOMIAL[2], out=y)
        y += _POLYNOMIAL[1]
        y *= square
        y += _POLYNOMIAL[0]
        y *= part
        np.tanh(y, out=y)
        y += np.float32(1)
        part *= y
    return x
