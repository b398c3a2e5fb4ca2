"""Operations on whole files: reading, writing, finding. Host only."""

import os
from typing import Any

import numpy as np

from penstock.core import files
from penstock.core.execute import execute
from penstock.core.file_object import GFile
from penstock.core.kernels import host_kernel
from penstock.core.op_def import define_op
from penstock.core.shapes import ShapeContext
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray


def _one_name(c: ShapeContext) -> Dims:
    return c.rank(0, 0, "filename")


READ_FILE = define_op(
    "ReadFile(filename: string) -> contents: string",
    shape=_one_name,
    stateful=True,  # files change
    doc="The contents of a file.",
).not_differentiable("contents are strings")


@host_kernel(READ_FILE)
def _read_file(filename: Array) -> Array:
    result = np.empty((), object)
    with GFile(filename.item(), "rb") as file:
        result[()] = file.read()
    return result


def read_file(filename: Any, name: str | None = None) -> Any:
    """Reads a file.

    Args:
      filename: string scalar.
      name: the name of the operation in a graph.

    Returns:
      Scalar string, the contents.

    Raises:
      NotFoundError: there is no such file.
      FailedPreconditionError: it is a folder.
      UnimplementedError: the path has a scheme other than `file`.
    """
    return execute(READ_FILE, (filename,), None, name)


def _write_shape(c: ShapeContext) -> list[Dims]:
    c.rank(0, 0, "filename")
    c.rank(1, 0, "contents")
    return []


WRITE_FILE = define_op(
    "WriteFile(filename: string, contents: string) -> ()",
    shape=_write_shape,
    stateful=True,
    doc="Writes a file, and makes the folders that it is in.",
).not_differentiable("contents are strings")


@host_kernel(WRITE_FILE)
def _write_file(filename: Array, contents: Array) -> list[Array]:
    path = os.fsdecode(filename.item())
    files.makedirs(os.path.dirname(path) or ".")
    with GFile(path, "wb") as file:
        file.write(contents.item())
    return []


def write_file(filename: Any, contents: Any, name: str | None = None) -> Any:
    """Writes a file, and makes the folders that it is in.

    Args:
      filename: string scalar.
      contents: string scalar.
      name: the name of the operation in a graph.

    Returns:
      The operation in a graph, None eagerly.

    Raises:
      FailedPreconditionError: there is a folder of that name.
      UnimplementedError: the path has a scheme other than `file`.
    """
    return execute(WRITE_FILE, (filename, contents), None, name)


def _patterns(c: ShapeContext) -> Dims:
    dims = c.shape(0)
    if dims is not None and len(dims) > 1:
        c.fail("a scalar or vector of patterns", f"shape {list(dims)} of rank {len(dims)}")
    return (None,)


MATCHING_FILES = define_op(
    "MatchingFiles(pattern: string) -> filenames: string",
    shape=_patterns,
    stateful=True,  # so do folders
    doc="The paths that fit one of the patterns, in order.",
).not_differentiable("names are strings")


@host_kernel(MATCHING_FILES)
def _matching_files(pattern: Array) -> Array:
    found = files.glob([os.fsdecode(p) for p in pattern.reshape(-1) if p])
    return np.array([os.fsencode(path) for path in sorted(found)], object)


def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Finds files by patterns.

    Args:
      pattern: string scalar or string[N]; see `tf.io.gfile.glob`.
      name: the name of the operation in a graph.

    Returns:
      string[M], the paths in order.

    Raises:
      InvalidArgumentError, ValueError: `pattern` has a rank above 1.
    """
    return execute(MATCHING_FILES, (pattern,), None, name)
