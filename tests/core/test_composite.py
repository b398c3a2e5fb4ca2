"""Specs of composite tensors made from their values."""

import pytest

import penstock as tf


def test_the_spec_of_a_sparse_tensor_or_its_value():
    value = tf.compat.v1.SparseTensorValue([[0, 0]], [1], [1, 2])
    wanted = tf.SparseTensorSpec([1, 2], tf.int32)
    assert tf.type_spec_from_value(value) == wanted
    assert tf.SparseTensorSpec.from_value(value) == wanted
    assert tf.SparseTensorSpec.from_value(tf.sparse.from_dense([[1, 0]])) == wanted
    for wrong in (3, object(), tf.IndexedSlices(tf.ones([1, 2]), [0])):
        with pytest.raises(TypeError, match="Expected SparseTensor or SparseTensorValue"):
            tf.SparseTensorSpec.from_value(wrong)
    assert tf.NoneTensorSpec().is_compatible_with(None)
