"""The names of compat.v1.gfile: the functions of `files` with their older arguments."""

from collections.abc import Iterator
from typing import Any

from penstock.core import files

Path = Any  # str, bytes or os.PathLike


def copy(oldpath: Path, newpath: Path, overwrite: bool = False) -> None:
    """`tf.io.gfile.copy`."""
    files.copy(oldpath, newpath, overwrite)


def delete_recursively(dirname: Path) -> None:
    """`tf.io.gfile.rmtree`."""
    files.rmtree(dirname)


def exists(filename: Path) -> bool:
    """`tf.io.gfile.exists`."""
    return files.exists(filename)


def glob(filename: Any) -> list[str]:
    """`tf.io.gfile.glob`."""
    return files.glob(filename)


def is_directory(dirname: Path) -> bool:
    """`tf.io.gfile.isdir`."""
    return files.isdir(dirname)


def list_directory(dirname: Path) -> list[str]:
    """`tf.io.gfile.listdir`."""
    return files.listdir(dirname)


def make_dirs(dirname: Path) -> None:
    """`tf.io.gfile.makedirs`."""
    files.makedirs(dirname)


def mk_dir(dirname: Path) -> None:
    """`tf.io.gfile.mkdir`."""
    files.mkdir(dirname)


def remove(filename: Path) -> None:
    """`tf.io.gfile.remove`."""
    files.remove(filename)


def rename(oldname: Path, newname: Path, overwrite: bool = False) -> None:
    """`tf.io.gfile.rename`."""
    files.rename(oldname, newname, overwrite)


def stat(filename: Path) -> files.FileStatistics:
    """`tf.io.gfile.stat`."""
    return files.stat(filename)


def walk(top: Path, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """`tf.io.gfile.walk`; `in_order` is its `topdown`."""
    return files.walk(top, in_order)
