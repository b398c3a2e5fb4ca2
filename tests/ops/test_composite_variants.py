"""Tensors as one variant, constants of files, functions over rows, what old GraphDefs hold."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
raw = tf.raw_ops
INVALID, LATE = tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError
ITERATOR = b"\x0a\x02\x08\x06"  # the metadata of DATA_ITERATOR_SPEC


def packed(*components, metadata=b""):
    return raw.CompositeTensorVariantFromComponents(components=components, metadata=metadata)


def unpacked(variant, *dtypes, metadata=b""):
    return raw.CompositeTensorVariantToComponents(
        encoded=variant, metadata=metadata, Tcomponents=dtypes
    )


def test_components_come_back():
    parts = tf.constant([1.0, 2.0]), tf.constant("x"), tf.constant(3, tf.int8)
    for found in (
        unpacked(packed(*parts), tf.float32, tf.string, tf.int8),
        unpacked(packed(*parts, metadata=ITERATOR), tf.float32, tf.string, tf.int8,
                 metadata=ITERATOR),
        raw.UncompressElement(compressed=raw.CompressElement(components=parts),
                              output_types=[tf.float32, tf.string, tf.int8],
                              output_shapes=[[3], [], []]),
    ):  # fmt: skip
        assert [np.asarray(f.numpy()).tolist() for f in found] == [[1.0, 2.0], b"x", 3]
    assert unpacked(packed()) == []
    assert tf.stack([packed(1.0), packed(2.0)]).shape == (2,)
    inner = raw.CompressElement(components=[packed(1.0)])
    [outer] = raw.UncompressElement(compressed=inner, output_types=[tf.variant], output_shapes=[[]])
    assert unpacked(outer, tf.float32)[0].numpy() == 1.0


def test_what_does_not_come_apart_as_asked():
    with pytest.raises(INVALID, match="component 0 had dtype float32"):
        unpacked(packed(1.0), tf.int32)
    with pytest.raises(INVALID, match="1 tensor components; expected 2"):
        unpacked(packed(1.0), tf.float32, tf.float32)
    with pytest.raises(INVALID, match=r"Expected a UNKNOWN .* contains a DATA_ITERATOR_SPEC"):
        unpacked(packed(1.0, metadata=ITERATOR), tf.float32)
    with pytest.raises(INVALID, match="Error parsing metadata"):
        packed(1.0, metadata=b"\xff")
    with pytest.raises(INVALID, match="not a valid CompositeTensorVariant"):
        unpacked(raw.CompressElement(components=[1.0]), tf.float32)
    with pytest.raises(INVALID, match="does not contain a compressed element"):
        raw.UncompressElement(compressed=packed(1.0), output_types=["float"], output_shapes=[[]])
    held = raw.CompressElement(components=[1.0])
    with pytest.raises(LATE, match="type int32 but got a tensor of type float32"):
        raw.UncompressElement(compressed=held, output_types=["int32"], output_shapes=[[]])
    with pytest.raises(LATE, match="Expected 2 outputs from uncompress, but got 1"):
        raw.UncompressElement(
            compressed=held, output_types=["float", "float"], output_shapes=[[], []]
        )


def test_graphs_know_what_is_declared():
    with tf.Graph().as_default():
        assert packed(1.0).shape == ()
        assert unpacked(packed(1.0), tf.float32)[0].shape.rank is None
        held = raw.CompressElement(components=[[1.0]])
        [found] = raw.UncompressElement(
            compressed=held, output_types=["float"], output_shapes=[[None]]
        )
        assert found.shape.as_list() == [None]
        with pytest.raises(ValueError, match="must have the same length, got 2 vs"):
            raw.UncompressElement(compressed=held, output_types=["float"], output_shapes=[[1], [1]])


def constant(path, dtype, shape):
    return raw.ImmutableConst(dtype=dtype, shape=shape, memory_region_name=str(path))


def test_constants_of_files(tmp_path):
    path = tmp_path / "numbers"
    np.arange(6, dtype=np.float32).tofile(path)
    assert constant(path, "float", [2, 3]).numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert constant(path, "float", [0]).shape == (0,)
    assert constant(path, "bool", [8]).numpy().tolist() == [False] * 6 + [True] * 2
    assert constant(path, "float", None).numpy() == 0.0
    for region, dtype, shape, error, text in (
        (path, "float", [7], tf.errors.InternalError, r"wrong length \(24\) when allocating 28"),
        (path, "float", [1 << 40, 1 << 40], INVALID, "is too large"),
        (path, "float", [None], INVALID, "not fully defined"),
        (path, "string", [1], tf.errors.UnimplementedError, "not currently supported"),
        (path, "variant", [], INVALID, "Resource and variant dtypes"),
        (tmp_path, "float", [1], tf.errors.NotFoundError, "Is a directory"),
        (tmp_path / "none", "float", [1], tf.errors.NotFoundError, "No such file"),
    ):
        with pytest.raises(error, match=text):
            constant(region, dtype, shape)
    with tf.Graph().as_default():
        assert constant("/none", "float", [2, None]).shape.as_list() == [2, None]


def test_local_files_have_no_settings():
    for scheme, text in (("", "SetOption"), ("file", "SetOption"), ("s3", "'s3' not found")):
        with pytest.raises(tf.errors.UnimplementedError, match=text):
            raw.FileSystemSetConfiguration(scheme=scheme, key="a", value="b")
    with pytest.raises(INVALID, match=r"key must be scalar, got shape \(1,\)"):
        raw.FileSystemSetConfiguration(scheme="", key=["a"], value="b")


def concrete(function, *shapes):
    specs = [tf.TensorSpec(s) for s in shapes]
    return tf.function(function).get_concrete_function(*specs)


def mapped(f, arguments, shapes, captured=(), dtypes=None):
    return raw.MapDefun(arguments=arguments, captured_inputs=captured, f=f, output_shapes=shapes,
                        output_types=dtypes or [tf.float32] * len(shapes))  # fmt: skip


def test_a_function_of_each_row():
    f = concrete(lambda x, c: (x * c, tf.reduce_sum(x)), [2], [])
    rows = np.float32([[1, 2], [3, 4]])
    for found in (
        mapped(f, [rows], [[2], []], [2.0]),
        tf.function(lambda: mapped(f, [rows], [None, []], [2.0]))(),
    ):
        assert [x.numpy().tolist() for x in found] == [[[2, 4], [6, 8]], [3, 7]]
    assert [x.shape for x in mapped(f, [rows[:0]], [[2], []], [2.0])] == [(0, 2), (0,)]
    assert mapped(f, [rows[:0]], [[None], []], [2.0])[0].shape == (0,)
    add = concrete(lambda x, y: x + y, [], [])
    with pytest.raises(INVALID, match=r"retval shape, \(2,\), and expected output shape, \(3,\)"):
        mapped(f, [rows], [[3], []], [2.0])
    with pytest.raises(INVALID, match="Input 1 has leading dimension 4"):
        mapped(add, [tf.ones(3), tf.ones(4)], [[]])
    with pytest.raises(INVALID, match="Input 0 has a rank of 0"):
        mapped(add, [1.0, 1.0], [[]])
    with pytest.raises(INVALID, match="takes 2, got 1"):
        mapped(add, [tf.ones(3)], [[]])
    with pytest.raises(INVALID, match="Mismatch in function return type"):
        mapped(add, [tf.ones(3), tf.ones(3)], [[]], dtypes=[tf.int32])


def test_rows_in_graphs():
    add = concrete(lambda x, y: x + y, [], [])
    with tf.Graph().as_default():
        some, four, three = (v1.placeholder(tf.float32, [n]) for n in (None, 4, 3))
        assert mapped(add, [some, four], [[]])[0].shape == (4,)
        with pytest.raises(ValueError, match="same dimension 0"):
            mapped(add, [three, four], [[]])
        with pytest.raises(ValueError, match="rank at least 1"):
            mapped(add, [1.0, four], [[]])


def test_parts_of_variables_and_queues_of_the_first_kind():
    with tf.Graph().as_default(), v1.Session() as session:
        v = raw.VariableV2(shape=[3, 3], dtype="float")
        session.run(raw.Assign(ref=v, value=tf.zeros((3, 3))))
        part = {"ref": v, "begin": [0, 1], "end": [2, 3], "strides": [1, 1]}
        made = raw.StridedSliceAssign(**part, value=5.0)
        assert made.dtype.is_ref
        assert session.run(made).tolist() == [[0, 5, 5], [0, 5, 5], [0, 0, 0]]
        row = raw.StridedSliceAssign(ref=v, begin=[-1], end=[0], strides=[1], shrink_axis_mask=1,
                                     value=[1.0, 2.0, 3.0])  # fmt: skip
        assert session.run(row)[2].tolist() == [1, 2, 3]
        with pytest.raises(INVALID, match="Cannot broadcast"):
            session.run(raw.StridedSliceAssign(**part, value=tf.ones((3, 2))))
        same = raw.DebugGradientRefIdentity(input=v)
        assert session.run(tf.gradients(same * 3.0, v)[0]).tolist() == np.full((3, 3), 3).tolist()
        queue = raw.FIFOQueueV2(component_types=["float"])
        old = raw.FakeQueue(resource=queue)
        assert session.run(old).tolist() == [b"localhost", b"FIFOQueueV2"]
        session.run(raw.QueueEnqueueV2(handle=queue, components=[4.0]))
        assert session.run(raw.QueueDequeue(handle=old, component_types=["float"])) == [4.0]


def test_references_to_queues_tables_and_readers_are_their_names():
    with tf.Graph().as_default(), v1.Session() as session:
        queue = raw.FIFOQueue(component_types=["float"], shared_name="words")
        table = raw.HashTable(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="ids")
        for reference, name in ((queue, b"words"), (table, b"ids"), (raw.IdentityReader(), None)):
            found = session.run(reference).tolist()
            assert found == [b"localhost", name or b"IdentityReader"]


def test_a_reader_that_tensorflow_left_out():
    with tf.Graph().as_default(), v1.Session() as session:
        key, _ = v1.LMDBReader().read(v1.FIFOQueue(1, tf.string, [[]]))
        with pytest.raises(tf.errors.UnimplementedError, match="LMDB support is removed"):
            session.run(key)
    with pytest.raises(RuntimeError, match="eager"):
        v1.LMDBReader()
