"""`Dataset.from_generator`: what a Python generator yields, as elements."""

import contextlib
import itertools
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import errors
from penstock.core.composite import SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.tensor import EagerTensor
from penstock.data.base import DatasetBase
from penstock.data.functions import trace
from penstock.data.generator import GENERATOR
from penstock.data.methods_sources import made
from penstock.data.structure import Structure, map_leaves, normalized
from penstock.ops.py_functions import numpy_function, py_function
from penstock.types import dims as d
from penstock.types import dtypes as dt
from penstock.types.composite_values import SparseTensorValue
from penstock.types.dtypes import as_dtype
from penstock.types.tensor_shape import TensorShape
from penstock.types.tensor_spec import TensorSpec
from penstock.types.type_spec import TypeSpec, type_spec_from_value
from penstock.util import nest

if TYPE_CHECKING:
    from penstock.data.dataset import Dataset

# Any: elements are of whatever structure the generator gives.


class GeneratorMethods(DatasetBase):
    """The method of `Dataset` that takes a generator."""

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> "Dataset":
        """A dataset of what a generator yields.

        Each iterator calls `generator` once, when the first element is asked for. The generator is
        closed behind its last element, and when nobody wants more. Python runs it, so it cannot be
        in a graph that another process is to run. An iterator's place is saved only where the
        options' `experimental_external_state_policy` allows it: whoever goes on from there has a
        new generator, whose first elements are passed over.

        Args:
          generator: returns what `iter` takes; called with `args` as NumPy arrays.
          output_types: a structure of dtypes, of the elements; or, better,
          output_shapes: beside it, a structure of shapes; unknown ones by default.
          args: tensors, the arguments of `generator`.
          output_signature: a structure of TypeSpecs, of the elements.
          name: the operation's name in a graph.

        Returns:
          A dataset of unknown cardinality. Values are converted as NumPy converts arrays; beside
          composite tensors, and for a single tensor of unknown rank, only as `tf.constant` does.

        Raises:
          TypeError: `generator` cannot be called, or the signature is given twice, or not at all.
          InvalidArgumentError: while it runs: what was yielded does not fit, or the generator
            raised TypeError or ValueError; other exceptions are UnknownError and the like.

        Example:
          >>> import penstock as tf
          >>> def count(stop):
          ...     for i in range(stop):
          ...         yield i, "x" * i
          >>> signature = (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))
          >>> dataset = tf.data.Dataset.from_generator(count, args=[3], output_signature=signature)
          >>> [(int(n), s.numpy()) for n, s in dataset]
          [(0, b''), (1, b'x'), (2, b'xx')]
        """
        if not callable(generator):
            raise TypeError(
                "`generator` must be a Python callable. Give a function, not its result."
            )
        structure = Structure(_signature(output_types, output_shapes, output_signature))
        given = _arguments(args)
        return _dataset(_Generators(generator, structure), given, structure, name)  # type: ignore[no-any-return]


def _signature(output_types: Any, output_shapes: Any, output_signature: Any) -> Any:
    if output_signature is not None:
        for what, value in (("output_types", output_types), ("output_shapes", output_shapes)):
            if value is not None:
                raise TypeError(
                    f"The `{what}` argument can not be used together with the `output_signature`"
                    " argument. Leave it out."
                )
        map_leaves(_check_spec, output_signature)
        return output_signature
    if output_types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the `output_signature`"
            " argument or the `output_types` argument."
        )
    if output_shapes is None:
        return map_leaves(lambda t: TensorSpec(None, as_dtype(t)), output_types)
    return _specs(output_types, output_shapes)


def _specs(kinds: Any, shapes: Any) -> Any:
    """Specs of dtypes and shapes, in the structure of the dtypes."""
    if isinstance(kinds, tuple):
        if not isinstance(shapes, (tuple, list)) or len(shapes) != len(kinds):
            raise _other_structure(kinds, shapes)
        parts = [_specs(k, s) for k, s in zip(kinds, shapes, strict=True)]
        return type(kinds)(*parts) if hasattr(kinds, "_fields") else tuple(parts)
    if isinstance(kinds, Mapping):
        if not isinstance(shapes, Mapping) or set(shapes) != set(kinds):
            raise _other_structure(kinds, shapes)
        return {k: _specs(v, shapes[k]) for k, v in kinds.items()}
    return TensorSpec(TensorShape(shapes), as_dtype(kinds))


def _other_structure(kinds: Any, shapes: Any) -> ValueError:
    return ValueError(
        "from_generator: The two structures don't have the same nested structure: expected"
        f" `output_shapes` like `output_types` {kinds}, got {shapes}."
    )


def _check_spec(spec: Any) -> None:
    if not isinstance(spec, TypeSpec):
        raise TypeError(
            "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found"
            f" {type(spec)} which is not. Use tf.TensorSpec(shape, dtype)."
        )


def _arguments(args: Any) -> list[Any]:
    if args is None:
        return []
    if not isinstance(args, Sequence) or isinstance(args, (str, bytes)):
        raise TypeError(f"`args` must be a sequence of values, got {args!r}. Give (value,).")
    return [convert_to_tensor(value) for value in args]


def _dataset(
    generators: "_Generators", given: list[Any], structure: Structure, name: str | None
) -> Any:
    number = Structure(TensorSpec((), dt.int64))
    call = py_function if generators.strict else numpy_function

    def begin(*args: Any) -> Any:
        return generators.begin(*args)

    def next_of(which: Any) -> list[Any]:
        return generators.following(which)

    begin.__name__ = next_of.__name__ = generators.name  # what errors call them

    def init() -> Any:
        found = numpy_function(begin, given, dt.int64)
        found.set_shape(())
        return found

    def following(which: Any) -> Any:
        flat = call(next_of, [which], list(structure.types))
        for tensor, shape in zip(flat, structure.shapes, strict=True):
            tensor.set_shape(TensorShape(shape))
        return tuple(flat)

    def end(which: Any) -> Any:
        return numpy_function(generators.end, [which], dt.int64)

    traced = [
        trace(init, [], "from_generator"),
        trace(following, [number], "from_generator"),
        trace(end, [number], "from_generator"),
    ]
    functions = ("init_func", "next_func", "finalize_func")
    attrs = {n: t.body for n, t in zip(functions, traced, strict=True)}
    inputs = tuple(t.captured for t in traced)
    return made(GENERATOR, inputs, structure, {**attrs, **structure.attrs}, name)


class _Generators:
    """The running generators of a dataset, by number. Thread-safe, each generator for one caller.

    Args:
      generator: what makes one.
      structure: of the elements.

    Attributes:
      name: what errors call the generator.
      strict: whether values must convert as tensors do.
    """

    def __init__(self, generator: Callable[..., Any], structure: Structure) -> None:
        self._generator = generator
        self.name: str = getattr(generator, "__name__", type(generator).__name__)
        self._structure = structure
        leaves = structure.leaves
        unknown = isinstance(structure.spec, TensorSpec) and structure.spec.shape.rank is None
        self.strict = unknown or not all(isinstance(s, TensorSpec) for s in leaves)
        self._numbers = itertools.count()
        self._lock = threading.Lock()  # guards: _running
        self._running: dict[int, Iterator[Any]] = {}

    def begin(self, *args: Any) -> Any:
        """Calls the generator; the number of what it returned."""
        iterator = iter(self._generator(*args))
        with self._lock:
            number = next(self._numbers)
            self._running[number] = iterator
        return np.int64(number)

    def following(self, number: Any) -> list[Any]:
        """The components of the next element."""
        value = next(self._running[int(number)])
        values: list[Any] = []
        if not _flatten(self._structure.spec, value, values):
            raise self._unfit(value)
        return self._tensors(value, values) if self.strict else self._arrays(values)

    def end(self, number: Any) -> Any:
        """Closes a generator."""
        with self._lock:
            iterator = self._running.pop(int(number), None)
        if isinstance(iterator, types.GeneratorType):
            with contextlib.suppress(ValueError):  # another thread runs it: then it ends with that
                iterator.close()
        return np.int64(number)

    def _arrays(self, values: list[Any]) -> list[Any]:
        made = []
        for value, spec in zip(values, self._structure.leaves, strict=True):
            array = _converted(value, spec.dtype)
            if not d.compatible(spec.shape.dims_tuple, array.shape):
                raise TypeError(
                    f"`generator` yielded an element of shape {array.shape} where an element of"
                    f" shape {spec.shape} was expected."
                )
            made.append(array)
        return made

    def _tensors(self, value: Any, values: list[Any]) -> list[Any]:
        leaves = self._structure.leaves
        found = []
        for given, spec in zip(values, leaves, strict=True):
            each = given
            if isinstance(each, SparseTensorValue):
                each = SparseTensor.from_value(each)
            try:
                found.append(normalized(each, spec if isinstance(spec, TensorSpec) else None))
            except (TypeError, ValueError, errors.OpError) as problem:
                raise self._unfit(value) from problem
        for each, spec in zip(found, leaves, strict=True):
            kind = type_spec_from_value(each)
            if not spec.is_compatible_with(kind):
                raise TypeError(
                    f"`generator` yielded an element of {kind} where an element of {spec} was"
                    " expected."
                )
        return self._structure.flatten(nest.pack_sequence_as(self._structure.spec, found))

    def _unfit(self, value: Any) -> TypeError:
        spec = self._structure.spec
        return TypeError(
            "`generator` yielded an element that did not match the expected structure. The expected"
            f" structure was {spec}, but the yielded element was {value}."
        )


def _flatten(spec: Any, value: Any, into: list[Any]) -> bool:
    """Puts the leaves of a value into a list, in the order of the spec's; whether it is like it."""
    if isinstance(spec, tuple):
        if not isinstance(value, tuple) or len(value) != len(spec):
            return False
        return all(_flatten(s, v, into) for s, v in zip(spec, value, strict=True))
    if isinstance(spec, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(spec):
            return False
        return all(_flatten(spec[k], value[k], into) for k in sorted(spec))
    fields = getattr(type(spec), "__attrs_attrs__", None)
    if fields is None or isinstance(spec, TypeSpec):
        into.append(value)
        return True
    if type(value) is not type(spec):
        return False
    return all(_flatten(getattr(spec, f.name), getattr(value, f.name), into) for f in fields)


def _converted(value: Any, dtype: dt.DType) -> Any:
    """A value as an array, as NumPy converts it."""
    if isinstance(value, EagerTensor):
        value = value.numpy()
    try:
        if dtype == dt.string:
            return _texts(value)
        array = np.asarray(value)
        with np.errstate(all="ignore"):
            return array.astype(dtype.numpy_dtype)
    except (TypeError, ValueError) as problem:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The"
            f" expected type was {dtype.name}, but the yielded element was {value}."
        ) from problem


def _texts(value: Any) -> Any:
    array = np.asarray(value, object)
    flat = [v.encode() if isinstance(v, str) else v for v in array.reshape(-1).tolist()]
    for each in flat:
        if not isinstance(each, bytes):
            raise errors.InternalError(
                None,
                None,
                f"Unsupported object type {type(each).__name__}: expected text or bytes, as the"
                " signature says. Yield str(value).",
            )
    made = np.empty(array.shape, object)
    made.reshape(-1)[:] = flat
    return made
