"""What computes with feature columns: an input layer, a linear model, and the specs of parsing."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.graph.behavior import get_collection
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat, stack
from penstock.ops.initializers_v1 import Zeros
from penstock.ops.math_arithmetic import add_n
from penstock.ops.math_matmul import matmul
from penstock.ops.nn_bias import bias_add
from penstock.ops.nn_embedding_sparse import safe_embedding_lookup_sparse_v1
from penstock.ops.sparse_tensors import reshape as sparse_reshape
from penstock.ops.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.ops.variables_v1 import GraphKeys
from penstock.train.feature_columns.columns import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    Weights,
)
from penstock.types import dtypes as dt


def _checked_columns(given: Any, what: str, kinds: tuple[type, ...], hint: str) -> list[Any]:
    """Columns in the order of their names."""
    if isinstance(given, FeatureColumn):
        given = [given]
    if isinstance(given, Mapping):
        raise ValueError("Expected feature_columns to be iterable, found dict. Pass its values.")
    columns = list(given)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}):"
                f" {column}."
            )
        if not isinstance(column, kinds):
            raise ValueError(f"Items of feature_columns must be a {what}. {hint} Given: {column}")
    columns.sort(key=lambda column: column.name)
    for before, after in itertools.pairwise(columns):
        if before.name == after.name:
            raise ValueError(
                f"Duplicate feature column name found for columns: {before} and {after}. This"
                " usually means that these columns refer to same base feature. Either one must be"
                " discarded or a duplicated but renamed item must be inserted in features dict."
            )
    return columns


def _check_batches(columns: list[Any], numbers: list[Any]) -> None:
    """Refuses what columns made when the numbers of examples are known to differ."""
    known: tuple[str, int] | None = None
    for column, made in zip(columns, numbers, strict=True):
        size = made.shape.as_list()[0]
        if size is None:
            continue
        if known is not None and known[1] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns"
                f" ({known[0]}, {column.name}): ({known[1]}, {size})"
            )
        known = known or (column.name, size)


def _read(features: Any) -> Features:
    if not isinstance(features, Mapping):
        raise ValueError(
            f"features: expected a dictionary of tensors by name, got {type(features).__name__}."
            " Name them as the columns' keys do."
        )
    return Features(features)


def _weights(collections: Any, trainable: bool) -> Weights:
    wanted = [*(collections or []), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return Weights(list(dict.fromkeys(wanted)), trainable)


def _note(column: Any, cols_to_vars: dict[Any, Any] | None) -> None:
    """Notes the variables that were made in the current scope."""
    if cols_to_vars is not None:
        scope = get_variable_scope().name
        cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=f"{scope}/")


def _flat(column: DenseColumn, numbers: Any) -> Any:
    """The numbers as float32[batch, n]."""
    size = column.variable_shape.num_elements()
    rows = numbers.shape[0] if numbers.shape.rank else None
    return reshape(numbers, stack([shape_of(numbers)[0] if rows is None else rows, size]))


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Any:
    """The numbers that columns make of features, side by side.

    Args:
      features: tensors, SparseTensors or arrays by name; the first axis is that of examples.
      feature_columns: columns of numbers; embed or indicate those of categories.
      weight_collections: collections of the graph that variables are added to.
      trainable: whether optimizers update the variables.
      cols_to_vars: a dictionary that is filled with the variables of each column.
      cols_to_output_tensors: one that is filled with the numbers of each column.

    Returns:
      A float32 tensor [batch, n], in the order of the columns' names.

    Raises:
      ValueError: there are no columns, one is no column of numbers or has the name of another; or a
        feature is missing or of the wrong kind.
    """
    hint = "You can wrap a categorical column with an embedding_column or indicator_column."
    columns = _checked_columns(feature_columns, "_DenseColumn", (DenseColumn,), hint)
    read, make = _read(features), _weights(weight_collections, trainable)
    found = []
    with variable_scope(None, default_name="input_layer"):
        for column in columns:
            with variable_scope(None, default_name=column.scope_name):
                numbers = _flat(column, column.dense_tensor(read, make))
                found.append(numbers)
                _note(column, cols_to_vars)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = numbers
        _check_batches(columns, found)
        return concat(found, 1)


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Any:
    """A linear function of columns: weighted numbers and categories, and a bias.

    Args:
      features: tensors, SparseTensors or arrays by name; the first axis is that of examples.
      feature_columns: columns of numbers or categories.
      units: how many numbers come out.
      sparse_combiner: how the weights of an example's categories are combined: "sum", "mean" or
        "sqrtn".
      weight_collections: collections of the graph that variables are added to.
      trainable: whether optimizers update the variables.
      cols_to_vars: a dictionary that is filled with the variables of each column, and of "bias".

    Returns:
      A float32 tensor [batch, units].

    Raises:
      ValueError: as for `input_layer`, or there is no such combiner.
    """
    kinds = (DenseColumn, CategoricalColumn)
    columns = _checked_columns(feature_columns, "_DenseColumn or _CategoricalColumn", kinds, "")
    read, make = _read(features), _weights(weight_collections, trainable)
    sums = []
    with variable_scope(None, default_name="linear_model"):
        for column in columns:
            with variable_scope(None, default_name=column.name):
                sums.append(_weighted(column, read, make, units, sparse_combiner))
                _note(column, cols_to_vars)
        _check_batches(columns, sums)
        bias = _variable("bias_weights", [units], make)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return bias_add(add_n(sums), bias)


def _variable(name: str, shape: list[int], make: Weights) -> Any:
    return get_variable(
        name, shape, dt.float32, Zeros(), trainable=make.trainable, collections=make.collections
    )


def _weighted(column: Any, read: Features, make: Weights, units: int, combiner: str) -> Any:
    """A column's part of a linear model: float32[batch, units]."""
    if not isinstance(column, CategoricalColumn):
        weights = _variable("weights", [column.variable_shape.num_elements(), units], make)
        return matmul(_flat(column, column.dense_tensor(read, make)), weights)
    ids, factors = column.ids(read), column.weights(read)
    rows = ids.dense_shape[0]
    ids = sparse_reshape(ids, stack([rows, -1]))
    factors = None if factors is None else sparse_reshape(factors, stack([rows, -1]))
    weights = _variable("weights", [column.num_buckets, units], make)
    return safe_embedding_lookup_sparse_v1(weights, ids, factors, combiner=combiner)


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """For each feature that columns read, how `tf.io.parse_example` parses it.

    Args:
      feature_columns: columns.

    Returns:
      A dictionary of FixedLenFeature and VarLenFeature by name.

    Raises:
      ValueError: one is no column, or two want a feature parsed otherwise.

    Example:
      >>> column = tf.feature_column.categorical_column_with_identity("kind", 3)
      >>> list(tf.feature_column.make_parse_example_spec([column]))
      ['kind']
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"All feature_columns must be _FeatureColumn instances. Given: {column}"
            )
        for key, spec in column.parse_example_spec.items():
            if found.setdefault(key, spec) != spec:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {spec} and"
                    f" {found[key]}"
                )
    return found
