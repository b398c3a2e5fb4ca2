"""Files and folders by path: `tf.io.gfile`.

Paths are `str`, `bytes` or `os.PathLike`; they are local, with or without `file://` in front. A
path with another scheme is refused with what there is. Failures of the operating system become
the error class that TensorFlow raises for them, with the path in the message. `GFile` is in
`file_object`, the names of compat.v1 in `files_v1`.
"""

import contextlib
import errno
import fnmatch
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock import errors

Path = Any  # str, bytes or os.PathLike
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
LOCAL = "file://"
ErrorClass = Callable[[Any, Any, str], errors.OpError]
CLASSES: dict[int, ErrorClass] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EROFS: errors.FailedPreconditionError,
    errno.EBUSY: errors.FailedPreconditionError,
    errno.ETXTBSY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENAMETOOLONG: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EAGAIN: errors.UnavailableError,
}


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """What `stat` tells: length in bytes, time of the last change in ns, kind."""

    length: int
    mtime_nsec: int
    is_directory: bool


def local_path(path: Path) -> str:
    """A path as the operating system takes it.

    Raises:
      UnimplementedError: the path has a scheme other than `file`.
    """
    text = os.fsdecode(path)
    found = SCHEME.match(text)
    if found is None:
        return text
    if found[1] == "file":
        return text[len(LOCAL) :]
    raise errors.UnimplementedError(
        None,
        None,
        f"File system scheme '{found[1]}' not implemented (file: '{text}'): expected a local path, "
        "with or without file:// in front. Mount the file system, or copy the file to a local"
        " disk first.",
    )


def translated(problem: OSError, path: Path) -> errors.OpError:
    """The error that stands for one of the operating system, as `path; reason`."""
    kind = CLASSES.get(problem.errno or 0, errors.UnknownError)
    return kind(None, None, f"{os.fsdecode(path)}; {problem.strerror or problem}")


@contextlib.contextmanager
def translating(path: Path) -> Iterator[None]:
    """Failures of the operating system while it is open become our errors about a path."""
    try:
        yield
    except OSError as problem:
        raise translated(problem, path) from problem


def _done(path: Path, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except OSError as problem:
        raise translated(problem, path) from problem


def _refuse_existing(path: Path, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise errors.AlreadyExistsError(
            None,
            None,
            f"file already exists: expected no file at '{os.fsdecode(path)}'. Pass overwrite=True "
            "to replace it.",
        )


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copies the contents of a file.

    Args:
      src: the file.
      dst: the copy.
      overwrite: whether a file that is there is replaced.

    Raises:
      AlreadyExistsError: `dst` exists and `overwrite` is false.
      InvalidArgumentError: `src` is a folder.
      NotFoundError: there is no `src`, or no folder for `dst`.
    """
    _refuse_existing(dst, overwrite)
    source, target = local_path(src), local_path(dst)
    if os.path.isdir(source):
        raise errors.InvalidArgumentError(
            None, None, f"{source}; expected a file to copy, got a folder. Copy its files."
        )
    _done(target if os.path.exists(source) else source, shutil.copyfile, source, target)


def exists(path: Path) -> bool:
    """Tells whether there is a file or folder at `path`."""
    return os.path.exists(local_path(path))


def isdir(path: Path) -> bool:
    """Tells whether `path` is a folder."""
    return os.path.isdir(local_path(path))


def join(path: Any, *paths: Any) -> Any:
    """Joins parts of a path with slashes; a part that starts with one begins anew.

    Example:
      >>> join("a", "b", "c.txt")
      'a/b/c.txt'
    """
    return os.path.join(os.fspath(path), *(os.fspath(part) for part in paths))


def listdir(path: Path) -> list[str]:
    """Returns the names of a folder's files and folders, in order.

    Raises:
      NotFoundError: `path` is no folder.
    """
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {os.fsdecode(path)}")
    return sorted(_done(path, os.listdir, local_path(path)))


def mkdir(path: Path) -> None:
    """Makes a folder; nothing happens when it is there.

    Raises:
      NotFoundError: the folder that it would be in does not exist. Use `makedirs`.
      AlreadyExistsError: there is a file at `path`.
    """
    if not isdir(path):
        _done(path, os.mkdir, local_path(path))


def makedirs(path: Path) -> None:
    """Makes a folder and those that it is in, as far as they are missing.

    Raises:
      FailedPreconditionError: there is a file where a folder is needed.
    """
    local = local_path(path)
    if os.path.exists(local) and not os.path.isdir(local):
        raise translated(NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)), path)
    _done(path, lambda: os.makedirs(local, exist_ok=True))


def remove(path: Path) -> None:
    """Removes a file.

    Raises:
      NotFoundError: there is none.
      FailedPreconditionError: it is a folder; use `rmtree`.
    """
    local = local_path(path)
    if os.path.isdir(local) and not os.path.islink(local):
        raise translated(IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)), path)
    _done(path, os.remove, local)


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Renames or moves a file or folder, at once for all who look, within one file system.

    Args:
      src: the present path.
      dst: the new path.
      overwrite: whether what is at `dst` is replaced.

    Raises:
      AlreadyExistsError: `dst` exists and `overwrite` is false.
      NotFoundError: there is no `src`.
    """
    _refuse_existing(dst, overwrite)
    _done(src, os.replace, local_path(src), local_path(dst))


def rmtree(path: Path) -> None:
    """Removes a folder with all that is in it, or a file.

    Raises:
      NotFoundError: there is nothing at `path`.
    """
    local = local_path(path)
    if not os.path.lexists(local):
        raise errors.NotFoundError(None, None, f"{os.fsdecode(path)} not found")
    is_folder = os.path.isdir(local) and not os.path.islink(local)
    _done(path, shutil.rmtree if is_folder else os.remove, local)


def stat(path: Path) -> FileStatistics:
    """Returns length, time of change and kind of a file or folder.

    Raises:
      NotFoundError: there is nothing at `path`.
    """
    found = _done(path, os.stat, local_path(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, isdir(path))


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[errors.OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Goes through a folder and the folders in it.

    Args:
      top: where to start.
      topdown: whether a folder comes before those in it, or after them.
      onerror: called with the error when a folder cannot be listed; errors are left out when None.

    Yields:
      The path of a folder, the names of its folders, the names of its files.
    """
    top = os.fsdecode(top)
    try:
        names = listdir(top)
    except errors.NotFoundError as problem:
        if onerror is not None:
            onerror(problem)
        return
    folders = [name for name in names if isdir(join(top, name))]
    inside = set(folders)
    here = (top, folders, [name for name in names if name not in inside])
    if topdown:
        yield here
    for name in folders:
        yield from walk(join(top, name), topdown, onerror)
    if not topdown:
        yield here


def glob(pattern: Any) -> list[str]:
    """Returns the paths that fit one of the patterns, in order.

    Args:
      pattern: a pattern or a list of them. `*` is any text without slashes (also a leading dot),
        `?` one character, `[a-z]` and `[^a-z]` one of a set, and not.

    Returns:
      List of paths; empty when nothing fits.
    """
    several = isinstance(pattern, list | tuple | set)
    return [path for each in (pattern if several else [pattern]) for path in _matching(each)]


def _matching(pattern: Path) -> list[str]:
    text = os.fsdecode(pattern)
    if not text:
        return []
    local = local_path(pattern)
    head = text[: len(text) - len(local)]
    first, *rest = local.split("/")
    paths = [""] if first == "" and rest else _expand([""], first)
    for part in rest:
        paths = _expand([f"{path}/" for path in paths], part)
    return [head + path for path in sorted(paths)]


def _expand(folders: list[str], part: str) -> list[str]:
    if not part:
        return folders
    if not any(c in part for c in "*?["):
        return [folder + part for folder in folders if os.path.lexists(folder + part)]
    fits = re.compile(fnmatch.translate(part.replace("[^", "[!"))).match
    return [
        folder + name
        for folder in folders
        if os.path.isdir(folder or ".")
        for name in _done(folder, os.listdir, folder or ".")
        if fits(name)
    ]


def get_registered_schemes() -> list[str]:
    """Returns the schemes that paths may have: none, and `file`."""
    return ["", "file"]
