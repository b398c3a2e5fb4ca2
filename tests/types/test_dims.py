"""Dimensions: the algebra of shapes, against NumPy and against its own laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.types import dims

sizes = st.integers(0, 4)
full = st.lists(sizes, max_size=4).map(tuple)
partial = st.lists(st.none() | sizes, max_size=4).map(tuple)
anything = st.none() | partial


@st.composite
def known_in_part(draw, shape):
    """What may be known about a full shape."""
    if draw(st.integers(0, 9)) == 0:
        return None
    return tuple(None if draw(st.booleans()) else d for d in shape)


def numpy_broadcast(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return "error"


def ours(a, b):
    try:
        return dims.broadcast(a, b)
    except ValueError:
        return "error"


@given(full, full)
def test_broadcast_is_numpys(a, b):
    assert ours(a, b) == numpy_broadcast(a, b)


@given(st.data(), full, full)
def test_broadcast_of_what_is_known_fits_what_comes(data, a, b):
    actual = numpy_broadcast(a, b)
    if actual == "error":
        return
    inferred = dims.broadcast(data.draw(known_in_part(a)), data.draw(known_in_part(b)))
    assert dims.is_subtype(actual, inferred)


@given(anything, anything)
def test_broadcast_is_commutative(a, b):
    assert ours(a, b) == ours(b, a)


@given(anything)
def test_broadcast_with_itself_and_with_a_scalar_changes_nothing(a):
    assert dims.broadcast(a, a) == a
    assert dims.broadcast(a, ()) == a


@given(st.lists(full, max_size=3))
def test_broadcast_all_is_numpys(shapes):
    try:
        wanted = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
            dims.broadcast_all(shapes)
    else:
        assert dims.broadcast_all(shapes) == wanted


def test_broadcast_error_names_both_shapes():
    with pytest.raises(ValueError, match=r"\(2, None\) and \(3, 4\)"):
        dims.broadcast((2, None), (3, 4))


@given(st.data(), full)
def test_merge_keeps_what_either_knows(data, shape):
    a, b = data.draw(known_in_part(shape)), data.draw(known_in_part(shape))
    merged = dims.merge(a, b)
    assert dims.is_subtype(shape, merged)
    assert dims.is_subtype(merged, a)
    assert dims.is_subtype(merged, b)
    assert merged == dims.merge(b, a)


@given(anything, anything)
def test_merge_works_exactly_when_compatible(a, b):
    if dims.compatible(a, b):
        dims.merge(a, b)
    else:
        with pytest.raises(ValueError, match="not compatible"):
            dims.merge(a, b)


@given(anything, anything)
def test_union_covers_both_and_nothing_less(a, b):
    both = dims.union(a, b)
    assert dims.is_subtype(a, both)
    assert dims.is_subtype(b, both)
    if dims.is_subtype(a, b):
        assert both == b


@given(anything, anything, anything)
def test_subtype_is_a_partial_order(a, b, c):
    assert dims.is_subtype(a, a)
    if dims.is_subtype(a, b) and dims.is_subtype(b, a):
        assert a == b
    if dims.is_subtype(a, b) and dims.is_subtype(b, c):
        assert dims.is_subtype(a, c)


@given(full, full)
def test_concat_multiplies_elements(a, b):
    assert dims.num_elements(dims.concat(a, b)) == np.prod(a + b, dtype=int)


def test_concat_with_unknown_rank_is_unknown():
    assert dims.concat((1,), None, (2,)) is None
    assert dims.concat() == ()


@given(anything)
def test_full_means_the_number_of_elements_is_known(a):
    assert dims.is_full(a) == (dims.num_elements(a) is not None)


@given(st.data(), full, st.booleans())
def test_reduce_is_numpys(data, shape, keepdims):
    rank = len(shape)
    axes = data.draw(st.none() | st.sets(st.sampled_from(range(rank)) if rank else st.nothing()))
    wanted = np.zeros(shape).sum(axis=None if axes is None else tuple(axes), keepdims=keepdims)
    negative = None if axes is None else [a - rank for a in axes]
    assert dims.reduce(shape, axes, keepdims) == wanted.shape
    assert dims.reduce(shape, negative, keepdims) == wanted.shape


def test_reduce_of_unknown_rank():
    assert dims.reduce(None, None) == ()
    assert dims.reduce(None, None, keepdims=True) is None
    assert dims.reduce(None, [0]) is None


@pytest.mark.parametrize(("axis", "rank", "wanted"), [(0, 1, 0), (-1, 1, 0), (2, 3, 2), (-3, 3, 0)])
def test_normalize_axis(axis, rank, wanted):
    assert dims.normalize_axis(axis, rank) == wanted


@pytest.mark.parametrize(("axis", "rank"), [(1, 1), (-2, 1), (0, 0)])
def test_normalize_axis_outside_the_rank(axis, rank):
    with pytest.raises(ValueError, match=rf"axis {axis} is out of range \[{-rank}, {rank}\)"):
        dims.normalize_axis(axis, rank)


def test_normalize_axis_of_unknown_rank_is_left_alone():
    assert dims.normalize_axis(-1, None) == -1
