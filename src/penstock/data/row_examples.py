"""Rules of operations that parse serialised Examples: a batch is parsed at once.

Features of fixed shapes alone have them: sparse and ragged ones, and those of any length, have
another layout in a batch than one by one.
"""

from collections.abc import Sequence

from penstock.data.row_graph import NoRule, RowGraph, Value, rule
from penstock.graph.operation import Operation
from penstock.ops.string_arrays import as_bytes
from penstock.types import dtypes as dt


def _check_fixed(op: Operation) -> None:
    shapes = op.attrs["dense_shapes"]
    if any(dims is None or None in dims for dims in shapes) or op.attrs["num_sparse"]:
        raise NoRule


@rule("ParseSingleExample")
def _parse_single(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _check_fixed(op)
    serialized, *defaults = values
    if any(v.rows for v in defaults):
        raise NoRule
    none = rows.constant([], dt.string)
    keys = rows.constant([as_bytes(k) for k in op.attrs["dense_keys"]], dt.string)
    inputs = (serialized.tensor, none, none, keys, none, *(v.tensor for v in defaults))
    attrs = {
        "num_sparse": 0, "sparse_types": (), "ragged_value_types": (), "ragged_split_types": (),
        "Tdense": op.attrs["Tdense"], "dense_shapes": op.attrs["dense_shapes"],
    }  # fmt: skip
    made = rows.add("ParseExampleV2", inputs, attrs, (1, 1, 1, 1, 1, len(defaults)))
    return [Value(t, True) for t in made]


@rule("ParseExampleV2")
def _parse(rows: RowGraph, op: Operation, values: Sequence[Value]) -> list[Value]:
    _check_fixed(op)
    serialized, *others = values
    names = others[0].tensor.dims
    if serialized.dims != () or any(v.rows for v in others) or op.attrs["ragged_value_types"]:
        raise NoRule
    if names is None or names != (0,):
        raise NoRule  # a name of one example
    return rows.again(op, values)
