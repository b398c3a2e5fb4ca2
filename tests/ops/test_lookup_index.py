"""Many keys of lookup tables at once: what the dictionary finds one by one."""

import numpy as np
import pytest

import penstock as tf

lookup = tf.lookup
KEYS = {
    "int64": np.array([-(2**63), 2**63 - 1, 0, -1, *range(5, 400, 3)], np.int64),
    "int32": np.arange(-60, 60, dtype=np.int32)[::-1],
    "bool": np.array([True, False]),
    "uint64": np.arange(2**63, 2**63 + 100, dtype=np.uint64),
    "text": np.array([b"", b"a", b"\x00", b"b" * 40, *[b"%d" % i for i in range(90)]], object),
}


def table_of(keys, values, default):
    made = lookup.experimental.MutableHashTable(keys.dtype, values.dtype, default)
    made.insert(keys, values)
    return made


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_many_keys_are_found_as_one_by_one(kind, shape, monkeypatch):
    keys = tf.constant(KEYS[kind])
    values = tf.reshape(tf.range(len(keys) * int(np.prod(shape)), dtype=tf.float32), (-1, *shape))
    default = tf.fill(shape, -1.0)
    others = KEYS["text"] if kind == "text" else np.arange(100).astype(KEYS[kind].dtype)
    wanted = np.concatenate([KEYS[kind], others, KEYS[kind][::-1], KEYS[kind][:50]] * 4)[::2]
    table = table_of(keys, values, default)
    found = [table.lookup(wanted).numpy() for _ in range(3)]  # the last ones by the index
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    expected = table_of(keys, values, default).lookup(wanted).numpy()
    assert expected.shape == (len(wanted), *shape)
    for each in found:
        np.testing.assert_array_equal(each, expected)
        assert each.dtype == expected.dtype


def test_changes_are_found_among_many_keys():
    table = lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    keys = tf.range(200, dtype=tf.int64)
    wanted = tf.concat([keys] * 3, 0)
    table.insert(keys, keys * 2)
    for _ in range(2):
        np.testing.assert_array_equal(table.lookup(wanted), np.tile(np.arange(200) * 2, 3))
    table.insert(keys[:1], [77])
    assert table.lookup(wanted).numpy()[0] == 77
    table.remove(keys[1:2])
    assert table.lookup(wanted).numpy()[1] == -1
    tf.raw_ops.LookupTableImportV2(
        table_handle=table.resource_handle, keys=keys[5:], values=keys[5:]
    )
    np.testing.assert_array_equal(table.lookup(wanted)[:7], [-1] * 5 + [5, 6])


def test_many_words_of_a_table_that_is_filled_once():
    words = [f"w{i}" for i in range(300)]
    filled = lookup.KeyValueTensorInitializer(words, tf.range(300, dtype=tf.int64))
    table = lookup.StaticHashTable(filled, -1)
    wanted = tf.constant([[w, w + "x"] for w in words])
    for _ in range(2):
        found = table.lookup(wanted).numpy()
        np.testing.assert_array_equal(found[:, 0], np.arange(300))
        assert (found[:, 1] == -1).all()


@pytest.mark.parametrize("native", ["0", "1"])
@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint64", "uint8", "bool"])
def test_changes_in_turn_leave_what_a_dictionary_has(native, shape, dtype, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", native)
    rng = np.random.default_rng(2)
    table = lookup.experimental.MutableHashTable(
        tf.as_dtype(dtype), tf.float32, np.full(shape, -1, np.float32)
    )
    held = {}
    top = 2 if dtype == "bool" else 200 if dtype == "uint8" else 900
    for turn in range(40):
        keys = rng.integers(0, top, rng.integers(0, 90)).astype(dtype)
        if dtype in ("int64", "uint64"):
            keys = keys * keys.dtype.type(1 << 50)  # alike but for the upper bits
        values = rng.normal(size=(len(keys), *shape)).astype(np.float32)
        if turn % 3 == 2:
            table.remove(keys)
            for key in keys.tolist():
                held.pop(key, None)
        else:
            table.insert(keys, values)
            held.update(zip(keys.tolist(), values, strict=True))
        assert table.size().numpy() == len(held)
        found = table.lookup(keys).numpy()
        wanted = [held.get(k, np.full(shape, -1)) for k in keys.tolist()]
        np.testing.assert_array_equal(found, np.array(wanted).reshape(len(keys), *shape))
        each = tf.constant(rng.normal(size=(len(keys), *shape)), tf.float32)
        found = tf.raw_ops.LookupTableFindV2(
            table_handle=table.resource_handle, keys=keys, default_value=each
        )
        wanted = [held.get(k, v) for k, v in zip(keys.tolist(), each.numpy(), strict=True)]
        np.testing.assert_array_equal(found, np.array(wanted).reshape(len(keys), *shape))
    keys, values = table.export()
    assert keys.dtype.name == dtype
    assert keys.numpy().tolist() == list(held)
    np.testing.assert_array_equal(values, np.array(list(held.values())).reshape(-1, *shape))


def test_a_table_made_with_the_library_works_on_without_it(monkeypatch):
    table = lookup.experimental.MutableHashTable(tf.int64, tf.string, "none")
    table.insert(tf.range(200, dtype=tf.int64), [f"v{i}" for i in range(200)])
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    table.insert(tf.constant([500], tf.int64), ["more"])
    table.remove(tf.constant([3, 3, 4], tf.int64))
    found = table.lookup(tf.constant([2, 3, 500], tf.int64))
    assert found.numpy().tolist() == [b"v2", b"none", b"more"]
    assert table.size().numpy() == 199
