"""Names of a bundle's files, and changes to folders that outlive a loss of power."""

import os
import re
import secrets
from collections.abc import Iterator

_DATA = re.compile(r"\.data-\d{5,}-of-\d{5,}")


def index_path(prefix: str) -> str:
    """The index file of a bundle."""
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    """A data file of a bundle.

    Example:
      >>> data_path("model-7", 0, 1)
      'model-7.data-00000-of-00001'
    """
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def data_paths(prefix: str) -> Iterator[str]:
    """The data files that are there, of whatever number of shards, named as by `data_path`."""
    folder, name = os.path.split(prefix)
    for entry in os.listdir(folder or "."):
        if entry.startswith(name) and _DATA.fullmatch(entry[len(name) :]):
            yield prefix + entry[len(name) :]  # the folder as it is written: `a//b` is no `a/b`


def temporary(path: str) -> str:
    """A path beside `path` that nobody else uses."""
    return f"{path}.tempstate{secrets.randbits(63)}"


def sync_folder(path: str) -> None:
    """Makes the names in the folder of `path` outlive a loss of power."""
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_atomically(path: str, data: bytes) -> None:
    """Writes a file so that a reader sees the old one or the new one, whole and for good."""
    partial = temporary(path)
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise
    sync_folder(path)
