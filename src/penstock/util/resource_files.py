"""`tf.compat.v1.resource_loader`: files that lie beside a program's modules."""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]  # the folder of this package


def get_root_dir_with_all_resources() -> str:
    """The folder that relative paths of `load_resource` start from: that of this package."""
    return str(_ROOT)


def load_resource(path: str) -> bytes:
    """The content of a file.

    Args:
      path: its path, from `get_root_dir_with_all_resources` if it is relative.

    Raises:
      OSError: it cannot be read.
    """
    return (_ROOT / path).read_bytes()


def get_data_files_path() -> str:
    """The folder of the module that calls this."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """The path of a file from the folder of the module that calls this.

    Args:
      path: relative to that folder.
    """
    return str(Path(_folder_of_caller()) / path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """`path` itself: the system reads ahead on its own.

    Args:
      path: of a file.
      readahead: how much of it to read.
    """
    del readahead
    return path


def _folder_of_caller() -> str:
    """The folder of the first module up the stack that is not of this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and Path(frame.f_code.co_filename).is_relative_to(_ROOT):
        frame = frame.f_back
    return str(Path(frame.f_code.co_filename).resolve().parent)
