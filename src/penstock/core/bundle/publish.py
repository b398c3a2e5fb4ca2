"""How new data files take the place of old ones, so that some index is right at every instant."""

import os
from collections.abc import Callable, Sequence

from penstock.core.bundle import paths


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


def _link(sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in zip(sources, targets, strict=True):
        os.link(source, target)


def _rename(sources: Sequence[str], targets: Sequence[str]) -> None:
    for source, target in zip(sources, targets, strict=True):
        os.replace(source, target)
    paths.sync_folder(targets[0])
