"""Lookup tables: eagerly, in graphs, in functions, shared by name, from files, in checkpoints."""

import numpy as np
import pytest

import penstock as tf
from penstock import errors, proto
from penstock.ops import lookup_state
from penstock.ops.lookup_buckets import Buckets

raw, v1, lookup = tf.raw_ops, tf.compat.v1, tf.lookup
BAD = errors.InvalidArgumentError
UNKNOWN = -1


def value(tensor):
    if isinstance(tensor, tf.RaggedTensor):
        return tensor.to_list()
    return tensor.numpy().tolist() if tensor.shape.rank else tensor.numpy()


def int64(values):
    return tf.constant(values, tf.int64)


def static(keys=("a", "b"), values=(1, 2), default=UNKNOWN, **options):
    init = lookup.KeyValueTensorInitializer(list(keys), list(values), **options)
    return lookup.StaticHashTable(init, default)


def mutable(default=UNKNOWN, key=tf.string, kind=tf.int64, **options):
    return lookup.experimental.MutableHashTable(key, kind, default, **options)


def dense(default=UNKNOWN, **options):
    return lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, default, empty_key=0, deleted_key=-1, **options
    )


# ---- filled once --------------------------------------------------------------------------------


def test_static_table():
    table = static()
    assert value(table.lookup(tf.constant(["a", "z", "b"]))) == [1, -1, 2]
    assert value(table[tf.constant("a")]) == 1
    assert value(table.size()) == 2
    keys, values = table.export()
    assert dict(zip(value(keys), value(values), strict=True)) == {b"a": 1, b"b": 2}
    assert (table.key_dtype, table.value_dtype) == (tf.string, tf.int32)
    assert table.resource_handle.dtype == tf.resource


def test_static_table_of_sparse_and_ragged_keys():
    table = static()
    sparse = table.lookup(tf.SparseTensor([[0, 0]], ["b"], [1, 2]))
    assert value(sparse.values) == [2]
    assert value(table.lookup(tf.ragged.constant([["a"], ["b", "c"]]))) == [[1], [2, -1]]


@pytest.mark.parametrize(
    ("keys", "values", "default"),
    [([1, 2], ["x", "y"], "d"), ([1], [1.5], 0.0), (["a"], [True], False), (["a"], ["b"], "")],
)
def test_static_table_of_other_types(keys, values, default):
    table = static(keys, values, default)
    assert value(table.lookup(tf.constant(keys))) == value(tf.constant(values))
    missing = tf.constant(["zz"] if isinstance(keys[0], str) else [99])
    assert value(table.lookup(missing)) == value(tf.constant([default]))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: static("aa", (1, 2)), errors.FailedPreconditionError, "different value for same"),
        (lambda: static("ab", (1,)), BAD, r"Expected shape \(2,\) for value, got \(1,\)"),
        (lambda: static("ab", ([1, 2], [3, 4])), BAD, "Expected shape"),
        (lambda: static(default=1.5), TypeError, "1.5"),
        (lambda: static(default=[1, 2]), ValueError, "ncompatible"),
        (lambda: static((1.5,), (1,)), errors.NotFoundError, "float32"),
        (lambda: static().lookup(tf.constant([1])), TypeError, "must be string"),
        (lambda: static(key_dtype=tf.int64), TypeError, "int64"),
    ],
)
def test_static_table_refuses(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_key_may_come_twice_with_one_value():
    assert value(static("aa", (1, 1)).size()) == 1


def test_static_table_operations():
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    one = {"keys": ["a"], "values": int64([1])}
    with pytest.raises(errors.FailedPreconditionError, match="Table not initialized"):
        raw.LookupTableFindV2(table_handle=table, keys=["a"], default_value=int64(0))
    with pytest.raises(errors.AbortedError, match="not initialized"):
        raw.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
    with pytest.raises(errors.UnimplementedError, match="Insert not supported"):
        raw.LookupTableInsertV2(table_handle=table, **one)
    with pytest.raises(errors.UnimplementedError, match="Remove not supported"):
        raw.LookupTableRemoveV2(table_handle=table, keys=["a"])
    raw.InitializeTableV2(table_handle=table, **one)
    raw.InitializeTableV2(table_handle=table, keys=["b"], values=int64([1]))  # it is filled already
    assert value(raw.LookupTableSizeV2(table_handle=table)) == 1
    with pytest.raises(BAD, match="Signature mismatch"):
        raw.LookupTableFindV2(table_handle=table, keys=["a"], default_value=1.5)
    raw.DestroyResourceOp(resource=table)
    with pytest.raises(errors.NotFoundError, match="does not exist"):
        raw.LookupTableSizeV2(table_handle=table)
    with pytest.raises(BAD, match="wrong type"):
        raw.LookupTableSizeV2(table_handle=tf.Variable(1.0).handle)


# ---- from files ---------------------------------------------------------------------------------

WHOLE, NUMBER = lookup.TextFileIndex.WHOLE_LINE, lookup.TextFileIndex.LINE_NUMBER


@pytest.fixture
def from_file(tmp_path):
    def make(content, columns=(tf.string, WHOLE, tf.int64, NUMBER), default=UNKNOWN, **options):
        path = tmp_path / "table.txt"
        path.write_bytes(content)
        init = lookup.TextFileInitializer(str(path), *columns, **options)
        return lookup.StaticHashTable(init, default)

    return make


LINES = b"emerson\nlake\npalmer\n"
PAIRS = b"brain\t1\nsalad\t2\nsurgery\t3"


@pytest.mark.parametrize("kind", [tf.int32, tf.int64], ids=str)
def test_whole_lines_are_numbers_too(from_file, kind):
    keys = from_file(b"1\n5\n7", (kind, WHOLE, tf.int64, NUMBER))
    assert keys.lookup(tf.constant([7, 2], kind)).numpy().tolist() == [2, UNKNOWN]
    values = from_file(b"1\n5\n7", (tf.int64, NUMBER, kind, WHOLE))
    assert values.lookup(tf.constant([1, 3], tf.int64)).numpy().tolist() == [5, UNKNOWN]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'x' in line 1 of .* is not a valid"):
        from_file(b"1\nx\n", (kind, WHOLE, tf.int64, NUMBER))
    with pytest.raises(ValueError, match="must be string or an integer dtype if `key_index` is -2"):
        lookup.TextFileInitializer("f", tf.float32, WHOLE, tf.int64, NUMBER)


@pytest.mark.parametrize(
    ("content", "columns", "options", "keys", "wanted"),
    [
        (LINES, (tf.string, WHOLE, tf.int64, NUMBER), {}, ["lake", "x"], [1, -1]),
        (LINES, (tf.string, WHOLE, tf.int64, NUMBER), {"vocab_size": 1}, ["lake"], [-1]),
        (LINES, (tf.string, WHOLE, tf.int64, NUMBER), {"value_index_offset": 10}, ["lake"], [11]),
        (PAIRS, (tf.string, 0, tf.int64, 1), {}, ["salad", "q"], [2, -1]),
        (PAIRS, (tf.string, 0, tf.float32, 1), {}, ["surgery"], [3.0]),
        (b"a 1\nb 2\n", (tf.string, 0, tf.int64, 1), {"delimiter": " "}, ["b"], [2]),
    ],
)
def test_text_files(from_file, content, columns, options, keys, wanted):
    assert value(from_file(content, columns, **options).lookup(tf.constant(keys))) == wanted


def test_text_file_to_strings(from_file):
    table = from_file(LINES, (tf.int64, NUMBER, tf.string, WHOLE), "?")
    assert value(table.lookup(int64([0, 2, 9]))) == [b"emerson", b"palmer", b"?"]


@pytest.mark.parametrize(
    ("content", "columns", "options", "error", "text"),
    [
        (LINES, None, {"vocab_size": 9}, BAD, "expected 9 but got 3"),
        (b"a\na\n", None, {}, errors.FailedPreconditionError, "different value"),
        (b"", None, {}, errors.OutOfRangeError, "empty"),
        (b"a\n\nb\n", None, {}, BAD, "empty line found at line 2"),
        (b"a\tx\n", (tf.string, 0, tf.int64, 1), {}, BAD, "not a valid int64"),
        (b"a\t1\n", (tf.string, 0, tf.int64, 5), {}, BAD, "at least 6 got 2"),
        (LINES, None, {"delimiter": "ab"}, BAD, "only 1 char"),
        (LINES, None, {"vocab_size": 0}, ValueError, "> 0"),
        (LINES, (tf.string, NUMBER, tf.int64, WHOLE), {}, ValueError, "key_dtype"),
        (LINES, (tf.string, WHOLE, tf.int32, NUMBER), {}, ValueError, "value_dtype"),
        (LINES, (tf.string, -3, tf.int64, NUMBER), {}, ValueError, ">= -2"),
    ],
)
def test_bad_text_files(from_file, content, columns, options, error, text):
    with pytest.raises(error, match=text):
        from_file(content, columns or (tf.string, WHOLE, tf.int64, NUMBER), **options)


def test_file_names_made_in_a_function(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")

    def find(name, words):
        init = lookup.TextFileInitializer(
            name, tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        return lookup.StaticHashTable(init, UNKNOWN).lookup(words)

    @tf.function
    def look(words):
        return find(tf.strings.join([str(tmp_path), "/words", ".txt"]), words)

    assert value(look(tf.constant(["b", "c"]))) == [1, UNKNOWN]
    with pytest.raises(ValueError, match="does not depend on the arguments"):
        tf.function(find)(tf.constant("words.txt"), tf.constant(["a"]))


def test_missing_text_file():
    init = lookup.TextFileInitializer("/nonexistent/x", tf.string, WHOLE, tf.int64, NUMBER)
    with pytest.raises(errors.NotFoundError, match="nonexistent"):
        lookup.StaticHashTable(init, UNKNOWN)
    with pytest.raises(ValueError, match="required"):
        lookup.TextFileInitializer("", tf.string, WHOLE, tf.int64, NUMBER)


# ---- vocabularies -------------------------------------------------------------------------------


def vocabulary(buckets, keys=("a", "b"), **options):
    ids = int64(range(len(keys)))
    init = lookup.KeyValueTensorInitializer(tf.constant(keys), ids)
    return lookup.StaticVocabularyTable(init, buckets, **options)


def test_vocabulary():
    table = vocabulary(3)
    words = tf.constant(["a", "b", "c", "dd", "e", "f"])
    assert value(table.lookup(words)) == [0, 1, 3, 3, 3, 2]
    assert value(table.size()) == 5
    assert value(table.lookup(tf.ragged.constant([["a"], ["b", "q"]]))) == [[0], [1, 4]]
    assert value(table.lookup(tf.SparseTensor([[0, 0]], ["b"], [1, 2])).values) == [1]


def test_vocabulary_of_integers():
    keys = np.array([10, 20], np.int64)
    init = lookup.KeyValueTensorInitializer(keys, int64([0, 1]))
    narrow = lookup.StaticVocabularyTable(init, 3, lookup_key_dtype=tf.int32)
    assert value(narrow.lookup(tf.constant([10, 5, 77]))) == [0, 3, 2]


def test_buckets_alone():
    table = lookup.StaticVocabularyTable(None, 5)
    words = tf.constant(["a", "b"])
    assert value(table.lookup(words)) == value(tf.strings.to_hash_bucket_fast(words, 5))
    assert value(table.size()) == 5


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: vocabulary(0), ValueError),
        (lambda: vocabulary(3, lookup_key_dtype=tf.int64), TypeError),
        (lambda: vocabulary(3, keys=(1.0,)), TypeError),
        (lambda: vocabulary(3).lookup(tf.constant([1.0])), TypeError),
    ],
)
def test_vocabulary_refuses(make, error):
    with pytest.raises(error):
        make()


# ---- changed at any time ------------------------------------------------------------------------


def test_mutable_table():
    table = mutable()
    assert table.insert(["a", "b", "c"], int64([1, 2, 3])) is None
    assert value(table.lookup(["a", "z"])) == [1, -1]
    table.remove(tf.constant(["a", "zz"]))
    table.insert("b", 9)
    assert value(table.lookup([["b"], ["a"]])) == [[9], [-1]]
    assert value(table.size()) == 2
    assert value(table.lookup(["c", "z", "y"], dynamic_default_values=int64([7, 8, 9]))) == [
        3,
        8,
        9,
    ]
    assert value(table.lookup(["c", "z"], int64(7))) == [3, 7]
    assert mutable().lookup(tf.zeros([0, 2], tf.string)).shape == (0, 2)


def test_mutable_table_of_vectors():
    table = mutable([0, 0])
    table.insert(["a", "b"], int64([[1, 2], [3, 4]]))
    assert value(table.lookup([["a", "z"]])) == [[[1, 2], [0, 0]]]
    assert value(table.lookup(["a", "z"], int64([[7, 7], [8, 8]]))) == [[1, 2], [8, 8]]
    assert [t.shape.as_list() for t in table.export()] == [[2], [2, 2]]
    assert [t.shape.as_list() for t in mutable([0, 0]).export()] == [[0], [0, 2]]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: mutable().insert(["a", "b"], int64([1])), BAD),
        (lambda: mutable().insert(["a"], [1.5]), TypeError),
        (lambda: mutable().lookup(["a"], int64([1, 2])), BAD),
        (lambda: mutable().lookup(tf.constant([1])), ValueError),
        (lambda: mutable().remove(tf.constant([1])), TypeError),
        (lambda: mutable([0, 0]).insert(["a"], int64([[1, 2, 3]])), BAD),
        (lambda: mutable([[1, 2]]), BAD),
        (lambda: mutable(key=tf.float32), errors.NotFoundError),
    ],
)
def test_mutable_table_refuses(make, error):
    with pytest.raises(error):
        make()


def test_tables_are_shared_by_name():
    attrs = {"key_dtype": tf.string, "value_dtype": tf.int64, "shared_name": "shared_table"}
    one, two = (raw.MutableHashTableV2(**attrs) for _ in range(2))
    raw.LookupTableInsertV2(table_handle=one, keys=["a"], values=int64([5]))
    found = raw.LookupTableFindV2(table_handle=two, keys=["a"], default_value=int64(0))
    assert value(found) == [5]
    with pytest.raises(BAD, match="Conflicting key/value dtypes"):
        raw.MutableHashTableV2(**{**attrs, "value_dtype": tf.float32})
    with pytest.raises(BAD, match="not initializable"):
        raw.InitializeTableV2(table_handle=one, keys=["a"], values=int64([5]))
    apart = [mutable(), mutable(experimental_is_anonymous=True)]
    apart[0].insert(["a"], int64([1]))
    assert value(apart[1].size()) == 0


def test_dense_table():
    table = dense(initial_num_buckets=4)
    table.insert(int64([11, 12, 13]), int64([0, 1, 2]))
    assert value(table.lookup(int64([11, 99]))) == [0, -1]
    table.erase(int64([12, 77]))
    table.insert_or_assign(int64([11]), int64([5]))
    assert value(table[int64([11, 12])]) == [5, -1]
    for key, what in ((0, "empty_key"), (-1, "deleted_key")):
        for use in (table.lookup, table.remove, lambda k: table.insert(k, int64([1]))):
            with pytest.raises(BAD, match=f"Using the {what} as a table key"):
                use(int64([key]))


def test_dense_table_of_vectors():
    table = lookup.experimental.DenseHashTable(
        tf.int64, tf.int64, UNKNOWN, empty_key=int64([0, 0]), deleted_key=int64([-1, -1])
    )
    table.insert(int64([[1, 2], [3, 4]]), int64([5, 6]))
    assert value(table.lookup(int64([[1, 2], [9, 9]]))) == [5, -1]


@pytest.mark.parametrize("buckets", [0, 3])
def test_dense_table_refuses(buckets):
    with pytest.raises(BAD, match="power of 2"):
        dense(initial_num_buckets=buckets)
    with pytest.raises(BAD, match="cannot be equal"):
        lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, empty_key=1, deleted_key=1)


# ---- graphs, functions, checkpoints -------------------------------------------------------------


def test_in_a_graph():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        init = v1.lookup.KeyValueTensorInitializer(["a", "b"], int64([0, 1]))
        table = v1.lookup.StaticHashTable(init, UNKNOWN)
        ids = v1.lookup.StaticVocabularyTable(init, 2)
        change = mutable()
        keys = v1.placeholder(tf.string, [None])
        found = table.lookup(keys)
        assert found.shape.as_list() == [None]
        assert graph.get_collection(v1.GraphKeys.TABLE_INITIALIZERS) == [
            table.initializer, ids.initializer,
        ]  # fmt: skip
        with pytest.raises(errors.FailedPreconditionError, match="not initialized"):
            session.run(found, {keys: ["a"]})
        session.run(v1.tables_initializer())
        assert session.run(found, {keys: ["b", "z"]}).tolist() == [1, -1]
        assert session.run(ids.lookup(keys), {keys: ["a"]}).tolist() == [0]
        session.run(change.insert(["x"], int64([4])))
        assert session.run(change.lookup(["x", "y"])).tolist() == [4, -1]
        assert session.run(change.size()) == 1


def test_operations_of_references():
    with tf.Graph().as_default(), v1.Session() as session:
        table = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)
        insert = raw.LookupTableInsert(table_handle=table, keys=["a"], values=int64([3]))
        find = raw.LookupTableFind(table_handle=table, keys=["a"], default_value=int64(0))
        session.run(insert)
        assert session.run(find).tolist() == [3]
        assert session.run(raw.LookupTableSize(table_handle=table)) == 1
        fixed = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
        session.run(raw.InitializeTable(table_handle=fixed, keys=["k"], values=int64([8])))
        keys, values = raw.LookupTableExport(table_handle=fixed, Tkeys=tf.string, Tvalues=tf.int64)
        assert [a.tolist() for a in session.run([keys, values])] == [[b"k"], [8]]
        sparse = raw.MutableDenseHashTable(empty_key=int64(0), value_dtype=tf.int64)
        session.run(
            raw.LookupTableImport(table_handle=sparse, keys=int64([0, 4]), values=int64([1, 2]))
        )
        assert session.run(raw.LookupTableSize(table_handle=sparse)) == 1


def test_in_a_function():
    table = mutable()
    made = []

    @tf.function
    def count(words):
        if not made:
            made.append(static(("a",), (7,)))
        table.insert(words, table.lookup(words) + 1)
        return table.size(), made[0].lookup(words)

    size, fixed = count(tf.constant(["a", "b"]))
    size, fixed = count(tf.constant(["a", "c"]))
    assert value(size) == 3
    assert value(fixed) == [7, -1]
    assert value(table.lookup(["a", "b", "c"])) == [1, 0, 0]


def test_checkpoints(tmp_path):
    def model():
        module = tf.Module()
        module.words, module.ids = mutable(), dense()
        module.vectors, module.left_out = mutable([0.0], kind=tf.float32), mutable(checkpoint=False)
        return module

    saved, fresh = model(), model()
    saved.words.insert(["a", "b"], int64([1, 2]))
    saved.ids.insert(int64([5]), int64([6]))
    saved.vectors.insert(["v"], [[2.5]])
    saved.left_out.insert(["q"], int64([1]))
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ck"))
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "model/words/.ATTRIBUTES/table-keys" in names
    fresh.words.insert(["old"], int64([3]))
    tf.train.Checkpoint(model=fresh).restore(path)
    assert value(fresh.words.lookup(["a", "b", "old"])) == [1, 2, -1]
    assert value(fresh.ids.lookup(int64([5]))) == [6]
    assert value(fresh.vectors.lookup(["v"])) == [[2.5]]
    assert value(fresh.left_out.size()) == 0


def test_dense_tables_of_tensorflow_hold_reserved_keys():
    table = dense()
    keys = int64([[0], [5], [-1], [6]])
    table._restore_from_tensors({"table-keys": keys, "table-values": int64([[0], [1], [0], [2]])})
    assert value(table.size()) == 2
    assert value(table.lookup(int64([5, 6]))) == [1, 2]


def test_restoring_what_tensorflow_wrote(tmp_path):
    """It states one attribute, "table", for both tensors."""
    message = proto.trackable_object_graph_pb2.TrackableObjectGraph()
    message.nodes.add().children.add(node_id=1, local_name="words")
    message.nodes.add().attributes.add(name="table", checkpoint_key="words/.ATTRIBUTES/table")
    tensors = {
        "_CHECKPOINTABLE_OBJECT_GRAPH": tf.constant(message.SerializeToString()),
        "words/.ATTRIBUTES/table-keys": tf.constant(["a", "b"]),
        "words/.ATTRIBUTES/table-values": int64([1, 2]),
    }
    path = str(tmp_path / "written")
    raw.SaveV2(
        prefix=path, tensor_names=list(tensors), shape_and_slices=[""] * 3,
        tensors=list(tensors.values()),
    )  # fmt: skip
    words = mutable()
    tf.train.Checkpoint(words=words).restore(path).expect_partial()
    assert value(words.lookup(["a", "b", "c"])) == [1, 2, -1]


# ---- buckets of checkpoints: where TensorFlow 2.21 puts keys into 16 buckets --------------------


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ([5, 6, 21, 37, 53], [5, 6, 8, 11, 15]),
        ([b"a", b"hello", b"penstock", b"abcdefgh", b"abcdefghi"], [12, 10, 15, 2, 5]),
        ([[1, 2], [3, 4], [5, 6]], [3, 7, 4]),
    ],
)
def test_buckets(keys, places):
    kind = object if isinstance(keys[0], bytes) else np.int64
    found = np.array(keys, kind)
    most = 12  # keys that 16 buckets hold
    spare = [key for key in _fillers(kind, found.shape[1:]) if key not in keys][: most - len(keys)]
    buckets = Buckets(4, 0.8)
    held = [tuple(key) if isinstance(key, list) else key for key in (*keys, *spare)]
    buckets.insert(held, most)
    assert buckets.count == 16
    assert [buckets.taken[place] for place in places] == held[: len(places)]


def _fillers(kind, shape):
    """Keys that come after those that are looked at."""
    numbers = range(1000, 1100)
    if kind is object:
        return [b"filler%d" % i for i in numbers]
    return [[i] * shape[0] if shape else i for i in numbers]


def test_checkpoints_have_buckets_and_are_read_with_or_without(tmp_path):
    table = dense(initial_num_buckets=4)
    table.insert(int64([5, 6, 21]), int64([1, 2, 3]))
    saved = tf.train.Checkpoint(t=table).write(tmp_path / "c")
    keys = tf.train.load_variable(saved, "t/.ATTRIBUTES/table-keys")
    assert keys.reshape(-1).tolist() == [21, 5, 6, 0]  # 21: 1 and 1 + 1 are taken, then 2 + 2
    table.insert(int64([5, 7]), int64([9, 9]))
    tf.train.Checkpoint(t=table).read(saved).assert_consumed()
    assert value(table.lookup(int64([5, 6, 7, 21]))) == [1, 2, UNKNOWN, 3]
    assert value(table.size()) == 3
    table._restore_from_tensors({"table-keys": int64([8]), "table-values": int64([4])})
    assert value(table.lookup(int64([8, 5]))) == [4, UNKNOWN]


def test_names_of_operations_in_graphs():
    with tf.Graph().as_default() as graph:
        keys, values = tf.constant(["a"], name="k"), tf.constant([1], tf.int64, name="v")
        init = v1.lookup.KeyValueTensorInitializer(keys, values)
        table = v1.lookup.StaticHashTable(init, -1, name="t")
        table.lookup(keys), table.size(), table.export(), table.lookup(keys, name="mine")
        changing = mutable()
        changing.insert(keys, values), changing.lookup(keys), changing.remove(keys)
        words = v1.lookup.StaticVocabularyTable(init, 2, name="words")
        words.lookup(keys), words.size()
        assert (table.name, words.name) == ("t", "words")
        assert v1.lookup.StaticHashTable(init, -1, name="t").name == "t_1"
        assert v1.lookup.StaticVocabularyTable(None, 2).name == "hash_bucket"
    names = {op.name for op in graph.get_operations()}
    assert names >= {
        "t_Lookup/LookupTableFindV2", "t_Size/LookupTableSizeV2", "t_Export/LookupTableExportV2",
        "mine/LookupTableFindV2", "MutableHashTable_lookup_table_insert/LookupTableInsertV2",
        "MutableHashTable_lookup_table_find/LookupTableFindV2",
        "MutableHashTable_lookup_table_remove/LookupTableRemoveV2", "words_Lookup/hash_bucket",
        "words_Lookup/hash_table_Lookup/LookupTableFindV2", "words_Lookup/SelectV2",
        "words_Size/hash_table_Size/LookupTableSizeV2", "words_Size/add",
    }  # fmt: skip


def test_a_dense_table_is_exported_as_tensorflow_s_buckets():
    """Removed keys leave a mark and their value; growth puts keys in by the order of buckets."""
    table = dense(initial_num_buckets=8)
    table.insert(int64([1, 9, 3, 17]), int64([10, 90, 30, 170]))
    table.remove(int64([9]))
    keys, values = table.export()
    assert value(keys) == [[0], [1], [-1], [3], [17], [0], [0], [0]]
    assert value(values) == [[0], [10], [90], [30], [170], [0], [0], [0]]
    table.insert(int64([25]), int64([250]))
    for number in (100, 101, 102):
        table.insert(int64([number]), int64([number]))
    grown = [1, 17, 3, 100, 101, 102, 0, 0, 25]
    assert value(table.export()[0])[1:10] == [[key] for key in grown]
    other = dense(initial_num_buckets=4)
    other._restore_from_tensors(table._serialize_to_tensors())
    other.insert(int64([33]), int64([330]))
    assert value(other.export()[0])[7] == [33]
    assert value(other.size()) == 8


def test_a_dense_table_takes_pairs_that_are_no_buckets():
    table = dense(initial_num_buckets=4)
    pairs = {"table-keys": int64([5, 6, 7, 8]), "table-values": int64([1, 2, 3, 4])}
    table._restore_from_tensors(pairs)
    assert value(table.lookup(int64([8, 5, 9]))) == [4, 1, -1]
    assert table.export()[0].shape == [8, 1]


def test_buckets_do_not_remember_every_change(monkeypatch):
    monkeypatch.setattr(lookup_state, "_CHANGES", 20)
    table, same = dense(initial_num_buckets=4), dense(initial_num_buckets=4)
    for number in range(1, 200):
        table.insert(int64([number]), int64([number]))
        if number > 3:
            table.remove(int64([number - 3]))
        if number % 50 == 0:
            assert table.resource_handle._array.resource._noted <= 30
    monkeypatch.setattr(lookup_state, "_CHANGES", 10**9)
    for number in range(1, 200):
        same.insert(int64([number]), int64([number]))
        if number > 3:
            same.remove(int64([number - 3]))
    assert [value(x) for x in same.export()] == [value(x) for x in table.export()]


@pytest.mark.parametrize("dtype", [tf.int64, tf.string])
def test_a_static_table_without_keys_is_refused_when_it_is_filled(dtype):
    def size(keys):
        table = tf.lookup.KeyValueTensorInitializer(keys, tf.ones_like(keys, tf.int64))
        return tf.lookup.StaticHashTable(table, -1).size()

    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty tensors"):
        size(tf.constant([], dtype))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        size(tf.constant([], dtype))
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty tensors"):
            session.run(tf.compat.v1.tables_initializer())
    handle = tf.raw_ops.MutableHashTableV2(key_dtype=dtype, value_dtype=tf.int64)
    none = {"keys": tf.constant([], dtype), "values": tf.constant([], tf.int64)}
    tf.raw_ops.LookupTableImportV2(table_handle=handle, **none)
    assert tf.raw_ops.LookupTableSizeV2(table_handle=handle).numpy() == 0


def test_tables_made_in_a_function_from_its_tensors():
    @tf.function
    def looked_up(x):
        init = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([1, 2]))
        return tf.lookup.StaticHashTable(init, tf.constant(-1)).lookup(x)

    assert looked_up(tf.constant(["b", "z"])).numpy().tolist() == [2, -1]
    assert looked_up(tf.constant(["a"])).numpy().tolist() == [1]

    @tf.function
    def empty():
        init = tf.lookup.KeyValueTensorInitializer(
            tf.constant([], tf.string), tf.constant([], tf.int64)
        )
        return tf.lookup.StaticHashTable(init, -1).size()

    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty"):
        empty()

    @tf.function
    def inserted(x):
        table = tf.lookup.experimental.DenseHashTable(
            tf.int64, tf.int64, tf.constant(-1, tf.int64), tf.constant(0, tf.int64), -2
        )
        table.insert(x, x + 1)
        return table.lookup(x)

    assert inserted(tf.constant([5], tf.int64)).numpy().tolist() == [6]


def test_keys_that_hang_on_an_argument_are_refused():
    @tf.function
    def looked_up(keys):
        init = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([1, 2]))
        return tf.lookup.StaticHashTable(init, -1).size()

    with pytest.raises(ValueError, match="tensor of keys that does not depend on the arg"):
        looked_up(tf.constant(["a", "b"]))


def test_as_many_keys_as_values_are_asked_for_when_a_graph_is_built():
    with tf.Graph().as_default():
        init = lookup.KeyValueTensorInitializer(["a", "b"], [1])
        with pytest.raises(ValueError, match="must be equal, but are 2 and 1"):
            lookup.StaticHashTable(init, -1)
