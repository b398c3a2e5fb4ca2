"""Numbers that stand for strings: hash buckets and fingerprints.

The hashes (`penstock.ops.string_hashes`) are TensorFlow's, so a bucket means the same there.
"""

from typing import Any

import numpy as np

from penstock.core import shapes
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.kernels import host_kernel
from penstock.core.op_def import OpDef, define_op
from penstock.core.shapes import ShapeContext
from penstock.ops.string_arrays import HOST, as_text, invalid
from penstock.ops.string_hashes import fingerprints, murmur_hashes, sip_hashes
from penstock.types import dims as d
from penstock.types.dims import Dims

Array = Any  # numpy.ndarray
NO_GRADIENT = "a hash has no gradient"


def _define(text: str, doc: str) -> OpDef:
    return define_op(text, shape=shapes.same, doc=doc).not_differentiable(NO_GRADIENT)


LEGACY = _define(
    "StringToHashBucket(string_tensor: string; num_buckets: int >= 1) -> output: int64",
    "Each string's bucket by the first hash function; it may change.",
)
FAST = _define(
    "StringToHashBucketFast(input: string; num_buckets: int >= 1) -> output: int64",
    "Each string's bucket by FarmHash's fingerprint.",
)
STRONG = _define(
    "StringToHashBucketStrong(input: string; num_buckets: int >= 1, key: list(int)) -> output: "
    "int64",
    "Each string's bucket by a keyed hash.",
)


@host_kernel(LEGACY, limit=HOST)
def _legacy(string_tensor: Array, *, num_buckets: int) -> Array:
    return murmur_hashes(string_tensor, num_buckets).view(np.int64)


@host_kernel(FAST, limit=HOST)
def _fast(input: Array, *, num_buckets: int) -> Array:
    return fingerprints(input, num_buckets).view(np.int64)


@host_kernel(STRONG, limit=HOST)
def _strong(input: Array, *, num_buckets: int, key: Any) -> Array:
    if len(key) != 2:
        raise invalid(
            f"StringToHashBucketStrong: Key must have 2 elements, got {len(key)}. Give two integers"
            " that nobody can guess."
        )
    return sip_hashes(input, (int(key[0]), int(key[1])), num_buckets).view(np.int64)


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The bucket of each string by a hash function; prefer `to_hash_bucket_fast`.

    Args:
      input: string, any shape.
      num_buckets: how many buckets, at least 1.
      name: the name in a graph.

    Returns:
      int64 of the shape of `input`, from 0 to num_buckets - 1.

    Raises:
      InvalidArgumentError, ValueError: `num_buckets` is below 1.

    Example:
      >>> to_hash_bucket(["Hello", "TensorFlow"], 3).numpy().shape
      (2,)
    """
    return execute(LEGACY, (input,), {"num_buckets": num_buckets}, name)


def to_hash_bucket_v1(
    string_tensor: Any = None,
    num_buckets: Any = None,
    name: str | None = None,
    input: Any = None,
) -> Any:
    """The bucket of each string by a hash function.

    Args:
      string_tensor: string, any shape.
      num_buckets: how many buckets, at least 1.
      name: the name in a graph.
      input: the same as `string_tensor`.

    Returns:
      int64 of the shape of `string_tensor`.

    Raises:
      ValueError: both names of the strings are given.
    """
    return to_hash_bucket(either(input, string_tensor, "input"), num_buckets, name)


def either(given: Any, old: Any, name: str, old_name: str = "string_tensor") -> Any:
    """The value of an argument that has a former name.

    Raises:
      ValueError: both are given.
    """
    if given is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'. Give '{name}' alone.")
    return old if given is None else given


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Any:
    """The bucket of each string by FarmHash's fingerprint; the same everywhere and for ever.

    Args:
      input: string, any shape.
      num_buckets: how many buckets, at least 1.
      name: the name in a graph.

    Returns:
      int64 of the shape of `input`, from 0 to num_buckets - 1.

    Raises:
      InvalidArgumentError, ValueError: `num_buckets` is below 1.

    Example:
      >>> to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).numpy().tolist()
      [0, 2, 2]
    """
    return execute(FAST, (input,), {"num_buckets": num_buckets}, name)


def to_hash_bucket_strong(input: Any, num_buckets: int, key: Any, name: str | None = None) -> Any:
    """The bucket of each string by a keyed hash, which makes collisions hard to provoke.

    Args:
      input: string, any shape.
      num_buckets: how many buckets, at least 1.
      key: two integers.
      name: the name in a graph.

    Returns:
      int64 of the shape of `input`, from 0 to num_buckets - 1.

    Raises:
      InvalidArgumentError: `key` has not two elements, or `num_buckets` is below 1.

    Example:
      >>> to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).numpy().tolist()
      [2, 0]
    """
    return execute(STRONG, (input,), {"num_buckets": num_buckets, "key": key}, name)


# ---- fingerprints -------------------------------------------------------------------------------

_FINGERPRINT_BYTES = 8


def _fingerprint_shape(c: ShapeContext) -> Dims:
    data, method = c.rank_at_least(0, 1, "data"), c.shape(1)
    if method:
        c.fail("a scalar method", f"`method` should be a scalar string: {d.text(method)}")
    known = c.constant(1)
    is_farm = known is not None and as_text(known.item()) == "farmhash64"
    return (None if data is None else data[0], _FINGERPRINT_BYTES if is_farm else None)


FINGERPRINT = define_op(
    "Fingerprint(data: T, method: string; T: type) -> fingerprint: uint8",
    shape=_fingerprint_shape,
    doc="The fingerprint of each row.",
).not_differentiable(NO_GRADIENT)


@host_kernel(FINGERPRINT, limit=HOST)
def _fingerprint(data: Array, method: Array) -> Array:
    wanted = as_text(method.item())
    if wanted != "farmhash64":
        raise invalid(
            f"Fingerprint: Unsupported fingerprint method: {wanted}, expected 'farmhash64'."
        )
    count = len(data)
    if data.dtype != object:
        rows = [row.tobytes() for row in np.ascontiguousarray(data)]
    else:
        rows = data.reshape(-1).tolist()
        if data.size != count:  # a row of several strings: the fingerprint of their fingerprints
            inner = fingerprints(rows).astype("<u8").reshape(count, -1)
            rows = [row.tobytes() for row in inner]
    hashed = fingerprints(rows).astype("<u8")
    return hashed.view(np.uint8).reshape(count, _FINGERPRINT_BYTES)


def fingerprint(data: Any, method: Any = "farmhash64", name: str | None = None) -> Any:
    """The fingerprint of each row of a tensor: equal for equal rows, surely different for others.

    Args:
      data: any dtype, [N, ...].
      method: "farmhash64", the only one.
      name: the name in a graph.

    Returns:
      uint8[N, 8].

    Raises:
      InvalidArgumentError, ValueError: `data` is a scalar, or the method is unknown.

    Example:
      >>> fingerprint(["a", "b"]).shape
      TensorShape([2, 8])
    """
    return execute(FINGERPRINT, (convert_to_tensor(data), method), None, name)
