"""TensorShape and Dimension: what the recorded facts do not say."""

import copy
import pickle
import types as python_types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import types
from penstock.types import TensorShape, dims
from penstock.types.tensor_shape import disable_v2_tensorshape, enable_v2_tensorshape

anything = st.none() | st.lists(st.none() | st.integers(0, 4), max_size=4).map(tuple)


@pytest.fixture
def v1_behavior():
    disable_v2_tensorshape()
    yield
    enable_v2_tensorshape()


@given(anything)
def test_shape_and_dims_are_the_same_thing(known):
    shape = TensorShape(known)
    assert shape.dims_tuple == known
    assert shape == TensorShape.from_dims(known)
    assert hash(shape) == hash(TensorShape.from_dims(known))
    assert TensorShape(shape) == shape
    assert str(shape) == dims.text(known)


@given(anything)
def test_shapes_survive_pickling_and_copying(known):
    shape = TensorShape(known)
    for other in (pickle.loads(pickle.dumps(shape)), copy.deepcopy(shape), copy.copy(shape)):
        assert other == shape
        assert type(other) is TensorShape


@given(anything, anything)
def test_subtypes_are_compatible_and_their_supertype_is_the_wider_one(a, b):
    small, large = TensorShape(a), TensorShape(b)
    if small.is_subtype_of(large):
        assert small.is_compatible_with(large)
        assert small.most_specific_common_supertype([large]) == large


@given(anything, anything)
def test_merge_of_compatible_shapes_is_a_subtype_of_both(a, b):
    first, second = TensorShape(a), TensorShape(b)
    if first.is_compatible_with(second):
        merged = first.merge_with(second)
        assert merged.is_subtype_of(first)
        assert merged.is_subtype_of(second)


@given(anything, anything)
def test_concatenation_adds_ranks(a, b):
    both = TensorShape(a) + TensorShape(b)
    if a is None or b is None:
        assert both.rank is None
    else:
        assert both.as_list() == [*a, *b]


def test_proto_like_objects_are_read_by_their_fields():
    size = python_types.SimpleNamespace
    proto = size(unknown_rank=False, dim=[size(size=2), size(size=-1)])
    assert TensorShape(proto) == [2, None]
    assert TensorShape(size(unknown_rank=True, dim=[])).rank is None


def test_a_negative_dimension_names_itself():
    with pytest.raises(ValueError, match="Dimension -3 must be >= 0"):
        TensorShape([2, -3])


def test_a_generator_of_dimensions():
    assert TensorShape(d for d in [1, 2]) == [1, 2]


def test_shapes_compare_with_other_values_without_raising():
    assert TensorShape([1]) != object()
    assert TensorShape([1]) != "text"
    assert TensorShape([1]) == [1]
    assert (TensorShape([1]) == [-1]) is False


def test_shape_is_a_trace_type_of_its_own():
    shape = TensorShape([1, None])
    assert shape.placeholder_value(None) is shape
    assert shape.from_tensors(iter([])) is shape
    assert shape.to_tensors(shape) == []
    assert shape.flatten() == []
    assert shape.cast(TensorShape([1, None]), None) == shape
    with pytest.raises(TypeError, match="expected an equal shape"):
        shape.cast([1, None], None)


@pytest.mark.usefixtures("v1_behavior")
def test_version_1_behavior_gives_dimensions():
    shape = TensorShape([1, None])
    assert repr(shape) == "TensorShape([Dimension(1), Dimension(None)])"
    assert str(shape) == "(1, ?)"
    assert all(isinstance(d, types.Dimension) for d in shape)
    assert shape[0].value == 1
    assert repr(TensorShape(None)[0]) == "Dimension(None)"
    assert isinstance(shape[:1], TensorShape)
    assert shape == [1, None]


def test_helpers():
    assert types.as_shape(3) == [3]
    assert types.unknown_shape().rank is None
    assert types.unknown_shape(2) == [None, None]


def test_dimension_equality_with_unknown_is_none_and_unhashable():
    assert (types.Dimension(3) == types.Dimension(None)) is None
    with pytest.raises(TypeError, match="unhashable"):
        hash(types.Dimension(3))


def test_division_of_dimensions_points_to_floor_division():
    with pytest.raises(TypeError, match="please use // instead"):
        types.Dimension(3) / 2


@given(anything)
def test_a_shape_as_a_message_and_back(sizes):
    shape = TensorShape(sizes)
    for message in (shape.as_proto(), shape.experimental_as_proto()):
        assert isinstance(message, TensorShape.experimental_type_proto())
        assert TensorShape(message) == TensorShape.experimental_from_proto(message) == shape
    assert message.unknown_rank == (sizes is None)


def test_differences_and_quotients_refuse_what_is_no_size():
    three = types.Dimension(3)
    for wrong in (lambda: -1 - three, lambda: -1 // three, lambda: three % -1, lambda: -1 % three):
        with pytest.raises(ValueError, match="must be >= 0"):
            wrong()
    for wrong in (lambda: -1 + three, lambda: three - -1, lambda: three // -1, lambda: -1 * three):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()


def test_truth_has_the_name_of_python_2_too():
    assert TensorShape([]).__nonzero__()
    assert not TensorShape(None).__nonzero__()
