"""The bundle format: against files that TensorFlow wrote, byte for byte, and against damage."""

import os
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import errors
from penstock.core.bundle import coding, paths, publish, slices, table
from penstock.core.bundle.merge import merge_bundles
from penstock.core.bundle.reader import BundleReader
from penstock.core.bundle.single_file import open_checkpoint, write_single_file
from penstock.core.bundle.writer import BundleWriter, write_index
from penstock.types import dtypes as dt

DATA = pathlib.Path(__file__).resolve().parents[2] / "data" / "checkpoints"
NUMBERS = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 "
    "complex128"
).split()


def value_of(dtype):
    if dtype == "string":
        return np.array([[b"", b"a"], [b"\x00\xff", b"long " * 60]], object)
    if dtype == "bool":
        return np.array([[True, False], [False, True]])
    return np.array([[0, 1], [2, 3]]).astype(dt.as_dtype(dtype).numpy_dtype)


def write(prefix, **tensors):
    writer = BundleWriter(prefix)
    for name, value in tensors.items():
        writer.add(name, np.asarray(value))
    writer.finish()


def same_files(ours, theirs):
    for suffix in (".index", ".data-00000-of-00001"):
        assert pathlib.Path(f"{ours}{suffix}").read_bytes() == (
            pathlib.Path(f"{theirs}{suffix}").read_bytes()
        ), suffix


# ---- what TensorFlow wrote --------------------------------------------------------------------


def test_reads_every_dtype():
    with BundleReader(DATA / "dtypes") as reader:
        assert set(reader.names()) == {*NUMBERS, "bool", "string"}
        for name in reader.names():
            value = reader.read(name)
            assert reader.info(name).dtype is dt.as_dtype(name)
            assert value.dtype == dt.as_dtype(name).numpy_dtype
            np.testing.assert_array_equal(value, value_of(name))


def test_writes_the_same_bytes(tmp_path):
    names = [*NUMBERS[:12], "bool", *NUMBERS[12:], "string"]
    write(tmp_path / "dtypes", **{name: value_of(name) for name in names})
    same_files(tmp_path / "dtypes", DATA / "dtypes")


def test_many_keys_share_prefixes(tmp_path):
    names = [f"layer_{i:03d}/{kind}" for i in range(200) for kind in ("kernel", "bias")]
    write(tmp_path / "many", **{n: np.int16(i) for i, n in enumerate(names)})
    same_files(tmp_path / "many", DATA / "many")
    with BundleReader(DATA / "many") as reader:
        assert reader.names() == sorted(names)
        assert [int(v) for v in reader.read_all(names)] == list(range(400))


def sliced_parts():
    rows = ("rows", (3, 2)), ("columns", (2, 2))
    return [
        (*rows[0], ((0, 2), (0, -1)), np.array([[0, 1], [2, 3]], np.int32)),
        (*rows[0], ((2, 1), (0, -1)), np.array([[4, 5]], np.int32)),
        (*rows[1], ((0, -1), (0, 1)), np.array([[0.0], [2.0]], np.float32)),
        (*rows[1], ((0, -1), (1, 1)), np.array([[1.0], [3.0]], np.float32)),
    ]


def test_slices(tmp_path):
    writer = BundleWriter(tmp_path / "sliced")
    for part in sliced_parts():
        writer.add_slice(*part)
    writer.finish()
    same_files(tmp_path / "sliced", DATA / "sliced")
    with BundleReader(DATA / "sliced") as reader:
        assert reader.names() == ["columns", "rows"]
        assert reader.read("rows").tolist() == [[0, 1], [2, 3], [4, 5]]
        assert reader.read("columns").tolist() == [[0.0, 1.0], [2.0, 3.0]]
        assert reader.read_slice("rows", (3, 2), ((1, 2), (1, 1))).tolist() == [[3], [5]]
        with pytest.raises(errors.InvalidArgumentError, match=r"spec \[3,3\].*\[3,2\]"):
            reader.read_slice("rows", (3, 3), ((0, 1), (0, -1)))


@pytest.mark.parametrize("name", ["v1", "v1_sliced"])
def test_older_format(tmp_path, name):
    with open_checkpoint(DATA / name) as reader:
        found = {n: reader.read(n) for n in reader.names()}
    if name == "v1_sliced":
        assert found["rows"].tolist() == [[0, 1], [2, 3], [4, 5]]
        parts = [(n, s, c, v, dt.from_numpy(v.dtype)) for n, s, c, v in sliced_parts()]
    else:
        for key, value in found.items():
            np.testing.assert_array_equal(value, value_of(key))
        order = [n for n in [*NUMBERS[:12], "bool", *NUMBERS[12:], "string"] if n in found]
        parts = [(n, (2, 2), None, value_of(n), dt.as_dtype(n)) for n in order]
    write_single_file(tmp_path / name, parts)
    assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


# ---- slices, keys -----------------------------------------------------------------------------


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=2))
def test_ordered_numbers_keep_their_order(pair):
    low, high = sorted(pair)
    if low < high:
        assert coding.ordered_signed(low) < coding.ordered_signed(high)


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_ordered_strings_keep_their_order(a, b):
    assert (a < b) == (coding.ordered_string(a) < coding.ordered_string(b))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("garbage", "Need least two elements"),
        ("4 x", "Expected a pair of numbers or '-' but got 'x'"),
        ("a 0,1", "Non numerical dimension"),
        ("4 4 0,1", "Mismatched ranks: 2 dimensions and 1"),
        ("4 3,2", r"axis 0 to end by 4, got 3 \+ 2 = 5"),
        ("4 0,0", "Expected a pair"),
        ("4 0,99999999999999999999", "Expected a pair"),
    ],
)
def test_bad_slices(spec, problem):
    with pytest.raises(errors.InvalidArgumentError, match=problem):
        slices.parse_spec(spec)


def test_slice_up_to_the_end_is_allowed():
    assert slices.parse_spec("4 3,1") == ((4,), ((3, 1),))


def test_missing_slices_are_named(tmp_path):
    writer = BundleWriter(tmp_path / "a")
    writer.add_slice("x", (4,), ((0, 2),), np.array([1, 2]))
    writer.finish()
    with BundleReader(tmp_path / "a") as reader:
        assert reader.read_slice("x", (4,), ((1, 1),)).tolist() == [2]
        with pytest.raises(errors.InvalidArgumentError, match=r"sufficient slices .* x .*1,2"):
            reader.read_slice("x", (4,), ((1, 2),))
        with pytest.raises(errors.InvalidArgumentError, match="sufficient slices"):
            reader.read("x")


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_part_of_any_cut(tmp_path_factory, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    whole = np.arange(np.prod(shape)).reshape(shape)
    cuts = sorted(data.draw(st.sets(st.integers(1, shape[0]), max_size=3)) | {shape[0]})
    prefix = tmp_path_factory.mktemp("cut") / "x"
    writer, begin = BundleWriter(prefix), 0
    rest = ((0, slices.WHOLE),) * (len(shape) - 1)
    for end in cuts:
        writer.add_slice("x", shape, ((begin, end - begin), *rest), whole[begin:end])
        begin = end
    writer.finish()
    wanted = []
    for n in shape:
        start = data.draw(st.integers(0, n - 1))
        wanted.append((start, data.draw(st.integers(1, n - start))))
    with BundleReader(prefix) as reader:
        np.testing.assert_array_equal(reader.read("x"), whole)
        part = reader.read_slice("x", shape, tuple(wanted))
    np.testing.assert_array_equal(part, whole[tuple(slice(a, a + n) for a, n in wanted)])


# ---- writing ----------------------------------------------------------------------------------


def test_large_tensors_on_several_threads(tmp_path):
    rng = np.random.default_rng(0)
    values = {f"v{i}": rng.random((3, 170_001)) for i in range(4)} | {"small": np.arange(3)}
    write(tmp_path / "a", **values)
    with BundleReader(tmp_path / "a") as reader:
        found = dict(zip(values, reader.read_all(list(values)), strict=True))
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value)
        assert found[name].flags.writeable


def test_many_blocks(tmp_path):
    names = {f"{i:06d}" * 20: np.int8(1) for i in range(4000)}
    write(tmp_path / "a", **names)
    assert (tmp_path / "a.index").stat().st_size > 2 * table.BLOCK_BYTES
    with BundleReader(tmp_path / "a") as reader:
        assert reader.names() == list(names)
    written = []
    builder = table.TableBuilder(written.append)
    keys = [os.urandom(300).hex().encode() for _ in range(2000)]
    for key in sorted(keys):
        builder.add(key, key[:9])
    builder.finish()
    read = table.Table(b"".join(written), "it")
    assert len(read._index) > 2
    assert [k for k, _ in read.items()] == sorted(keys)
    assert read.get(keys[7]) == keys[7][:9]
    assert read.get(keys[7] + b"x") is None


def test_refused_when_added(tmp_path):
    writer = BundleWriter(tmp_path / "a")
    writer.add("x", np.array(1))
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: x"):
        writer.add("x", np.array(1))
    with pytest.raises(errors.InvalidArgumentError, match="name of a tensor"):
        writer.add("", np.array(1))
    with pytest.raises(errors.UnimplementedError, match="'v': expected numbers or strings"):
        writer.add("v", np.array(None, object), dt.variant)
    writer.add_slice("y", (4,), ((0, 2),), np.array([1, 2]))
    with pytest.raises(errors.InvalidArgumentError, match=r"shape \(4,\) as before, got .*\(5,\)"):
        writer.add_slice("y", (5,), ((0, 2),), np.array([1, 2]))


def test_the_last_folder_is_made_and_no_other(tmp_path):
    write(tmp_path / "new" / "a", x=1)
    with BundleReader(tmp_path / "new" / "a") as reader:
        assert reader.read("x") == 1
    with pytest.raises(errors.NotFoundError, match=r"no/where; No such file"):
        write(tmp_path / "no" / "where" / "a", x=1)


def test_replacing_leaves_plain_names(tmp_path):
    for i in range(3):
        write(tmp_path / "a", x=np.full(5, i))
        with BundleReader(tmp_path / "a") as reader:
            assert reader.read("x").tolist() == [i] * 5
    assert sorted(os.listdir(tmp_path)) == ["a.data-00000-of-00001", "a.index"]


def test_a_failed_write_leaves_the_old_bundle(tmp_path, monkeypatch):
    write(tmp_path / "a", x=1)

    def fail(*unused):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publish, "_rename", fail)
    with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
        write(tmp_path / "a", x=2)
    monkeypatch.undo()
    with BundleReader(tmp_path / "a") as reader:
        assert int(reader.read("x")) == 1
    assert sorted(os.listdir(tmp_path)) == ["a.data-00000-of-00001", "a.index"]


class Stop(BaseException):
    pass


@pytest.mark.parametrize("target", ["new", "old"])
def test_stopped_before_any_change_of_names(tmp_path, monkeypatch, target):
    """Whatever step is the last one that happens, the bundle is the old one or the new one."""
    steps = 0
    while True:
        folder = tmp_path / str(steps)
        folder.mkdir()
        if target == "old":
            write(folder / "a", x=1)
        left = steps
        real = {name: getattr(os, name) for name in ("replace", "link", "remove")}

        def step(*arguments, name, real=real):
            nonlocal left
            if left == 0:
                raise Stop
            left -= 1
            return real[name](*arguments)

        with monkeypatch.context() as patched:
            for name in real:
                patched.setattr(os, name, lambda *a, name=name: step(*a, name=name))
            try:
                write(folder / "a", x=2)
                finished = True
            except Stop:
                finished = False
        if os.path.exists(folder / "a.index"):
            with BundleReader(folder / "a") as reader:
                assert int(reader.read("x")) in ((2,) if finished else (1, 2))
        else:
            assert target == "new"
            assert not finished
        write(folder / "a", x=3)  # and the next one finds its way
        with BundleReader(folder / "a") as reader:
            assert int(reader.read("x")) == 3
        if finished:
            break
        steps += 1
    assert steps >= (2 if target == "new" else 6)


# ---- merging ----------------------------------------------------------------------------------


def test_merge(tmp_path):
    part = tmp_path / "parts"
    part.mkdir()
    write(part / "0", x=np.arange(3))
    write(part / "1", y=np.arange(4))
    for i, cut in enumerate((((0, 2),), ((2, 2),))):
        writer = BundleWriter(part / f"s{i}")
        writer.add_slice("z", (4,), cut, np.array([i, i]))
        writer.finish()
    merge_bundles([str(part / n) for n in ("0", "1", "s0", "s1")], str(tmp_path / "all"))
    assert not part.exists()
    with BundleReader(tmp_path / "all") as reader:
        assert reader.shards == 4
        assert reader.read("x").tolist() == [0, 1, 2]
        assert reader.read("y").tolist() == [0, 1, 2, 3]
        assert reader.read("z").tolist() == [0, 0, 1, 1]
    write(tmp_path / "more", w=7)
    merge_bundles([str(tmp_path / "all"), str(tmp_path / "more")], str(tmp_path / "all"))
    with BundleReader(tmp_path / "all") as reader:
        assert reader.names() == ["w", "x", "y", "z"]
        assert reader.read("z").tolist() == [0, 0, 1, 1]
        assert int(reader.read("w")) == 7
    assert len(os.listdir(tmp_path)) == 6


def test_merge_refuses(tmp_path):
    write(tmp_path / "a", x=1)
    write(tmp_path / "b", x=2)
    gone, target = str(tmp_path / "gone"), str(tmp_path / "c")
    with pytest.raises(errors.InvalidArgumentError, match=r"allow_missing_files.*gone did not"):
        merge_bundles([gone], target)
    with pytest.raises(errors.InvalidArgumentError, match="At least one prefix"):
        merge_bundles([gone], target, allow_missing=True)
    with pytest.raises(errors.InvalidArgumentError, match=r"'x'.*two that differ"):
        merge_bundles([str(tmp_path / "a"), str(tmp_path / "b")], target)
    merge_bundles([gone, str(tmp_path / "a")], target, allow_missing=True)
    with BundleReader(target) as reader:
        assert int(reader.read("x")) == 1


# ---- damage -----------------------------------------------------------------------------------


def test_missing():
    with pytest.raises(errors.NotFoundError, match=r"any matching files for .*nope"):
        open_checkpoint(DATA / "nope")
    with BundleReader(DATA / "dtypes") as reader:
        assert not reader.has("zz")
        with pytest.raises(errors.NotFoundError, match=r"Key zz not found in checkpoint .*dtypes"):
            reader.read("zz")


def test_a_flipped_byte_is_named(tmp_path):
    write(tmp_path / "a", x=np.arange(4), y=np.arange(4), s=np.array([b"text"], object))
    path = tmp_path / "a.data-00000-of-00001"
    good = path.read_bytes()
    with BundleReader(tmp_path / "a") as reader:
        entries = {k.decode(): e for k, e in reader.entries().items()}
    for name, entry in entries.items():
        for at in range(entry.offset, entry.offset + entry.size):
            path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
            with BundleReader(tmp_path / "a") as reader:
                with pytest.raises(errors.DataLossError, match=rf"a\.data-.*, tensor '{name}'"):
                    reader.read(name)
                for other in set(entries) - {name}:
                    reader.read(other)
    path.write_bytes(good[:-1])
    with BundleReader(tmp_path / "a") as reader:
        with pytest.raises(errors.DataLossError, match=r"tensor 's': expected a file of at least"):
            reader.read("s")
    path.unlink()
    with BundleReader(tmp_path / "a") as reader:
        with pytest.raises(errors.NotFoundError, match=r"a\.data-00000-of-00001; No such file"):
            reader.read("x")


def test_every_flipped_byte_of_an_index_is_found(tmp_path):
    write(tmp_path / "a", x=np.arange(4), y=np.float32(1))
    path = tmp_path / "a.index"
    good = path.read_bytes()
    padding = range(len(good) - table.FOOTER_BYTES + 4, len(good) - 8)  # says nothing
    for at in set(range(len(good))) - set(padding):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises((errors.DataLossError, errors.UnimplementedError), match=r"a\.index"):
            BundleReader(tmp_path / "a")
    for size in range(len(good)):
        path.write_bytes(good[:size])
        with pytest.raises(errors.DataLossError, match=r"a\.index"):
            BundleReader(tmp_path / "a")


def read_everything(reader):
    for name in reader.names():
        reader.read(name)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_messages_that_lie(tmp_path_factory, data):
    """Entries with right checksums and wrong contents: an error, and little memory."""
    folder = tmp_path_factory.mktemp("lie")
    write(folder / "a", x=np.arange(4), s=np.array([b"a", b"b"], object))
    with BundleReader(folder / "a") as reader:
        entries = reader.entries()
    entry = entries[data.draw(st.sampled_from([b"x", b"s"]))]
    number = st.one_of(st.integers(-3, 40), st.sampled_from([2**31 - 1, 2**62, -(2**63)]))
    for field in data.draw(st.sets(st.sampled_from(["offset", "size", "shape", "slices"]))):
        if field == "shape":
            del entry.shape.dim[:]
            for size in data.draw(st.lists(number, max_size=70)):
                entry.shape.dim.add(size=size)
        elif field == "slices":
            extent = entry.slices.add().extent.add()
            extent.start, extent.length = data.draw(number), data.draw(number)
        else:
            setattr(entry, field, data.draw(number))
    entry.dtype = data.draw(st.sampled_from([entry.dtype, 1, 20, 21, 77]))
    write_index(str(folder / "a"), 1, entries)
    try:
        with BundleReader(folder / "a") as reader:
            read_everything(reader)
    except errors.OpError as problem:
        message = problem.message
        assert "/a" in message


@given(st.sampled_from(["dtypes", "sliced", "v1", "v1_sliced"]), st.data())
@settings(max_examples=150, deadline=None)
def test_any_damage_is_an_error_of_ours(tmp_path_factory, name, data):
    folder = tmp_path_factory.mktemp("fuzz")
    for path in DATA.glob(f"{name}*"):
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(0, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        (folder / path.name).write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        with open_checkpoint(folder / name) as reader:
            read_everything(reader)
    except errors.OpError:
        pass


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_block_is_refused_or_read(block):
    try:
        table._parse_block(block, "it")
    except errors.DataLossError as problem:
        assert problem.message.startswith("it")  # noqa: PT017


def test_paths_of_data(tmp_path):
    for name in ("a.data-00000-of-00001", "a.index", "ab.data-00000-of-00001", "a.data-0-of-1"):
        (tmp_path / name).touch()
    assert [os.path.basename(p) for p in paths.data_paths(str(tmp_path / "a"))] == [
        "a.data-00000-of-00001"
    ]


@pytest.mark.parametrize(
    ("shape", "part"), [((2, 3), ((0, -1), (0, -1))), ((2, 3), ((0, 2), (0, 3))), ((), ())]
)
def test_a_part_that_is_the_whole_is_written_as_such(shape, part, tmp_path):
    """TensorFlow finds a tensor of one part damaged otherwise."""
    value = np.ones(shape, np.float32)
    for name, add in (("a", True), ("b", False)):
        writer = BundleWriter(tmp_path / name)
        if add:
            writer.add("x", value)
        else:
            writer.add_slice("x", shape, part, value)
        writer.finish()
    index, other = ((tmp_path / f"{name}.index").read_bytes() for name in "ab")
    assert index == other
