"""Specs of values: what users' own specs inherit, and what a layer above attaches."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import types
from penstock.types import (
    BoundedTensorSpec,
    IndexedSlicesSpec,
    NoneTensorSpec,
    SparseTensorSpec,
    TensorShape,
    TensorSpec,
    TypeSpec,
    ValueHooks,
    VariableSpec,
    type_spec,
)
from penstock.util import nest

shapes = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3)


class Tensor:
    """A stand-in for tensors: a leaf, although it has a spec."""

    __nest_leaf__ = True

    def __init__(self, shape, dtype="float32"):
        self.shape = TensorShape(shape)
        self.dtype = types.as_dtype(dtype)

    @property
    def _type_spec(self):
        return TensorSpec(self.shape, self.dtype)


class Pair:
    """A value of two tensors with a tag."""

    def __init__(self, left, right, tag):
        self.left, self.right, self.tag = left, right, tag

    @property
    def _type_spec(self):
        return PairSpec(self.left._type_spec, self.right._type_spec, self.tag)


class PairSpec(TypeSpec):
    def __init__(self, left, right, tag):
        self.left, self.right, self.tag = left, right, tag

    value_type = property(lambda self: Pair)

    def _serialize(self):
        return self.left, self.right, self.tag

    @property
    def _component_specs(self):
        return [self.left, self.right]

    def _to_components(self, value):
        return [value.left, value.right]

    def _from_components(self, components):
        return Pair(*components, self.tag)


@pytest.fixture(autouse=True)
def _tensors(monkeypatch):
    hooks = ValueHooks(
        Tensor,
        lambda spec, value: value,
        lambda spec, components: components,
        placeholder=lambda spec, context: context.append(spec) or Tensor(spec.shape, spec.dtype),
    )
    monkeypatch.setattr(TensorSpec, "_value_hooks", hooks)


def pair_spec(tag: Any = "t", size: int | None = 2):
    return PairSpec(TensorSpec([size]), TensorSpec([], "int32"), tag)


@given(shapes, shapes)
def test_subtype_and_supertype_of_tensor_specs_follow_shapes(a, b):
    first, second = TensorSpec(a), TensorSpec(b)
    both = first.most_specific_common_supertype([second])
    assert first.is_subtype_of(both)
    assert second.is_subtype_of(both)
    assert first.is_compatible_with(second) == first.shape.is_compatible_with(second.shape)


@given(shapes)
def test_batch_then_unbatch_changes_nothing(shape):
    for spec in (TensorSpec(shape), SparseTensorSpec(shape)):
        assert spec._batch(3)._unbatch() == spec


@pytest.mark.parametrize(
    "spec",
    [
        TensorSpec([1, None], "int32", "x"),
        BoundedTensorSpec([2], "float32", [0, 0], 1, "b"),
        SparseTensorSpec([1, None], "string"),
        IndexedSlicesSpec([3, 4], "float64", "int32", "int64", [2]),
        VariableSpec([2], "bfloat16", trainable=False, alias_id=3),
        NoneTensorSpec(),
        pair_spec(),
    ],
    ids=lambda s: type(s).__name__,
)
def test_specs_are_rebuilt_from_their_parts(spec):
    for other in (pickle.loads(pickle.dumps(spec)), spec._deserialize(spec._serialize())):
        assert other == spec
        assert hash(other) == hash(spec)
        assert repr(other) == repr(spec)
    assert spec.is_subtype_of(spec)
    assert spec.most_specific_common_supertype([spec]) == spec


def test_users_specs_compare_their_parts():
    assert pair_spec() == pair_spec()
    assert pair_spec("a") != pair_spec("b")
    assert pair_spec() != "something else"
    assert pair_spec([1, {"k": np.arange(3)}]) == pair_spec([1, {"k": np.arange(3)}])
    assert pair_spec(np.arange(3)) != pair_spec(np.arange(3.0))
    assert len({pair_spec([1]), pair_spec([1]), pair_spec((1,))}) == 2


def test_users_specs_relate_by_their_parts():
    assert pair_spec(size=2).is_subtype_of(pair_spec(size=None))
    assert not pair_spec(size=None).is_subtype_of(pair_spec(size=2))
    assert pair_spec(size=2).most_specific_common_supertype([pair_spec(size=3)]) == pair_spec(
        size=None
    )
    assert pair_spec("a").most_specific_common_supertype([pair_spec("b")]) is None
    assert pair_spec().most_specific_common_supertype([TensorSpec([])]) is None
    assert pair_spec().is_compatible_with(pair_spec(size=None))
    assert not pair_spec().is_compatible_with(pair_spec("u"))
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        pair_spec("a").most_specific_compatible_type(pair_spec("b"))


def test_values_are_taken_apart_and_put_together():
    value = Pair(Tensor([2]), Tensor([], "int32"), "t")
    spec = pair_spec()
    assert spec.is_compatible_with(value)
    assert spec.flatten() == [spec.left, spec.right]
    tensors = spec.to_tensors(value)
    assert tensors == [value.left, value.right]
    again = spec.from_tensors(iter(tensors))
    assert (again.left, again.right, again.tag) == (value.left, value.right, "t")
    assert nest.flatten([value], expand_composites=True) == tensors
    packed = nest.pack_sequence_as(spec, tensors, expand_composites=True)
    assert isinstance(packed, Pair)


def test_tensors_that_do_not_fit_are_refused():
    spec = pair_spec()
    with pytest.raises(ValueError, match=r"expected 2 tensors .* got 1"):
        spec._from_tensor_list([Tensor([2])])
    with pytest.raises(ValueError, match=r"compatible with TensorSpec\(shape=\(2,\)"):
        spec._from_tensor_list([Tensor([3]), Tensor([], "int32")])
    with pytest.raises(TypeError, match="expected a compatible value"):
        spec.cast(3, None)


def test_placeholders_are_made_for_each_tensor():
    made: list[TensorSpec] = []
    value = pair_spec().placeholder_value(made)
    assert isinstance(value, Pair)
    assert made == [TensorSpec([2]), TensorSpec([], "int32")]


def test_parts_without_names_and_sizes():
    spec = PairSpec(TensorSpec([2], name="a"), TensorSpec(None, name="b"), "t")
    assert spec._without_tensor_names() == PairSpec(TensorSpec([2]), TensorSpec(None), "t")
    assert spec._with_tensor_ranks_only() == PairSpec(
        TensorSpec([None], name="a"), TensorSpec(None, name="b"), "t"
    )


def test_tensor_spec_of_tensors():
    assert TensorSpec([None]).is_compatible_with(Tensor([3]))
    assert not TensorSpec([None]).is_compatible_with(Tensor([3], "int32"))
    assert not TensorSpec([]).is_compatible_with(3.0)
    assert TensorSpec.from_tensor(Tensor([3]), name="n") == TensorSpec([3], name="n")
    with pytest.raises(ValueError, match=r"should be a tf\.Tensor"):
        TensorSpec.from_tensor(3)


def test_a_spec_without_values_says_so(monkeypatch):
    monkeypatch.setattr(SparseTensorSpec, "_value_hooks", None)
    with pytest.raises(TypeError, match="SparseTensorSpec has no values yet"):
        _ = SparseTensorSpec([1]).value_type


def test_bounds_cannot_be_written_to():
    spec = BoundedTensorSpec([1], "float32", 0, 5)
    with pytest.raises(ValueError, match="read-only"):
        spec.minimum[()] = 3


def test_sparse_and_sliced_components():
    assert SparseTensorSpec([2, 3])._component_specs == [
        TensorSpec([None, 2], "int64"),
        TensorSpec([None]),
        TensorSpec([2], "int64"),
    ]
    assert IndexedSlicesSpec([10, 4], dense_shape_dtype="int32")._component_specs == (
        TensorSpec([None, 4]),
        TensorSpec([None], "int64"),
        TensorSpec([2], "int32"),
    )
    with pytest.raises(ValueError, match="must have rank 1"):
        IndexedSlicesSpec([3], indices_shape=[2, 2])


def test_the_spec_of_a_value():
    assert types.type_spec_from_value(np.zeros((2, 3))) == TensorSpec([2, 3], "float64")
    assert types.type_spec_from_value(np.int8(3)) == TensorSpec([], "int8")
    assert types.type_spec_from_value(None) == NoneTensorSpec()
    assert types.type_spec_from_value(Tensor([2])) == TensorSpec([2])
    with pytest.raises(TypeError, match="Could not build a TypeSpec for"):
        types.type_spec_from_value(object())


def test_converters_and_fallbacks(monkeypatch):
    monkeypatch.setattr(type_spec, "_CONVERTERS", list(type_spec._CONVERTERS))
    monkeypatch.setattr(type_spec, "_FALLBACKS", [])

    class Base:
        pass

    class Derived(Base):
        pass

    types.register_type_spec_from_value_converter(Base, lambda v: TensorSpec([1]))
    assert types.type_spec_from_value(Base()) == TensorSpec([1])
    assert types.type_spec_or_none(Derived()) is None
    types.register_type_spec_from_value_converter(Base, lambda v: TensorSpec([2]), True)
    assert types.type_spec_from_value(Derived()) == TensorSpec([2])
    types.register_type_spec_fallback(lambda v: TensorSpec([]) if v == 3 else None)
    assert types.type_spec_from_value(3) == TensorSpec([])


def test_names_in_files(monkeypatch):
    monkeypatch.setattr(type_spec, "_NAMES", dict(type_spec._NAMES))
    assert type_spec.lookup("tf.TensorSpec") is TensorSpec
    assert type_spec.registered_name(SparseTensorSpec) == "tf.SparseTensorSpec"

    class Mine(PairSpec):
        pass

    assert type_spec.register("my.Pair")(Mine) is Mine
    assert type_spec.lookup("my.Pair") is Mine
    with pytest.raises(ValueError, match="expected a new name"):
        type_spec.register("my.Pair")(PairSpec)
    with pytest.raises(ValueError, match="has not been registered"):
        type_spec.registered_name(PairSpec)
    with pytest.raises(ValueError, match="No TypeSpec has been registered"):
        type_spec.lookup("my.Other")
    with pytest.raises(TypeError, match="expected a subclass of TypeSpec"):
        type_spec.register("my.Int")(int)
