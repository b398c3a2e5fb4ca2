"""Random programs of nested branches and loops, as plain Python and as control flow of old.

A program is a list of statements over a few integers:

    ("add", target, source, constant)
    ("if", variable, statements, statements)     -- taken when the variable is odd
    ("while", variable, turns, statements)       -- while the variable's turn is not up
"""

from hypothesis import strategies as st

import penstock as tf

WIDTH = 3
LIMIT = 1000


def statements(depth):
    index = st.integers(0, WIDTH - 1)
    add = st.tuples(st.just("add"), index, index, st.integers(-3, 3))
    if depth == 0:
        return st.lists(add, min_size=1, max_size=3)
    inner = statements(depth - 1)
    either = st.tuples(st.just("if"), index, inner, inner)
    loop = st.tuples(st.just("while"), index, st.integers(0, 4), inner)
    return st.lists(st.one_of(add, either, loop), min_size=1, max_size=3)


def run_python(program, values):
    for kind, *rest in program:
        if kind == "add":
            target, source, constant = rest
            values[target] = (values[target] + values[source] + constant) % LIMIT
        elif kind == "if":
            index, first, second = rest
            run_python(first if values[index] % 2 else second, values)
        else:
            index, turns, body = rest
            bound, turn = values[index] % 3 + turns, 0
            while turn < bound:
                run_python(body, values)
                turn += 1
    return values


class Builder:
    """Builds a program of `Switch`, `Merge`, `Enter`, ...; each value is routed on its own."""

    def __init__(self, pivoted=None):
        self.names = 0
        self.pivots = [pivoted]  # what constants of the branch or loop at hand wait for

    def constant(self, value):
        with tf.control_dependencies([self.pivots[-1]] if self.pivots[-1] is not None else []):
            return tf.constant(value)

    def run(self, program, values):
        for kind, *rest in program:
            getattr(self, f"_{kind}")(values, *rest)
        return values

    def _add(self, values, target, source, constant):
        total = values[target] + values[source] + self.constant(constant)
        values[target] = tf.math.floormod(total, self.constant(LIMIT))

    def is_taken(self, value):
        return tf.equal(tf.math.floormod(value, self.constant(2)), self.constant(1))

    def bound(self, value, turns):
        return tf.math.floormod(value, self.constant(3)) + self.constant(turns)

    def _if(self, values, index, first, second):
        odd = self.is_taken(values[index])
        routed = [tf.raw_ops.Switch(data=v, pred=odd) for v in values]
        pivot = tf.raw_ops.Switch(data=odd, pred=odd)
        ends = []
        for side, branch in enumerate((second, first)):
            self.pivots.append(tf.identity(pivot[side]))
            ends.append(self.run(branch, [r[side] for r in routed]))
            self.pivots.pop()
        values[:] = [tf.raw_ops.Merge(inputs=[a, b]).output for a, b in zip(*ends, strict=True)]

    def _while(self, values, index, turns, body):
        self.names += 1
        frame = f"loop{self.names}"
        bound = self.bound(values[index], turns)
        bound = tf.raw_ops.Enter(data=bound, frame_name=frame, is_constant=True)
        start = [self.constant(0), *values]
        entered = [tf.raw_ops.Enter(data=v, frame_name=frame) for v in start]
        merges = [tf.raw_ops.Merge(inputs=[e, e]) for e in entered]
        go_on = tf.raw_ops.LoopCond(input=merges[0].output < bound)
        routed = [tf.raw_ops.Switch(data=m.output, pred=go_on) for m in merges]
        inner = [tf.identity(r.output_true) for r in routed]
        self.pivots.append(inner[0])
        after = [inner[0] + self.constant(1), *self.run(body, inner[1:])]
        self.pivots.pop()
        for merge, value in zip(merges, after, strict=True):
            merge.output.op._update_input(1, tf.raw_ops.NextIteration(data=value))
        values[:] = [tf.raw_ops.Exit(data=r.output_false) for r in routed][1:]
