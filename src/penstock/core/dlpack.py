"""Tensors of other libraries without a copy, through DLPack capsules.

Libraries that take part need no capsule: `np.from_dlpack(tensor)` asks the tensor itself.
"""

import ctypes
from typing import Any

import numpy as np

from penstock import errors
from penstock.core.lazy import wide_types
from penstock.core.lazy_module import LazyModule
from penstock.core.tensor import EagerTensor, eager_tensor, wrap
from penstock.types import dtypes

jax_dlpack = LazyModule("jax.dlpack")

_CPU = 1  # kDLCPU
_NUMPY_CODES = (0, 1, 2, 5, 6)  # int, uint, float, complex, bool


class _DLTensor(ctypes.Structure):
    """The beginning of what a capsule points to (dlpack.h)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Source:
    """A capsule in the form that libraries ask for it."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self._capsule = capsule
        self._device = device

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device


def to_dlpack(tf_tensor: Any) -> Any:
    """A capsule with the memory of a tensor; whoever takes it must not write to it.

    Args:
      tf_tensor: an eager tensor of numbers or bools.

    Returns:
      A PyCapsule named "dltensor", which may be taken once.

    Raises:
      InvalidArgumentError: it is no eager tensor, or holds strings or objects.
    """
    if not isinstance(tf_tensor, EagerTensor):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"to_dlpack: expected an eager tensor, got {type(tf_tensor).__name__}. "
            "Convert it first with tf.convert_to_tensor.",
        )
    return tf_tensor.__dlpack__()


def from_dlpack(dlcapsule: Any) -> EagerTensor:
    """A tensor around the memory of a capsule, which must not be written to afterwards.

    Args:
      dlcapsule: a PyCapsule named "dltensor", not taken before.

    Returns:
      An eager tensor on the device that holds the memory.

    Raises:
      InvalidArgumentError: it is no such capsule, or was taken already.

    Example:
      >>> import penstock as tf
      >>> capsule = tf.experimental.dlpack.to_dlpack(tf.constant([1, 2]))
      >>> tf.experimental.dlpack.from_dlpack(capsule).numpy()
      array([1, 2], dtype=int32)
    """
    found = _described(dlcapsule)
    source = _Source(dlcapsule, (found.device_type, found.device_id))
    if found.device_type == _CPU and found.code in _NUMPY_CODES:
        return eager_tensor(np.from_dlpack(source))
    with wide_types():
        array = jax_dlpack.from_dlpack(source)
    return wrap(array, dtypes.from_numpy(array.dtype))


def _described(capsule: Any) -> _DLTensor:
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if not api.PyCapsule_IsValid(capsule, b"dltensor"):
        raise errors.InvalidArgumentError(
            None,
            None,
            'from_dlpack: expected a capsule with name "dltensor" that was not taken before, got '
            f"{capsule!r}. A capsule may be taken once; arrays convert with tf.convert_to_tensor.",
        )
    return _DLTensor.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor"))
