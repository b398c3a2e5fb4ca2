"""`tf.load_op_library` and its like: libraries of compiled operations, which are refused here.

Such a library is compiled against TensorFlow's classes, which it asks the process for when it is
loaded. It gets the answer that a library of another version gets: `NotFoundError`, which programs
catch to use operations of their own. Operations for this package are written with `tf.library`.
"""

import errno
import os
from typing import NoReturn

from penstock import errors

_SUFFIXES = (".so", ".dylib", ".dll")


def load_op_library(library_filename: str) -> NoReturn:
    """Refuses a library of compiled operations and kernels.

    Args:
      library_filename: its path.

    Raises:
      NotFoundError: the file is not there, or needs TensorFlow's compiled classes.
      TypeError: the path is no text.
    """
    _refuse("load_op_library", library_filename)


def load_file_system_library(library_filename: str) -> NoReturn:
    """Refuses a library of file systems; see `load_op_library`.

    Args:
      library_filename: its path.

    Raises:
      NotFoundError: the file is not there, or needs TensorFlow's compiled classes.
    """
    _refuse("load_file_system_library", library_filename)


def load_library(library_location: str) -> None:
    """Refuses libraries of operations and kernels; a folder that has none is fine.

    Args:
      library_location: the path of a library, or of a folder of them.

    Raises:
      OSError: there is nothing at this path.
      NotFoundError: a library needs TensorFlow's compiled classes.
    """
    _refuse_all("load_library", library_location)


def register_filesystem_plugin(plugin_location: str) -> None:
    """Refuses plugins of file systems; as `load_library`.

    Args:
      plugin_location: the path of a plugin, or of a folder of them.

    Raises:
      OSError: there is nothing at this path.
      NotFoundError: a plugin needs TensorFlow's compiled classes.
    """
    _refuse_all("register_filesystem_plugin", plugin_location)


def _refuse_all(function: str, location: str) -> None:
    if not os.path.exists(location):
        raise OSError(
            errno.ENOENT, f"{function}: expected a file or folder, got a path without one", location
        )
    if not os.path.isdir(location):
        _refuse(function, location)
    for name in sorted(os.listdir(location)):
        if name.endswith(_SUFFIXES):
            _refuse(function, os.path.join(location, name))


def _refuse(function: str, filename: str) -> NoReturn:
    if not isinstance(filename, str):
        raise TypeError(f"{function}: expected a path as str, got {filename!r}. Pass str(path).")
    if not os.path.exists(filename):
        raise errors.NotFoundError(
            None,
            None,
            f"{function}: {filename}: cannot open shared object file: expected a file, there is "
            "none. Check the path.",
        )
    raise errors.NotFoundError(
        None,
        None,
        f"{function}: {filename}: expected a library that needs no class of TensorFlow, got one "
        "compiled against them: they are not in this process. Use the operations of tf, or define "
        "the library's with tf.library.define_op.",
    )
