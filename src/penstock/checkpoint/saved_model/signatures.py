"""Signatures: the functions that a model offers under names, with named tensors in and out."""

import inspect
import itertools
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.checkpoint.saved_model.constants import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    INIT_OP_SIGNATURE_KEY,
    TRAIN_OP_SIGNATURE_KEY,
)
from penstock.checkpoint.saved_model.objects import SignatureMap
from penstock.core import context
from penstock.core.execute import execute
from penstock.core.tensor import EagerTensor, Tensor
from penstock.graph.func_graph import FuncGraph
from penstock.tracing.concrete import ConcreteFunction
from penstock.tracing.function import Function
from penstock.types.tensor_spec import TensorSpec

_numbers = itertools.count()
RESERVED = (INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY)


def argument_names(concrete: ConcreteFunction) -> list[str]:
    """The names of the flat tensor arguments: those of their placeholders, each there once."""
    return [tensor.op.name for tensor in concrete.inputs[: len(concrete.input_specs)]]


def signature_map(signatures: Any, children: Mapping[str, Any]) -> SignatureMap:
    """The signatures of a model.

    Args:
      signatures: a function, functions by name, or None: the one function among the children that
        can be a signature, if there is just one.
      children: the children of the root.

    Raises:
      ValueError: something is no function that can be a signature.
    """
    if signatures is None:
        signatures = _only_function(children)
    if not isinstance(signatures, Mapping):
        signatures = {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures}
    found = SignatureMap()
    for key, value in signatures.items():
        if not isinstance(key, str):
            raise ValueError(f"signatures: expected strings as keys, got {key!r}.")
        if key in RESERVED:
            raise ValueError(
                f"signatures: expected names that are free, got {key!r}, which is reserved. "
                "Choose another name."
            )
        concrete = _concrete(value)
        found._add_signature(key, _wrapped(concrete, key))
        found._defaults[key] = _defaults(value, argument_names(concrete))
    return found


def _defaults(value: Any, names: list[str]) -> dict[str, Any]:
    """The parameters of a tf.function that have tensors for defaults, as inputs of a signature."""
    specs = value.input_signature if isinstance(value, Function) else None
    if specs is None or len(specs) != len(names):
        return {}  # no parameters, or some of several tensors
    full = value.function_spec.fullargspec
    defaults = full.defaults or ()
    places = range(len(full.args) - len(defaults), len(full.args))
    pairs = [(names[i], v) for i, v in zip(places, defaults, strict=True) if i < len(names)]
    return {name: default for name, default in pairs if isinstance(default, EagerTensor)}


def _only_function(children: Mapping[str, Any]) -> Mapping[str, Any]:
    possible = []
    for child in children.values():
        if isinstance(child, Function) and child.input_signature is not None:
            child = child.get_concrete_function()
        if isinstance(child, ConcreteFunction):
            try:
                _outputs(child.structured_outputs, child.name, "")
            except ValueError:
                continue
            possible.append(child)
    return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: possible[0]} if len(possible) == 1 else {}


def _concrete(value: Any) -> ConcreteFunction:
    if isinstance(value, Function) and value.input_signature is not None:
        value = value.get_concrete_function()
    if not isinstance(value, ConcreteFunction):
        raise ValueError(
            "Expected a TensorFlow function for which to generate a signature, but got "
            f"{value}. Only `tf.functions` with an input signature or concrete functions can be "
            "used as a signature: pass function.get_concrete_function(tf.TensorSpec(...))."
        )
    return value


def _wrapped(concrete: ConcreteFunction, key: str) -> ConcreteFunction:
    """A function of keywords alone that returns a dictionary of tensors."""
    _outputs(concrete.structured_outputs, concrete.name, key)
    names = argument_names(concrete)
    graph = FuncGraph(f"__inference_signature_wrapper_{next(_numbers)}")
    with context.graph_scope(graph), context.no_recording():
        order = sorted(zip(names, concrete.input_specs, strict=True), key=lambda pair: pair[0])
        made = {n: graph.add_input(s.dtype, s.shape.dims_tuple, n) for n, s in order}
        result = _outputs(concrete.call_flat([made[n] for n in names]), concrete.name, key)
        results = {n: execute("Identity", (result[n],)) for n in sorted(result)}
    graph.outputs = list(results.values())
    graph.structured_outputs = results
    graph.structured_input_signature = (
        (),
        {n: TensorSpec(s.shape, s.dtype, n) for n, s in order},
    )
    graph.finish()
    kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([inspect.Parameter(n, kind) for n in _identifiers(made)])
    return ConcreteFunction(graph, signature=signature)


def _identifiers(names: Iterable[str]) -> list[str]:
    """The names that Python takes for parameters."""
    return [name for name in names if name.isidentifier() and not keyword.iskeyword(name)]


def _outputs(result: Any, name: str, key: str) -> dict[str, Any]:
    """The outputs of a function by name.

    Raises:
      ValueError: they are no tensors under names.
    """
    if isinstance(result, Tensor | TensorSpec):
        return {"output_0": result}
    if isinstance(result, list | tuple):
        result = {f"output_{i}": value for i, value in enumerate(result)}
    if not isinstance(result, Mapping):
        raise ValueError(
            f"Got a non-Tensor value {result!r} as the output of the function {name} used to "
            f"generate the SavedModel signature '{key}'. Outputs for functions used as signatures "
            "must be a single Tensor, a sequence of Tensors, or a dictionary from string to Tensor."
        )
    for output, value in result.items():
        if not isinstance(output, str):
            raise ValueError(
                f"Got a dictionary with a non-string key {output!r} in the output of the function "
                f"{name} used to generate the SavedModel signature '{key}'. Use strings."
            )
        if not isinstance(value, Tensor | TensorSpec):
            raise ValueError(
                f"Got a non-Tensor value {value!r} for key '{output}' in the output of the "
                f"function {name} used to generate the SavedModel signature '{key}'. Outputs for "
                "functions used as signatures must be a single Tensor, a sequence of Tensors, or a "
                "dictionary from string to Tensor."
            )
    return dict(result)
