"""What is known of the shape of `==` in a graph, where shapes that do not fit give a scalar."""

import pytest

import penstock as tf

# (x, y, the result) as TensorFlow 2.21's shape rule gives them; None for an unknown rank
SHAPES = [
    ([None], [], [None]),
    ([], [3, None], [3, None]),
    ([None, 4], [1], [None, 4]),
    ([None, 4], [None, 4], [None, 4]),
    ([None, 4], [None, 1, 4], [None, None, 4]),
    ([None], [1, None, None], [1, None, None]),
    ([None, 4], [3], []),
    ([3], [None, 1, 4], []),
    ([3], [None], None),
    ([3, None], [3, 4], None),
    ([None, 4], [1, None, None], None),
    ([None, 4], [None, 3], []),
    (None, [3], None),
]


@pytest.mark.parametrize("name", ["Equal", "NotEqual"])
@pytest.mark.parametrize(("x", "y", "expected"), SHAPES)
def test_shapes(name, x, y, expected) -> None:
    with tf.Graph().as_default():
        given = [tf.compat.v1.placeholder(tf.int32, dims) for dims in (x, y)]
        found = getattr(tf.raw_ops, name)(x=given[0], y=given[1], incompatible_shape_error=False)
    assert (None if found.shape.rank is None else found.shape.as_list()) == expected
