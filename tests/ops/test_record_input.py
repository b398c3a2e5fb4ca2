"""`raw_ops.RecordInput`: each epoch gives every record once, in an order that the seed decides."""

import pytest

import penstock as tf
from penstock import errors

raw = tf.raw_ops


def write(path, names, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for name in names:
            writer.write(name)


@pytest.fixture
def folder(tmp_path):
    for letter in "abc":
        write(tmp_path / f"{letter}.rec", [f"{letter}{i}" for i in range(10)])
    return tmp_path


ALL = sorted(f"{letter}{i}".encode() for letter in "abc" for i in range(10))


def taken(folder, count=30, **attrs):
    """A batch of the first records that a function of its own gives."""
    pattern = attrs.pop("file_pattern", f"{folder}/*.rec")

    @tf.function
    def read():
        return raw.RecordInput(file_pattern=pattern, batch_size=count, **attrs)

    found = read()
    assert (found.dtype, found.shape) == (tf.string, (count,))
    return found.numpy().tolist()


@pytest.mark.parametrize(
    "attrs",
    [{}, {"file_parallelism": 1}, {"file_buffer_size": 4}, {"file_buffer_size": -1},
     {"file_shuffle_shift_ratio": 0.5}],
)  # fmt: skip
def test_each_epoch_gives_every_record_once(folder, attrs):
    found = taken(folder, 90, **attrs)
    epochs = [found[i : i + 30] for i in (0, 30, 60)]
    assert [sorted(epoch) for epoch in epochs] == [ALL] * 3
    assert epochs[0] != epochs[1] != epochs[2]
    assert found == taken(folder, 90, **attrs)
    assert found != taken(folder, 90, file_random_seed=7, **attrs)


def test_a_buffer_of_one_keeps_the_order_of_files(folder):
    one = taken(folder, file_parallelism=1, file_buffer_size=1)
    order = [name[:1] for name in one[::10]]
    assert one == [b"%s%d" % (letter, i) for letter in order for i in range(10)]
    shifted = taken(folder, file_parallelism=1, file_buffer_size=1, file_shuffle_shift_ratio=0.34)
    assert shifted == one[10:] + one[:10]
    in_turn = taken(folder, file_parallelism=2, file_buffer_size=1)
    first, second, last = order
    assert in_turn[:4] == [first + b"0", second + b"0", first + b"1", second + b"1"]
    assert in_turn[20:] == [b"%s%d" % (last, i) for i in range(10)]


def test_it_goes_on_where_it_was(folder):
    attrs = {"file_pattern": f"{folder}/*.rec", "batch_size": 3}
    expected = taken(folder, 6)
    eager = [raw.RecordInput(**attrs).numpy().tolist() for _ in range(2)]
    assert eager[0] + eager[1] == expected
    with tf.Graph().as_default():
        first, second = raw.RecordInput(**attrs), raw.RecordInput(**attrs)
        assert first.shape == (3,)
        for _ in range(2):  # a session begins anew; each operation has a stream of its own
            with tf.compat.v1.Session() as session:
                steps = [session.run([first, second]) for _ in range(2)]
                for i in range(2):
                    assert [*steps[0][i], *steps[1][i]] == expected


def test_patterns_and_compression(folder):
    several = taken(folder, 20, file_pattern=f"{folder}/a.rec,{folder}/b.rec,{folder}/nothing")
    assert sorted(several) == ALL[:20]
    write(folder / "z.gz", "012", "GZIP")
    packed = taken(folder, 3, file_pattern=f"{folder}/z.gz", compression_type="GZIP")
    assert sorted(packed) == [b"0", b"1", b"2"]
    assert taken(folder, 0) == []


def test_files_that_cannot_be_read(folder):
    with pytest.raises(errors.NotFoundError, match=r"Found no files at .*nothing"):
        taken(folder, file_pattern=f"{folder}/nothing*")
    whole = (folder / "a.rec").read_bytes()
    (folder / "cut").write_bytes(whole[:-5])
    cut = {"file_pattern": f"{folder}/cut", "batch_size": 3}
    for _ in range(2):  # what was read before the damage is not given either
        with pytest.raises(errors.DataLossError, match="cut"):
            raw.RecordInput(**cut)
    (folder / "cut").write_bytes(whole)
    assert len(set(raw.RecordInput(**cut).numpy())) == 3
    (folder / "empty").write_bytes(b"")
    with pytest.raises(errors.OutOfRangeError, match="expected records in its files, got none"):
        taken(folder, file_pattern=f"{folder}/empty")


@pytest.mark.parametrize(
    ("attrs", "text"),
    [({"batch_size": -1}, "batch_size >= 0, got -1"),
     ({"file_parallelism": 0}, "file_parallelism >= 1, got 0"),
     ({"file_buffer_size": 0}, "file_buffer_size other than 0"),
     ({"compression_type": "LZ4"}, "compression_type one of")],
)  # fmt: skip
def test_attributes_that_cannot_be(folder, attrs, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        raw.RecordInput(file_pattern=f"{folder}/*.rec", **attrs)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        raw.RecordInput(file_pattern=f"{folder}/*.rec", **attrs)
