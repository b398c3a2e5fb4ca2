"""Looking into checkpoints: what they hold, and single tensors, as NumPy arrays."""

import os
from typing import Any

import numpy as np

from penstock.checkpoint.state_files import latest_checkpoint
from penstock.core import files
from penstock.core.bundle import paths
from penstock.core.bundle.single_file import open_checkpoint
from penstock.types.dtypes import DType

_TYPE_NAMES = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}


class CheckpointReader:
    """Reads the checkpoint under a prefix. Thread-safe.

    Args:
      filename: the prefix of a checkpoint of either format, text or path.

    Raises:
      NotFoundError: there is none.
      DataLossError: its index is damaged.
    """

    def __init__(self, filename: Any) -> None:
        self._contents = open_checkpoint(filename)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of that name."""
        return self._contents.has(tensor_str)

    def get_tensor(self, tensor_str: str) -> Any:
        """A tensor as a NumPy array; a scalar as a NumPy scalar, a string scalar as bytes.

        Args:
          tensor_str: its name.

        Raises:
          NotFoundError: there is none of that name.
          DataLossError: it is damaged; the message names the tensor and the file.
        """
        value = self._contents.read(tensor_str)
        return value if value.ndim else value[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shapes of all tensors, by name."""
        return {n: list(self._contents.info(n).shape) for n in self._contents.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """The dtypes of all tensors, by name."""
        return {n: self._contents.info(n).dtype for n in self._contents.names()}

    def debug_string(self) -> bytes:
        """One line for each tensor: name, dtype, shape."""
        lines = []
        for name in self._contents.names():
            info = self._contents.info(name)
            kind = _TYPE_NAMES.get(info.dtype.name, info.dtype.name.upper())
            shape = ",".join(map(str, info.shape))
            lines.append(f"{name} (DT_{kind}) [{shape}]\n")
        return "".join(lines).encode()


def new_checkpoint_reader(filepattern: Any) -> CheckpointReader:
    """A reader of the checkpoint under a prefix.

    Args:
      filepattern: the prefix, text or path.

    Raises:
      NotFoundError: there is none.
      DataLossError: its index is damaged.
    """
    return CheckpointReader(filepattern)


def prefix_of(ckpt_dir_or_file: Any) -> str:
    """A prefix as it is; the last checkpoint of a folder.

    Raises:
      ValueError: there is none in the folder.
    """
    path = os.fsdecode(ckpt_dir_or_file)
    local = files.local_path(path)
    if not os.path.isdir(local) or os.path.exists(paths.index_path(local)):
        return local
    found = latest_checkpoint(local)
    if found is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}: expected "
            "a folder that checkpoints were saved in. Pass the prefix of a checkpoint."
        )
    return found


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of a checkpoint, or of the last one of a folder.

    Args:
      ckpt_dir_or_file: a prefix or a folder.

    Raises:
      ValueError: there is none in the folder.
      NotFoundError: there is none under the prefix.
    """
    return CheckpointReader(prefix_of(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: Any, name: str) -> np.ndarray[Any, Any]:
    """A tensor of a checkpoint, or of the last one of a folder.

    Args:
      ckpt_dir_or_file: a prefix or a folder.
      name: the tensor's name, with or without ":0".

    Returns:
      A NumPy array.

    Raises:
      ValueError, NotFoundError: there is no checkpoint, or no tensor of the name.
    """
    value: np.ndarray[Any, Any] = load_checkpoint(ckpt_dir_or_file).get_tensor(
        name.removesuffix(":0")
    )
    return value


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The names and shapes of the tensors of a checkpoint, in the order of the names.

    Args:
      ckpt_dir_or_file: a prefix or a folder.

    Raises:
      ValueError, NotFoundError: there is no checkpoint.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
