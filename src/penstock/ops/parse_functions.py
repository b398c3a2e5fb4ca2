"""Public functions that parse Examples and SequenceExamples into dictionaries of tensors."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.core.composite import SparseTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.ops.composing import scope
from penstock.ops.parse_features import (
    IN_CONTEXT,
    IN_LISTS,
    KINDS,
    Asked,
    RaggedFeature,
    SparseFeature,
    asked,
)
from penstock.ops.parse_ragged import Pair, nested
from penstock.ops.ragged_parts import row_count
from penstock.ops.ragged_tensor import RaggedTensor
from penstock.ops.sparse_tensors import merge
from penstock.ops.string_arrays import as_bytes
from penstock.types import dtypes

Features = Mapping[Any, Any]
Read = dict[str, dict[Any, Any]]  # "sparse", "dense", "ragged": key -> what was read


def _keys(keys: Any) -> Any:
    """Keys as an array of strings, string[K]."""
    array = np.empty(len(keys), object)
    array[:] = [as_bytes(key) if isinstance(key, (str, bytes)) else _refused(key) for key in keys]
    return array


def _refused(key: Any) -> bytes:
    raise TypeError(f"Cannot convert {key!r} to a key of dtype string. Give features by name.")


def _names(names: Any) -> Any:
    return _keys([]) if names is None else names


def _take(outputs: list[Any], keys: Any) -> dict[Any, Any]:
    """The next outputs, by key."""
    taken = [outputs.pop(0) for _ in keys]
    return dict(zip(keys, taken, strict=True))


def _take_sparse(outputs: list[Any], keys: Any) -> dict[Any, Any]:
    indices, values, shapes = (_take(outputs, keys) for _ in range(3))
    return {key: SparseTensor(indices[key], values[key], shapes[key]) for key in keys}


def _take_ragged(outputs: list[Any], keys: Any, parts: int = 2) -> dict[Any, tuple[Any, ...]]:
    found = [_take(outputs, keys) for _ in range(parts)]
    return {key: tuple(each[key] for each in found) for key in keys}


def _rank(serialized: Tensor, ragged: Any) -> int | None:
    rank = None if serialized.dims is None else len(serialized.dims)
    if rank is None and ragged:
        raise ValueError(
            "serialized must have statically-known rank to parse ragged features. Call "
            "serialized.set_shape([None]) or ([])."
        )
    return rank


def _strings(serialized: Any) -> Tensor:
    tensor: Tensor = convert_to_tensor(serialized, None, "serialized")
    # In a graph, the operation refuses other dtypes: a TypeError, where this is a ValueError.
    return tensor if state.graph is not None else convert_to_tensor(tensor, dtypes.string)


def _as_scalar(serialized: Any) -> Tensor:
    """`serialized` as a scalar tensor."""
    tensor = _strings(serialized)
    if tensor.dims is None:
        return execute("EnsureShape", (tensor,), {"shape": ()})  # type: ignore[no-any-return]
    if tensor.dims:
        raise ValueError(
            f"Input serialized must be a scalar, got shape {list(tensor.dims)}. Use "
            "tf.io.parse_example for a vector."
        )
    return tensor


def _splits(read: tuple[Any, ...], single: bool) -> Any:
    """Row splits by message: for one message all values are its own."""
    values, splits = read[0], read[-1]
    if not single:
        return splits
    count = row_count(values, splits.dtype)
    return execute("Pack", ([np.zeros((), splits.dtype.numpy_dtype), count],), {"axis": 0})


def _ragged(
    key: Any, feature: RaggedFeature, read: Mapping[Any, tuple[Any, ...]], single: bool
) -> Any:
    """The tensor of a RaggedFeature of an Example or a context."""

    def values_of(name: Any) -> Pair:
        return read[name][0], _splits(read[name], single)

    values, splits = values_of(key if feature.value_key is None else feature.value_key)
    values, splits = nested(
        values, splits, feature.partitions, values_of, feature.row_splits_dtype, feature.validate
    )
    return values if single else RaggedTensor.from_row_splits(values, splits, validate=False)


def _ragged_list(
    key: Any, feature: RaggedFeature, read: Mapping[Any, tuple[Any, ...]], single: bool
) -> Any:
    """The tensor of a RaggedFeature of feature lists: rows by step, and steps by message."""

    def values_of(name: Any) -> Pair:
        values, _, inner = read[name]
        return values, inner

    own = key if feature.value_key is None else feature.value_key
    values, splits = nested(
        *values_of(own), feature.partitions, values_of, feature.row_splits_dtype, feature.validate
    )
    steps = RaggedTensor.from_row_splits(values, splits, validate=False)
    outer = read[own][1]
    return steps if single else RaggedTensor.from_row_splits(steps, outer, validate=False)


def _combined(
    features: Features, read: Read, single: bool, ragged: Callable[..., Any] = _ragged
) -> dict[Any, Any]:
    """The results by feature: what was read under their own key, then what is put together."""
    result = {k: v for kind in read.values() for k, v in kind.items() if k in features}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, RaggedFeature):
            result[key] = ragged(key, feature, read["ragged"], single)
        elif isinstance(feature, SparseFeature):
            result[key] = _merged(feature, read["sparse"])
    return result


def _merged(feature: SparseFeature, read: Mapping[Any, Any]) -> SparseTensor:
    keys = feature.index_key
    ids = read[keys] if isinstance(keys, (str, bytes)) else [read[key] for key in keys]
    sizes = feature.size
    values = read[feature.value_key]
    return merge(ids, values, sizes, already_sorted=feature.already_sorted)


def parse_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Parses serialised Examples into tensors, all rows at once.

    Args:
      serialized: string[N], or a scalar for one example.
      features: key -> FixedLenFeature, FixedLenSequenceFeature (with allow_missing), VarLenFeature,
        SparseFeature or RaggedFeature.
      example_names: string[N]: names for errors.
      name: the name of the scope in a graph.

    Returns:
      key -> tensor: T[N, *shape] for FixedLenFeature, T[N, longest, *shape] for
      FixedLenSequenceFeature, a SparseTensor or RaggedTensor for the others. Without N when
      `serialized` is a scalar.

    Raises:
      ValueError: `features` is empty, a description is incomplete, or two of them conflict.
      InvalidArgumentError: a string is no Example, a feature is missing that has no default, or its
        dtype or size is not that of the description.

    Example:
      >>> ints = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
      >>> one = tf.train.Example(features=tf.train.Features(feature={"a": ints}))
      >>> rows = [one.SerializeToString()] * 2
      >>> tf.io.parse_example(rows, {"a": tf.io.FixedLenFeature([2], tf.int64)})["a"].shape
      TensorShape([2, 2])
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}.")
    with scope(name, "ParseExample"):
        wanted = asked(features, KINDS)
        strings = _strings(serialized)
        rank = _rank(strings, wanted.ragged)
        attrs = {
            "num_sparse": len(wanted.sparse),
            "sparse_types": list(wanted.sparse.values()),
            "ragged_value_types": [dtype for dtype, _ in wanted.ragged.values()],
            "ragged_split_types": [splits for _, splits in wanted.ragged.values()],
            "dense_shapes": [dims for _, dims, _ in wanted.dense.values()],
            "Tdense": [dtype for dtype, _, _ in wanted.dense.values()],
        }
        keys = (_keys(wanted.sparse), _keys(wanted.dense), _keys(wanted.ragged))
        defaults = [default for _, _, default in wanted.dense.values()]
        inputs = (strings, _names(example_names), *keys, defaults)
        outputs = _flat(execute("ParseExampleV2", inputs, attrs, name))
    read = {
        "sparse": _take_sparse(outputs, wanted.sparse),
        "dense": _take(outputs, wanted.dense),
        "ragged": _take_ragged(outputs, wanted.ragged),
    }
    return _combined(features, read, rank == 0)


def _flat(outputs: Any) -> list[Any]:
    """The outputs of an operation with lists of outputs, one by one."""
    found: list[Any] = []
    for each in outputs:
        found.extend(each if isinstance(each, (list, tuple)) else [each])
    return found


def parse_example_v1(
    serialized: Any, features: Features, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """`parse_example` with compat.v1's order of arguments."""
    return parse_example(serialized, features, example_names, name)


def parse_single_example(
    serialized: Any, features: Features, example_names: Any = None, name: str | None = None
) -> dict[Any, Any]:
    """Parses one serialised Example into tensors.

    Args:
      serialized: scalar string.
      features: as for `parse_example`.
      example_names: scalar string: a name for errors.
      name: the name of the scope in a graph.

    Returns:
      key -> tensor, without the batch dimension of `parse_example`.

    Raises:
      ValueError: as for `parse_example`, or `serialized` is no scalar.
      InvalidArgumentError: as for `parse_example`.
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}.")
    with scope(name, "ParseSingleExample"):
        return parse_example(_as_scalar(serialized), features, example_names, name)


def parse_single_example_v1(
    serialized: Any, features: Features, name: str | None = None, example_names: Any = None
) -> dict[Any, Any]:
    """`parse_single_example` with compat.v1's order of arguments."""
    return parse_single_example(serialized, features, example_names, name)


def parse_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """Parses serialised SequenceExamples into tensors, all rows at once.

    Args:
      serialized: string[N], or a scalar for one.
      context_features: key -> FixedLenFeature, VarLenFeature or RaggedFeature.
      sequence_features: key -> FixedLenSequenceFeature, VarLenFeature or RaggedFeature.
      example_names: string[N]: names for errors.
      name: the name of the scope in a graph.

    Returns:
      The context's tensors; the feature lists' tensors, with the steps as second dimension, padded
      with zeros for FixedLenSequenceFeature; and for these the numbers of steps, int64[N].

    Raises:
      ValueError: both dictionaries are empty, or a description is incomplete or not supported.
      InvalidArgumentError: a string is no SequenceExample, a feature is missing that has no
        default, or its dtype or size is not that of the description.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one "
            "should have values."
        )
    with scope(name, "ParseSequenceExample"):
        return _parse_sequences(
            serialized, context_features or {}, sequence_features or {}, example_names, name
        )


def _parse_sequences(
    serialized: Any,
    context_features: Features,
    sequence_features: Features,
    names: Any,
    name: str | None,
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    with scope(name, "ParseSequenceExample"):
        context = asked(context_features, IN_CONTEXT)
        lists = asked(sequence_features, IN_LISTS, lists=True)
        outputs, single = _read_sequences(serialized, context, lists, names, name)
    read: Read = {
        "sparse": _take_sparse(outputs, context.sparse),
        "dense": _take(outputs, context.dense),
        "ragged": _take_ragged(outputs, context.ragged),
    }
    list_read: Read = {
        "sparse": _take_sparse(outputs, lists.sparse),
        "dense": _take(outputs, lists.dense),
    }
    lengths = _take(outputs, lists.dense)
    list_read["ragged"] = _take_ragged(outputs, lists.ragged, 3)
    return (
        _combined(context_features, read, single),
        _combined(sequence_features, list_read, single, _ragged_list),
        lengths,
    )


def _read_sequences(
    serialized: Any, context: Asked, lists: Asked, names: Any, name: str | None
) -> tuple[list[Any], bool]:
    """The outputs of ParseSequenceExampleV2, and whether they are of one example."""
    strings = _strings(serialized)
    single = _rank(strings, {**context.ragged, **lists.ragged}) == 0
    attrs = {
        "Ncontext_sparse": len(context.sparse),
        "Tcontext_dense": [dtype for dtype, _, _ in context.dense.values()],
        "context_sparse_types": list(context.sparse.values()),
        "context_ragged_value_types": [dtype for dtype, _ in context.ragged.values()],
        "context_ragged_split_types": [splits for _, splits in context.ragged.values()],
        "context_dense_shapes": [dims for _, dims, _ in context.dense.values()],
        "Nfeature_list_sparse": len(lists.sparse),
        "Nfeature_list_dense": len(lists.dense),
        "feature_list_dense_types": [dtype for dtype, _, _ in lists.dense.values()],
        "feature_list_sparse_types": list(lists.sparse.values()),
        "feature_list_ragged_value_types": [dtype for dtype, _ in lists.ragged.values()],
        "feature_list_ragged_split_types": [splits for _, splits in lists.ragged.values()],
        "feature_list_dense_shapes": [dims for _, dims, _ in lists.dense.values()],
    }
    kinds = (context.sparse, context.dense, context.ragged)
    list_kinds = (lists.sparse, lists.dense, lists.ragged)
    may_miss = np.array([lists.may_miss[key] for key in lists.dense], bool)
    defaults = [default for _, _, default in context.dense.values()]
    inputs = (
        strings,
        _names(names),
        *map(_keys, kinds),
        *map(_keys, list_kinds),
        may_miss,
        defaults,
    )
    return _flat(execute("ParseSequenceExampleV2", inputs, attrs, name)), single


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Parses one serialised SequenceExample into tensors.

    Args:
      serialized: scalar string.
      context_features: as for `parse_sequence_example`.
      sequence_features: as for `parse_sequence_example`.
      example_name: scalar string: a name for errors.
      name: the name of the scope in a graph.

    Returns:
      The context's tensors, and the feature lists' with the steps as first dimension.

    Raises:
      ValueError: as for `parse_sequence_example`, or `serialized` is no scalar.
      InvalidArgumentError: as for `parse_sequence_example`.
    """
    if not (context_features or sequence_features):
        raise ValueError(
            "Both context_features and sequence_features are None, but at least one should have "
            "values."
        )
    with scope(name, "ParseSingleSequenceExample"):
        one = _as_scalar(serialized)
        context, lists, _ = _parse_sequences(
            one, context_features or {}, sequence_features or {}, example_name, name
        )
    return context, lists
