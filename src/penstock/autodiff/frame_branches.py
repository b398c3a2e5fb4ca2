"""Gradients of `Switch` and `Merge`: what was taken apart is put together, and the other way round.

They say themselves which branch was taken, by a condition and by the number of an input, and do not
leave it to what is dead: in the reverse of a loop the values of a branch that was not taken are
there, without meaning.
"""

from typing import Any

from penstock.autodiff.frame_guards import sides
from penstock.autodiff.frames import MERGES, SWITCHES
from penstock.autodiff.walk import Record, as_dense, named_rules
from penstock.autodiff.widening import zeros_for
from penstock.core.execute import execute
from penstock.graph.static_values import value_source


def _gradient_of_switch(record: Record, *grads: Any) -> list[Any]:
    """The gradient of the side that was taken: zeros where nothing depends on that side."""
    data, condition = record.inputs[0], value_source(record.inputs[1])
    sides = [
        execute("Switch", (zeros_for(data), condition))[side] if g is None else as_dense(g)
        for side, g in enumerate(grads)
    ]
    return [execute("Merge", (sides,))[0], None]


def _gradient_of_merge(record: Record, grad: Any, _number: Any = None) -> list[Any]:
    """The gradient for the input that was taken; those of the others are dead."""
    found = sides(record.source)
    if found is None:
        taken = record.outputs[1]
        found = [(execute("Equal", (taken, i)), 1) for i in range(len(record.inputs))]
    return [execute("Switch", (as_dense(grad), condition))[side] for condition, side in found]


for _name in SWITCHES:
    named_rules[_name] = _gradient_of_switch
for _name in MERGES:
    named_rules[_name] = _gradient_of_merge
