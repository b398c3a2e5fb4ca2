"""Products with what follows them, in the same pass over memory.

While a region on CPU is traced, its products by the native library are noted
(`penstock.core.products`). A `Finisher` looks at each operation after it was traced: where it adds
a bias or a tensor to a product, or is a Relu or a Relu's gradient of one, its result is replaced by
a call that does the product and all that was done to it. The product as it was traced before has no
use then, and XLA drops it. So the shapes are known, the graph stays as it is, and rounding is that
of the operations one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.core.patterns import Pattern, add_pattern
from penstock.core.products import Noted, Product
from penstock.runtime.program import Node, Ref

FINISH = add_pattern(
    Pattern(
        "product_finish",
        "MatMul followed by the addition of a bias, the addition of a tensor of its result's "
        "shape, and Relu, Relu6 or ReluGrad: any of these, in this order",
        "one call of the native library",
        "float32 on CPU, where the library computes the product; each result on the way has one "
        "use",
    )
)
Array = Any  # numpy.ndarray or a JAX tracer
Key = tuple[int, int]  # of a value: the id of its node, and its number


def _add(found: Product, other: Array | None, place: int) -> Product | None:
    if other is None or found.gate is not None or found.activation:
        return None
    if other.shape == found.shape:
        return None if found.beside is not None else replace(found, beside=other)
    free = found.bias is None and found.beside is None
    return replace(found, bias=other) if free and other.shape == found.shape[1:] else None


def _add_bias(found: Product, other: Array | None, place: int) -> Product | None:
    return _add(found, other, place) if place == 0 else None


def _gate(found: Product, other: Array | None, place: int) -> Product | None:
    if other is None or place != 0 or other.shape != found.shape or found.activation:
        return None
    return replace(found, gate=other) if found.gate is None else None


def _activation(name: str) -> Callable[[Product, Array | None, int], Product | None]:
    def link(found: Product, other: Array | None, place: int) -> Product | None:
        ends = bool(found.activation) or found.gate is not None
        return None if ends else replace(found, activation=name)

    return link


LINKS: dict[str, Callable[[Product, Array | None, int], Product | None]] = {
    "Add": _add,
    "AddN": _add,
    "AddV2": _add,
    "BiasAdd": _add_bias,
    "BiasAddV1": _add_bias,
    "Relu": _activation("Relu"),
    "Relu6": _activation("Relu6"),
    "ReluGrad": _gate,
}


class Finisher:
    """The products of one trace of a region, and what uses them."""

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[Ref], made: Noted) -> None:
        self._made = made
        self._uses: dict[Key, int] = {(id(node), i): 2 for node, i in outputs}
        for node in nodes:
            for source, index in node.inputs:
                key = id(source), index
                self._uses[key] = self._uses.get(key, 0) + 1
        self._first: dict[int, Key] = {}  # where a noted value was seen first: others pass it on

    def after(self, node: Node, values: dict[Key, Array]) -> None:
        """Puts a finished product in the place of what an operation gave, where that is one."""
        key = (id(node), 0)
        link = LINKS.get(node.type)
        if link is not None and len(node.inputs) <= 2:
            for place in range(len(node.inputs)):
                better = self._linked(link, node.inputs, place, values)
                if better is not None:
                    values[key] = better.call()
                    break
        if id(values.get(key)) in self._made:
            self._first.setdefault(id(values[key]), key)

    def _linked(
        self,
        link: Callable[[Product, Array | None, int], Product | None],
        inputs: Sequence[Ref],
        place: int,
        values: dict[Key, Array],
    ) -> Product | None:
        keys = [(id(source), index) for source, index in inputs]
        value = values.get(keys[place])
        noted = self._made.get(id(value))
        if noted is None or self._uses[keys[place]] != 1:
            return None
        if self._first.get(id(value)) != keys[place]:
            return None
        other = values.get(keys[1 - place]) if len(keys) == 2 else None
        if other is not None and other.dtype != np.float32:
            return None
        return link(noted[1], other, place)


__all__ = ["FINISH", "LINKS", "Finisher"]
