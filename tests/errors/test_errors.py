"""Error classes: codes, fields, copies, and the four parts of a message."""

import copy
import pickle

import pytest

import penstock as tf
from penstock import errors
from penstock.errors import OpError, codes

# TensorFlow's numbers, by name.
CODES = {
    "OK": 0,
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}
NAMES = sorted(set(CODES) - {"OK"})


def class_name(code_name):
    words = "".join(word.capitalize() for word in code_name.split("_"))
    return f"{words}Error"


def test_codes_are_tensorflows():
    assert {name: getattr(errors, name) for name in CODES} == CODES
    assert {n: v for n, v in vars(codes).items() if n.isupper()} == CODES


@pytest.mark.parametrize("name", NAMES)
def test_each_code_has_one_class(name):
    cls = getattr(errors, class_name(name))
    error = cls("node", "op", "went wrong", {b"k": b"v"})
    assert isinstance(error, OpError)
    assert error.error_code == CODES[name]
    assert (error.node_def, error.op, error.message) == ("node", "op", "went wrong")
    assert error.experimental_payloads == {b"k": b"v"}
    assert str(error) == "went wrong"
    assert repr(error) == f"{cls.__name__}('went wrong')"
    assert errors.exception_type_from_error_code(CODES[name]) is cls
    assert errors.error_code_from_exception_type(cls) == CODES[name]


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_pickled_and_copied_without_their_operation(name):
    error = getattr(errors, class_name(name))("node", lambda: None, "m", {b"k": b"v"})
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert other.op is None
        assert other.node_def == "node"
        assert other.message == "m"
        assert other.experimental_payloads == {b"k": b"v"}


def test_the_base_class_takes_a_code():
    error = OpError(None, None, "m", errors.ABORTED, {b"k": b"v"})
    other = pickle.loads(pickle.dumps(error))
    assert (other.error_code, other.message) == (errors.ABORTED, "m")
    assert other.experimental_payloads == {b"k": b"v"}


def test_keyword_arguments_and_defaults():
    error = errors.NotFoundError(node_def=None, op=None, message="m")
    assert error.experimental_payloads == {}
    assert errors.NotFoundError(None, None, "m", None).experimental_payloads is None


def test_an_error_is_made_again_with_its_code_where_payloads_stand():
    first = errors.NotFoundError(None, None, "m")
    again = type(first)(first.node_def, first.op, "n", first.error_code, "more")
    assert (again.message, again.error_code) == ("n", errors.NOT_FOUND)
    assert again.experimental_payloads == errors.NOT_FOUND
    assert pickle.loads(pickle.dumps(again)).experimental_payloads == errors.NOT_FOUND


@pytest.mark.parametrize("code", [0, 17, -1])
def test_codes_without_a_class(code):
    with pytest.raises(KeyError, match="expected a status code from 1 to 16"):
        errors.exception_type_from_error_code(code)


@pytest.mark.parametrize("cls", [ValueError, OpError])
def test_classes_without_a_code(cls):
    with pytest.raises(KeyError, match=r"expected a class of tf\.errors"):
        errors.error_code_from_exception_type(cls)


def leave_with_status(code, message, error=None):
    with errors.raise_exception_on_not_ok_status() as status:
        status.set(code, message)
        if error is not None:
            raise error


def test_a_status_raises_its_error():
    with pytest.raises(errors.NotFoundError, match="gone"):
        leave_with_status(errors.NOT_FOUND, "gone")
    with pytest.raises(ValueError, match="first"):
        leave_with_status(errors.NOT_FOUND, "second", ValueError("first"))
    leave_with_status(errors.OK, "")


def test_errors_of_python_use_have_pythons_classes():
    assert issubclass(errors.OperatorNotAllowedInGraphError, TypeError)
    assert issubclass(errors.InaccessibleTensorError, ValueError)


def test_a_message_has_four_parts():
    text = errors.located("Add 'a'", "equal dtypes", "int32 and int64", "Cast one", "t.py:3")
    assert text == (
        "Add 'a': expected equal dtypes, got int32 and int64. Created at t.py:3. Cast one."
    )
    assert errors.located("Add", "x", "y") == "Add: expected x, got y."


def test_the_same_classes_have_names_in_compat_v1():
    old = tf.compat.v1.errors
    ours = {
        "located",
        "Status",
        "InaccessibleTensorError",
        "NoTensorError",
        "OperatorNotAllowedInGraphError",
    }
    for name in set(errors.__all__) - ours:
        assert getattr(old, name) is getattr(errors, name), name
    assert tf.compat.v1.OpError is errors.OpError
