"""How new data files take the place of old ones, so that some index is right at every instant."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Sequence

from penstock.core.bundle import paths

LARGE_BYTES = 16 << 20  # what takes long to free


def publish(prefix: str, partials: Sequence[str], write_index: Callable[[int, int], None]) -> None:
    """Gives data files their names, and writes the index that refers to them.

    A bundle that is there already keeps its data until the new index is in place: the new data go
    under names of another number of files first, of which the first ones do not exist.

    Args:
      prefix: the bundle's prefix.
      partials: the data files, synced, under temporary names.
      write_index: writes the index, atomically, for data files numbered from its first argument
        on, its second argument being the number that their names give as the whole.
    """
    count = len(partials)
    plain = [paths.data_path(prefix, i, count) for i in range(count)]
    old = _open_all(path for path in paths.data_paths(prefix) if _is_large(path))
    try:
        _exchange(prefix, partials, plain, write_index)
    finally:
        if old:  # freed while the caller goes on
            threading.Thread(target=_close, args=(old,), name="penstock-old-data").start()


def _exchange(
    prefix: str,
    partials: Sequence[str],
    plain: Sequence[str],
    write_index: Callable[[int, int], None],
) -> None:
    count = len(partials)
    if not os.path.exists(paths.index_path(prefix)):
        _rename(partials, plain)
        write_index(0, count)
    else:
        taken, total = {path[-5:] for path in paths.data_paths(prefix)}, count + 1
        while f"{total:05d}"[-5:] in taken:
            total += 1
        detour = [paths.data_path(prefix, i, total) for i in range(total - count, total)]
        _rename(partials, detour)
        write_index(total - count, total)
        try:
            _link(detour, partials)
        except OSError:  # a file system without links: the names stay as they are
            plain = detour
        else:
            _rename(partials, plain)
            write_index(0, count)
    for path in list(paths.data_paths(prefix)):
        if path not in plain:
            os.remove(path)


def _is_large(path: str) -> bool:
    return os.path.getsize(path) > LARGE_BYTES


def _open_all(names: Iterable[str]) -> list[int]:
    """Descriptors that keep files from being freed: a large one takes a tenth of a second."""
    found = []
    for name in names:
        with contextlib.suppress(OSError):
            found.append(os.open(name, os.O_RDONLY))
    return found


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _link(sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in zip(sources, targets, strict=True):
        os.link(source, target)


def _rename(sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in zip(sources, targets, strict=True):
        os.replace(source, target)
    paths.sync_folder(targets[0])
