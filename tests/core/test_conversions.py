"""Python and NumPy values as tensors: dtypes, shapes and errors that TensorFlow was seen to give.

Every difference from TensorFlow is named in DIFFERENCES with its reason; one that
nothing shows any more fails too.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.ops.test_promotion import FACTS

import penstock as tf

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.fixture(scope="module")
def tool() -> Iterator[Any]:
    """The tool that recorded the facts: it reads its own notation."""
    sys.path.insert(0, str(TOOLS))
    import tf_facts_promotion

    yield tf_facts_promotion
    sys.path.remove(str(TOOLS))


class Row(NamedTuple):
    """One conversion: of what to what (or nothing), what came out, what TensorFlow gives."""

    section: str
    value: str
    dtype: str
    got: str
    wanted: str


def _refused(text: str) -> bool:
    return text.startswith("!")


_WITH_TENSOR = ("tf.constant(", "tf.Variable(")

DIFFERENCES: dict[str, Callable[[Row], bool]] = {
    # TensorFlow keeps the low bits of a Python integer that does not fit; NumPy refuses.
    "integers do not wrap": lambda r: (
        r.got == "!ValueError" or r.section == "convert_hint"
    ) and _integers_overflow(r.value),
    # No reason to refuse what a cast of the same value gives.
    "float8 is made of integers": lambda r: r.dtype.startswith("float8"),
    "complex64 holds what complex128 holds": lambda r: r.dtype == "complex64"
    and r.got == f"complex64 {r.got.partition(' ')[2]}",
    "bfloat16 in lists": lambda r: "ml_dtypes.bfloat16(1), " in r.value,
    "constant packs lists with tensors": lambda r: r.section == "constant"
    and any(t in r.value for t in _WITH_TENSOR),
    "every dtype that has a cast": lambda r: any(t in r.value for t in _WITH_TENSOR)
    and r.dtype in ("int4", "uint4", "string"),
    "range of every integer dtype": lambda r: r.value.startswith("range("),
    # Both refuse; the first element that does not fit says why.
    "class of error": lambda r: _refused(r.got) and _refused(r.wanted),
    "an error inside of TensorFlow": lambda r: r.wanted == "!SystemError",
}  # fmt: skip


def _integers_overflow(value: str) -> bool:
    return any(t in value for t in ("2**", "300", "-1", "bytearray", "memoryview"))


@cache
def _rows(tool: Any) -> list[Row]:
    names = tool.environment(tf)
    functions = {
        "constant": (tf.constant, "dtype"),
        "convert": (tf.convert_to_tensor, "dtype"),
        "convert_hint": (tf.convert_to_tensor, "dtype_hint"),
    }
    rows = []
    for section, (function, argument) in functions.items():
        for value, facts in FACTS[section].items():
            if "ragged" in value:
                continue
            wanted = {**tool.expand(facts, FACTS["dtypes"]), "": facts[""]}
            for dtype, outcome in wanted.items():
                call = lambda f=function, v=value, **k: f(eval(v, names), **k)  # noqa: E731
                given = {argument: dtype} if dtype else {}
                got = tool.outcome(call, shape=True, **given)
                rows.append(Row(section, value, dtype, got, outcome))
    return rows


def test_conversions_are_tensorflows(tool: Any) -> None:
    wrong, seen = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a conversion that was asked for warns of nothing
        rows = _rows(tool)
    assert len(rows) > 11_000
    for row in rows:
        if row.got == row.wanted:
            continue
        names = [name for name, holds in DIFFERENCES.items() if holds(row)]
        seen.update(names)
        if not names:
            wrong.append(row)
    assert not wrong, "\n".join(str(row) for row in wrong[:50])
    assert seen == set(DIFFERENCES)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "int8"), (-1, "uint8"), (2**31, "int32"), (128, "qint8"), ([1, 2**40], "int32")],
)
def test_integers_that_do_not_fit_are_refused(value: Any, dtype: str) -> None:
    low, high = {
        "int8": (-128, 127), "uint8": (0, 255), "qint8": (-128, 127), "int32": (-(2**31), 2**31 - 1)
    }[dtype]  # fmt: skip
    with pytest.raises(ValueError, match=rf"expected a value in \[{low}, {high}\]"):
        tf.constant(value, dtype)
    assert tf.constant(high, dtype).dtype.name == dtype
    assert tf.constant(low, dtype).dtype.name == dtype


def test_floats_that_only_float64_holds_are_refused() -> None:
    largest = float(np.finfo(np.float32).max)
    assert tf.constant(largest).numpy() == np.float32(largest)
    for value in (1e39, [1.0, -1e39]):
        with pytest.raises(ValueError, match="float64"):
            tf.constant(value)
    assert tf.constant(1e39, tf.float64).numpy() == 1e39
    assert np.isinf(tf.constant(float("inf")).numpy())


def test_values_of_mixed_lists() -> None:
    cases: list[tuple[Any, str, Any]] = [
        ([np.int64(1), 2], "int32", [1, 2]),
        ([2.5, np.float64(1)], "float32", [2.5, 1.0]),
        ([np.float64(0.1), 1], "float64", [0.1, 1.0]),
        ([1, True], "int32", [1, 1]),
        ([[1, 2], np.array([3, 4])], "int32", [[1, 2], [3, 4]]),
        ([np.ones(2), [3, 4]], "float64", [[1.0, 1.0], [3.0, 4.0]]),
        ([1, 2**40], "int64", [1, 2**40]),
        ((np.float32(1), range(0)), "", None),
    ]
    for value, dtype, expected in cases[:-1]:
        tensor = tf.constant(value)
        assert (tensor.dtype.name, tensor.numpy().tolist()) == (dtype, expected)
    with pytest.raises(ValueError, match="non-rectangular"):
        tf.constant(cases[-1][0])
    for value in ([1, 2j], [True, 1], ["a", 1], [2, np.bool_(True)]):
        for given in (None, tf.bool):
            with pytest.raises(ValueError, match="mixed types"):
                tf.constant(value, given)


def test_lists_with_tensors_are_packed_and_cast() -> None:
    packed = tf.convert_to_tensor([tf.constant(1), [2][0], tf.Variable(3)])
    assert (packed.dtype.name, packed.numpy().tolist()) == ("int32", [1, 2, 3])
    cast = tf.convert_to_tensor([[tf.constant(1.5), 2.0], [3.0, 4.0]], tf.float64)
    assert (cast.dtype.name, cast.numpy().tolist()) == ("float64", [[1.5, 2.0], [3.0, 4.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="one dtype"):
        tf.convert_to_tensor([tf.constant(1.0), tf.constant(2)])
    with tf.Graph().as_default(), pytest.raises(TypeError, match="one dtype"):
        tf.convert_to_tensor([tf.constant(1.0), tf.constant(2)])


def test_numpy_operands_take_the_tensors_dtype() -> None:
    assert (tf.constant(2) + np.int64(3)).dtype is tf.int32
    assert (tf.constant(2.0) + np.float64(0.5)).numpy() == np.float32(2.5)


def test_the_callers_array_is_not_shared() -> None:
    array = np.ones(3, np.float32)
    tensor = tf.constant(array)
    array[0] = 7
    assert tensor.numpy().tolist() == [1, 1, 1]


_NUMBERS = {
    "i8": np.int8(1), "u8": np.uint8(1), "i64": np.int64(1), "wide": np.int64(2**40),
    "u32": np.uint32(2**31), "u64": np.uint64(2**63), "f16": np.float16(1), "f32": np.float32(1),
    "f64": np.float64(1), "c64": np.complex64(1), "b": np.bool_(True), "1": 1, "1.5": 1.5,
    "True": True, "1j": 1j, "[i8]": np.array(1, np.int8), "2**63": 2**63, "2**70": 2**70,
}  # fmt: skip

MIXED = """
i8 | int32 | int8
f64 | float64 | float32
f16 f64 | float16 | float32
c64 | complex128 | complex64
u32 | int64 | uint32
wide | int64 | int64
i64 | int32 | int32
i8 u8 | int32 | int16
u64 | ValueError | uint64
1 f64 | float32 | float32
1 f16 | float32 | float32
i8 f64 | float32 | float32
f16 1.5 | float16 | float32
1.5 1j | ValueError | complex128
1 1j | ValueError | complex128
f32 1j | ValueError | complex128
True 1 | ValueError | int32
1 True | int32 | int32
1 b | ValueError | int32
b 1.5 | ValueError | float32
b b | bool | bool
True i8 | ValueError | int8
[i8] | int32 | int8
[i8] f64 | float32 | float32
2**63 | ValueError | uint64
2**63 1 | ValueError | float32
2**70 | ValueError | TypeError
1.5 2**70 | float32 | TypeError
"""


@pytest.mark.parametrize("line", MIXED.strip().splitlines())
def test_lists_of_numpys_numbers(line: str) -> None:
    """TensorFlow's dtype or class of error: eagerly the first element's, in a graph NumPy's."""
    names, eager, graph = (part.strip() for part in line.split("|"))
    value = [_NUMBERS[name] for name in names.split()]
    assert _outcome(value) == eager
    with tf.Graph().as_default():
        assert _outcome(value) == graph


def _outcome(value: Any) -> str:
    try:
        return str(tf.constant(value).dtype.name)
    except (TypeError, ValueError) as problem:
        return type(problem).__name__


@pytest.mark.parametrize("value", [np.bool_(True), np.str_("a"), np.bytes_(b"a")])
def test_numpys_bools_and_text_in_lists_are_no_numbers(value: Any) -> None:
    with pytest.raises(TypeError, match="float32"):
        tf.constant([value], tf.float32)


def test_none_in_a_list_is_what_tensorflow_calls_it() -> None:
    for given in (None, tf.float32):
        with pytest.raises(ValueError, match="unsupported type"):
            tf.constant([None, 1], given)
        with tf.Graph().as_default(), pytest.raises(TypeError, match="unsupported type"):
            tf.constant([None, 1], given)


def test_a_conversion_method_of_one_object() -> None:
    """`__tf_tensor__` counts on an instance too, as in TensorFlow."""

    class Plain:
        pass

    value = Plain()
    value.__tf_tensor__ = lambda dtype=None, name=None: tf.constant([1.0, 2.0])
    assert tf.convert_to_tensor(value).numpy().tolist() == [1.0, 2.0]
    assert (tf.constant([1.0, 1.0]) + value).numpy().tolist() == [2.0, 3.0]


def test_eager_kernels_take_a_vector_of_one_for_a_number() -> None:
    """And a number for a vector of one; graphs refuse both."""
    made = [tf.raw_ops.Fill(dims=3, value=1), tf.raw_ops.Fill(dims=[3], value=[1])]
    assert [value.numpy().tolist() for value in made] == [[1, 1, 1]] * 2
    made = tf.raw_ops.Range(start=tf.constant([0.0]), limit=2.0, delta=1.0)
    assert made.numpy().tolist() == [0.0, 1.0]
    with tf.Graph().as_default():
        for call in (
            lambda: tf.raw_ops.Fill(dims=3, value=1),
            lambda: tf.raw_ops.Fill(dims=[3], value=[1]),
            lambda: tf.raw_ops.Range(start=[0.0], limit=2.0, delta=1.0),
        ):
            with pytest.raises(ValueError, match="rank"):
                call()


@pytest.mark.parametrize("kind", [3, (), (int, 3)])
def test_a_conversion_is_registered_for_classes_alone(kind: Any) -> None:
    with pytest.raises(TypeError, match="must be a type or a tuple of types"):
        tf.register_tensor_conversion_function(kind, lambda value, dtype, name, as_ref: value)


def test_an_eager_range_of_plain_floats_is_refused() -> None:
    """The default of its dtype is int32; a tensor, or a graph, decides otherwise."""
    with pytest.raises(TypeError, match="int32"):
        tf.raw_ops.Range(start=0.0, limit=3.0, delta=1.0)
    with tf.Graph().as_default():
        assert tf.raw_ops.Range(start=0.0, limit=3.0, delta=1.0).dtype == tf.float32


class Stand(tf.__internal__.types.Tensor):
    """A class of another library that counts as a tensor, as Keras's variables do."""

    dtype = "float32"
    shape = (2,)

    def __init__(self):
        self.asked = []

    def __tf_tensor__(self, dtype=None, name=None):
        self.asked.append(dtype)
        return tf.constant([1.0, 2.0], dtype)


def test_subclasses_of_what_counts_as_a_tensor_convert_themselves():
    stand = Stand()
    assert tf.is_tensor(stand)
    assert not isinstance(stand, tf.Tensor)
    assert tf.add(stand, 1.0).numpy().tolist() == [2.0, 3.0]
    assert (tf.constant([3.0, 4.0]) + stand).numpy().tolist() == [4.0, 6.0]
    assert tf.cast(stand, tf.int32).numpy().tolist() == [1, 2]
    assert tf.convert_to_tensor(stand, tf.float64).dtype == tf.float64
    assert stand.asked[-1] is tf.float64
    assert tf.get_static_value(stand) is None


def test_lists_of_what_counts_as_a_tensor_are_packed():
    stand = Stand()
    assert tf.stack([stand, stand]).shape == (2, 2)
    assert tf.convert_to_tensor([stand, [3.0, 4.0]]).numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ValueError, match="Stand"):
        tf.constant([stand, stand])


def test_a_function_captures_what_counts_as_a_tensor():
    stand = Stand()

    @tf.function
    def double(x):
        return tf.cast(stand, x.dtype) * 2 + x

    assert double(tf.constant([0.0, 1.0])).numpy().tolist() == [2.0, 5.0]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.identity(stand)).tolist() == [1.0, 2.0]


def test_tensors_and_variables_count_as_tensors():
    base = tf.__internal__.types.Tensor
    for value in (tf.constant(1), tf.Variable(1.0)):
        assert isinstance(value, base)
    assert not issubclass(tf.Variable, tf.Tensor)
    for value in (tf.ragged.constant([[1]]), tf.IndexedSlices([1.0], [0]), 1):
        assert not isinstance(value, base)


class _Keeper:
    """What gives the array that it keeps."""

    def __init__(self) -> None:
        self.kept = np.arange(3.0, dtype=np.float32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.kept


@pytest.mark.parametrize("make", [tf.constant, tf.convert_to_tensor, tf.Variable])
def test_an_object_that_keeps_its_array_does_not_change_a_tensor(make: Any) -> None:
    keeper = _Keeper()
    made = make(keeper)
    keeper.kept[0] = 99.0
    assert made.numpy().tolist() == [0.0, 1.0, 2.0]


def test_an_object_that_keeps_its_array_does_not_change_what_a_function_returned() -> None:
    keeper = _Keeper()
    made = tf.numpy_function(lambda: keeper, [], tf.float32)
    keeper.kept[0] = 99.0
    assert made.numpy().tolist() == [0.0, 1.0, 2.0]
