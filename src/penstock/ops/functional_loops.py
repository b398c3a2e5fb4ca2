"""Loops over the rows of tensors: `tf.map_fn`, `tf.scan`, `tf.foldl` and `tf.foldr`.

At once they are Python's loops. In a graph each is one `while_loop` that reads rows of the given
tensors and sets elements of lists, so a region compiles it as a loop of XLA's with a fixed number
of rounds, and its gradient as another one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from penstock import errors
from penstock.config import logging
from penstock.core.composite import CompositeTensor
from penstock.core.context import state
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.tensor import Tensor
from penstock.core.user_code import converted
from penstock.ops import row_encoding
from penstock.ops.composing import scope
from penstock.ops.loops import while_loop
from penstock.ops.tensor_array import TensorArray
from penstock.types.dtypes import as_dtype
from penstock.types.ragged_spec import RaggedTensorSpec
from penstock.types.tensor_shape import TensorShape
from penstock.types.type_spec import TypeSpec
from penstock.util import nest

# The loop counts within the length, and sets each element once: there is nothing to check.
IN_RANGE = {"_in_range": True}


class _Rows:
    """A nest of tensors whose rows a loop takes.

    Attributes:
      count: the number of rows: an int, or int32[] where it is not known yet.
    """

    def __init__(self, elems: Any, what: str) -> None:
        self._structure = elems
        leaves = nest.flatten(elems)
        if not leaves:
            raise ValueError(f"{what}: expected elems to hold at least one tensor, got {elems!r}.")
        self._flat = [self._convert(leaf, what) for leaf in leaves]
        self.count = self._count(what)
        self._rows: list[list[Any]] | None = None
        if state.graph is None:
            self._rows = [
                execute("Unpack", (t,), {"num": len(t), "axis": 0}) if len(t) else []  # type: ignore[arg-type]
                for t in self._flat
            ]

    @staticmethod
    def _convert(value: Any, what: str) -> Tensor:
        if isinstance(value, CompositeTensor) and not hasattr(value, "handle"):
            raise TypeError(
                f"{what}: expected elems of dense tensors, got {type(value).__name__}. Convert it "
                "to a tensor first."
            )
        tensor: Tensor = convert_to_tensor(value, name="elem")
        if tensor.shape.rank == 0:
            raise ValueError(
                f"{what}: Elements in elems must be 1+ dimensional Tensors, not scalars: expected a"
                " row for each call. Give such a tensor."
            )
        return tensor

    def _count(self, what: str) -> Any:
        found = (t.dims[0] for t in self._flat if t.dims is not None)
        sizes = {n for n in found if n is not None}
        if len(sizes) > 1:
            few, many = sorted(sizes)[0], sorted(sizes)[-1]
            raise ValueError(
                f"{what}: Dimensions {few} and {many} are not compatible: expected elems with the"
                f" same number of rows, got {sorted(sizes)}. Cut them to one length."
            )
        if sizes:
            return sizes.pop()
        shape = execute("Shape", (self._flat[0],))
        return execute("StridedSlice", (shape, [0], [1], [1]), {"shrink_axis_mask": 1})

    @property
    def dtypes(self) -> Any:
        """The dtypes, in the structure of the tensors."""
        return nest.pack_sequence_as(self._structure, [t.dtype for t in self._flat])

    def at(self, index: Any) -> Any:
        """Row `index` of each tensor, in their structure."""
        if self._rows is not None:
            found = [rows[index] for rows in self._rows]
        else:
            found = [execute("PenstockStackRead", (t, index)) for t in self._flat]
        return nest.pack_sequence_as(self._structure, found)


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(
            f"The provided function {getattr(fn, '__name__', fn)!r} is not callable. fn must be "
            "callable."
        )


def _written(array: TensorArray, index: Any, value: Any, dtype: Any) -> TensorArray:
    """The array with an element that surely is inside of it."""
    value = convert_to_tensor(value, dtype_hint=dtype)
    if value.dtype is not dtype:
        raise TypeError(
            f"expected fn to return {dtype.name}, got {value.dtype.name}. Cast it, or say so with "
            "fn_output_signature."
        )
    array._note(value.shape)
    return array._with(execute("TensorListSetItem", (array._list(), index, value), IN_RANGE))


def _stacked(array: TensorArray, count: Any) -> Any:
    result: Any = array.stack()
    known = count if isinstance(count, int) else None
    result.set_shape(TensorShape([known]).concatenate(array.element_shape))
    return result


def _stop(result: Any, back_prop: bool) -> Any:
    if back_prop:
        return result
    return nest.map_structure(lambda t: execute("StopGradient", (t,)), result)


# ---- map ---------------------------------------------------------------------------------------


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Calls `fn` on each row and stacks what it returns.

    Args:
      fn: takes a row, in the structure of `elems`.
      elems: a nest of tensors [N, ...].
      dtype: the former name of `fn_output_signature`.
      parallel_iterations: accepted for compatibility.
      back_prop: False stops gradients at the result.
      swap_memory: accepted for compatibility.
      infer_shape: whether all results have one shape.
      name: the name in a graph.
      fn_output_signature: a nest of dtypes or TensorSpecs: what `fn` returns. Needed when that
        differs in structure or dtype from `elems`.

    Returns:
      A nest of tensors [N, ...].

    Raises:
      TypeError: `fn` is not callable, or returns another structure or dtype.
      ValueError: `elems` is empty, holds a scalar, or tensors of different lengths.

    Example:
      >>> import penstock as tf
      >>> tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])).numpy().tolist()
      [1, 4, 9]
    """
    _check_callable(fn)
    fn = converted(fn)
    if parallel_iterations is not None and parallel_iterations > 1 and state.graph is None:
        logging.warning(
            "Setting parallel_iterations > 1 has no effect when executing eagerly. Consider "
            "calling map_fn with tf.function to execute fn in parallel."
        )
    returned = dtype if fn_output_signature is None else fn_output_signature
    if any(row_encoding.spec_of(v) is not None for v in nest.flatten([elems, returned])):
        return _map_encoded(fn, elems, returned, back_prop, infer_shape, name)
    with scope(name, "map"):
        rows = _Rows(elems, "map_fn")
        wanted = rows.dtypes if fn_output_signature is None and dtype is None else None
        signature = wanted or (dtype if fn_output_signature is None else fn_output_signature)
        specs = [_dtype_and_shape(s) for s in nest.flatten(signature)]

        def call(index: Any) -> list[Any]:
            result = fn(rows.at(index))
            nest.assert_same_structure(signature, result)
            return [
                convert_to_tensor(v, dtype_hint=t)
                for v, (t, _) in zip(nest.flatten(result), specs, strict=True)
            ]

        if state.graph is None:
            return _stop(nest.pack_sequence_as(signature, _map_now(rows, specs, call)), back_prop)
        arrays = [
            TensorArray(t, size=rows.count, infer_shape=infer_shape, element_shape=shape)
            for t, shape in specs
        ]

        def body(i: Any, arrays: Sequence[TensorArray]) -> Any:
            values = call(i)
            filled = [
                _written(a, i, v, t) for a, v, (t, _) in zip(arrays, values, specs, strict=True)
            ]
            return execute("AddV2", (i, 1)), filled

        _, arrays = while_loop(lambda i, _: execute("Less", (i, rows.count)), body, (0, arrays))
        results = [_stacked(a, rows.count) for a in arrays]
        return _stop(nest.pack_sequence_as(signature, results), back_prop)


def _map_encoded(
    fn: Callable[..., Any], elems: Any, signature: Any, back_prop: bool, infer: bool, name: Any
) -> Any:
    """`map_fn` where rows are composite values: tensors stand for them in the loop."""
    rows = row_encoding.EncodedRows(elems)
    signature = rows.signature if signature is None else signature
    wanted = nest.flatten(signature)

    def inner(parts: Sequence[Any]) -> list[Any]:
        result = fn(rows.row(parts))
        nest.assert_same_structure(signature, result)
        flat = list(zip(wanted, nest.flatten(result), strict=True))
        for spec, value in flat:
            _check_row(spec, value)
        return [part for w, v in flat for part in row_encoding.encode_row(w, v)]

    found = map_fn(
        inner,
        rows.parts,
        back_prop=back_prop,
        infer_shape=infer,
        name=name,
        fn_output_signature=[part for w in wanted for part in row_encoding.part_specs(w)],
    )
    return row_encoding.decode_results(signature, wanted, found)


def _check_row(spec: Any, value: Any) -> None:
    """Refuses what cannot be a row of a ragged tensor: a sum, where rows were expected, say.

    Eager rows without ragged dimensions of their own are joined before they are looked at, so
    theirs is the error of an operation.
    """
    if not isinstance(spec, RaggedTensorSpec) or not hasattr(value, "shape"):
        return
    if not spec.shape.is_compatible_with(value.shape):
        text = (
            f"map_fn: expected fn to return a value of shape {spec.shape}, as the rows of elems "
            f"are where fn_output_signature does not say otherwise, got {value!r}. Give "
            "fn_output_signature: its dtype or spec."
        )
        if state.graph is None and not spec.ragged_rank:
            raise errors.InvalidArgumentError(None, None, text)
        raise ValueError(text)
    if spec.ragged_rank and isinstance(value, Tensor):
        raise ValueError(
            f"map_fn: expected fn to return a ragged tensor of {spec}, got {value!r}. Make it one "
            "with tf.RaggedTensor.from_tensor, or give another fn_output_signature."
        )


def _dtype_and_shape(spec: Any) -> tuple[Any, Any]:
    """Dtype and shape of an element that a signature describes."""
    if not isinstance(spec, TypeSpec):  # NumPy's types have attributes of these names too
        return as_dtype(spec), None
    return spec.dtype, spec.shape  # type: ignore[attr-defined]  # of those that make one tensor


def _map_now(rows: _Rows, specs: Sequence[Any], call: Callable[..., Any]) -> list[Any]:
    arrays = [TensorArray(t, size=rows.count, element_shape=shape) for t, shape in specs]
    for i in range(rows.count):
        for array, value, (dtype, _) in zip(arrays, call(i), specs, strict=True):
            if value.dtype is not dtype:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"map_fn: expected fn to return {dtype.name}, got {value.dtype.name}. Cast it, "
                    "or say so with fn_output_signature.",
                )
            array.write(i, value)
    return [array.stack() for array in arrays]


# ---- scan and folds ----------------------------------------------------------------------------


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Carries a value along the rows, and stacks what it is after each.

    Args:
      fn: `fn(value, row)` gives the next value, in the structure of `initializer`.
      elems: a nest of tensors [N, ...].
      initializer: a nest of tensors, the first value; the first row if None.
      parallel_iterations: accepted for compatibility.
      back_prop: False stops gradients at the result.
      swap_memory: accepted for compatibility.
      infer_shape: whether the value has one shape in all rounds.
      reverse: whether to go from the last row to the first.
      name: the name in a graph.

    Returns:
      A nest of tensors [N, ...] in the structure of `initializer`, or of `elems`.

    Raises:
      TypeError: `fn` is not callable, or returns another structure or dtype.
      ValueError: `elems` is empty, holds a scalar, or tensors of different lengths.

    Example:
      >>> import penstock as tf
      >>> tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])).numpy().tolist()
      [1, 3, 6]
    """
    _check_callable(fn)
    fn = converted(fn)
    with scope(name, "scan"):
        rows = _Rows(elems, "scan")
        path = _Path(rows.count, reverse, initializer is None)
        value = _first(rows, path, initializer)
        flat = nest.flatten(value)
        if state.graph is None:
            stacks = _scan_now(fn, rows, path, value, initializer is None)
            return _stop(nest.pack_sequence_as(value, stacks), back_prop)
        arrays = [TensorArray(t.dtype, size=rows.count, infer_shape=infer_shape) for t in flat]
        if initializer is None:
            arrays = [
                _written(a, path.before, t, t.dtype) for a, t in zip(arrays, flat, strict=True)
            ]

        def body(i: Any, value: Any, arrays: Sequence[TensorArray]) -> Any:
            value = _next(fn, value, rows.at(i))
            filled = [
                _written(a, i, v, a.dtype) for a, v in zip(arrays, nest.flatten(value), strict=True)
            ]
            return path.after(i), value, filled

        _, _, arrays = while_loop(lambda i, *_: path.goes_on(i), body, (path.start, value, arrays))
        stacks = [_stacked(a, rows.count) for a in arrays]
        return _stop(nest.pack_sequence_as(value, stacks), back_prop)


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Carries a value along the rows from the first to the last; the last value.

    Args:
      fn: `fn(value, row)` gives the next value.
      elems: a nest of tensors [N, ...].
      initializer: a nest of tensors, the first value; the first row if None.
      parallel_iterations: accepted for compatibility.
      back_prop: False stops gradients at the result.
      swap_memory: accepted for compatibility.
      name: the name in a graph.

    Returns:
      A nest of tensors in the structure of `initializer`, or of `elems`.

    Example:
      >>> import penstock as tf
      >>> int(tf.foldl(lambda a, x: 10 * a + x, tf.constant([1, 2, 3])))
      123
    """
    return _fold(fn, elems, initializer, back_prop, name or "foldl", False)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Carries a value along the rows from the last to the first; the last value.

    Args:
      fn: `fn(value, row)` gives the next value.
      elems: a nest of tensors [N, ...].
      initializer: a nest of tensors, the first value; the last row if None.
      parallel_iterations: accepted for compatibility.
      back_prop: False stops gradients at the result.
      swap_memory: accepted for compatibility.
      name: the name in a graph.

    Returns:
      A nest of tensors in the structure of `initializer`, or of `elems`.

    Example:
      >>> import penstock as tf
      >>> int(tf.foldr(lambda a, x: 10 * a + x, tf.constant([1, 2, 3])))
      321
    """
    return _fold(fn, elems, initializer, back_prop, name or "foldr", True)


def _fold(fn: Any, elems: Any, initializer: Any, back_prop: bool, name: str, reverse: bool) -> Any:
    _check_callable(fn)
    fn = converted(fn)
    with scope(name, name):
        rows = _Rows(elems, name)
        path = _Path(rows.count, reverse, initializer is None)
        value = _first(rows, path, initializer)
        if state.graph is None:
            for i in path.indices():
                value = _next(fn, value, rows.at(i))
            return _stop(value, back_prop)
        _, value = while_loop(
            lambda i, _: path.goes_on(i),
            lambda i, value: (path.after(i), _next(fn, value, rows.at(i))),
            (path.start, value),
        )
        return _stop(value, back_prop)


def _no_rows() -> Exception:
    """The error for elems without rows and no first value: when it runs, or is built."""
    text = (
        "expected an initializer or at least one row, got elems without rows. Give an initializer."
    )
    return errors.OutOfRangeError(None, None, text) if state.graph is None else ValueError(text)


class _Path:
    """The order of rows: forwards or in reverse, with or without the first of them.

    Attributes:
      start: the first row that a function is called on.
      before: the row before it, which is the first value.
    """

    def __init__(self, count: Any, reverse: bool, skips: bool) -> None:
        self._count = count
        self._reverse = reverse
        if isinstance(count, int) and count == 0 and skips:
            raise _no_rows()
        last = count - 1 if isinstance(count, int) else execute("Sub", (count, 1))
        self.before = last if reverse else 0
        self.start = self.after(self.before) if skips else self.before

    def after(self, i: Any) -> Any:
        """The row that follows."""
        if isinstance(i, int):
            return i - 1 if self._reverse else i + 1
        return execute("Sub" if self._reverse else "AddV2", (i, 1))

    def goes_on(self, i: Any) -> Any:
        """Whether there is a row `i`."""
        if self._reverse:
            return execute("GreaterEqual", (i, 0))
        return execute("Less", (i, self._count))

    def indices(self) -> Sequence[int]:
        """All rows that a function is called on, for an int count."""
        if self._reverse:
            return range(self.start, -1, -1)
        return range(self.start, self._count)


def _first(rows: _Rows, path: _Path, initializer: Any) -> Any:
    if initializer is None:
        return rows.at(path.before)
    return nest.map_structure(convert_to_tensor, initializer)


def _next(fn: Any, value: Any, row: Any) -> Any:
    """The next value, checked to be like the last one.

    Raises:
      TypeError: it has another dtype.
      ValueError: it has another structure.
    """
    result = fn(value, row)
    nest.assert_same_structure(value, result)
    dtypes = [t.dtype for t in nest.flatten(value)]
    found = [
        convert_to_tensor(v, dtype_hint=t)
        for v, t in zip(nest.flatten(result), dtypes, strict=True)
    ]
    for tensor, dtype in zip(found, dtypes, strict=True):
        if tensor.dtype is not dtype:
            raise TypeError(
                f"expected fn to return {dtype.name}, as the value it takes, got "
                f"{tensor.dtype.name}. Cast it, or give an initializer of that dtype."
            )
    return nest.pack_sequence_as(value, found)


def _scan_now(fn: Any, rows: _Rows, path: _Path, value: Any, keeps_first: bool) -> list[Any]:
    arrays = [TensorArray(t.dtype, size=rows.count) for t in nest.flatten(value)]
    if keeps_first:
        for array, tensor in zip(arrays, nest.flatten(value), strict=True):
            array.write(path.before, tensor)
    for i in path.indices():
        value = _next(fn, value, rows.at(i))
        for array, tensor in zip(arrays, nest.flatten(value), strict=True):
            array.write(i, tensor)
    return [array.stack() for array in arrays]


__all__ = ["foldl", "foldr", "map_fn", "scan"]
