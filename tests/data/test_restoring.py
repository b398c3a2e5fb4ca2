"""States of iterators that are damaged, or of another dataset: they are refused, or they serve."""

import os
import tracemalloc

import numpy as np
import pytest
from tests.data.checks import plain, take

import penstock as tf
from penstock import proto
from penstock.data import chunks, codec
from penstock.types import dtypes as dt

D = tf.data.Dataset
IGNORE = tf.data.experimental.ExternalStatePolicy.IGNORE
REFUSALS = (
    tf.errors.NotFoundError,
    tf.errors.InvalidArgumentError,
    tf.errors.DataLossError,
)


def slow(x):
    return tf.numpy_function(lambda y: y, [x], tf.int64)


def words():
    return D.from_tensor_slices([b"a", b"b", b"c", b"d", b"e", b"f"])


MAKERS = {
    "range": lambda: D.range(6),
    "map": lambda: D.range(9).map(lambda x: x + 1).map(slow),
    "rows": lambda: D.range(300).map(lambda x: x + 1).filter(lambda x: x > 3),
    "several calls": lambda: D.range(6).map(slow, num_parallel_calls=2),
    "shuffle": lambda: words().shuffle(3, seed=1),
    "prefetch": lambda: D.zip((D.range(6).batch(2), words().batch(2))).prefetch(2),
    "slow prefetch": lambda: D.range(6).map(slow).prefetch(2),
    "take": lambda: D.range(9).skip(2).take(5).repeat(2),
    "interleave": lambda: D.range(3).interleave(lambda x: D.range(x + 2), cycle_length=2),
    "in threads": lambda: D.range(3).interleave(
        lambda x: D.range(x + 2), cycle_length=2, num_parallel_calls=2
    ),
    "flat_map": lambda: D.range(3).flat_map(lambda x: words().take(2)),
    "window": lambda: D.range(7).window(3, 1).flat_map(lambda w: w.batch(3)),
    "groups": lambda: D.range(7).group_by_window(
        lambda x: x % 2, lambda k, w: w.batch(2), window_size=2
    ),
    "unique": lambda: words().concatenate(words()).unique(),
    "cache": lambda: words().cache(),
    "unbatch": lambda: D.range(7).batch(2).unbatch(),
    "rebatch": lambda: D.range(7).batch(3).rebatch(2),
    "scan": lambda: D.range(5).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s)),
    "choose": lambda: D.choose_from_datasets(
        [words(), words()], D.from_tensors(tf.constant(1, tf.int64)).repeat(3)
    ),
    "random": lambda: D.random(seed=3).take(4),
    "padded": lambda: D.range(5).map(lambda x: tf.range(x)).padded_batch(2),
    "shard": lambda: D.range(9).shard(2, 1).take_while(lambda x: x < 8),
    "generator": lambda: D.from_generator(
        lambda: iter(range(5)), output_signature=tf.TensorSpec([], tf.int64)
    ),
    "sampled": lambda: D.sample_from_datasets([words(), words()], [0.5, 0.5], seed=1),
    "counted": lambda: words().apply(tf.data.experimental.assert_cardinality(6)),
    "ragged": lambda: D.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []])).shuffle(2, 1),
}
WRONG = [
    None, True, -7, 10**12, 0.5, "text", [], {}, np.zeros([2, 3], np.float32),
    np.array(b"x", object), np.zeros([], np.int64), [np.zeros([], np.int64)] * 3,
    ValueError("x"),
]  # fmt: skip


def places(state, path=()):
    """The paths of all parts of a state."""
    yield path
    if isinstance(state, dict):
        for key in state:
            yield from places(state[key], (*path, key))
    elif isinstance(state, list):
        for number, each in enumerate(state[:3]):
            yield from places(each, (*path, number))


def changed(state, path, value):
    if not path:
        return value
    made = dict(state) if isinstance(state, dict) else list(state)
    made[path[0]] = changed(state[path[0]], path[1:], value)
    return made


@pytest.mark.parametrize("name", MAKERS)
def test_whatever_stands_in_a_state(name):
    saving, iterator = iter(MAKERS[name]()), iter(MAKERS[name]())
    for _ in range(3):
        next(saving)
        next(iterator)
    state = codec.decode(saving._state.save(IGNORE))
    rest = take(iter_at(MAKERS[name], state), 20)
    for path in list(places(state["stage"], ("stage",))):
        for wrong in WRONG:
            data = codec.encode(changed(state, path, wrong))
            before = iterator._state._stage
            refusal = refused(iterator, data)
            if refusal is None:
                take(iterator, 20)  # what fails is an error of TensorFlow's classes
                iterator._state.restore(codec.encode(state))
                continue
            assert ": expected " in refusal.message, refusal
            assert ", got " in refusal.message, refusal
            assert iterator._state._stage is before
    iterator._state.restore(codec.encode(state))
    assert take(iterator, 20) == rest


def refused(iterator, data):
    """The error of a state that is refused; None where it serves."""
    try:
        iterator._state.restore(data)
    except REFUSALS as problem:
        return problem
    return None


def iter_at(make, state):
    made = iter(make())
    made._state.restore(codec.encode(state))
    return made


PAIRS = {
    "batch": lambda: D.range(10).batch(2),
    "map": lambda: D.range(10).map(slow).batch(2),
    "scan": lambda: D.range(10).scan(0, lambda s, x: (s, x)).batch(2),
    "padded": lambda: D.range(10).padded_batch(2),
    "slices": lambda: D.from_tensor_slices(tf.range(10, dtype=tf.int64)).batch(2),
    "range": lambda: D.range(10),
    "shuffle": lambda: D.range(10).shuffle(3, seed=1),
    "repeat": lambda: D.range(10).batch(2).repeat(),
    "zip": lambda: D.zip((D.range(10).batch(2),)),
    "prefetch": lambda: D.range(10).batch(2).prefetch(2),
}


def test_the_state_of_another_dataset_is_not_found():
    for one, make in PAIRS.items():
        saving = iter(make())
        next(saving)
        data = saving._state.save(IGNORE)
        for two, other in PAIRS.items():
            iterator = iter(other())
            if one == two:
                iterator._state.restore(data)
                assert np.array_equal(plain(next(iterator)), plain(next(saving)))
                continue
            first, _ = plain(next(iterator)), plain(next(iter(other())))
            with pytest.raises(tf.errors.NotFoundError, match=r"Failed to restore.*expected.*got"):
                iterator._state.restore(data)
            again = iter(other())
            assert plain(next(again)) == first
            assert plain(next(iterator)) == plain(next(again))


def test_other_options_and_lengths_are_the_same_dataset():
    saving = iter(D.range(10).map(slow).batch(2))
    next(saving)
    options = tf.data.Options()
    options.deterministic = True
    iterator = iter(D.range(20).map(slow).batch(3).with_options(options))
    iterator._state.restore(saving._state.save(IGNORE))
    assert plain(next(iterator)) == [2, 3, 4]


def test_elements_of_other_dtypes_and_shapes_are_refused():
    def shuffled(values):
        return D.from_tensor_slices(values).shuffle(3, seed=1)

    saving = iter(shuffled(["a", "b", "c", "d"]))
    next(saving)
    data = saving._state.save(IGNORE)
    for values, why in (([1, 2, 3, 4], "expected int32, got object"), ([["a"]] * 4, "shape")):
        iterator = iter(shuffled(values))
        with pytest.raises(tf.errors.InvalidArgumentError, match=why):
            iterator._state.restore(data)
        assert len(take(iterator)) == 4


def test_what_a_refused_state_would_change_beside_the_stages_stays():
    dataset = D.range(9).shuffle(3, seed=5)
    both = D.zip((dataset, D.range(9)))
    saving = iter(both)
    next(saving)
    state = codec.decode(saving._state.save(IGNORE))
    state["stage"]["inputs"][1] = 99  # the second is wrong, when the first is restored already
    state["stage"]["inputs"][0]["random"]["generator"] = [1, 1, 0]
    seeds = dataset._variant_tensor._array.seeds
    before = seeds.save()[:2]
    iterator = iter(both)
    with pytest.raises(tf.errors.DataLossError, match="from 0 to 9, got 99"):
        iterator._state.restore(codec.encode(state))
    assert seeds.save()[:2] == before


def test_a_refused_state_removes_no_chunks(tmp_path):
    folder = str(tmp_path / "saved")
    source = D.range(4).snapshot(folder)
    both = D.zip((source, D.range(4)))
    iterator = iter(both)
    next(iterator)
    state = codec.decode(iterator._state.save(IGNORE))
    next(iterator)
    iterator._state.save(IGNORE)
    names = chunks_in(folder)
    assert len(names) == 2
    state["stage"]["inputs"][1] = "wrong"
    with pytest.raises(tf.errors.NotFoundError):
        iterator._state.restore(codec.encode(state))
    assert chunks_in(folder) == names


def chunks_in(folder):
    return sorted(
        name for _, _, names in os.walk(folder) for name in names if name.endswith(".snapshot")
    )


def test_earlier_states_are_read():
    saving = iter(D.range(9).batch(2))
    next(saving)
    state = codec.decode(saving._state.save(IGNORE))
    iterator = iter(D.range(9).batch(2))
    iterator._state.restore(codec.encode(state["stage"]))
    assert plain(next(iterator)) == [2, 3]


def huge(dtype, **values):
    """A TensorProto of a few bytes that claims a tensor of gigabytes."""
    message = proto.tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, **values)
    message.tensor_shape.dim.add(size=1 << 27)
    return message


@pytest.mark.parametrize(
    ("dtype", "values"),
    [(dt.int64, {"int64_val": [1]}), (dt.string, {"string_val": [b"x"]}), (dt.float32, {})],
)
def test_a_few_bytes_do_not_become_gigabytes(dtype, values):
    message = huge(dtype, **values)
    state = proto.struct_pb2.StructuredValue()
    state.tensor_value.CopyFrom(message)
    tracemalloc.start()
    try:
        with pytest.raises(tf.errors.DataLossError, match="fills at most 0 bytes"):
            codec.decode(state.SerializeToString())
        with pytest.raises(tf.errors.DataLossError, match="here: expected tensors"):
            chunks.component_from_bytes(message.SerializeToString(), dtype, 0, "here")
        variant = proto.tensor_pb2.VariantTensorDataProto(type_name="tensorflow::Tensor")
        variant.tensors.append(message)
        held = variant.SerializeToString()
        outer = proto.tensor_pb2.TensorProto(
            dtype=dt.variant.as_datatype_enum, tensor_content=bytes([len(held)]) + held
        )
        with pytest.raises(tf.errors.DataLossError, match="here: expected tensors"):
            chunks.component_from_bytes(outer.SerializeToString(), dt.variant, 0, "here")
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_repeated_elements_of_other_writers_are_read():
    message = proto.tensor_pb2.TensorProto(dtype=dt.int32.as_datatype_enum, int_val=[1, 2])
    message.tensor_shape.dim.add(size=4)
    found = chunks.component_from_bytes(message.SerializeToString(), dt.int32, 0, "here")
    assert found.tolist() == [1, 2, 2, 2]
