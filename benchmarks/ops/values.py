"""The arguments that `calls.txt` speaks of, as NumPy arrays: the same for every program.

`entries(path)` reads the file; `arguments(text, operation, n)` makes a call's arguments. What only
the library under test can make (a variable, a table, another call's result) is a `Made`, of which
`worker` makes it. Nothing here imports a library of tensors.
"""

from __future__ import annotations

import dataclasses
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
HERE = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Made:
    """What the library makes before anything is timed: `kind` names the method of `worker`."""

    kind: str
    operation: str = ""
    output: int = 0
    given: Any = None


def entries(path: Path) -> Iterator[tuple[str, str, str]]:
    """(family, operation, text) of a file of `Names: text` lines under `[family]`."""
    family = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            family = line.strip("[]")
        elif line and not line.startswith("#"):
            names, _, text = line.partition(":")
            for name in names.split():
                yield family, name, text.strip()


def arguments(text: str, operation: str, n: int) -> dict[str, Any]:
    """The arguments of one call with about n elements; they depend on nothing but these three."""
    made = eval(f"dict({text})", {}, names(n, zlib.crc32(operation.encode())))
    assert isinstance(made, dict)
    return made


def names(n: int, seed: int) -> dict[str, Any]:
    """Everything that a line of `calls.txt` may use."""
    values = Values(n, np.random.default_rng(seed))
    r, m = math.isqrt(n), min(math.isqrt(n), 100)
    sizes = {"n": n, "r": r, "c": round(n ** (1 / 3)), "m": m, "k": max(1, n // (m * m))}
    windows = {"d": max(2, math.isqrt(n // 3)), "s": max(2, math.isqrt(n // 16))}
    makers = {k: getattr(values, k) for k in dir(values) if not k.startswith("_")}
    return {**makers, **sizes, **windows, "e": max(2, round((n / 8) ** (1 / 3))), "min": min}


class Values:
    """Makers of arguments; the file's first lines say what each is."""

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self._n, self._rng = n, rng
        self.key = np.array([5], np.uint64)
        self.counter = np.array([7, 9], np.uint64)
        self.seed = np.array([1, 2], np.int32)
        self.scalar = np.zeros(0, np.int32)  # its shape
        self.generator = np.array([1, 2, 3], np.int64)

    def f(self, *shape: int) -> Array:
        return self._rng.standard_normal(shape, np.float32)

    def fixed(self, *shape: int) -> Array:
        """Floats that are the same each time they are asked for."""
        return np.random.default_rng(0).standard_normal(shape, np.float32)

    def u(self, *shape: int) -> Array:
        return self._rng.uniform(0.02, 0.98, shape).astype(np.float32)

    def p(self, *shape: int) -> Array:
        return self._rng.uniform(0.5, 3.0, shape).astype(np.float32)

    def b(self, *shape: int) -> Array:
        return self._rng.random(shape) < 0.5

    def cx(self, *shape: int) -> Array:
        return (self.f(*shape) + 1j * self.f(*shape)).astype(np.complex64)

    def i(self, high: int, *shape: int, dtype: str = "int32") -> Array:
        return self._rng.integers(0, max(1, high), shape).astype(dtype)

    def rise(self, high: int, *shape: int, dtype: str = "int32") -> Array:
        return np.sort(self.i(high, *shape, dtype=dtype), -1)

    def full(self, value: Any, *shape: int, dtype: Any = None) -> Array:
        kind = dtype or (np.float32 if isinstance(value, float) else np.int32)
        return np.full(shape, value, kind)

    def permutation(self, n: int, dtype: str = "int32") -> Array:
        return self._rng.permutation(n).astype(dtype)

    def spd(self, k: int, m: int) -> Array:
        """Symmetric matrices with eigenvalues well above 0."""
        root = self.f(k, m, m) / math.sqrt(m)
        return (root @ root.swapaxes(1, 2) + np.eye(m)).astype(np.float32)

    def banded(self, k: int, m: int) -> Array:
        """Three diagonals of matrices, the middle one heavy."""
        return self.p(k, 3, m) + np.array([[0], [6], [0]], np.float32)

    def pairs(self, n: int, rank: int) -> Array:
        """n ordered, different indices of a matrix with the square root of n rows."""
        if rank == 1:
            return np.stack([np.arange(n), np.zeros(n)], 1).astype(np.int64)
        return np.stack(np.divmod(np.arange(n), n // math.isqrt(n) + 1), 1).astype(np.int64)

    def column(self, n: int) -> Array:
        return self.pairs(n, 1)

    def splits(self, n: int, each: int = 5) -> Array:
        return np.append(np.arange(0, n, each), n).astype(np.int64)

    def boxes(self, *shape: int) -> Array:
        low, size = (
            self._rng.uniform(0, 0.8, (*shape, 2)),
            self._rng.uniform(0.02, 0.2, (*shape, 2)),
        )
        return np.concatenate([low, low + size], -1).astype(np.float32)

    # ---- texts

    def _texts(self, items: list[bytes], *shape: int) -> Array:
        array = np.empty(len(items), object)
        array[:] = items
        return array.reshape(shape)

    def words(self, *shape: int) -> Array:
        letters = self._rng.integers(97, 123, (math.prod(shape), 12), np.uint8)
        lengths = self._rng.integers(3, 13, len(letters))
        pieces = [row[:k].tobytes() for row, k in zip(letters, lengths, strict=True)]
        return self._texts(pieces, *shape)

    def fixed_text(self, n: int, length: int) -> Array:
        letters = self._rng.integers(97, 123, (n, length), np.uint8)
        return self._texts([row.tobytes() for row in letters], n)

    def numbers_text(self, n: int) -> Array:
        return self._texts([b"%.4f" % x for x in self.f(n)], n)

    def lines(self, n: int) -> Array:
        return self._texts([b" ".join(row) for row in self.words(n, 5)], n)

    def unicode(self, n: int) -> Array:
        return self._texts([w.decode().replace("e", "\u00e9").encode() for w in self.words(n)], n)

    def csv(self, n: int) -> Array:
        return self._texts([b"%.3f,%d,%s" % (1.5, k, w) for k, w in enumerate(self.words(n))], n)

    def json_examples(self, n: int) -> Array:
        text = b'{"features": {"feature": {"x": {"floatList": {"value": [%d]}}}}}'
        return self._texts([text % k for k in range(n)], n)

    def examples(self, n: int, width: int = 4) -> Array:
        """tf.train.Example messages with `width` floats called x."""
        message = b""
        for field in (1, 2, 2):  # value in FloatList, float_list in Feature, value of the entry
            body = message or struct.pack(f"<{width}f", *range(width))
            message = bytes([field << 3 | 2]) + _varint(len(body)) + body
        entry = b"\x0a\x01x" + message
        for _ in range(2):  # the entry in Features, features in Example
            entry = b"\x0a" + _varint(len(entry)) + entry
        return self._texts([entry] * n, n)

    def pixels(self, d: int) -> Array:
        ramp = np.add.outer(np.arange(d), np.arange(d))[..., None] * [1, 2, 3]
        return ((ramp + self.i(16, d, d, 3)) % 256).astype(np.uint8)

    def bmp(self, d: int) -> Array:
        rows = b"".join(r.tobytes().ljust((3 * d + 3) // 4 * 4, b"\0") for r in self.pixels(d))
        head = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(rows), 0, 0, 54, 40, d, d, 1, 24,
                           0, len(rows), 0, 0, 0, 0)  # fmt: skip
        return self._texts([head + rows], 1)[0]  # type: ignore[no-any-return]

    # ---- what the library makes

    def of(self, operation: str, output: int = 0, **given: Any) -> Made:
        return Made("of", operation, output, given)

    def var(self, value: Array) -> Made:
        return Made("var", given=value)

    def table(self, keys: Array, values: Array) -> Made:
        return Made("table", given=(keys, values))

    def q(self, dtype: str, *shape: int) -> Made:
        """A quantised tensor: the integers of its width, looked at as its dtype."""
        kind = np.dtype(dtype.removeprefix("q"))
        limits = np.iinfo(kind)
        high = min(limits.max, 1 << 20)
        values = self._rng.integers(max(limits.min, -high), high, shape).astype(kind)
        return Made("of", "Bitcast", 0, {"input": values, "type": dtype})


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])
