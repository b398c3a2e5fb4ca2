"""Lines of public functions in which Penstock is known to differ from TensorFlow, with the reasons.

A test fails when another line does, and when one of these does not any more, save where the
processor decides (`BY_PROCESSOR`).
"""

from tools.golden import texts

_BY_REASON = {
    "Refused where the graph is built; TensorFlow aborts the process when it runs.": [
        "tf.cond(<<f || c([True, False])>>, lambda: 1, lambda: 2)",
    ],
    "The same mistake, found by another check: the class is that of the check.": [
        "tf.compat.v1.assert_<<positive || scalar>>(<<f || i>>, f)",
        "tf.compat.v1.assert_positive(<<f || i>>, <<0 || 2>>)",
        "tf.compat.v1.assert_scalar(<<f || i>>, 2)",
        "tf.math.invert_permutation(0.5)",
        "tf.image.central_crop(pic, 'a')",
        "tf.nn.depthwise_conv2d(pic, kr, [1, 1, 1, 1], 'SAME', dilations=[0, 1])",
        "tf.ragged.map_flat_values(tf.add, <<rt, rf || rf, rt>>)",
        "tf.ragged.row_splits_to_segment_ids([0, 2, 3], out_type=tf.float32)",
        "tf.matmul(<<rf, rt || rt, rf || rt, [[1.0], [2.0], [3.0]] || rt, f>>)",
        "tf.signal.rfft(sig, fft_length=4)",
        "tf.compat.v1.signal.rfft(sig, 4, 2)",
        "tf.signal.ifftnd(sig, fft_length=[<<2, 8 || 8>>], axes=[<<0, 1 || -1>>])",
        "tf.signal.frame(sig, 2.5, 2)",
        "tf.sparse.to_dense(si, default_value=c(7.0), validate_indices=<<True || False>>)",
        "tf.sparse.eye(2, dtype=tf.string)",
        "tf.strings.join(<<rt || rf || rs>>)",
        "tf.constant(1, shape=[2, 'a'])",
        "tf.while_loop(lambda n: n < 2, lambda n: n + 1, [])",
        "tf.numpy_function(3, [f], tf.float32)",
        "tf.function(lambda y: y).get_concrete_function(tf.TensorSpec([2, 3], tf.int32))(f)",
        "tf.dynamic_stitch([[0], [1]], [v])",
        "tf.quantization.fake_quant_with_min_max_args(i)",
        "tf.random_normal_initializer(seed='a')([2])",
        "tf.nn.depthwise_conv2d(f, ker, [1, 1, 1, 1], 'SAME')",
        "tf.nn.batch_normalization(f, [1., 2.], 1., None, None, 1e-3)",
        "tf.nn.batch_normalization(f, v, v, None, None, 'a')",
    ],
    "TensorFlow's error is an accident: an attribute of None, an assertion, an index.": [
        "tf.image.grayscale_to_rgb(1.0)",
        "tf.image.total_variation(pix)",
        "tf.nn.conv2d(3.0, kr, 1, 'SAME')",
        "tf.signal.mfccs_from_log_mel_spectrograms(x)",
        "tf.sparse.reduce_<<sum || max>>(f)",
        "tf.sparse.concat(-3, [sp, sp])",
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
        "tf.math.nextafter(2, <<2 || 1.5 || [1.0, 2.0, 3.0]>>)",
        "tf.math.bincount(1.5, <<axis=-1 || binary_output=True, axis=-1>>)",
        "tf.linalg.tensor_diag_part(3.0)",
        "tf.compat.v1.nn.embedding_lookup(f, [0, 1, <<1 || 3>>], partition_strategy='nonsense')",
        "tf.debugging.Assert([True, False], ['x'])",
        "tf.function(lambda y: y).get_concrete_function(tf.TensorSpec([2], tf.float32))(f)",
    ],
    "Penstock has an answer where TensorFlow refuses.": [
        "tf.math.add(2, f)",
        "tf.math.truediv(2, f)",
        "tf.math.accumulate_n(f)",
        "tf.linalg.<<matrix_rank || pinv>>(c([[2 + 0j, 1j], [-1j, 3 + 0j]], tf.complex64))",
        "tf.linalg.matvec(<<f || tf.eye(3)>>, f, a_is_sparse=True)",
        "tf.strings.unicode_transcode(['a\\x01'], 'UTF-8', '<<UTF-8 || UTF-16-BE || UTF-32-BE>>', errors='strict', replace_control_characters=True)",
        "tf.nn.leaky_relu(f - 2.0, alpha=c(0.25))",
        "tf.nn.conv3d(tf.reshape(pic, [1, 2, 2, 4, 3]), tf.ones([1, 1, 2, 3, 2]), [1, 1, 1, 2, 1], 'SAME', dilations=[1, 1, 1, 2, 1])",
        "tf.nn.conv3d(tf.reshape(pic, [1, 2, 2, 4, 3]), tf.ones([1, 1, 2, 3, 2]), <<1 || [1, 2, 1] || [1, 1, 1]>>, 'SAME', dilations=<<None || [1, 1, 1, 2, 1] || [1, 1, 1, 1, 1]>>)",
        "tf.nn.depthwise_conv2d(pic, kr, [1, 1, 2, 1], 'SAME')",
        "tf.nn.fractional_max_pool(pic, [1.5, 1.5], seed=0)",
        "tf.nn.fractional_avg_pool(pic, <<1.5 || [1.5, 1.5]>>, seed=0)",
        "tf.nn.softmax_cross_entropy_with_logits([[0, 1, 0]], v, axis=0)",
        "tf.ragged.map_flat_values(tf.add, 1, rf)",
        "~(rt)",
        "tf.stack(<<rt || rf || rs>>)",
        "tf.concat([rf, [[9, 9]]], axis=0)",
        "tf.gather(rf, [0], axis=1, batch_dims=1)",
        "tf.broadcast_to(rt, tf.shape(rt))",
        "tf.nn.log_softmax(rf)",
        "tf.strings.join([rs, [['x'], ['y'], ['z']]], separator='<< || _>>')",
        "tf.signal.stft(sig, 20, 2)",
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
    ],
    "No cutting off: 1.5 is no axis, a tensor no list.": [
        "tf.raw_ops.ConcatV2(values=f, axis=0)",
        "tf.raw_ops.Pack(values=[f], axis=1.5)",
    ],
    "A placeholder has no kernel outside of graphs: NotFoundError.": [
        "tf.raw_ops.Placeholder(dtype=3)",
    ],
    "The order of unsorted results is not promised.": [
        "tf.math.top_k(<<f || v || i>>, 2, sorted=False)",
        "tf.nn.top_k(f, 2, sorted=False)",
    ],
    "Only the run tells, or only the build: what decides is known at another time.": [
        "tf.ragged.cross([rs, rt])",
        "tf.RaggedTensor.from_row_splits([1, 2, 3], <<[0, 1] || [1, 3] || [0, 2, 1, 3]>>, validate=True)",
        "tf.RaggedTensor.from_row_lengths([1, 2, 3], [])",
        "tf.RaggedTensor.from_value_rowids([1, 2, 3], <<[1, 0, 2] || [-1, 0, 1]>>)",
        "tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2], nrows=2)",
        "tf.RaggedTensor.from_row_starts([1, 2, 3], <<[1, 2] || [0, 5]>>)",
        "tf.RaggedTensor.from_row_limits([1, 2, 3], <<[1, 2] || []>>)",
        "tf.RaggedTensor.from_uniform_row_length([1, 2, 3, 4], 0)",
        "tf.nn.softmax(rf, 0)",
    ],
    "A zero divides as numbers do: infinity, or 0 for integers.": [
        "<<sp / f || tf.divide(sp, f) || si / i>>",
    ],
    "TensorFlow adds the numbers up, and 3 and -3 cancel; here each counts as true.": [
        "tf.reduce_any(rf)",
    ],
    "The result has the documented shape: indices of one row give that row, not a batch of it.": [
        "tf.gather_nd(<<rt || rf || r3>>, [0])",
    ],
    "Not built.": [],
    "Colours of float64 are computed in single precision by both, in another order.": [
        "tf.image.adjust_hue(tf.cast(pic, tf.float64), <<0.1 || -0.5 || 1.0>>)",
        "tf.image.adjust_saturation(tf.cast(pic, tf.float64), <<0.5 || 2.0>>)",
        "tf.image.rgb_to_grayscale(tf.cast(pic, tf.float64))",
    ],
    "Probabilities of paths are added up in double precision.": [
        "tf.nn.ctc_beam_search_decoder(tf.reshape(sig, [4, 2, 4]), [4, <<3 || 4>>])",
        "tf.nn.ctc_beam_search_decoder(tf.reshape(sig, [4, 2, 4]), [4, 4], beam_width=1, top_paths=1)",
        "tf.nn.ctc_beam_search_decoder(tf.reshape(sig, [4, 2, 4]), [4, 4], beam_width=5, top_paths=1)",
    ],
    "Another encoder: other bytes, the same image.": [
        "tf.io.encode_png(c(pix), compression=0)",
    ],
    "Splits that do not begin with 0, and frames without samples, give another accident.": [
        "tf.ragged.row_splits_to_segment_ids([1, 2])",
        "tf.signal.stft(sig, 0, 2)",
    ],
    "Vectors are unique up to their sign: these are LAPACK's.": [
        "tf.linalg.eigh(c(<<[[4.0, 1.0], [1.0, 3.0]] || [[[4.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 2.0]]]>>))",
        "tf.linalg.eigh_tridiagonal(v + 1.0, [0.5, 0.25], eigvals_only=False)",
    ],
    "No strings make no n-gram there; here the padding alone does, as in an empty row.": [
        "tf.strings.ngrams([], <<2 || (1, 3)>>, pad_values='-')",
        "tf.strings.ngrams([], 2, pad_values=('<', '>'), padding_width=1)",
    ],
}

BY_PROCESSOR = frozenset(
    {
        "Colours of float64 are computed in single precision by both, in another order.",
        "Vectors are unique up to their sign: these are LAPACK's.",
    }
)
assert _BY_REASON.keys() >= BY_PROCESSOR

# line -> reason; the alternatives of a line are written as in the tables
KNOWN_LINES = {
    line: reason
    for reason, patterns in _BY_REASON.items()
    for pattern in patterns
    for line in texts.expanded(pattern)
}
