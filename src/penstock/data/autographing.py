"""Datasets and iterators in functions that AutoGraph converts: `for`, `next`, `len` and the like.

A loop over a dataset is a loop of the graph over an iterator of its own. The optional with the next
element is carried from round to round, and taken at the end of a round alone that another may
follow: so after `break` an iterator stands behind the last element that a round has seen.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.context import state
from penstock.core.execute import execute
from penstock.core.symbolic_tensor import SymbolicTensor
from penstock.core.tensor import Tensor
from penstock.data import structure as st
from penstock.data.base import DatasetBase
from penstock.data.iterating import GET_NEXT_OPTIONAL
from penstock.data.iterator import OwnedIterator
from penstock.data.structure import Structure
from penstock.graph.behavior import control_dependencies
from penstock.ops.conditionals import cond
from penstock.tracing.autograph.builtins import register_builtin
from penstock.tracing.autograph.loops import (
    GetState,
    Options,
    SetState,
    Test,
    register_for,
    staged_loop,
)
from penstock.tracing.autograph.values import at, is_staged
from penstock.types import dtypes as dt
from penstock.types.tensor_spec import TensorSpec
from penstock.util import nest

# Any: elements are of whatever structure the dataset has.


def _for(
    iterated: Any,
    extra_test: Test | None,
    body: Any,
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: Options,
) -> None:
    """`for x in iterated`, a dataset or an iterator, in a graph."""
    whole = isinstance(iterated, DatasetBase)
    iterator = OwnedIterator(iterated) if whole else iterated
    structure, resource = Structure(iterator.element_spec), iterator._iterator_resource

    def fetch() -> Tensor:
        found: Tensor = execute(GET_NEXT_OPTIONAL, (resource,), structure.attrs)
        return found

    def following(optional: Any) -> Any:
        del optional
        with control_dependencies(_tensors(get_state())):  # not beside them, on another thread
            return fetch() if extra_test is None else _where_more(extra_test(), fetch)

    def value(optional: Any) -> Any:
        return structure.pack(execute("OptionalGetValue", (optional,), structure.attrs))

    def ahead(optional: Any) -> Any:
        return execute("OptionalHasValue", (optional,))

    first = fetch() if extra_test is None else _where_more(extra_test(), fetch)
    loop = staged_loop(symbol_names, get_state, set_state, opts, relaxes=whole)
    loop.ran = ahead
    loop.run(None, body, (first, ahead, following, value))


def _tensors(values: Any) -> list[Any]:
    flat = nest.flatten(values, expand_composites=True)
    return [v for v in flat if isinstance(v, SymbolicTensor) and v.graph is state.graph]


def _where_more(more: Any, fetch: Any) -> Any:
    """The next element's optional, or an empty one where no other round follows."""
    if is_staged(more):
        return cond(more, fetch, _none)
    return fetch() if more else _none()


def _none() -> Any:
    return execute("OptionalNone", ())


_GIVEN = object()  # stands for an argument that was not passed


def _next(iterator: Any, default: Any = _GIVEN) -> Any:
    """`next(iterator)` and `next(iterator, default)`."""
    if default is _GIVEN:
        return next(iterator)
    structure = Structure(iterator.element_spec)
    otherwise = _default(default, structure)
    optional = iterator.get_next_as_optional()
    return structure.pack(
        _as_list(
            cond(
                optional.has_value(),
                lambda: structure.flatten(optional.get_value()),
                lambda: [execute("Identity", (t,)) for t in otherwise],
            )
        )
    )


def _as_list(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def _default(default: Any, structure: Structure) -> list[Any]:
    """The components of the value that stands for a missing element.

    Raises:
      TypeError: it is no such element.
    """
    spec = structure.spec
    try:
        nest.assert_same_structure(spec, default)
        value = st.normalized(default, spec)
        given = st.spec_of(value)
        leaves = zip(nest.flatten(given), structure.leaves, strict=True)
        if not all(_fits(found, wanted) for found, wanted in leaves):
            raise TypeError(f"it is {given}")
    except (TypeError, ValueError) as problem:
        raise TypeError(
            f"The default value of next{at()}: expected an element like {spec}, got {default!r}"
            f" ({problem}). Give a value of the same structure, dtypes and shapes."
        ) from None
    return structure.flatten(value)


def _fits(found: Any, wanted: Any) -> bool:
    if isinstance(found, TensorSpec) and isinstance(wanted, TensorSpec):
        return found.dtype is wanted.dtype
    return type(found) is type(wanted)


def _len(dataset: Any) -> Any:
    """`len(dataset)`: int64[], of which an infinite or unknown number is an error when it runs."""
    count = dataset.cardinality()
    for number, text in ((-1, "infinite"), (-2, "unknown")):
        text = f"The length of the dataset is {text}: expected a dataset whose cardinality is known"
        execute("Assert", (execute("NotEqual", (count, number)), [text]))
    return count


def _enumerate(dataset: Any, start: Any = 0) -> Any:
    return dataset.enumerate(start)


def _zip(*datasets: Any, strict: bool = False) -> Any:
    if strict:
        raise NotImplementedError(
            f"zip of datasets with strict=True{at()}: expected strict=False. Compare"
            " cardinality() of the datasets."
        )
    return datasets[0].zip(tuple(datasets))


def _map(function: Any, *datasets: Any) -> Any:
    given = datasets[0] if len(datasets) == 1 else _zip(*datasets)
    return given.map(function)


def _filter(function: Any, dataset: Any) -> Any:
    return dataset.filter(bool if function is None else function)


def _any(dataset: Any, wanted: bool = True) -> Any:
    """Whether some element is `wanted`; elements behind the first such are not taken."""
    spec = dataset.element_spec
    if not (isinstance(spec, TensorSpec) and spec.dtype is dt.bool_ and spec.shape.rank == 0):
        word = "any" if wanted else "all"
        raise ValueError(
            f'in "{word}", the dataset{at()}: expected elements that are bool[], got {spec}. Map'
            " them to booleans first."
        )
    found = dataset.filter(lambda x: x if wanted else execute("LogicalNot", (x,))).take(1)
    optional = OwnedIterator(found).get_next_as_optional()
    has = optional.has_value()
    return has if wanted else execute("LogicalNot", (has,))


def install() -> None:
    """Registers all of it; called once, by the module with the class of datasets."""
    register_for(DatasetBase, _for)
    register_for(OwnedIterator, _for)
    overloads: dict[Any, Callable[..., Any]] = {
        enumerate: _enumerate,
        zip: _zip,
        map: _map,
        filter: _filter,
        len: _len,
        any: _any,
        all: functools.partial(_any, wanted=False),
    }
    for function, overload in overloads.items():
        register_builtin(function, DatasetBase, overload)
    register_builtin(next, OwnedIterator, _next)
