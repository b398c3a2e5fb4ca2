"""Fingerprints: numbers by which two SavedModels are told apart.

A number is the first eight bytes of a SHA-256 sum; TensorFlow uses another function, so the same
model has other numbers there.
"""

import hashlib
import os
import uuid
from typing import Any

from penstock import proto
from penstock.checkpoint.saved_model import constants as c
from penstock.checkpoint.saved_model import folder
from penstock.core import files
from penstock.core.bundle.paths import index_path


class Fingerprint:
    """What tells a SavedModel from others.

    Args:
      saved_model_checksum: a number for the whole message.
      graph_def_program_hash: for the graph.
      signature_def_hash: for the signatures.
      saved_object_graph_hash: for the objects.
      checkpoint_hash: for the index of the variables.
      version: the version of the form.

    Example:
      >>> Fingerprint(1, 2, 3, 4, 5).singleprint()
      '2/3/4/5'
    """

    def __init__(
        self,
        saved_model_checksum: int | None = None,
        graph_def_program_hash: int | None = None,
        signature_def_hash: int | None = None,
        saved_object_graph_hash: int | None = None,
        checkpoint_hash: int | None = None,
        version: int | None = None,
    ) -> None:
        self.saved_model_checksum = saved_model_checksum
        self.graph_def_program_hash = graph_def_program_hash
        self.signature_def_hash = signature_def_hash
        self.saved_object_graph_hash = saved_object_graph_hash
        self.checkpoint_hash = checkpoint_hash
        self.version = version

    @classmethod
    def from_proto(cls, proto: Any) -> "Fingerprint":
        """The fingerprint that a FingerprintDef message holds."""
        return cls(
            proto.saved_model_checksum,
            proto.graph_def_program_hash,
            proto.signature_def_hash,
            proto.saved_object_graph_hash,
            proto.checkpoint_hash,
            proto.version,
        )

    def _hashes(self) -> tuple[int | None, ...]:
        return (
            self.graph_def_program_hash,
            self.signature_def_hash,
            self.saved_object_graph_hash,
            self.checkpoint_hash,
        )

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "checkpoint_hash"):
            return False
        return all(getattr(self, name) == getattr(other, name, None) for name in _NAMES)

    def __hash__(self) -> int:
        return hash(self._hashes())

    def __str__(self) -> str:
        lines = [f"  {name}: {getattr(self, name)}" for name in _NAMES]
        return "\n".join(["SavedModel Fingerprint", *lines])

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)}" for name in _NAMES)
        return f"Fingerprint({values})"

    def singleprint(self) -> str:
        """The parts that matter, as one text.

        Raises:
          ValueError: one of them is missing.
        """
        if any(part is None for part in self._hashes()):
            raise ValueError(
                f"Encountered invalid fingerprint values when generating the singleprint: {self!r}."
                " Expected numbers for all hashes."
            )
        return "/".join(map(str, self._hashes()))


_NAMES = (
    "saved_model_checksum",
    "graph_def_program_hash",
    "signature_def_hash",
    "saved_object_graph_hash",
    "checkpoint_hash",
)


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


def write(path: str, saved_model: Any, data: bytes) -> None:
    """Writes the fingerprint of a model into its folder.

    Args:
      path: the folder.
      saved_model: the message.
      data: the bytes that it was written as.
    """
    meta_graph = saved_model.meta_graphs[0]
    message = proto.fingerprint_pb2.FingerprintDef()
    message.saved_model_checksum = _number(data)
    message.graph_def_program_hash = _number(
        meta_graph.graph_def.SerializeToString(deterministic=True)
    )
    signatures = sorted(meta_graph.signature_def.items())
    message.signature_def_hash = _number(
        b"".join(k.encode() + v.SerializeToString(deterministic=True) for k, v in signatures)
    )
    message.saved_object_graph_hash = _number(
        meta_graph.object_graph_def.SerializeToString(deterministic=True)
    )
    index = index_path(folder.variables_path(path))
    if os.path.exists(index):
        with open(index, "rb") as file:
            message.checkpoint_hash = _number(file.read())
    message.uuid = str(uuid.uuid4().int)
    folder.write(
        os.path.join(path, c.FINGERPRINT_FILENAME), message.SerializeToString(deterministic=True)
    )


def read_fingerprint(export_dir: str) -> Fingerprint:
    """The fingerprint of a SavedModel.

    Args:
      export_dir: its folder.

    Raises:
      FileNotFoundError: it has none.
      RuntimeError: it is damaged.
    """
    folder_path = files.local_path(export_dir)
    path = os.path.join(folder_path, c.FINGERPRINT_FILENAME)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        raise FileNotFoundError(
            f"SavedModel Fingerprint Error: Could not find fingerprint in directory: {folder_path}:"
            f" expected {path}. Give the folder that tf.saved_model.save wrote."
        ) from None
    message = proto.fingerprint_pb2.FingerprintDef()
    try:
        message.ParseFromString(data)
    except proto.message.DecodeError as problem:
        raise RuntimeError(
            f"SavedModel Fingerprint Error: {path}: expected a FingerprintDef, got {problem}. "
            "Save the model again."
        ) from None
    return Fingerprint.from_proto(message)
