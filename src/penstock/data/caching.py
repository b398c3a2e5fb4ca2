"""Datasets that keep their elements, in memory or in files: cache.

The first iterator that gets to the end leaves the elements for those that begin later; one that is
given up leaves none. In files they are a bundle, which TensorFlow reads too where it holds numbers
and strings, and reads of which a cache may be begun. While somebody writes there is a lock file.
"""

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.core import shapes
from penstock.core.bundle.reader import BundleReader
from penstock.core.bundle.writer import BundleWriter
from penstock.core.files import local_path, translated
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.resources import ResourceHandle
from penstock.data import codec, restoring
from penstock.data.operations import (
    HOST,
    NAMED,
    WHY,
    dataset_kernel,
    dataset_op,
    held,
    text_of,
)
from penstock.data.run import Run
from penstock.data.stages import Array, Description, Element, Stage, State, UnaryStage, left_behind
from penstock.types import dtypes as dt
from penstock.types.dims import Dims
from penstock.types.dtypes import DType


class MemoryCache:
    """Elements in memory, once all are there. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards: _elements
        self._elements: list[Element] | None = None

    @property
    def elements(self) -> list[Element] | None:
        """All elements; None while they are not there."""
        with self._lock:
            return self._elements

    def complete(self, elements: list[Element]) -> None:
        """Keeps elements, unless there are some."""
        with self._lock:
            if self._elements is None:
                self._elements = elements


class Cache(Description):
    """The elements of a dataset, made once.

    Args:
      input: the elements.
      memory: where they are kept; or
      prefix: how the names of the files begin that keep them.
      types: the dtypes.
      shapes: the shapes.
    """

    kind = "CacheDataset"
    __slots__ = ("memory", "prefix")

    def __init__(
        self,
        input: Description,
        memory: MemoryCache | None,
        prefix: str,
        types: Sequence[DType],
        shapes: Sequence[Dims],
    ) -> None:
        super().__init__((input,), types, shapes)
        self.memory = memory
        self.prefix = prefix

    def cardinality(self) -> int:
        """That of the input."""
        return self.inputs[0].cardinality()

    def start(self, run: Run) -> Stage:
        """A state before the first element."""
        inner = self.inputs[0].start(run)
        if self.memory is not None:
            return _MemoryStage(inner, self.memory, self, run)
        return _FileStage(inner, self)


class _MemoryStage(UnaryStage):
    """Gives the elements of a cache that is complete; else fills one of its own."""

    def __init__(self, input: Stage, cache: MemoryCache, description: Cache, run: Run) -> None:
        super().__init__(input)
        self._of = description
        self._run = run
        self._cache = cache
        found = cache.elements
        self._reads = found is not None
        self._elements: list[Element] = [] if found is None else found
        self._at = 0  # of those that were read
        self._ended = False

    def next(self) -> Element | None:
        if self._reads:
            if self._at == len(self._elements):
                return None
            self._at += 1
            return self._elements[self._at - 1]
        if self._ended:
            return None
        found = self.input.next()
        if found is None:
            self._ended = True
            self._cache.complete(self._elements)
        else:
            self._elements.append(found)
        return found

    def skip(self, count: int) -> int:
        if not self._reads:
            return super().skip(count)
        before = self._at
        self._at = min(before + count, len(self._elements))
        return self._at - before

    def save(self) -> State:
        elements = [list(e) for e in self._elements]
        state = {"elements": elements, "at": self._at, "reads": self._reads, "ended": self._ended}
        return state if self._reads else {**super().save(), **state}

    def restore(self, state: State) -> None:
        elements = self._elements = restoring.elements(state["elements"], self._of, "CacheDataset")
        self._reads = restoring.flag(state["reads"], "CacheDataset")
        self._ended = restoring.flag(state["ended"], "CacheDataset")
        self._at = restoring.whole(state["at"], "CacheDataset", 0, len(elements))
        if not self._reads:
            super().restore(state)
        if self._reads or self._ended:
            self._run.when_restored(lambda: self._cache.complete(elements))


# ---- in files


class _FileStage(UnaryStage):
    """Reads the files of a cache where they are, or writes them."""

    def __init__(self, input: Stage, description: Cache) -> None:
        super().__init__(input)
        self._of = description
        self._prefix = description.prefix
        self._types = description.types
        self._reader: BundleReader | None = None
        self._lock: _Lock | None = None
        self._kept: list[Element] = []  # those to be written
        self._at = 0
        self._ended = False
        self._passes = False  # whether elements are given and not kept

    def next(self) -> Element | None:
        if self._ended:
            return None
        if self._reader is None and self._lock is None and not self._passes:
            self._begin()
        if self._reader is not None:
            return self._read(self._reader)
        found = self.input.next()
        if found is None:
            self._finish()
        elif not self._passes:
            self._kept.append(found)
        return found

    def _begin(self) -> None:
        if self._kept:
            self._go_on()
        elif os.path.exists(f"{self._prefix}.index"):
            self._reader = BundleReader(self._prefix)
        else:
            self._lock = _Lock(f"{self._prefix}_0.lockfile")

    def _read(self, reader: BundleReader) -> Element | None:
        keys = [_key(self._at, i) for i in range(len(self._types))]
        if not reader.has(keys[0]):
            self._ended = True
            return None
        self._at += 1
        values = [reader.read(key) for key in keys]
        for i, (value, dtype) in enumerate(zip(values, self._types, strict=True)):
            stored = dt.string if dtype == dt.variant else dtype
            if value.dtype != stored.numpy_dtype:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"The cache {self._prefix} holds {value.dtype} in component {i} of element"
                    f" {self._at - 1}, expected {dtype.name}. It is of another dataset: delete its"
                    " files, or give another name.",
                )
        return tuple(_from_file(v, t) for v, t in zip(values, self._types, strict=True))

    def _finish(self) -> None:
        self._ended = True
        if self._passes:
            return
        writer = BundleWriter(self._prefix)
        for at, element in enumerate(self._kept):
            for i, (value, dtype) in enumerate(zip(element, self._types, strict=True)):
                writer.add(_key(at, i), *_to_file(value, dtype))
        writer.finish()
        self._kept = []
        self._release()

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    def save(self) -> State:
        reads = self._reader is not None
        state = {"at": self._at, "reads": reads, "ended": self._ended, "passes": self._passes}
        if reads or self._ended:
            return state
        return {**super().save(), **state, "kept": [list(e) for e in self._kept]}

    def restore(self, state: State) -> None:
        self._at = restoring.whole(state["at"], "CacheDataset")
        self._ended = restoring.flag(state["ended"], "CacheDataset")
        self._reader, self._kept = None, []
        self._passes = restoring.flag(state["passes"], "CacheDataset")
        if restoring.flag(state["reads"], "CacheDataset"):
            self._reader = BundleReader(self._prefix)
        elif not self._ended:
            super().restore(state)
            self._kept = restoring.elements(state["kept"], self._of, "CacheDataset")

    def _go_on(self) -> None:
        """Writes on, unless somebody else does by now: then the rest is given and not kept."""
        try:
            self._lock = _Lock(f"{self._prefix}_0.lockfile")
        except errors.AlreadyExistsError:
            self._passes, self._kept = True, []

    def after_fork(self) -> None:
        if self._lock is not None:
            raise left_behind("CacheDataset")
        if self._reader is not None:
            self._reader = BundleReader(self._prefix)
        super().after_fork()

    def close(self) -> None:
        self._release()
        super().close()


class _Lock:
    """A file that says that somebody writes a cache."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            with (
                contextlib.suppress(OSError),
                open(path, encoding="utf-8", errors="replace") as other,
            ):
                raise errors.AlreadyExistsError(
                    None,
                    None,
                    "There appears to be a concurrent caching iterator running - cache lockfile"
                    f" already exists ('{path}'). If you are sure no other running computations are"
                    " using this cache prefix, delete the lockfile and re-initialize the iterator."
                    f" Lockfile contents: {other.read()}",
                ) from None
            raise errors.UnavailableError(
                None, None, f"The lock file {path} came and went. Ask for the element again."
            ) from None
        except OSError as problem:
            raise translated(problem, path) from problem
        with os.fdopen(file, "w", encoding="utf-8") as made:
            made.write(f"Created at: {int(time.time())}")

    def release(self) -> None:
        """Takes the file away."""
        with contextlib.suppress(OSError):
            os.remove(self._path)


def _key(element: int, component: int) -> str:
    return f"{element:>7}_{component}"


def _to_file(value: Array, dtype: DType) -> tuple[Array, DType]:
    if dtype != dt.variant:
        return np.asarray(value), dtype
    return np.array(codec.encode(value), object), dt.string


def _from_file(value: Array, dtype: DType) -> Array:
    return codec.decode(value.reshape(())[()]) if dtype == dt.variant else value


# ---- operations


def _define(text: str, doc: str, shape: Any) -> OpDef:
    return define_op(
        text, shape=shape, stateful=True, fallible=True, doc=doc
    ).not_differentiable(WHY)  # fmt: skip


MEMORY_CACHE = _define(
    "AnonymousMemoryCache() -> handle: resource, deleter: variant",
    "Where elements can be kept.",
    lambda c: [(), ()],
)
NO_CACHE = _define(
    "DummyMemoryCache() -> handle: resource",
    "Stands for the cache of a dataset that has its own.",
    shapes.scalar,
)
DELETE_CACHE = _define(
    "DeleteMemoryCache(handle: resource, deleter: variant) -> ()",
    "Says that a cache is not needed; it goes with its last handle.",
    shapes.no_output,
)


@host_kernel(MEMORY_CACHE, limit=HOST)
def _memory_cache() -> tuple[Any, Any]:
    made = MemoryCache()
    return ResourceHandle("", "AnonymousMemoryCache", made), made


@host_kernel(NO_CACHE, limit=HOST)
def _no_cache() -> ResourceHandle:
    return ResourceHandle("", "DummyMemoryCache", None)


@host_kernel(DELETE_CACHE, limit=HOST)
def _delete_cache(handle: Any, deleter: Any) -> None:
    del handle, deleter


_DOC = "The elements of a dataset, made once."
CACHE_V1 = dataset_op(
    f"CacheDataset(input_dataset: variant, filename: string; {NAMED}) -> handle: variant", _DOC
)
CACHE = dataset_op(
    f"CacheDatasetV2(input_dataset: variant, filename: string, cache: resource; {NAMED}) ->"
    " handle: variant",
    _DOC,
    stateful=True,
)


@dataset_kernel(CACHE_V1)
@dataset_kernel(CACHE)
def _cache(
    input_dataset: Array, filename: Array, cache: Any = None, *, output_types: Any,
    output_shapes: Any,
) -> Description:  # fmt: skip
    prefix = local_path(text_of(filename))
    memory = getattr(cache, "resource", None) or MemoryCache()
    if not isinstance(memory, MemoryCache):
        raise errors.InvalidArgumentError(
            None, None, f"CacheDatasetV2: expected the handle of a cache, got {cache!r}."
        )
    kept = None if prefix else memory
    return Cache(held(input_dataset), kept, prefix, output_types, output_shapes)
