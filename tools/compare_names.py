"""Compares the names of operations that public functions add to a graph with TensorFlow's.

    python tools/compare_names.py record tensorflow theirs.json   # by a Python that has TensorFlow
    python tools/compare_names.py record penstock ours.json
    python tools/compare_names.py diff theirs.json ours.json [outputs]

`record` builds each call of `CALLS` in an empty graph, without a name and with `name="given"`, and
notes the operation whose output the call returns and all (name, type) that it added. `diff` prints
the calls where they differ; with `outputs` only those whose result has another name.
"""

import importlib
import json
import os
import sys
from typing import Any

CALLS = """
add(f, f); add(f, 1.); subtract(f, f); multiply(f, 2.); divide(f, f); math.divide(i, i)
pow(f, 2.); maximum(f, f); minimum(f, 1.); math.floordiv(i, 2); math.mod(i, 2); math.truediv(i, i)
negative(f); math.divide_no_nan(f, f); math.multiply_no_nan(f, f); math.squared_difference(f, f)
abs(f); sign(f); square(f); sqrt(f); math.rsqrt(f); exp(f); math.log(f); math.log1p(f)
math.expm1(f); sin(f); cos(f); tan(f); asin(f); acos(f); atan(f); math.atan2(f, f); sinh(f)
cosh(f); tanh(f); sigmoid(f); floor(f); math.ceil(f); round(f); math.rint(f); math.erf(f)
math.lgamma(f); math.digamma(f); math.reciprocal(f); math.reciprocal_no_nan(f); math.is_nan(f)
math.is_inf(f); math.is_finite(f); equal(f, f); not_equal(f, f); less(f, f); less_equal(f, f)
greater(f, f); greater_equal(f, f); logical_and(b, b); logical_or(b, b); logical_not(b)
math.logical_xor(b, b); cast(f, tf.int32); saturate_cast(f, tf.int8); bitcast(f, tf.int32)
math.real(x); math.imag(x); math.conj(x); math.angle(x); complex(f, f); add_n([f, f])
math.accumulate_n([f, f]); math.cumsum(f); cumsum(f, 1); math.cumprod(f)
math.cumulative_logsumexp(f); reduce_sum(f); reduce_sum(f, 0); reduce_sum(f, [0, 1])
reduce_mean(f); reduce_mean(f, 1); reduce_max(f); reduce_min(f); reduce_prod(f); reduce_all(b)
reduce_any(b); reduce_logsumexp(f); math.reduce_std(f); math.reduce_variance(f)
math.reduce_euclidean_norm(f); math.count_nonzero(f); math.zero_fraction(f); reduce_sum(u)
reduce_mean(u); argmax(f); argmin(f, 1); argsort(f); sort(f); math.top_k(f)
math.in_top_k(k2, f, 1); matmul(f, f, transpose_b=True); linalg.matvec(f, v)
tensordot(f, f, [[0], [0]]); einsum('ij,kj->ik', f, f); linalg.transpose(f); transpose(f)
transpose(f, [1, 0]); reshape(f, [3, 2]); reshape(f, [-1]); expand_dims(f, 0); squeeze(f)
concat([f, f], 0); stack([f, f]); stack([f, f], 1); unstack(f); split(f, 3, 1)
split(f, [1, 2], 1); tile(f, [1, 2]); pad(f, [[1, 1], [0, 0]])
pad(f, [[1, 1], [0, 0]], 'REFLECT'); slice(f, [0, 0], [1, 1]); strided_slice(f, [0], [1])
gather(f, [0]); gather_nd(f, [[0, 0]]); scatter_nd([[0]], [1.], [2])
tensor_scatter_nd_update(v, [[0]], [1.]); boolean_mask(f, b); boolean_mask(v, [True, False, True])
where(b); where(b, f, f); one_hot(k, 3); fill([2], 1.); zeros([2]); zeros([2000]); ones([2])
ones([2000]); zeros_like(f); zeros_like(u); ones_like(f); ones_like(u); eye(2); range(5)
range(1, 5, 2); linspace(0., 1., 3); shape(f); shape(u); size(f); size(u); rank(f); rank(u)
shape_n([f, f]); broadcast_to(f, [2, 2, 3]); broadcast_dynamic_shape([1], [2]); reverse(f, [0])
roll(f, 1, 0); meshgrid(v, v); repeat(v, 2); sequence_mask([1, 2]); unique(v)
unique_with_counts(v); searchsorted(v, [1.]); dynamic_partition(v, k, 3)
dynamic_stitch([[0], [1]], [[1.], [2.]]); identity(f); identity_n([f, f]); stop_gradient(f)
constant([1., 2.]); convert_to_tensor([1.]); clip_by_value(f, 0., 1.); clip_by_norm(f, 1.)
clip_by_global_norm([f], 1.); linalg.global_norm([f, f]); norm(f); norm(f, 1); norm(f, axis=1)
linalg.norm(f, 'fro', axis=[0, 1]); linalg.diag(v); linalg.diag_part(f); linalg.band_part(f, 0, 0)
linalg.trace(f); linalg.inv(sq); linalg.det(sq); linalg.solve(sq, sq); linalg.cholesky(sq)
linalg.qr(sq); linalg.svd(sq); linalg.eigh(sq); nn.relu(f); nn.relu6(f); nn.elu(f); nn.selu(f)
nn.softplus(f); nn.softsign(f); nn.leaky_relu(f); nn.crelu(f); nn.gelu(f); nn.silu(f)
nn.softmax(f); nn.log_softmax(f); nn.softmax(f, 0); nn.dropout(f, .5); nn.bias_add(f, v)
nn.l2_loss(f); nn.l2_normalize(f, 1); nn.moments(f, [0]); nn.conv2d(img, ker, 1, 'SAME')
nn.conv2d(img, ker, 1, 'SAME', dilations=2); nn.conv1d(sig, sker, 1, 'SAME')
nn.depthwise_conv2d(img, ker, [1, 1, 1, 1], 'SAME')
nn.separable_conv2d(img, dker, pker, [1, 1, 1, 1], 'SAME')
nn.conv2d_transpose(img, tker, [1, 4, 4, 5], 1); nn.max_pool2d(img, 2, 2, 'SAME')
nn.avg_pool2d(img, 2, 2, 'SAME'); nn.max_pool(img, 2, 2, 'SAME'); nn.avg_pool(img, 2, 2, 'SAME')
nn.lrn(img); nn.batch_normalization(f, v, v, v, v, 1e-3)
nn.softmax_cross_entropy_with_logits(f, f); nn.sparse_softmax_cross_entropy_with_logits(k2, f)
nn.sigmoid_cross_entropy_with_logits(f, f); nn.weighted_cross_entropy_with_logits(f, f, 2.)
nn.log_poisson_loss(f, f); nn.embedding_lookup(f, [0]); nn.in_top_k(k2, f, 1); nn.top_k(f, 2)
random.uniform([2]); random.uniform([2], 0, 5, tf.int32); random.normal([2])
random.truncated_normal([2]); random.shuffle(v); random.categorical(f, 2)
random.stateless_uniform([2], [1, 2]); random.stateless_normal([2], [1, 2])
debugging.check_numerics(f, 'm'); debugging.assert_equal(u, u); debugging.Assert(b0, ['x'])
no_op(); group(f, f); tuple([f, f]); cond(b0, lambda: f, lambda: f)
case([(b0, lambda: f)], lambda: f); ensure_shape(f, [2, 3]); math.segment_sum(f, [0, 1])
math.unsorted_segment_sum(f, [0, 1], 2); math.bincount(k); math.confusion_matrix(k, k)
histogram_fixed_width(v, [0., 1.]); math.polyval([f, f], f); math.nextafter(f, f)
math.l2_normalize(f); numpy_function(lambda: 1., [], tf.float32)
py_function(lambda: 1., [], tf.float32); compat.v1.reduce_sum(f, 1); compat.v1.argmax(f, 1)
compat.v1.where(b, f, f); compat.v1.placeholder(tf.float32)
compat.v1.placeholder_with_default(f, [2, 3]); compat.v1.div(f, f); compat.v1.to_float(i)
compat.v1.nn.softmax_cross_entropy_with_logits(labels=f, logits=f); compat.v1.nn.dropout(f, .5)
compat.v1.nn.softmax_cross_entropy_with_logits_v2(f, f); compat.v1.nn.xw_plus_b(f, sker2, v)
compat.v1.nn.relu_layer(f, sker2, v); compat.v1.nn.moments(f, [0])
compat.v1.nn.max_pool(img, 2, 2, 'SAME'); compat.v1.nn.conv2d(img, ker, [1, 1, 1, 1], 'SAME')
compat.v1.nn.embedding_lookup([f, f], [0, 1]); compat.v1.losses.mean_squared_error(f, f)
compat.v1.losses.softmax_cross_entropy(f, f); compat.v1.losses.sparse_softmax_cross_entropy(k2, f)
compat.v1.losses.absolute_difference(f, f); compat.v1.losses.sigmoid_cross_entropy(f, f)
compat.v1.losses.log_loss(f, f); compat.v1.losses.huber_loss(f, f)
compat.v1.losses.hinge_loss(f, f); compat.v1.losses.cosine_distance(f, f, 1)
compat.v1.Print(f, [f]); compat.v1.random_normal([2]); compat.v1.random_uniform([2])
compat.v1.assert_equal(f, f); compat.v1.global_variables_initializer(); compat.v1.assign(var, f)
compat.v1.assign_add(var, f); compat.v1.get_variable('w', [2]); compat.v1.Variable(f); Variable(f)
compat.v1.nn.fused_batch_norm(img, v, v); compat.v1.is_variable_initialized(var)
compat.v1.variables_initializer([var]); gradients(f * f, f)
compat.v1.train.GradientDescentOptimizer(.1).minimize(reduce_loss); compat.v1.squeeze(f)
compat.v1.expand_dims(f, 0); compat.v1.train.MomentumOptimizer(.1, .9).minimize(reduce_loss)
compat.v1.train.AdamOptimizer().minimize(reduce_loss); compat.v1.train.create_global_step()
compat.v1.scatter_update(var, [0], [v]); compat.v1.sparse_to_dense([0], [2], 1.)
"""
OPERATORS = """
f + 1.; f - f; f * 2.; 2. * f; f / f; i // 2; i % 2; f ** 2.; -f; abs(f); f < f; f > 1.; f == f
f != f; b & b; b | b; ~b; f @ f2; f[0]; f[0, 1]; f[:, 1:]; f[..., tf.newaxis]; 1. + f; 1. - f
1. / f; f >= f; b ^ b; v[u0]; i & i; i | 1; i ^ i; ~i; True & b; 2 ** f
"""


def main(arguments: list[str]) -> None:
    """Runs the command in the module's docstring."""
    if arguments[:1] == ["record"] and len(arguments) == 3:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with open(arguments[2], "w", encoding="utf-8") as file:
            json.dump(record(importlib.import_module(arguments[1])), file, indent=0)
    elif arguments[:1] == ["diff"] and len(arguments) in (3, 4):
        sides = []
        for path in arguments[1:3]:
            with open(path, encoding="utf-8") as file:
                sides.append(json.load(file))
        print_differences(sides[0], sides[1], arguments[3:] == ["outputs"])
    else:
        sys.exit(__doc__)


def record(tf: Any) -> dict[str, Any]:
    """For each call the name of its result and the operations that it added."""
    found = {}
    for text in CALLS.replace("\n", ";").split(";"):
        call = text.strip()
        if call:
            found[call] = _build(tf, f"tf.{call}")
            found[f"{call[:-1]}, name='given')"] = _build(
                tf, f"tf.{call[:-1]}{'' if call.endswith('()') else ', '}name='given')"
            )
    for text in OPERATORS.replace("\n", ";").split(";"):
        if text.strip():
            found[text.strip()] = _build(tf, text.strip())
    return found


def _build(tf: Any, text: str) -> Any:
    with tf.Graph().as_default() as graph:
        v1 = tf.compat.v1
        values = {
            "tf": tf,
            "f": tf.zeros([2, 3]),
            "f2": tf.zeros([3, 2]),
            "i": tf.constant([[1, 2, 3], [4, 5, 6]]),
            "b": tf.constant([[True, False, True], [True, False, True]]),
            "b0": v1.placeholder(tf.bool, []),
            "v": tf.zeros([3]),
            "k": tf.constant([0, 1, 2]),
            "k2": tf.constant([0, 1]),
            "u": v1.placeholder(tf.float32),
            "u0": v1.placeholder(tf.int32, []),
            "x": tf.constant([1 + 2j], tf.complex64),
            "sq": tf.eye(2),
            "img": tf.zeros([1, 4, 4, 3]),
            "ker": tf.zeros([2, 2, 3, 5]),
            "dker": tf.zeros([2, 2, 3, 1]),
            "pker": tf.zeros([1, 1, 3, 5]),
            "tker": tf.zeros([2, 2, 5, 3]),
            "sig": tf.zeros([1, 4, 3]),
            "sker": tf.zeros([2, 3, 5]),
            "sker2": tf.zeros([3, 3]),
            "var": v1.get_variable("var", [2, 3], use_resource=True),
        }
        values["reduce_loss"] = tf.reduce_sum(values["var"] * 2.0, name="loss")
        before = {op.name for op in graph.get_operations()}
        try:
            result = eval(text, values)  # our own lines
        except Exception as problem:  # a name that one library lacks
            return f"{type(problem).__name__}: {problem}"[:100]
        names = [_name(part) for part in tf.nest.flatten(result)]
        ops = graph.get_operations()
        return names, [(op.name, op.type) for op in ops if op.name not in before]


def _name(part: Any) -> str:
    return str(getattr(part, "name", part))


def print_differences(theirs: dict[str, Any], ours: dict[str, Any], outputs: bool) -> None:
    """Prints what differs, and how many calls were compared."""
    count = 0
    for call, expected in theirs.items():
        got = ours.get(call, "absent")
        if isinstance(expected, str):
            continue  # no such argument
        if got == expected or (outputs and got[0] == expected[0]):
            continue
        count += 1
        print(f"{call}\n    {_line(expected)}\n    {_line(got)}")
    print(f"{count} of {len(theirs)} differ")


def _line(outcome: Any) -> str:
    if isinstance(outcome, str):
        return outcome
    names, nodes = outcome
    return f"{', '.join(names)} <- {' '.join(':'.join(node) for node in nodes)}"


if __name__ == "__main__":
    main(sys.argv[1:])
