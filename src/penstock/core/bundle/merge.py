"""Bundles made one, and the names of parts of checkpoints."""

import functools
import os
from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.core import files
from penstock.core.bundle import paths, slices
from penstock.core.bundle.publish import publish
from penstock.core.bundle.reader import BundleReader
from penstock.core.bundle.writer import write_index


def shard_name(base: str, shard: int, shards: int) -> str:
    """The name of one part of several.

    Example:
      >>> shard_name("a/b", 1, 12)
      'a/b-00001-of-00012'
    """
    return f"{base}-{shard:05d}-of-{shards:05d}"


def merge_bundles(
    prefixes: Sequence[str], target: str, delete_folders: bool = True, allow_missing: bool = False
) -> None:
    """Makes one bundle of several, whose data files are moved.

    Args:
      prefixes: the bundles; their data files are renamed, their indexes removed.
      target: the prefix of the new one.
      delete_folders: whether to remove the folders that are empty afterwards.
      allow_missing: whether bundles that are not there are left out.

    Raises:
      InvalidArgumentError: a bundle is missing, or two have a tensor of one name.
      DataLossError: an index is damaged.
    """
    target, readers = files.local_path(target), []
    for prefix in map(files.local_path, prefixes):
        if os.path.exists(paths.index_path(prefix)):
            readers.append(BundleReader(prefix))
        elif not allow_missing:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"allow_missing_files was set to false and {prefix} did not exist: expected an "
                "index file for every prefix. Save all parts first.",
            )
    if not readers:
        raise errors.InvalidArgumentError(
            None, None, "At least one prefix checkpoint file must exist, but none existed."
        )
    partials, entries = [], _merged(readers)
    try:
        for reader in readers:
            for shard in range(reader.shards):
                source = paths.data_path(reader.path, shard, reader.shards)
                partials.append(paths.temporary(paths.data_path(target, 0, 1)))
                _copy_name(source, partials[-1])
        publish(target, partials, functools.partial(_write_index, target, entries))
        for reader in readers:
            _remove(reader, target, delete_folders)
    except OSError as problem:
        raise files.translated(problem, target) from problem
    finally:
        for partial in filter(os.path.exists, partials):
            os.remove(partial)


def _copy_name(source: str, target: str) -> None:
    """A second name for a file; a file system without links gets the file under the new one."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        os.replace(source, target)


def _write_index(target: str, entries: dict[bytes, Any], first: int, shards: int) -> None:
    moved = {}
    for key, entry in entries.items():
        moved[key] = type(entry).FromString(entry.SerializeToString())
        moved[key].shard_id += 0 if entry.slices else first
    write_index(target, shards, moved)


def _remove(reader: BundleReader, target: str, delete_folder: bool) -> None:
    """Removes a bundle that was taken over, its index first."""
    reader.close()
    if reader.path != target:
        os.remove(paths.index_path(reader.path))
        for path in list(paths.data_paths(reader.path)):
            os.remove(path)
    folder = os.path.dirname(reader.path)
    emptied = os.path.isdir(folder) and not os.listdir(folder)
    if delete_folder and emptied and folder != os.path.dirname(target):
        os.rmdir(folder)


def _merged(readers: Sequence[BundleReader]) -> dict[bytes, Any]:
    """The entries of the new index, whose data files are numbered from 0."""
    entries: dict[bytes, Any] = {}
    first = 0
    for reader in readers:
        for key, entry in reader.entries().items():
            entry.shard_id += 0 if entry.slices else first
            known = entries.setdefault(key, entry)
            if known is not entry:
                _add_slices(known, entry, key)
        first += reader.shards
    return entries


def _add_slices(known: Any, entry: Any, key: bytes) -> None:
    same = (known.dtype, known.shape) == (entry.dtype, entry.shape)
    if not same or not known.slices or not entry.slices:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tensor '{key.decode(errors='backslashreplace')}': expected it in one of the bundles, "
            "or slices of one dtype and shape, got two that differ. Save each tensor once.",
        )
    before = {slices.from_proto(message) for message in known.slices}
    known.slices.extend(s for s in entry.slices if slices.from_proto(s) not in before)
