"""The files of a SavedModel: reading, writing, and the paths of its parts."""

import os
from typing import Any

from penstock import errors, proto
from penstock.checkpoint.saved_model import constants as c
from penstock.core import files
from penstock.core.bundle.paths import write_atomically

MAX_BYTES = 2**31 - 1  # what one message may hold


def variables_path(export_dir: str) -> str:
    """The prefix of the bundle of variables."""
    return os.path.join(export_dir, c.VARIABLES_DIRECTORY, c.VARIABLES_FILENAME)


def assets_folder(export_dir: str) -> str:
    """The folder of the assets."""
    return os.path.join(export_dir, c.ASSETS_DIRECTORY)


def asset_path(export_dir: str, filename: str) -> str:
    """The path of an asset.

    Raises:
      ValueError: the name leads out of the folder.
    """
    path = os.path.join(assets_folder(export_dir), filename)
    inside = os.path.relpath(path, assets_folder(export_dir))
    if os.path.isabs(filename) or inside.split(os.sep)[0] == os.pardir or not filename:
        raise ValueError(
            errors.located(
                f"SavedModel {export_dir}", "assets inside its folder", repr(filename),
                "The model is damaged, or was made to read other files; do not use it.",
            )
        )  # fmt: skip
    return path


def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Whether a folder has a file of the name that a SavedModel has.

    Args:
      export_dir: the folder.
    """
    path = files.local_path(export_dir)
    names = (c.SAVED_MODEL_FILENAME_PB, c.SAVED_MODEL_FILENAME_PBTXT)
    return any(os.path.isfile(os.path.join(path, name)) for name in names)


contains_saved_model = maybe_saved_model_directory


def read_saved_model(export_dir: Any) -> tuple[Any, bytes]:
    """The SavedModel message of a folder, and the bytes that it was read from.

    Raises:
      OSError: the folder has none, or one that cannot be parsed.
    """
    folder = files.local_path(export_dir)
    binary = os.path.join(folder, c.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(folder, c.SAVED_MODEL_FILENAME_PBTXT)
    path = binary if os.path.isfile(binary) else text
    if not os.path.isfile(path):
        raise OSError(
            f"SavedModel file does not exist at: {folder}/{{{c.SAVED_MODEL_FILENAME_PBTXT}|"
            f"{c.SAVED_MODEL_FILENAME_PB}}}. Give the folder that tf.saved_model.save wrote."
        )
    size = os.path.getsize(path)
    if size > MAX_BYTES:
        raise OSError(
            f"Cannot parse file {path}: expected at most {MAX_BYTES} bytes, got {size}. Larger "
            "graphs cannot be one message; keep large values in variables."
        )
    with open(path, "rb") as file:
        data = file.read()
    message = proto.saved_model_pb2.SavedModel()
    try:
        if path == binary:
            message.ParseFromString(data)
        else:
            proto.text_format.Parse(data.decode(), message)
    except (
        proto.message.DecodeError, proto.text_format.ParseError, UnicodeDecodeError, RecursionError
    ) as problem:  # fmt: skip
        raise OSError(
            f"Cannot parse file {path}: expected a SavedModel, got {len(data)} bytes that are not "
            f"one: {problem}. The file is damaged or cut short."
        ) from None
    return message, data


def write_saved_model(export_dir: str, message: Any, as_text: bool = False) -> bytes:
    """Writes the SavedModel message of a folder, atomically; returns the bytes."""
    name = c.SAVED_MODEL_FILENAME_PBTXT if as_text else c.SAVED_MODEL_FILENAME_PB
    data: bytes = message.SerializeToString(deterministic=True)
    if as_text:
        data = proto.text_format.MessageToString(message).encode()
    write(os.path.join(export_dir, name), data)
    return data


def write_debug_info(export_dir: str, message: Any) -> None:
    """Writes the GraphDebugInfo of a folder."""
    path = os.path.join(export_dir, c.DEBUG_DIRECTORY, c.DEBUG_INFO_FILENAME_PB)
    write(path, message.SerializeToString(deterministic=True))


def write(path: str, data: bytes) -> None:
    """Writes a file atomically, with the errors of `tf.io.gfile`."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_atomically(path, data)
    except OSError as problem:
        raise files.translated(problem, path) from problem


class AssetNames:
    """Gives each file of assets a name of its own in the folder, and copies it there."""

    def __init__(self, export_dir: str) -> None:
        self._folder = assets_folder(export_dir)
        self._by_path: dict[str, str] = {}

    def add(self, path: str) -> str:
        """The name in the folder of the file at `path`."""
        name = self._by_path.get(path)
        if name is None:
            base, count = os.path.basename(path), 0
            name = base
            while name in self._by_path.values():
                count += 1
                name = f"{base}_{count}"
            self._by_path[path] = name
        return name

    def copy(self) -> None:
        """Copies all files.

        Raises:
          NotFoundError: one is not there.
        """
        for path, name in self._by_path.items():
            os.makedirs(self._folder, exist_ok=True)
            target = os.path.join(self._folder, name)
            if not (os.path.exists(target) and os.path.samefile(path, target)):
                files.copy(path, target, overwrite=True)
