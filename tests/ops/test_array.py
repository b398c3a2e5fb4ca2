"""Arrays beyond the table: indexing against NumPy, constants, placeholders, grouping, composite
tensors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as tf
from penstock import errors, ops
from penstock.autodiff.tape import GradientTape
from penstock.core import context
from penstock.core.composite import IndexedSlices, SparseTensor
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.graph.graph import Graph
from penstock.ops import array_basics as b
from penstock.ops import array_fill as f
from penstock.ops import array_identity as i
from penstock.ops import array_select as w
from penstock.ops import array_sort as o
from penstock.ops import array_space as sp
from penstock.ops import conversion as c
from penstock.ops import grouping
from penstock.runtime.session import DirectSession
from penstock.types import dtypes as dt
from penstock.types.composite_specs import IndexedSlicesSpec, SparseTensorSpec
from penstock.types.dims import compatible
from penstock.util import nest

ops.load_all()
BOUND = st.none() | st.integers(-6, 6)
STEP = st.none() | st.integers(-3, 3).filter(bool)
ITEM = st.integers(-3, 2) | st.builds(slice, BOUND, BOUND, STEP) | st.none()


@st.composite
def arrays_and_indices(draw):
    """An array of rank 1 to 3 and an index that NumPy may or may not accept."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    items = draw(st.lists(ITEM, max_size=4))
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape), tuple(items)


def run(graph, fetches, feeds=()):
    session = DirectSession(graph)
    plan = session.plan(list(fetches), [t for t, _ in feeds], [])
    return [np.asarray(a) for a in session.run(plan, [v for _, v in feeds])[0]]


@settings(max_examples=300, deadline=None)
@given(arrays_and_indices())
def test_getitem_is_numpys_when_eager(pair):
    array, index = pair
    try:
        wanted = array[index]
    except IndexError:
        with pytest.raises(errors.InvalidArgumentError):
            convert_to_tensor(array)[index]
        return
    got = convert_to_tensor(array)[index]
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got.numpy(), wanted)
    with context.recording(Quiet()):  # not the short way
        np.testing.assert_array_equal(convert_to_tensor(array)[index].numpy(), wanted)


class Quiet:
    def record(self, *arguments):
        pass


@settings(max_examples=60, deadline=None)
@given(arrays_and_indices(), st.sampled_from(["full", "rank", "none"]))
def test_getitem_is_numpys_in_a_graph(pair, known):
    array, index = pair
    try:
        wanted = array[index]
    except IndexError:
        return
    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(
            dt.float32, {"full": array.shape, "rank": [None] * array.ndim, "none": None}[known]
        )
        y = x[index]
    assert compatible(y.dims, wanted.shape)
    (got,) = run(graph, [y], [(x, array)])
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("graph", [False, True])
def test_getitem_takes_tensors_as_positions_and_bounds(graph):
    x = np.arange(12).reshape(3, 4)
    if not graph:
        n, eager = convert_to_tensor(1), convert_to_tensor(x)
        for value, wanted in zip(
            [eager[n], eager[:, n:], eager[0, n : n + 2]], [x[1], x[:, 1:], x[0, 1:3]], strict=True
        ):
            np.testing.assert_array_equal(value.numpy(), wanted)
        return
    made = Graph()
    with context.graph_scope(made):
        n = b.placeholder(dt.int32, [])
        y = [convert_to_tensor(x)[n], convert_to_tensor(x)[:, n:], convert_to_tensor(x)[n, -1]]
    assert [t.dims for t in y] == [(4,), (3, None), ()]
    for value, wanted in zip(
        run(made, y, [(n, np.int32(1))]), [x[1], x[:, 1:], x[1, -1]], strict=True
    ):
        np.testing.assert_array_equal(value, wanted)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"slice index 3 of dimension 0|index in \[-3, 3\)"
    ):
        run(made, y[:1], [(n, np.int32(3))])


@pytest.mark.parametrize("index", [1.5, "a", np.array([0, 1]), (0, [1])])
def test_getitem_refuses_other_indices(index):
    with pytest.raises(TypeError, match="Only integers, slices"):
        convert_to_tensor([[1, 2]])[index]


def test_getitem_with_a_mask_selects():
    x = convert_to_tensor([[1, 2], [3, 4]])
    assert x[np.array([[True, False], [False, True]])].numpy().tolist() == [1, 4]
    with pytest.raises(ValueError, match="mask cannot be scalar"):
        x[True]
    with pytest.raises(ValueError, match="incompatible"):
        w.boolean_mask(x, [True, False, True])
    assert w.boolean_mask(x, [0, 2]).numpy().tolist() == [[3, 4]]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_band_is_no_wider_than_the_matrix(compiled):
    x = convert_to_tensor(np.ones((2, 300 if compiled else 3), np.float32))
    columns = x.shape[1]
    band = tf.function(tf.linalg.band_part) if compiled else tf.linalg.band_part
    for _ in range(3):
        assert band(x, tf.constant(2), tf.constant(columns)).numpy().sum() == 2 * columns
        with pytest.raises(errors.InvalidArgumentError, match=r"num_lower .*\(2\) got: 3"):
            band(x, tf.constant(3), tf.constant(0))
        with pytest.raises(errors.InvalidArgumentError, match=rf"num_upper .*got: {columns + 1}"):
            band(x, tf.constant(-1), tf.constant(columns + 1))


def test_a_shape_of_more_than_one_axis_is_refused():
    for make in (tf.zeros, tf.ones):
        for shape in ([[2]], np.array([[2, 3]]), tf.constant([[2]])):
            with pytest.raises(errors.InvalidArgumentError, match="rank 1"):
                make(shape)
            with context.graph_scope(Graph()), pytest.raises(ValueError, match="rank 1"):
                make([[2]])
        assert make(3).shape == make(tf.constant(3)).shape == [3]


def test_iteration_is_by_rows_and_refused_for_symbols():
    assert [r.numpy().tolist() for r in convert_to_tensor([[1], [2]])] == [[1], [2]]
    with pytest.raises(TypeError, match="scalar tensor"):
        iter(convert_to_tensor(1))
    with (
        context.graph_scope(Graph()),
        pytest.raises(errors.OperatorNotAllowedInGraphError, match="Iterating over a symbolic"),
    ):
        iter(b.placeholder(dt.float32, [2]))


def test_slices_of_static_shapes_are_known_when_the_graph_is_built():
    with context.graph_scope(Graph()):
        x = b.placeholder(dt.float32, [None, 3, 4])
        size = b.shape(x)
        assert c.get_static_value(size[1]) == 3
        assert b.reshape(x, [size[0], size[1] * 4]).dims == (None, 12)
        assert f.zeros([size[0], 2]).dims == (None, 2)
        assert b.reshape(b.placeholder(dt.float32), size).dims == (None, 3, 4)


def test_constants_have_the_shape_asked_for():
    assert b.constant(7, shape=[2, 1]).numpy().tolist() == [[7], [7]]
    assert b.constant_v1(1, shape=[3]).numpy().tolist() == [1, 1, 1]
    assert b.reshape(np.zeros(0), [0, -1]).shape.as_list() == [0, 1]
    with pytest.raises(TypeError, match="6 elements"):
        b.constant([1, 2], shape=[2, 3])
    with pytest.raises(TypeError, match="expected a value of shape"):
        b.constant_v1([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(TypeError, match="has 2 elements, but got `shape`"):
        b.constant_v1([1, 2], shape=[4])
    with pytest.raises(TypeError, match=r"Use tf\.cast"):
        b.constant(convert_to_tensor(1), dt.float32)
    with context.graph_scope(Graph()):
        filled = b.constant_v1([1, 2], shape=[3])
        assert c.get_static_value(filled).tolist() == [1, 2, 2]
        with pytest.raises(ValueError, match="at most 1 elements"):
            b.constant_v1([1, 2], shape=[1])
    with context.graph_scope(Graph()):
        assert b.constant([1.0], name="k").op.type == "Const"


@pytest.mark.parametrize("shape", [[2.0, 3.0], ["2", "3"], [True, True], 2.0])
def test_tensors_of_other_numbers_are_no_shapes_of_constants(shape):
    for make in (tf.constant, tf.compat.v1.constant):
        with pytest.raises(TypeError, match="expected integers, got"):
            make(0, shape=tf.constant(shape))
    assert tf.constant(0, shape=tf.constant([2, 3], tf.uint8)).shape == [2, 3]


def test_a_constant_does_not_follow_its_array():
    array = np.zeros(2, np.float32)
    tensor = b.constant(array)
    array[0] = 1
    assert tensor.numpy().tolist() == [0, 0]


def test_a_placeholder_needs_a_graph_and_a_value():
    with pytest.raises(RuntimeError, match="eager execution"):
        b.placeholder(dt.float32)
    graph = Graph()
    with context.graph_scope(graph):
        x = b.placeholder(dt.float32, [2], name="x")
        y = b.placeholder_with_default(np.float32([1, 2]), [None])
    assert x.op.type == "Placeholder"
    assert run(graph, [y])[0].tolist() == [1, 2]
    assert run(graph, [y], [(y, np.float32([5]))])[0].tolist() == [5]
    with pytest.raises(errors.InvalidArgumentError, match="You must feed a value"):
        run(graph, [x])


def test_group_and_tuple_wait_for_all():
    assert grouping.group(convert_to_tensor(1)) is None
    graph = Graph()
    with context.graph_scope(graph):
        x, y = convert_to_tensor(1), convert_to_tensor(2)
        done = grouping.group(x, [y], name="done")
        assert done.type == "NoOp"
        assert done.name == "done"
        assert {o.name for o in done.control_inputs} == {x.op.name, y.op.name}
        a, none = grouping.tuple_([x, None])
        assert none is None
        assert any(o.type == "NoOp" for o in a.op.control_inputs)
        with pytest.raises(TypeError, match="expected tensors and operations"):
            grouping.group(3)
        with pytest.raises(TypeError, match="Leave out what is None"):
            grouping.group(None)
        with pytest.raises(ValueError, match="at least one"):
            grouping.tuple_([None])
        with pytest.raises(ValueError, match="'nam'"):
            grouping.group(nam=1)


def test_a_group_has_an_operation_on_each_device():
    graph = Graph()
    with context.graph_scope(graph):
        with graph.device("CPU:0"):
            x = convert_to_tensor(1)
        with graph.device("CPU:1"):
            y = convert_to_tensor(2)
            alone = grouping.group(x, name="alone")
        both = grouping.group(y, x)
    assert alone.device == "/device:CPU:0"
    waited = [(c.name, c.device, [i.name for i in c.control_inputs]) for c in both.control_inputs]
    assert waited == [
        ("group_deps/NoOp", "/device:CPU:0", [x.op.name]),
        ("group_deps/NoOp_1", "/device:CPU:1", [y.op.name]),
    ]
    assert (both.name, both.device) == ("group_deps", "")


def test_a_tuple_holds_operations_values_and_composite_tensors():
    graph = Graph()
    with context.graph_scope(graph):
        rows = IndexedSlices(convert_to_tensor([1.0]), convert_to_tensor([0]))
        op = convert_to_tensor(3).op
        found = grouping.tuple_([rows, 2.0, op], [op], name="t")
        assert found[0].indices is rows.indices
        assert [c.name for c in found[0].values.op.control_inputs] == ["t/group_deps"]
        assert found[0].values.op.colocation_groups() == [f"loc:@{rows.op.name}".encode()]
        assert (found[1].name, found[2].name) == ("t/control_dependency_1:0", "t/group_deps_1")
        with pytest.raises(TypeError, match="as control input, got None"):
            grouping.tuple_([rows], [None])


def test_prevented_gradients_say_why():

    x = convert_to_tensor(1.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = i.prevent_gradient(x, "because")
    with pytest.raises(LookupError, match="because"):
        tape.gradient(y, x)


def test_timestamp_moves_on():
    first = i.timestamp().numpy()
    assert first > 1.6e9
    assert execute("Timestamp").numpy() >= first


def test_of_equal_elements_the_first_come_first():
    x = convert_to_tensor([1, 3, 3])
    assert o.top_k(x, 2).indices.numpy().tolist() == [1, 2]
    assert o.argsort(x, direction="DESCENDING").numpy().tolist() == [1, 2, 0]


def test_required_paddings_make_sizes_divisible():
    pads, crops = sp.required_space_to_batch_paddings([5, 4], [4, 2], [[1, 0], [0, 0]])
    assert pads.numpy().tolist() == [[1, 2], [0, 0]]
    assert crops.numpy().tolist() == [[0, 2], [0, 0]]
    graph = Graph()
    with context.graph_scope(graph):
        sizes = b.placeholder(dt.int32, [2])
        both = sp.required_space_to_batch_paddings(sizes, [4, 2], [[1, 0], [0, 0]])
    got = run(graph, both, [(sizes, np.int32([5, 4]))])
    assert [g.tolist() for g in got] == [[[1, 2], [0, 0]], [[0, 2], [0, 0]]]


# ---- composite tensors


def test_indexed_slices_become_dense():
    slices = IndexedSlices(
        convert_to_tensor([[1.0], [2.0], [4.0]]),
        convert_to_tensor([2, 0, 2]),
        convert_to_tensor([3, 1]),
    )
    assert slices.shape.as_list() == [3, 1]
    assert convert_to_tensor(slices).numpy().tolist() == [[2], [0], [5]]
    assert (-slices).values.numpy().tolist() == [[-1], [-2], [-4]]
    assert slices._type_spec == IndexedSlicesSpec([3, 1], dt.float32, dt.int32, dt.int32, [3])
    with pytest.raises(ValueError, match="dense_shape"):
        convert_to_tensor(IndexedSlices(slices.values, slices.indices))
    with pytest.raises(ValueError, match="expected dtype int32"):
        convert_to_tensor(slices, dt.int32)


def _dense(shape):
    return convert_to_tensor(IndexedSlices(convert_to_tensor([1.0]), convert_to_tensor([0]), shape))


def test_large_indexed_slices_warn_in_graphs():
    with context.graph_scope(Graph()):
        with pytest.warns(UserWarning, match="a dense Tensor with 100000000 elements"):
            _dense(convert_to_tensor([100_000_000]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            _dense(convert_to_tensor([99_999_999]))


def test_indexed_slices_of_unknown_size_do_not_warn():
    with context.graph_scope(Graph()), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _dense(b.placeholder(dt.int32, [None])).dtype == dt.float32
        assert _dense(b.placeholder(dt.int32, [1])).shape.as_list() == [None]


def test_sparse_tensors_are_made_of_three_tensors():
    sparse = SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4])
    assert sparse.shape.as_list() == [3, 4]
    assert sparse._type_spec == SparseTensorSpec([3, 4], dt.float32)
    parts = nest.flatten(sparse, expand_composites=True)
    assert [p.dtype for p in parts] == [dt.int64, dt.float32, dt.int64]
    again = nest.pack_sequence_as(sparse, parts, expand_composites=True)
    assert again.values is sparse.values
    assert sparse.with_values([1, 2]).dtype is dt.int32
    with pytest.raises(ValueError, match=r"2.*3|3.*2"):
        SparseTensor([[0, 1], [2, 0]], [1.0, 2.0, 3.0], [3, 4])
    with pytest.raises(TypeError, match="Neither"):
        SparseTensor.from_value([1])
    with context.graph_scope(Graph()):
        made = c.sparse_placeholder(dt.float32, [None, 3], name="s")
        assert made.shape.as_list() == [None, 3]
        assert made.values.op.name == "s/values"


def test_what_is_a_tensor():
    sparse = SparseTensor([[0]], [1], [1])
    assert [c.is_tensor(v) for v in (convert_to_tensor(1), sparse, 1, [1], np.zeros(1))] == [
        True,
        True,
        False,
        False,
        False,
    ]
    with context.graph_scope(Graph()):
        symbol = b.placeholder(dt.float32)
    assert [c.is_symbolic_tensor(v) for v in (symbol, convert_to_tensor(1), sparse, 1)] == [
        True,
        False,
        False,
        False,
    ]
    assert c.get_static_value(symbol) is None
    assert c.get_static_value(convert_to_tensor([1, 2])).tolist() == [1, 2]
    assert c.convert_to_tensor_or_indexed_slices([1]).dtype is dt.int32
    with pytest.raises(RuntimeError, match="Sparse dtype mismatch"):
        c.convert_to_tensor_or_sparse_tensor(sparse, dt.float32)


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_order_and_repetition_of_what_has_no_known_rank(axis: int) -> None:
    array = np.array([[3, 1, 2], [6, 5, 4]])
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.int32)
        made = [tf.sort(x, axis), tf.argsort(x, axis, "DESCENDING"), tf.repeat(x, 2, axis % 2)]
        even = [3, 1] if axis % 2 == 0 else [1, 0, 2]
        made.append(tf.repeat(x, even, axis % 2))
        assert all(value.shape.rank is None for value in made)
        with tf.compat.v1.Session() as session:
            found = session.run(made, {x: array})
    expected = [
        np.sort(array, axis),
        np.argsort(-array, axis),
        np.repeat(array, 2, axis),
        np.repeat(array, even, axis),
    ]
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_repetition_refuses_an_axis_from_the_end_without_a_rank() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="may only be negative if rank"):
        tf.repeat(tf.compat.v1.placeholder(tf.float32), 2, -1)


def test_sorting_refuses_an_axis_that_is_no_scalar() -> None:
    with pytest.raises(ValueError, match="`axis` must be a constant scalar"):
        tf.sort([1, 2], axis=[0, 1])


def test_a_size_stands_for_a_vector_of_one_where_kernels_read_it() -> None:
    for size in (4, -1, np.int64(4), tf.constant(4), tf.constant(-1, tf.int64)):
        assert tf.reshape([[1, 2], [3, 4]], size).shape == (4,)
    late = tf.function(lambda s: tf.reshape([1, 2], s), [tf.TensorSpec(None, tf.int32)])
    assert late(tf.constant(-1)).shape == (2,)
    with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 0"):
        tf.function(lambda s: tf.reshape([1, 2], s)).get_concrete_function(tf.constant(-1))


@pytest.mark.parametrize(
    "values", [[[1, 2], [3]], [np.ones(2), np.ones(2)], [tf.Variable([1.0]), tf.Variable([1.0])]]
)
@pytest.mark.parametrize("axis", [2, -3])
def test_stack_refuses_an_axis_before_it_looks_at_the_values(
    values: list[object], axis: int
) -> None:
    with pytest.raises(ValueError, match=rf"`axis` = {axis} not in range \[-2, 2\).*rank 1"):
        tf.stack(values, axis)
    with pytest.raises(ValueError, match=r"not in range \[-1, 1\)"):
        tf.stack(["a", "b"], 1)


@pytest.mark.parametrize("op", [tf.raw_ops.DynamicStitch, tf.raw_ops.ParallelDynamicStitch])
def test_rows_are_put_together_while_compiling_where_places_are_known(op):
    """Places without a row are zero, of rows at one place the last is taken."""
    data = [tf.constant([[1.0], [3.0]]), tf.constant([[2.0]]), tf.zeros((0, 1))]

    @tf.function(jit_compile=True)
    def constant(*rows):
        return op(indices=[[0, 4], [4], []], data=rows)

    @tf.function(jit_compile=True)
    def given(places, rows):
        return op(indices=[places], data=[rows])

    wanted = [[1.0], [0.0], [0.0], [0.0], [2.0]]
    assert constant(*data).numpy().tolist() == wanted
    assert op(indices=[[0, 4], [4], []], data=data).numpy().tolist() == wanted
    assert given(tf.constant([1, 0]), data[0]).numpy().tolist() == [[3.0], [1.0]]
    assert given(tf.constant([], tf.int32), data[2]).shape == (0, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="got -1 to 0"):
        given(tf.constant([-1, 0]), data[0])


NAN = float("nan")


@pytest.mark.parametrize(
    ("row", "left", "right"),
    [
        ([1.0, 2.0, NAN], [0, 0, 1, 2], [3, 0, 3, 3]),
        ([1.0, NAN, NAN, NAN], [0, 0, 1, 1], [4, 4, 4, 4]),
        ([NAN, 1.0, 2.0], [0, 0, 2, 3], [3, 1, 3, 3]),
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 4], [4, 0, 2, 4]),
        ([], [0] * 4, [0] * 4),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_searches_among_what_is_no_number(row, left, right, compiled):
    """Figures of TensorFlow 2.21, whose search goes by halves whatever is there."""
    find = tf.function(tf.searchsorted, jit_compile=True) if compiled else tf.searchsorted
    row, values = tf.constant(row, tf.float32), tf.constant([NAN, 0.0, 2.0, 9.0])
    assert find(row, values).numpy().tolist() == left
    assert find(row, values, "right").numpy().tolist() == right


@pytest.mark.parametrize("shape", [None, (2, None), (2, 0)])
def test_searches_in_empty_rows(shape):
    """TensorFlow 2.21 finds place 0 in each; the number of rows was taken for 1."""
    spec = tf.TensorSpec(shape, tf.int32)
    find = tf.function(tf.searchsorted, input_signature=[spec, tf.TensorSpec((2, 3), tf.int32)])
    found = find(np.zeros((2, 0), np.int32), np.ones((2, 3), np.int32))
    assert found.numpy().tolist() == [[0] * 3] * 2


def test_means_of_no_weight_are_zero_and_bools_have_no_range():
    mean, variance = tf.nn.weighted_moments([[1.0, 2.0], [3.0, 5.0]], 1, [[1.0], [0.0]])
    assert mean.numpy().tolist() == [1.5, 0.0]
    assert variance.numpy().tolist() == [0.25, 0.0]
    for value, dtype in (([True], tf.int32), ([1], tf.bool)):
        with pytest.raises(TypeError, match="Cannot find minimum value of bool"):
            tf.saturate_cast(value, dtype)
    assert tf.experimental.numpy.argsort(3).numpy().tolist() == [0]


@pytest.mark.parametrize("source", [tf.bfloat16, tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("wanted", [tf.uint64, tf.int64, tf.uint32, tf.int8])
def test_values_that_do_not_fit_become_the_last_ones_that_both_dtypes_have(source, wanted):
    """Bounds of uint64 in bfloat16 were a TypeError."""
    found = tf.saturate_cast(tf.constant([np.inf, -np.inf, 2.5], source), wanted).numpy().tolist()
    largest = min(int(wanted.max), int(float(source.max)))
    assert float(largest) * (1 - 1 / 64) <= found[0] <= largest
    assert found[1] == max(int(wanted.min), int(float(source.min)))
    assert found[2] == 2


def test_segments_of_another_number_of_rows_are_refused_when_they_run():
    wrong = tf.function(lambda: tf.math.segment_sum([1.0, 2.0], [0, 0, 1]))
    assert wrong.get_concrete_function().structured_outputs.shape.as_list() == [None]
    with pytest.raises(tf.errors.InvalidArgumentError):
        wrong()


def test_saturated_casts_to_narrower_exponents_stay_finite():
    x = tf.constant([-1e30, -65520.0, -5.0, 65504.0, 1e30], tf.bfloat16)
    for run in (tf.saturate_cast, tf.function(tf.saturate_cast)):
        found = run(x, tf.float16).numpy().tolist()
        assert found == [-65280, -65280, -5, 65280, 65280]


@pytest.mark.parametrize("source", [tf.bfloat16, tf.float16, tf.float32, tf.float64])
def test_saturated_casts_leave_no_infinity(source):
    x = tf.constant([np.inf, -np.inf, np.nan, 2.5], source)
    for wanted in (tf.bfloat16, tf.float16, tf.float32, tf.float64, tf.complex64):
        for run in (tf.saturate_cast, tf.function(tf.saturate_cast)):
            found = run(x, wanted).numpy().real.astype(np.float64)
            assert (np.isfinite(found) == [True, True, False, True]).all()
            assert found[0] == -found[1] > 60000
    found = tf.saturate_cast(tf.constant([complex(np.inf, 1e300)]), tf.complex64).numpy()
    assert found.real == found.imag == np.finfo(np.float32).max


def test_unsigned_integers_saturate_to_signed_ones():
    x = tf.constant([2**64 - 1, 7], tf.uint64)
    assert tf.saturate_cast(x, tf.int64).numpy().tolist() == [2**63 - 1, 7]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_lists_of_numbers_beyond_a_narrow_dtype_become_infinite_in_silence(dtype):
    for made in (tf.constant, tf.convert_to_tensor):
        assert made([1e39, -1e300, 2.0], dtype).numpy().tolist() == [np.inf, -np.inf, 2]


def test_eager_bools_over_arrays_are_numpy_s():
    x = tf.constant([True, False])
    for divisor in (np.int8(2), np.float64(2), np.array([2, 1])):
        assert (x / divisor).tolist() == [0.5, 0.0]
    for divisor in (2, x, tf.constant([2, 1])):
        with pytest.raises(TypeError):
            x / divisor
    with pytest.raises(TypeError):
        tf.function(lambda: x / np.float64(2))()


@pytest.mark.parametrize("last", [True, np.True_])
def test_a_bool_axis_counts_as_a_number(last):
    x = tf.reshape(tf.range(6), [2, 3])
    expected = np.stack([x.numpy(), x.numpy()], 1)
    np.testing.assert_array_equal(tf.stack([x, x], axis=last), expected)
    assert [v.shape for v in tf.unstack(x, axis=last)] == [[2]] * 3
    assert tf.one_hot([1, 2], 4, axis=False).shape == [4, 2]
    assert tf.function(lambda v: tf.stack([v, v], axis=last))(x).shape == [2, 2, 3]


def test_numbers_some_of_which_are_known_are_packed_in_a_trace():
    pack = tf.function(lambda i: tf.stack([3, i]), jit_compile=True)
    assert pack(tf.constant(4)).numpy().tolist() == [3, 4]
    assert "s32[2]" in pack.experimental_get_compiler_ir(tf.TensorSpec([], tf.int32))()


def test_loops_whose_rounds_draw_from_their_number_are_compiled():
    @tf.function
    def draws(count, seed):
        total = 0.0
        for number in tf.range(count):
            total += tf.random.stateless_uniform([], tf.add(seed, [0, number]))
        return total

    given = tf.constant(100), tf.constant([1, 2])
    for _ in range(2):  # what the first step could not compile is the host's in the second
        draws(*given)
    items = draws.get_concrete_function(*given).body.plan.items
    assert [i.kind for i in items if "StatelessWhile" in {n.type for n in i.nodes}] == ["region"]


def test_known_elements_at_computed_places_are_gathered_in_a_trace():
    gather = tf.function(lambda i: tf.gather_nd([5, 6, 7], i[:, None]), jit_compile=True)
    assert gather(tf.constant([2, 0])).numpy().tolist() == [7, 5]


def test_a_reference_is_not_none():
    reference = tf.constant(1).ref()
    assert reference is not None
    assert reference != None  # noqa: E711
    assert reference not in [None]
