"""Reads a model's data file: a JSON head, the tokenizer, then the weights, eight bits or thirty-two."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from memwell.errors import Unsupported

Floats = npt.NDArray[np.float32]

_MAGIC = b"HMSEMB01"
_HINT = "pip install --force-reinstall 'memwell[embed]'; until then search goes by words only"


class Tensor(msgspec.Struct, frozen=True):
    """Where a weight stands: `group` numbers share a scale, and the scales follow the numbers."""

    name: str
    dtype: str
    shape: list[int]
    len: int
    group: int


class Arch(msgspec.Struct, frozen=True):
    """The sizes of the network."""

    hidden: int
    layers: int
    heads: int
    layer_norm_eps: float
    position_offset: int


class Head(msgspec.Struct, frozen=True):
    """What the file says of itself."""

    arch: Arch
    tokenizer_len: int
    tensors: list[Tensor]


class Merging(msgspec.Struct, frozen=True):
    """The vocabulary, and the pairs in the order they were learnt."""

    vocab: dict[str, int]
    merges: list[str]


class Tokenizer(msgspec.Struct, frozen=True):
    """The part of the tokenizer's description that is used."""

    model: Merging


class Eight:
    """A table of eight-bit rows, made numbers only where it is read."""

    def __init__(self, whole: npt.NDArray[np.int8], scales: Floats) -> None:
        self._whole, self._scales = whole, scales

    def rows(self, at: Any) -> Floats:
        """The rows as numbers; `slice(None)` is all of them."""
        whole, scales = self._whole[at], self._scales[at]
        grouped = whole.reshape(*scales.shape, -1).astype(np.float32) * scales[..., None]
        return np.asarray(grouped.reshape(whole.shape), np.float32)


class Pack:
    """One model, read and found to be the one that was pinned."""

    def __init__(self, path: Path, digest: str) -> None:
        data = _read(path, digest)
        size = int.from_bytes(data[8:16], "little")
        self._head = msgspec.json.decode(data[16 : 16 + size], type=Head)
        start = 16 + size + self._head.tokenizer_len
        self.tokenizer = msgspec.json.decode(data[16 + size : start], type=Tokenizer).model
        self.arch = self._head.arch
        self._parts: dict[str, tuple[Tensor, bytes]] = {}
        for tensor in self._head.tensors:
            self._parts[tensor.name] = tensor, data[start : start + tensor.len]
            start += tensor.len

    def eight(self, name: str) -> Eight:
        """A table kept in eight bits."""
        tensor, data = self._parts[name]
        rows, columns = tensor.shape
        whole = np.frombuffer(data, np.int8, rows * columns).reshape(rows, columns)
        scales = np.frombuffer(data, "<f4", offset=rows * columns).reshape(rows, columns // tensor.group)
        return Eight(whole, scales)

    def floats(self, name: str) -> Floats:
        """A weight as numbers, whichever way it is kept."""
        tensor, data = self._parts[name]
        if tensor.dtype == "i8":
            return self.eight(name).rows(slice(None))
        return np.frombuffer(data, "<f4").reshape(tensor.shape).astype(np.float32)


def _read(path: Path, digest: str) -> bytes:
    """The file's bytes, refused unless they are exactly those that were pinned."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unsupported(f"the local model cannot be read: {error.strerror or error}", hint=_HINT) from error
    if hashlib.sha256(data).hexdigest() != digest or not data.startswith(_MAGIC):
        raise Unsupported(f"the local model {path.name} is not the one Memwell was made with", hint=_HINT)
    return data
