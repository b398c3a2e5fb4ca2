"""What functions with an input signature take, and what functions may return."""

import pytest

import penstock as tf


@tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
def _double(x):
    return x * 2


@tf.function(input_signature=[{"a": tf.TensorSpec([], tf.int32)}, tf.TensorSpec([], tf.int32)])
def _nested(parts, n):
    return parts["a"] + n


def test_a_list_of_numbers_is_one_tensor() -> None:
    assert _double([[1.0, 2.0]]).numpy().tolist() == [[2.0, 4.0]]
    assert _double([[1, 2], [3, 4]]).shape == (2, 2)
    assert _nested({"a": 1}, 2).numpy() == 3


@pytest.mark.parametrize("value", [None, [[1.0], [2.0, 3.0]], [1.0, 2.0], object()])
def test_what_does_not_fit_the_signature_is_a_type_error(value) -> None:
    with pytest.raises(TypeError, match="input_signature says"):
        _double(value)


@pytest.mark.parametrize("value", [{"b": 1}, 3, {"a": None}])
def test_another_structure_is_a_type_error(value) -> None:
    with pytest.raises(TypeError):
        _nested(value, 1)


@pytest.mark.parametrize("value", [None, [[1.0], [2.0, 3.0]]])
def test_a_concrete_function_refuses_what_is_no_tensor(value) -> None:
    concrete = _double.get_concrete_function()
    with pytest.raises(TypeError, match="must be float32"):
        concrete(value)


def test_an_operation_is_no_result() -> None:
    @tf.function
    def operation():
        return tf.no_op()

    with pytest.raises(TypeError, match="found return value of type Operation"):
        operation()


@pytest.mark.parametrize("value", [3, "name", [tf.TensorSpec([])]])
def test_only_what_can_be_called_is_traced(value) -> None:
    with pytest.raises(TypeError, match="expected a callable, got"):
        tf.function(value)


def test_a_concrete_function_has_the_parameters_names_whichever_way_it_was_traced() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        return x

    f(tf.ones([2, 2]), n=2)
    (first, second), _ = f.get_concrete_function().structured_input_signature
    assert (first.name, second.name) == ("x", "n")


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        (tf.TensorSpec([3, 2]), True),
        (tf.TensorSpec(None), False),
        (tf.TensorSpec([None, None]), False),
        (tf.TensorSpec([3, 3]), False),
        (tf.TensorSpec([2]), False),
        (tf.TensorSpec([3, 2], tf.int32), False),
    ],
)
def test_specs_given_to_get_concrete_function_fit_the_input_signature(spec, fits) -> None:
    for args, kwargs in (([spec], {}), ([], {"x": spec})):
        if fits:
            assert _double.get_concrete_function(*args, **kwargs).inputs[0].shape[1] == 2
        else:
            with pytest.raises(TypeError, match="Can not cast TensorSpec"):
                _double.get_concrete_function(*args, **kwargs)
