"""Tensors as Python objects: text, numbers, NumPy, DLPack, copies, hashing, iteration."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import penstock as tf

dlpack = tf.experimental.dlpack
LINES = "array([[1., 1.],\n       [1., 1.]], dtype=float32)"

# value, dtype, repr after "<tf.Tensor: ", str: as TensorFlow was seen to print them
TEXTS: list[tuple[Any, Any, str, str]] = [
    (1.5, None, "shape=(), dtype=float32, numpy=1.5", "1.5, shape=(), dtype=float32"),
    ([1.0, 2.0], None, "shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)",
     "[1. 2.], shape=(2,), dtype=float32"),
    (np.ones([2, 2], np.float32), None, f"shape=(2, 2), dtype=float32, numpy=\n{LINES}",
     "\n[[1. 1.]\n [1. 1.]], shape=(2, 2), dtype=float32"),
    (3, None, "shape=(), dtype=int32, numpy=3", "3, shape=(), dtype=int32"),
    (True, None, "shape=(), dtype=bool, numpy=True", "True, shape=(), dtype=bool"),
    ("abc", None, "shape=(), dtype=string, numpy=b'abc'", "b'abc', shape=(), dtype=string"),
    (["a", "b\xe9"], None,
     "shape=(2,), dtype=string, numpy=array([b'a', b'b\\xc3\\xa9'], dtype=object)",
     "[b'a' b'b\\xc3\\xa9'], shape=(2,), dtype=string"),
    ([["a"], ["b"]], None,
     "shape=(2, 1), dtype=string, numpy=\narray([[b'a'],\n       [b'b']], dtype=object)",
     "\n[[b'a']\n [b'b']], shape=(2, 1), dtype=string"),
    (1, tf.bfloat16, "shape=(), dtype=bfloat16, numpy=1.0", "1, shape=(), dtype=bfloat16"),
    ([1, 2], tf.bfloat16, "shape=(2,), dtype=bfloat16, numpy=array([1, 2], dtype=bfloat16)",
     "[1 2], shape=(2,), dtype=bfloat16"),
    (np.zeros([2, 0], np.float32), None,
     "shape=(2, 0), dtype=float32, numpy=array([], shape=(2, 0), dtype=float32)",
     "[], shape=(2, 0), dtype=float32"),
    (1 + 2j, None, "shape=(), dtype=complex128, numpy=(1+2j)",
     "(1+2j), shape=(), dtype=complex128"),
    (1e-20, tf.float64, "shape=(), dtype=float64, numpy=1e-20", "1e-20, shape=(), dtype=float64"),
    (range(2000), None,
     "shape=(2000,), dtype=int32, numpy=\narray([   0,    1,    2, ..., 1997, 1998, 1999],\n"
     "      shape=(2000,), dtype=int32)",
     "[   0    1    2 ... 1997 1998 1999], shape=(2000,), dtype=int32"),
]  # fmt: skip


@pytest.mark.parametrize("row", TEXTS, ids=[str(i) for i in range(len(TEXTS))])
def test_text_is_tensorflows(row: tuple[Any, Any, str, str]) -> None:
    value, dtype, shown, printed = row
    tensor = tf.constant(value, dtype)
    assert repr(tensor) == f"<tf.Tensor: {shown}>"
    assert str(tensor) == f"tf.Tensor({printed})"
    assert tensor._repr_html_() == f"<pre>&lt;tf.Tensor: {shown}&gt;</pre>"


def test_text_of_graph_tensors() -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        known = v1.placeholder(tf.float32, [2, None], name="p")
        unknown = v1.placeholder(tf.float32, name="q")
        with tf.device("/gpu:0"):
            placed = known + 1
    assert repr(known) == "<tf.Tensor 'p:0' shape=(2, None) dtype=float32>"
    assert str(known) == 'Tensor("p:0", shape=(2, None), dtype=float32)'
    assert repr(unknown) == "<tf.Tensor 'q:0' shape=<unknown> dtype=float32>"
    assert str(unknown) == f"{unknown}" == 'Tensor("q:0", dtype=float32)'
    assert str(placed) == 'Tensor("add:0", shape=(2, None), dtype=float32, device=/device:GPU:0)'


def test_scalars_are_python_numbers() -> None:
    three = tf.constant(3)
    assert (int(three), float(three), complex(three), [1, 2, 3, 4][three]) == (3, 3.0, 3 + 0j, 4)
    assert f"{tf.constant(1.5)} {tf.constant(1.5):.3f} {tf.constant([1.0])}" == "1.5 1.500 [1.]"
    for function in (int, float, complex):
        with pytest.raises(TypeError, match=r"only 0-dimensional arrays .* got shape \(1,\)"):
            function(tf.constant([3]))
    for wrong in (tf.constant(1.0), tf.constant(True), tf.constant([1])):
        with pytest.raises(TypeError):
            [1, 2][wrong]


def test_truth() -> None:
    assert tf.constant([[2]])
    assert not tf.constant(0.0)
    assert not tf.zeros([0])
    assert tf.constant("a")
    with pytest.raises(ValueError, match=r"more than one element is ambiguous.*shape \(2,\)"):
        bool(tf.constant([1, 2]))


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (bool, TypeError, "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed"),
        (iter, TypeError, "Iterating over a symbolic `tf.Tensor` is not allowed"),
        (int, TypeError, r"int\(\) argument must be a string, .* not 'SymbolicTensor'"),
        (float, TypeError, r"float\(\) argument must be a string .* not 'SymbolicTensor'"),
        (pickle.dumps, TypeError, "cannot pickle 'SymbolicTensor' object"),
        (lambda x: x.T, AttributeError, r"numpy-related .*\n? tf\.experimental\.numpy"),
        (lambda x: x.eval(), ValueError, r"`eval\(\)`: No default session is registered"),
        (lambda x: x.op.run(), ValueError, r"`run\(\)`: No default session is registered"),
        (lambda x: tf.constant(1, name="a:b"), ValueError, "`a:b` is not a valid node name"),
        (
            lambda x: x.graph.create_op("Add", [x, 3]),
            TypeError,
            "Input #1 is not a tensor: 3",
        ),
        (lambda x: x.graph.create_op("Nope", []), RuntimeError, "Op type not registered 'Nope'"),
    ],
)
def test_what_a_symbolic_tensor_refuses(use: Any, error: Any, words: str) -> None:
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32)
        with pytest.raises(error, match=words):
            use(x)
        assert x.graph.is_feedable(3)


@pytest.mark.parametrize("name", ["T", "astype", "reshape", "size"])
def test_names_of_numpy_say_how_to_get_them(name: str) -> None:
    x = tf.constant([1.0])
    assert not hasattr(x, name)
    assert not hasattr(tf.Tensor, name)
    with pytest.raises(AttributeError, match="experimental_enable_numpy_behavior"):
        getattr(x, name)


def test_numpy_is_a_copy_and_asarray_a_view_that_cannot_be_written() -> None:
    tensor = tf.constant([1.0, 2.0])
    copied = tensor.numpy()
    copied[0] = 7
    view = np.asarray(tensor)
    assert view.tolist() == tensor.numpy().tolist() == [1.0, 2.0]
    assert np.shares_memory(view, np.asarray(tensor))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 7
    assert isinstance(tf.constant(1.0).numpy(), np.float32)
    assert isinstance(tf.constant("a").numpy(), bytes)


def test_numpys_copy_argument() -> None:
    tensor = tf.constant([1.0, 2.0])
    base = np.asarray(tensor)
    assert np.shares_memory(np.array(tensor, copy=False), base)
    fresh = np.array(tensor, copy=True)
    assert not np.shares_memory(fresh, base)
    assert fresh.flags.writeable
    assert np.asarray(tensor, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(tensor, dtype=np.float64, copy=False)
    assert bytes(tensor) == fresh.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        np.float32([1, 2]), np.float64([[1.5]]), np.int64(3), np.array([True, False]),
        np.complex64([1 + 2j]), np.uint8([]), np.float16([1]),
    ],
    ids=str,
)  # fmt: skip
def test_dlpack_both_ways(value: Any) -> None:
    tensor = tf.constant(value)
    back = dlpack.from_dlpack(dlpack.to_dlpack(tensor))
    assert back.dtype is tensor.dtype
    np.testing.assert_array_equal(back.numpy(), value)
    np.testing.assert_array_equal(np.from_dlpack(tensor), value)


def test_dlpack_of_what_numpy_has_not() -> None:
    tensor = tf.constant([1, 2], tf.bfloat16)
    back = dlpack.from_dlpack(dlpack.to_dlpack(tensor))
    assert (back.dtype, back.numpy().tolist()) == (tf.bfloat16, [1, 2])


def test_dlpack_shares_memory() -> None:
    tensor = tf.constant(np.arange(100.0))
    back = dlpack.from_dlpack(dlpack.to_dlpack(tensor))
    assert np.shares_memory(np.asarray(back), np.asarray(tensor))


def test_dlpack_refuses() -> None:
    capsule = dlpack.to_dlpack(tf.constant([1.0]))
    dlpack.from_dlpack(capsule)
    for wrong in (capsule, np.ones(2)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="dltensor"):
            dlpack.from_dlpack(wrong)
    for value in ([1.0], tf.Variable(1.0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected an eager tensor"):
            dlpack.to_dlpack(value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="dtype string"):
        dlpack.to_dlpack(tf.constant("a"))


@pytest.mark.parametrize("row", TEXTS, ids=[str(i) for i in range(len(TEXTS))])
def test_copies_and_pickles(row: tuple[Any, Any, str, str]) -> None:
    tensor = tf.constant(row[0], row[1])
    made = pickle.loads(pickle.dumps(tensor))
    assert made is not tensor
    assert repr(made) == repr(tensor)
    assert copy.copy(tensor) is copy.deepcopy([tensor])[0] is tensor  # it never changes


def test_a_copy_is_known_to_the_tape() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = copy.deepcopy(x) ** 2
    assert float(tape.gradient(y, x)) == 6.0


def test_hashing() -> None:
    tensor = tf.constant([1.0])
    with pytest.raises(TypeError, match=r"tensor.ref\(\)"):
        hash(tensor)
    reference = tensor.ref()
    assert reference == tensor.ref()
    assert reference.deref() is tensor
    assert reference != tf.constant([1.0]).ref()
    assert {reference: 1}[tensor.ref()] == 1
    with pytest.raises(TypeError, match="unwrapped"):
        bool(reference == tensor)
    with tf.Graph().as_default():
        symbol = tf.constant(1)
        assert {symbol: 2}[symbol] == 2
        assert (symbol == tf.constant(1)) is False


def test_iteration() -> None:
    rows = list(tf.constant([[1, 2], [3, 4]]))
    assert [row.numpy().tolist() for row in rows] == [[1, 2], [3, 4]]
    assert list(tf.zeros([0, 2])) == []
    assert len(tf.zeros([3, 2])) == 3
    for function in (iter, len):
        with pytest.raises(TypeError, match=r"scalar|Scalar"):
            function(tf.constant(1))


def test_graph_tensors_have_no_value() -> None:
    with tf.Graph().as_default():
        symbol = tf.constant([1, 2])
        for function in (iter, bool):
            with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
                function(symbol)
        for plain in (int, float, complex, len, pickle.dumps, [1, 2].__getitem__):
            with pytest.raises(TypeError):
                plain(symbol)
        for convert in (np.asarray, np.array):
            with pytest.raises(NotImplementedError, match="symbolic"):
                convert(symbol)
        with pytest.raises(AttributeError):
            symbol.numpy()
        with pytest.raises(ValueError, match="session"):
            symbol.eval()


def test_eager_tensors_are_in_no_graph() -> None:
    tensor = tf.constant(1)
    for name in ("op", "graph", "name", "value_index"):
        with pytest.raises(AttributeError, match=f"Tensor.{name} is undefined"):
            getattr(tensor, name)
    for method in (tensor.eval, tensor.consumers):
        with pytest.raises(NotImplementedError, match="eager"):
            method()
    with pytest.raises(ValueError, match="not compatible"):
        tensor.set_shape([3])
