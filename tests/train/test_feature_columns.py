"""Feature columns: what they make of features, their variables, and TensorFlow 2.21's hashes."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
fc = v1.feature_column
number = fc.numeric_column


def _sparse(values, dtype):
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant(values, dtype), [3, 2])


def _features():
    return {
        "x": tf.constant([[0.5], [-1.0], [3.0]]),
        "x3": tf.constant([[0.5, -1.0, 2.0], [1.0, 1.0, 1.0], [0.0, 5.0, -9.0]]),
        "s": tf.constant([["a"], ["zz"], [""]]),
        "i": tf.constant([[1], [3], [-1]], tf.int64),
        "ids": _sparse([1, 3, 2], tf.int64),
        "more": _sparse([0, 3, 3], tf.int64),
        "texts": _sparse(["q", "r", "s"], tf.string),
        "w": _sparse([0.5, 2.0, 3.0], tf.float32),
    }


def _filled(shape):
    return np.sin(np.arange(np.prod(shape)) * 1.3 + 1).reshape(shape).astype(np.float32)


def _run(build, table_count=None):
    """The result of a graph whose variables have known values, and the variables' names."""
    with v1.Graph().as_default(), v1.Session() as session:
        result = build(_features())
        variables = v1.global_variables()
        if table_count is not None:
            assert len(v1.get_collection(v1.GraphKeys.TABLE_INITIALIZERS)) == table_count
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        for variable in variables:
            variable.load(_filled(variable.shape.as_list()), session)
        found = session.run(result)
        names = {v.op.name: (v.shape.as_list(), v.trainable) for v in variables}
        assert v1.get_collection(v1.GraphKeys.MODEL_VARIABLES) == variables
        return found, names


def _identity(key="ids", count=4, **kwargs):
    return fc.categorical_column_with_identity(key, count, **kwargs)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "words.txt"
    path.write_text("a\nb\nc\n")
    return str(path)


def _vocabulary(words, **kwargs):
    return fc.categorical_column_with_vocabulary_list("s", words, **kwargs)


# Figures of hashes and crosses are TensorFlow 2.21's.
DENSE = {
    "numbers": (lambda: number("x"), [[0.5], [-1.0], [3.0]]),
    "integers": (lambda: number("i", dtype=tf.int64), [[1.0], [3.0], [-1.0]]),
    "normalized": (lambda: number("x", normalizer_fn=lambda x: 2 * x), [[1.0], [-2.0], [6.0]]),
    "intervals": (lambda: fc.bucketized_column(number("x"), [0.0, 0.5]),
                  [[0, 0, 1], [1, 0, 0], [0, 0, 1]]),
    "intervals of a vector": (lambda: fc.bucketized_column(number("x3", 3), [0.0, 1.0]),
        [[0, 1, 0, 1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 1, 1, 0, 0]]),
    "hashes": (lambda: fc.categorical_column_with_hash_bucket("s", 5),
               [[0, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0] * 5]),
    "hashes of integers": (lambda: fc.categorical_column_with_hash_bucket("i", 5, tf.int64),
                           [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0] * 5]),
    "identity": (_identity, [[0, 1, 0, 1], [0] * 4, [0, 0, 1, 0]]),
    "identity outside": (lambda: _identity("i", 2), [[0, 1], [0, 0], [0, 0]]),
    "identity with a default": (lambda: _identity("i", 2, default_value=0),
                                [[0, 1], [1, 0], [0, 0]]),
    "words": (lambda: _vocabulary(["a", "b"]), [[1, 0], [0, 0], [0, 0]]),
    "words with a default": (lambda: _vocabulary(["a", "b"], default_value=1),
                             [[1, 0], [0, 1], [0, 0]]),
    "words with buckets": (lambda: _vocabulary(["a", "b"], num_oov_buckets=2),
                           [[1, 0, 0, 0], [0, 0, 1, 0], [0] * 4]),
    "vocabulary of integers": (
        lambda: fc.categorical_column_with_vocabulary_list("i", [1, 2, 7]),
        [[1, 0, 0], [0] * 3, [0] * 3]),
    "weights": (lambda: fc.weighted_categorical_column(_identity(), "w"),
                [[0, 0.5, 0, 2], [0] * 4, [0, 0, 3, 0]]),
    "crossed": (lambda: fc.crossed_column(["s", "texts"], 7),
                [[0, 0, 0, 1, 0, 1, 0], [0] * 7, [0, 0, 0, 0, 0, 0, 1]]),
    "crossed with a key": (lambda: fc.crossed_column(["s", "texts"], 7, hash_key=3),
                           [[0, 0, 0, 0, 0, 0, 2], [0] * 7, [0, 0, 0, 0, 0, 0, 1]]),
    "crossed intervals": (
        lambda: fc.crossed_column([fc.bucketized_column(number("x3", 3), [0.0, 1.0]), "s"], 5),
        [[1, 0, 1, 0, 1], [0, 1, 0, 1, 1], [1, 0, 1, 0, 1]]),
    "crossed crosses": (lambda: fc.crossed_column([fc.crossed_column(["s", "texts"], 7), "i"], 5),
                        [[0, 0, 0, 1, 1], [0] * 5, [0, 0, 1, 0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", DENSE)
def test_numbers_of_a_column(name):
    make, expected = DENSE[name]
    column = make()
    dense = column if hasattr(column, "variable_shape") else fc.indicator_column(column)
    found, names = _run(lambda features: fc.input_layer(features, dense))
    np.testing.assert_array_equal(found, np.float32(expected))
    assert names == {}


def test_crosses_keep_the_known_number_of_examples():
    with v1.Graph().as_default():
        column = fc.indicator_column(fc.crossed_column(["s", "texts"], 7))
        assert fc.input_layer(_features(), column).shape == [3, 7]


def test_words_of_a_file(vocabulary):
    for arguments, expected in [
        ({}, [[1, 0, 0], [0, 0, 0], [0, 0, 0]]),
        ({"vocabulary_size": 2, "num_oov_buckets": 1}, [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),
        ({"default_value": 2}, [[1, 0, 0], [0, 0, 1], [0, 0, 0]]),
    ]:
        column = fc.categorical_column_with_vocabulary_file("s", vocabulary, **arguments)
        again = tf.feature_column.categorical_column_with_vocabulary_file(
            "s", vocabulary, **arguments, file_format="text"
        )
        assert column == again
        layer = fc.indicator_column(column)
        found, _ = _run(lambda features, layer=layer: fc.input_layer(features, layer), 1)
        np.testing.assert_array_equal(found, expected)


def test_numbers_of_a_file(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("1\n3\n7")
    for kind, features in ((tf.int64, None), (tf.int32, {"i": tf.constant([[1], [3], [-1]])})):
        words = fc.categorical_column_with_vocabulary_file("i", str(path), dtype=kind)
        layer = fc.indicator_column(words)
        found, _ = _run(lambda own, f=features, layer=layer: fc.input_layer(f or own, layer), 1)
        np.testing.assert_array_equal(found, [[1, 0, 0], [0, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize("kind", [tf.uint8, tf.uint64], ids=str)
def test_unsigned_categories(kind):
    features = {"u": tf.constant([[1, 2], [kind.max, 0]], kind)}
    layer = fc.indicator_column(_identity("u", 3))
    found, _ = _run(lambda _: fc.input_layer(features, layer))
    np.testing.assert_array_equal(found, [[0, 1, 1], [1, 0, 0]])


def test_weights_of_unknown_categories_are_left_out():
    features = {"ids": _sparse([4, -3, 2], tf.int64), "w": _sparse([1.0, 2.0, 3.0], tf.float32)}
    layer = fc.indicator_column(fc.weighted_categorical_column(_identity(), "w"))
    found, _ = _run(lambda _: fc.input_layer(features, layer))
    np.testing.assert_array_equal(found, [[0] * 4, [0] * 4, [0, 0, 3, 0]])


TABLE = _filled((4, 2))
COMBINED = {
    "mean": (TABLE[1] + TABLE[3]) / 2,
    "sum": TABLE[1] + TABLE[3],
    "sqrtn": (TABLE[1] + TABLE[3]) / np.sqrt(2),
}


@pytest.mark.parametrize("combiner", COMBINED)
def test_embeddings(combiner):
    column = fc.embedding_column(_identity(), 2, combiner=combiner)
    found, names = _run(lambda features: fc.input_layer(features, [column]))
    np.testing.assert_allclose(found, [COMBINED[combiner], [0, 0], TABLE[2]], 1e-5)
    assert names == {"input_layer/ids_embedding/embedding_weights": ([4, 2], True)}


def test_weighted_and_bounded_embeddings():
    weighted = fc.embedding_column(fc.weighted_categorical_column(_identity(), "w"), 2, "sum")
    found, _ = _run(lambda features: fc.input_layer(features, [weighted]))
    np.testing.assert_allclose(found[0], 0.5 * TABLE[1] + 2 * TABLE[3], 1e-5)
    bounded = fc.embedding_column(_identity(), 2, max_norm=0.1, trainable=False)
    found, names = _run(lambda features: fc.input_layer(features, [bounded]))
    np.testing.assert_allclose(np.linalg.norm(found[2]), 0.1, 1e-4)
    assert names == {"input_layer/ids_embedding/embedding_weights": ([4, 2], False)}


def test_embeddings_that_check_their_ids():
    unsafe = fc.embedding_column(_identity("i"), 2, use_safe_embedding_lookup=False)
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(lambda _: fc.input_layer({"i": tf.constant([[7]], tf.int64)}, [unsafe]))


def _shared(*args, make=fc.shared_embedding_columns, **kwargs):
    with v1.Graph().as_default():
        return make(*args, **kwargs)


def test_shared_embeddings():
    columns = _shared([_identity("more"), _identity()], 2, "sum")
    assert [c.name for c in columns] == ["more_shared_embedding", "ids_shared_embedding"]
    found, names = _run(lambda features: fc.input_layer(features, columns))
    np.testing.assert_allclose(found[0], [*(TABLE[1] + TABLE[3]), *(TABLE[0] + TABLE[3])], 1e-5)
    assert names == {"input_layer/ids_more_shared_embedding/embedding_weights": ([4, 2], True)}
    named = _shared(
        [_identity("more"), _identity()],
        2,
        make=tf.feature_column.shared_embeddings,
        shared_embedding_collection_name="both",
    )
    _, names = _run(lambda features: fc.input_layer(features, named))
    assert list(names) == ["input_layer/both/embedding_weights"]


def test_several_columns_stand_in_the_order_of_their_names():
    variables, outputs = {}, {}
    columns = [number("x3", 3), fc.embedding_column(_identity(), 2), number("x")]
    found, _ = _run(
        lambda features: fc.input_layer(
            features, iter(columns), cols_to_vars=variables, cols_to_output_tensors=outputs
        )
    )
    np.testing.assert_allclose(found[2], [*TABLE[2], 3.0, 0.0, 5.0, -9.0], 1e-5)
    assert {c.name: [v.op.name for v in vs] for c, vs in variables.items()} == {
        "ids_embedding": ["input_layer/ids_embedding/embedding_weights"], "x": [], "x3": [],
    }  # fmt: skip
    assert [outputs[c].shape.as_list() for c in columns] == [[3, 3], [3, 2], [3, 1]]


def test_scopes_collections_and_parts():
    column = fc.embedding_column(_identity(), 2)

    def shared(features):
        with v1.variable_scope("s"):
            one = fc.input_layer(features, [column], weight_collections=["mine"], trainable=False)
        with v1.variable_scope("s", reuse=True):
            two = fc.input_layer(features, [column])
        assert len(v1.get_collection("mine")) == 1
        return one + two

    found, names = _run(shared)
    np.testing.assert_allclose(found[2], 2 * TABLE[2], 1e-5)
    assert names == {"s/input_layer/ids_embedding/embedding_weights": ([4, 2], False)}

    def in_parts(features):
        with v1.variable_scope("s", partitioner=v1.fixed_size_partitioner(2)):
            return fc.input_layer(features, [column])

    found, names = _run(in_parts)
    np.testing.assert_allclose(found[2], TABLE[0], 1e-5)  # both parts are filled alike
    assert [shape for shape, _ in names.values()] == [[2, 2], [2, 2]]


def test_an_embedding_from_a_checkpoint(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("table", initializer=TABLE)
        session.run(v1.global_variables_initializer())
        saved = v1.train.Saver().save(session, str(tmp_path / "model"))
    column = fc.embedding_column(
        _identity(), 2, ckpt_to_load_from=saved, tensor_name_in_ckpt="table"
    )
    with v1.Graph().as_default(), v1.Session() as session:
        layer = fc.input_layer(_features(), [column])
        session.run(v1.global_variables_initializer())
        np.testing.assert_allclose(session.run(layer)[2], TABLE[2], 1e-6)


def test_linear_models():
    variables = {}
    columns = [number("x"), _identity(), fc.weighted_categorical_column(_identity(), "w")]
    columns.append(fc.embedding_column(_identity("more"), 2))

    def model(features):
        return fc.linear_model(features, columns, units=2, cols_to_vars=variables)

    found, names = _run(model)
    bias, x, more = _filled(2), _filled((1, 2)), _filled((2, 2))
    row = 3.0 * x[0] + TABLE[2] + 3.0 * TABLE[2] + _filled((4, 2))[3] @ more + bias
    np.testing.assert_allclose(found[2], row, 1e-4)
    assert names == {
        "linear_model/ids/weights": ([4, 2], True),
        "linear_model/ids_weighted_by_w/weights": ([4, 2], True),
        "linear_model/more_embedding/weights": ([2, 2], True),
        "linear_model/more_embedding/embedding_weights": ([4, 2], True),
        "linear_model/x/weights": ([1, 2], True),
        "linear_model/bias_weights": ([2], True),
    }
    assert [v.op.name for v in variables["bias"]] == ["linear_model/bias_weights"]
    assert [v.op.name for v in variables[columns[1]]] == ["linear_model/ids/weights"]


@pytest.mark.parametrize(("combiner", "factor"), [("sum", 1), ("mean", 0.5), ("sqrtn", 0.5**0.5)])
def test_combined_categories_of_linear_models(combiner, factor):
    found, names = _run(
        lambda features: fc.linear_model(
            features, _identity(), sparse_combiner=combiner, trainable=False
        )
    )
    weights, bias = _filled((4, 1)), _filled(1)
    np.testing.assert_allclose(found[0], factor * (weights[1] + weights[3]) + bias, 1e-5)
    assert not any(trainable for _, trainable in names.values())


def test_a_linear_model_learns():
    with v1.Graph().as_default(), v1.Session() as session:
        features = {
            "x": tf.constant([[0.0], [1.0], [2.0]]),
            "kind": tf.constant([["a"], ["b"], ["b"]]),
        }
        kind = fc.categorical_column_with_vocabulary_list("kind", ["a", "b"])
        model = fc.linear_model(features, [number("x"), kind])
        loss = tf.reduce_mean((model - [[1.0], [4.0], [6.0]]) ** 2)
        step = v1.train.GradientDescentOptimizer(0.2).minimize(loss)
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        for _ in range(200):
            session.run(step)
        assert session.run(loss) < 1e-2


def test_specs_parse_examples():
    columns = [
        number("x", default_value=7.0),
        fc.embedding_column(_identity(), 2),
        fc.bucketized_column(number("x3", (3,)), [0.0]),
        fc.crossed_column(["s", _identity("i")], 9),
        fc.weighted_categorical_column(fc.categorical_column_with_hash_bucket("h", 5), "w"),
        fc.sequence_numeric_column("n", dtype=tf.int64),
        fc.indicator_column(fc.sequence_categorical_column_with_identity("q", 3)),
    ]
    spec = fc.make_parse_example_spec(columns)
    text, whole, real = (tf.io.VarLenFeature(t) for t in (tf.string, tf.int64, tf.float32))
    assert spec == {
        "x": tf.io.FixedLenFeature((1,), tf.float32, (7.0,)),
        "x3": tf.io.FixedLenFeature((3,), tf.float32, None),
        "ids": whole, "i": whole, "n": whole, "q": whole, "s": text, "h": text, "w": real,
    }  # fmt: skip
    example = tf.train.Example()
    example.features.feature["x3"].float_list.value.extend([1.0, -1.0, 2.0])
    example.features.feature["ids"].int64_list.value.extend([1, 3])
    parsed = tf.io.parse_example([example.SerializeToString()], spec)
    layer = fc.input_layer(parsed, [columns[0], columns[2]])
    np.testing.assert_array_equal(layer, [[7, 0, 1, 1, 0, 0, 1]])


def test_names_and_counts_of_columns(vocabulary):
    bucketized = fc.bucketized_column(number("x3", 3), [0.0, 1.0])
    words = fc.sequence_categorical_column_with_vocabulary_file("s", vocabulary)
    assert (bucketized.name, bucketized.num_buckets) == ("x3_bucketized", 9)
    assert (words.name, words.num_buckets) == ("s", 3)
    assert fc.sequence_categorical_column_with_vocabulary_list("s", ["a"]).num_buckets == 1
    assert fc.sequence_categorical_column_with_hash_bucket("s", 6).num_buckets == 6
    assert fc.crossed_column(["s", bucketized], 5).name == "s_X_x3_bucketized"
    assert fc.weighted_categorical_column(words, "w").name == "s_weighted_by_w"
    assert fc.embedding_column(words, 2).variable_shape == [2]
    assert fc.sequence_numeric_column("x", (2, 3)).variable_shape == [2, 3]
    assert number("x") == number("x")
    assert number("x", (2, 2), default_value=1).default_value == ((1.0, 1.0), (1.0, 1.0))
    assert number("x", dtype=tf.int32, default_value=1 << 40).default_value == (1 << 40,)


def _hash():
    return fc.categorical_column_with_hash_bucket("s", 5)


WRONG = [
    (lambda: number("x", shape=0), ValueError, "greater than 0"),
    (lambda: number("x", shape=1.5), TypeError, "must be integer"),
    (lambda: number("x", dtype=tf.string), ValueError, "convertible to float"),
    (lambda: number(3), ValueError, "key must be a string"),
    (lambda: number("x", normalizer_fn=3), TypeError, "must be a callable"),
    (lambda: number("x", default_value="a"), TypeError, "compatible with dtype"),
    (lambda: number("x", dtype=tf.int32, default_value=1.5), TypeError, "compatible with dtype"),
    (lambda: number("x", 2, default_value=[1.0] * 3), ValueError, "shape of default_value"),
    (lambda: fc.sequence_numeric_column("x", normalizer_fn=2), TypeError, "must be a callable"),
    (lambda: fc.bucketized_column("x", [0.0]), ValueError, "generated with numeric_column"),
    (lambda: fc.bucketized_column(number("x"), [1.0, 0.0]), ValueError, "sorted list"),
    (lambda: fc.bucketized_column(number("x"), []), ValueError, "must not be empty"),
    (lambda: fc.bucketized_column(number("x", (2, 2)), [0.0]), ValueError, "one-dimensional"),
    (lambda: fc.categorical_column_with_hash_bucket("s", 0), ValueError, "at least 1"),
    (lambda: fc.categorical_column_with_hash_bucket("s", None), ValueError, "must be set"),
    (lambda: fc.categorical_column_with_hash_bucket("s", 5, tf.float32), ValueError, "string or"),
    (lambda: _identity("i", 0), ValueError, "num_buckets 0 < 1"),
    (lambda: _identity("i", 3, default_value=3), ValueError, r"not in range \[0, 3\)"),
    (lambda: _vocabulary([]), ValueError, "must be non-empty"),
    (lambda: _vocabulary(["a"], default_value=None, num_oov_buckets=1), ValueError, "both"),
    (lambda: fc.categorical_column_with_vocabulary_file(
        "s", "f", 1, default_value=-1, num_oov_buckets=1), ValueError, "both"),
    (lambda: fc.shared_embedding_columns([_identity(), _identity("more")], 2), RuntimeError,
     "eager execution"),
    (lambda: _vocabulary(["a", "a"]), ValueError, "Duplicate keys"),
    (lambda: _vocabulary(["a"], default_value=0, num_oov_buckets=1), ValueError, "specify both"),
    (lambda: _vocabulary(["a"], num_oov_buckets=-1), ValueError, "Invalid num_oov_buckets -1"),
    (lambda: _vocabulary(["a"], dtype=tf.int64), ValueError, "do not match"),
    (lambda: _vocabulary([1.5]), ValueError, "string or integer"),
    (lambda: fc.categorical_column_with_vocabulary_file("s", ""), ValueError, "Missing vocabulary"),
    (lambda: fc.categorical_column_with_vocabulary_file("s", "/no"), ValueError, "does not exist"),
    (lambda: fc.categorical_column_with_vocabulary_file("s", "x", 0), ValueError, "Invalid voc"),
    (lambda: tf.feature_column.categorical_column_with_vocabulary_file("s", "x", file_format="z"),
     NotImplementedError, "file_format='text'"),
    (lambda: fc.weighted_categorical_column(_hash(), "w", tf.string), ValueError, "convertible"),
    (lambda: fc.weighted_categorical_column(number("x"), "w"), ValueError, "column of categories"),
    (lambda: fc.weighted_categorical_column(_identity("i"), "i").parse_example_spec, ValueError,
     "already exists for i"),
    (lambda: fc.crossed_column(["a"], 5), ValueError, "length > 1"),
    (lambda: fc.crossed_column(["a", "b"], 0), ValueError, "must be > 1"),
    (lambda: fc.crossed_column([number("x"), "b"], 5), ValueError, "Unsupported key type"),
    (lambda: fc.crossed_column([_hash(), "b"], 5), ValueError, "increase probability of collision"),
    (lambda: fc.embedding_column(_hash(), 0), ValueError, "Invalid dimension 0"),
    (lambda: fc.embedding_column(_hash(), 2, initializer=3), ValueError, "must be callable"),
    (lambda: fc.embedding_column(_hash(), 2, ckpt_to_load_from="a"), ValueError, "specify both"),
    (lambda: fc.embedding_column(number("x"), 2), ValueError, "column of categories"),
    (lambda: fc.indicator_column(number("x")), ValueError, "must be a CategoricalColumn"),
    (lambda: _shared([_hash(), _identity()], 2), ValueError, "the same type"),
    (lambda: _shared([_identity(), _identity("j", 3)], 2), ValueError,
     "same number of buckets"),
    (lambda: fc.make_parse_example_spec(["x"]), ValueError, "must be _FeatureColumn"),
    (lambda: fc.make_parse_example_spec([number("x"), number("x", 2)]), ValueError, "different"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "text"), WRONG)
def test_wrong_columns(make, error, text):
    with pytest.raises(error, match=text):
        make()


MISUSED = {
    "no columns": ([], "must not be empty"),
    "a dictionary": ({"x": 1}, "found dict"),
    "no column": (["x"], "must be a _FeatureColumn"),
    "categories": ([_hash()], "wrap a categorical column"),
    "twice": ([number("x"), number("x")], "Duplicate feature column name"),
    "missing": ([number("nothing")], "Feature nothing is not in features"),
    "sparse numbers": ([number("w")], "SparseTensor is not supported"),
    "floats as categories": (
        [fc.indicator_column(fc.categorical_column_with_hash_bucket("x", 3))],
        "must be string or integer",
    ),
    "texts as numbers": ([fc.indicator_column(_identity("s"))], "not integer"),
    "integers as words": (
        [fc.indicator_column(fc.categorical_column_with_vocabulary_list("i", ["a"]))],
        "must be compatible",
    ),
    "integer weights": (
        [fc.indicator_column(fc.weighted_categorical_column(_identity(), "more"))],
        "Bad dtype",
    ),
    "crossed weights": (
        [
            fc.indicator_column(
                fc.crossed_column([fc.weighted_categorical_column(_identity(), "w"), "s"], 5)
            )
        ],
        "does not support weight_tensor",
    ),
    "sequences": (
        [fc.embedding_column(fc.sequence_categorical_column_with_hash_bucket("s", 3), 2)],
        "must not be of type _SequenceCategoricalColumn",
    ),
}


@pytest.mark.parametrize("name", MISUSED)
def test_what_an_input_layer_refuses(name):
    columns, text = MISUSED[name]
    with v1.Graph().as_default(), pytest.raises(ValueError, match=text):
        fc.input_layer(_features(), columns)


def test_what_features_are_refused():
    for features, text in [
        ({"x": tf.constant(1.0)}, "cannot have rank 0"),
        ([1.0], "expected a dictionary"),
    ]:
        with pytest.raises(ValueError, match=text):
            fc.input_layer(features, [number("x")])
    for model in (fc.input_layer, fc.linear_model):
        features = {"x": np.ones((1, 1), np.float32), "y": np.ones((2, 1), np.float32)}
        with v1.Graph().as_default():
            model(features, [number("x")])  # nobody reads y
            with pytest.raises(ValueError, match=r"\(x, y\): \(1, 2\)"):
                model(features, [number("x"), number("y")])
    with v1.Graph().as_default(), pytest.raises(ValueError, match="combiner"):
        fc.linear_model(_features(), [_identity()], sparse_combiner="max")


def test_features_of_one_axis_or_of_unknown_rank():
    with v1.Graph().as_default(), v1.Session() as session:
        unknown = v1.placeholder(tf.float32)
        layer = fc.input_layer({"x": unknown, "i": tf.constant([1, 2])}, [
            number("x"), fc.indicator_column(_identity("i", 3))])  # fmt: skip
        for value in (np.float32([5, 6]), np.float32([[5], [6]])):
            found = session.run(layer, {unknown: value})
            np.testing.assert_array_equal(found, [[0, 1, 0, 5], [0, 0, 1, 6]])
