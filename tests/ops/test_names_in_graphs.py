"""The names that public functions give to their results in graphs, as TensorFlow 2.21's.

`tools/compare_names.py` compares three hundred calls with TensorFlow, inner operations too.
"""

import pytest

import penstock as tf


def _values():
    return {
        "f": tf.zeros([2, 3]),
        "v": tf.zeros([3]),
        "i": tf.constant([[1, 2, 3]]),
        "b": tf.constant([[True, False, True], [True, False, True]]),
        "img": tf.zeros([1, 4, 4, 3]),
        "p": tf.compat.v1.placeholder(tf.bool, []),
        "n": tf.compat.v1.placeholder(tf.int32, []),
    }


# call -> name of its result, and with name="given"
CALLS = {
    "tf.math.reduce_std(f)": ("reduce_std/Sqrt", "given/Sqrt"),
    "tf.math.reduce_variance(f)": ("reduce_variance/Mean_1", "given/Mean_1"),
    "tf.reduce_logsumexp(f)": ("ReduceLogSumExp", "given"),
    "tf.math.count_nonzero(f)": ("count_nonzero/Sum", "given/Sum"),
    "tf.sort(f)": ("sort/Neg_1", "given/Neg_1"),
    "tf.linalg.matvec(f, v)": ("MatVec/Squeeze", "given/Squeeze"),
    "tf.einsum('ij,kj->ik', f, f)": ("einsum/Einsum", "given/Einsum"),
    "tf.boolean_mask(f, b)": ("boolean_mask/GatherV2", "given/GatherV2"),
    "tf.one_hot([0], 3)": ("one_hot", "given"),
    "tf.eye(2)": ("eye/diag", "given/diag"),
    "tf.linspace(0.0, 1.0, 3)": ("linspace/Slice", "given/Slice"),
    "tf.sequence_mask([1, 2])": ("SequenceMask/Less", "given/Less"),
    "tf.clip_by_value(f, 0.0, 1.0)": ("clip_by_value", "given"),
    "tf.clip_by_norm(f, 1.0)": ("clip_by_norm", "given"),
    "tf.linalg.global_norm([f])": ("global_norm/global_norm", "given/global_norm"),
    "tf.norm(f)": ("norm/Squeeze", "given/Squeeze"),
    "tf.linalg.trace(f)": ("Trace", "given"),
    "tf.saturate_cast(f, tf.int8)": ("saturate_cast", "given"),
    "tf.math.divide_no_nan(f, f)": ("div_no_nan", "given"),
    "tf.math.multiply_no_nan(f, f)": ("multiply_no_nan", "given"),
    "tf.math.truediv(i, i)": ("truediv", "given"),
    "tf.math.floordiv(i, 2)": ("floordiv", "given"),
    "tf.nn.dropout(f, 0.5)": ("dropout/SelectV2", "given/SelectV2"),
    "tf.nn.avg_pool(img, 2, 2, 'SAME')": ("AvgPool", "given"),
    "tf.nn.batch_normalization(f, v, v, v, v, 1e-3)": ("batchnorm/add_1", "given/add_1"),
    "tf.random.uniform([2])": ("random_uniform/RandomUniform", "given/RandomUniform"),
    "tf.random.normal([2])": ("random_normal", "given"),
    "tf.math.bincount([1])": ("bincount/DenseBincount", "given/DenseBincount"),
    "tf.cond(p, lambda: f, lambda: f)": ("cond/Identity", "given/Identity"),
    "tf.cond(p, lambda: [f, f], lambda: [f, f])": ("cond/Identity", "given/Identity"),
    "tf.case([(p, lambda: f)], lambda: f)": ("case/cond/Identity", "given/cond/Identity"),
    "tf.case([(p, lambda: f), (p, lambda: f)])": ("case/cond/Identity", "given/cond/Identity"),
    "tf.switch_case(n, [lambda: f])": (
        "switch_case/indexed_case/Identity",
        "given/indexed_case/Identity",
    ),
    "tf.nn.softmax_cross_entropy_with_logits(f, f)": (
        "softmax_cross_entropy_with_logits/Reshape_2",
        "given/Reshape_2",
    ),
    "tf.nn.softmax_cross_entropy_with_logits(img, img)": (
        "softmax_cross_entropy_with_logits/Reshape_2",
        "given/Reshape_2",
    ),
    "tf.compat.v1.nn.softmax_cross_entropy_with_logits(labels=f, logits=f)": (
        "softmax_cross_entropy_with_logits_sg/Reshape_2",
        "given/Reshape_2",
    ),
    "tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], f)": (
        "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits",
        "given/given",
    ),
    "tf.nn.sparse_softmax_cross_entropy_with_logits([[[0] * 4] * 4], img)": (
        "SparseSoftmaxCrossEntropyWithLogits/Reshape_2",
        "given/Reshape_2",
    ),
    "tf.nn.softmax(f, 0)": ("transpose_1", "given"),
    "tf.nn.log_softmax(f, 0)": ("transpose_1", "given"),
    "tf.nn.gelu(f)": ("Gelu/mul_2", "given/mul_2"),
    "tf.nn.gelu(f, True)": ("Gelu/mul_3", "given/mul_3"),
    "tf.math.zero_fraction(f)": ("zero_fraction/fraction", "given/fraction"),
    "tf.tensordot(f, f, [[0], [0]])": ("Tensordot/MatMul", "given/MatMul"),
    "tf.tensordot(v, v, 1)": ("Tensordot", "given"),
    "tf.repeat(v, 2)": ("Repeat/Reshape_1", "given/Reshape_1"),
    "tf.repeat(v, [1, 2, 3])": ("Repeat/boolean_mask/GatherV2", "given/boolean_mask/GatherV2"),
    "tf.math.polyval([f, f], f)": ("polyval/add", "given/add"),
    "tf.math.accumulate_n([f, f])": ("AddN", "given"),
}


@pytest.mark.parametrize("call", CALLS)
def test_names_of_results(call):
    plain, named = CALLS[call]
    for text, expected in ((call, plain), (f"{call[:-1]}, name='given')", named)):
        with tf.Graph().as_default():
            values = _values()
            result = eval(text, {"tf": tf, **values})  # our own lines
            assert tf.nest.flatten(result)[0].op.name == expected


def test_names_of_lists():
    with tf.Graph().as_default():
        f, v = tf.zeros([2, 3]), tf.zeros([3])
        assert [t.op.name for t in tf.meshgrid(v, v)] == ["meshgrid/mul", "meshgrid/mul_1"]
        assert tf.tuple([f, v])[1].op.name == "tuple/control_dependency_1"
        scaled, norm = tf.clip_by_global_norm([f, v], 1.0)
        assert scaled[1].op.name == "clip_by_global_norm/clip_by_global_norm/_1"
        assert norm.op.name == "global_norm/global_norm"


def test_names_of_operators_on_bools_and_integers():
    with tf.Graph().as_default():
        i, b = tf.constant([1]), tf.constant([True])
        names = [(x & x).op.name for x in (i, b)] + [(x | x).op.name for x in (i, b)]
        assert names[1::2] == ["and_1", "or_1"]
        assert (b ^ b).op.name == "xor"


def test_composed_functions_take_their_arguments_in_any_order():
    with tf.Graph().as_default():
        f = tf.zeros([2, 3])
        assert tf.sort(f, -1, "ASCENDING", "by_place").op.name == "by_place/Neg_1"
        assert tf.linspace(0.0, [1.0, 2.0], 3, "lin", 1).shape == (2, 3)
        assert tf.linspace(0.0, [1.0, 2.0], num=3, axis=1, name="lin").op.name == "lin_1/Slice"
