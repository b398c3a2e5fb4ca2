"""Lines of public functions in which Penstock is known to differ from TensorFlow, with the reasons.

A test fails when another line does, and when one of these does not any more.
"""

_BY_REASON = {
    "The same mistake, found by another check: the class is that of the check.": [
        "tf.constant(1, shape=[2, 'a'])",
        "tf.argmax(f, axis='a')",
        "tf.ones_like(s)",
        "tf.sort(f, axis=5)",
        "tf.clip_by_norm(f, 'a')",
        "tf.while_loop(lambda n: n < 2, lambda n: n + 1, [])",
        "tf.numpy_function(3, [f], tf.float32)",
        "tf.Variable(f, name=3)",
        "tf.function(lambda y: y).get_concrete_function(tf.TensorSpec([2, 3], tf.int32))(f)",
        "tf.dynamic_stitch([[0], [1]], [v])",
        "tf.quantization.fake_quant_with_min_max_args(i)",
        "tf.random_normal_initializer(seed='a')([2])",
        "tf.initializers.GlorotUniform()('a')",
        "tf.linalg.cross(c([1., 2.]), c([1., 2.]))",
        "tf.math.add_n(3)",
        "tf.nn.conv2d(img, ker, [1, 1], 'SAME', data_format='ABCD')",
        "tf.nn.depthwise_conv2d(f, ker, [1, 1, 1, 1], 'SAME')",
        "tf.nn.max_pool2d(img, [1, 2], 1, 'SAME', data_format='X')",
        "tf.nn.batch_normalization(f, [1., 2.], 1., None, None, 1e-3)",
        "tf.nn.pool(img, [2, 2, 2], 'MAX')",
        "tf.nn.batch_normalization(f, v, v, None, None, 'a')",
        "tf.random.normal([2], seed='a')",
        "tf.random.stateless_normal([2], [1, 2], dtype=tf.int32)",
    ],
    "TensorFlow's error is an accident: an attribute of None, an assertion, an index.": [
        "tf.range(1.5, 'a')",
        "tf.range(s)",
        "tf.case([(c(True), 1)])",
        "tf.gradients(f, None)",
        "tf.vectorized_map(lambda y: y, 3.)",
        "tf.import_graph_def(tf.compat.v1.GraphDef(), input_map={'a': f})",
        "range(c(1.5))",
        "[1, 2][c(1.5)]",
        "tf.scan(lambda a, b: a, 3)",
        "tf.foldl(lambda a, b: a, 3)",
        "tf.compat.v1.train.GradientDescentOptimizer(0.1).apply_gradients([(None, None)])",
        "tf.image.grayscale_to_rgb([[[0.5]]])",
        "tf.image.total_variation([[[1.0], [3.0]]])",
        "tf.image.psnr([[[1.0]]], [[[0.5]]], 1.0)",
        "tf.nn.ctc_loss(f, f, f, f)",
        "tf.sparse.concat(2, [sp, sp])",
    ],
    "What cannot be right is refused, where TensorFlow gives something.": [
        "tf.debugging.Assert([True, False], ['x'])",
        "tf.function(lambda y: y).get_concrete_function(tf.TensorSpec([2], tf.float32))(f)",
        "tf.math.zero_fraction(s)",
        "tf.nn.conv2d(img, tf.zeros([5, 5, 3, 1]), 1, 'VALID')",
    ],
    "Penstock has an answer where TensorFlow refuses.": [
        "tf.while_loop(lambda n: n, lambda n: n - 1., [c(1.)])",
        "tf.while_loop(lambda n: n < 2, lambda n: c(2.5), [c(1)])",
        "tf.custom_gradient(lambda y: y)(f)",
        "tf.control_dependencies(f).__enter__()",
    ],
    "The declared dtypes must be those of the results.": [
        "tf.numpy_function(lambda y: y, [f], tf.int32)",
        "tf.numpy_function(lambda y: y, [f], [tf.float32, tf.float32])",
    ],
    "What cannot be meant is refused.": [
        "tf.import_graph_def(tf.compat.v1.GraphDef(), name=3)",
        "tf.import_graph_def(tf.compat.v1.GraphDef(), name='a b')",
        "tf.random.set_seed('a')",
    ],
    "No cutting off: 1.5 is no axis, a tensor no list.": [
        "tf.raw_ops.ConcatV2(values=f, axis=0)",
        "tf.raw_ops.Pack(values=[f], axis=1.5)",
    ],
    "A placeholder has no kernel outside of graphs: NotFoundError.": [
        "tf.raw_ops.Placeholder(dtype=3)",
    ],
    "The order of unsorted results is not promised.": [
        "tf.nn.top_k(f, 2, sorted=False)",
    ],
    "Row splits are int64 unless asked otherwise.": [
        "tf.ragged.stack([[1, 2], [3]])",
    ],
}

# line -> reason
KNOWN_LINES = {line: reason for reason, lines in _BY_REASON.items() for line in lines}
