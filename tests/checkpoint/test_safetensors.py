"""safetensors files; the package belongs to an extra, so most tests need it installed."""

import importlib.util

import numpy as np
import pytest

import penstock as tf

installed = importlib.util.find_spec("safetensors") is not None
needs = pytest.mark.skipif(not installed, reason="safetensors is not installed")
save = tf.train.experimental.save_safetensors
load = tf.train.experimental.load_safetensors


@pytest.mark.skipif(installed, reason="safetensors is installed")
def test_the_extra_is_named(tmp_path):
    for call in (lambda: save({}, tmp_path / "a"), lambda: load(tmp_path / "a")):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'penstock\[models\]'"):
            call()


@needs
def test_both_ways(tmp_path):
    kinds = (
        "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64"
    )
    tensors = {k: tf.cast(tf.constant([[0, 1, 1]]), k) for k in kinds.split()}
    tensors["scalar"], tensors["empty"] = tf.constant(2.0), tf.zeros([0, 3])
    path = save(tensors, tmp_path / "a.safetensors", {"of": "a test"})
    found = load(path)
    assert set(found) == set(tensors)
    for name, value in tensors.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)


@needs
def test_modules(tmp_path):
    module = tf.Module()
    module.layers = [tf.Variable([1.0, 2.0]), {"w": tf.Variable(3)}]
    path = save(module, str(tmp_path / "a"))
    assert set(load(path)) == {"layers.0", "layers.1.w"}
    module.layers[0].assign([0.0, 0.0])
    load(path, into=module)
    assert module.layers[0].numpy().tolist() == [1.0, 2.0]
    module.layers.append(tf.Variable(1.0))
    with pytest.raises(KeyError, match=r"expected a tensor 'layers\.2'"):
        load(path, into=module)
    with pytest.raises(ValueError, match=r"\(2,\) when .* \(1,\)"):
        load(path, into={"layers.0": tf.Variable([1.0])})


@needs
def test_refused(tmp_path):
    with pytest.raises(TypeError, match=r"tensor 's': expected one of .* got string"):
        save({"s": tf.constant("text")}, tmp_path / "a")
    with pytest.raises(TypeError, match="got list"):
        save([1], tmp_path / "a")
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        load(tmp_path / "none")
    (tmp_path / "bad").write_bytes(b"\xff" * 40)
    with pytest.raises(tf.errors.DataLossError, match="bad: expected a safetensors file"):
        load(tmp_path / "bad")
