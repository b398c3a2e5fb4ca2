"""JPEG XL files: sizes are read here, pixels by an optional package that the tests stand in for."""

import sys
import types

import numpy as np
import pytest

import penstock as tf
from penstock.core import lazy
from penstock.ops import image_jxl
from penstock.ops.image_formats import BadImage

# 2 rows of 4 pixels, red, green and blue: 0, 10, 20, ... 230.
COLORS = (
    b"\xff\n\x08p\x10\t\x08\x00\x01\x00\x88\x00K\x18\x8b\x15\x01\x12\x9e\x186q\x0c\xf5)\x85_ \x10"
    b"\x00\x1e\xff/]\x93rJ\xa3\xc1\xac\x06\xea1\x92\nI"
)
BOXES = (
    b"\x00\x00\x00\x0cJXL \r\n\x87\n\x00\x00\x00\x14ftypjxl \x00\x00\x00\x00jxl \x00\x00\x006jxlc"
    + COLORS
)
VALUES = (np.arange(24, dtype=np.uint8) * 10).reshape(2, 4, 3)
HUGE = b"\xff\x0a" + (0b111 << 1 | (2**30 - 1) << 3 | 1 << 33).to_bytes(8, "little")


class Decoder:
    """Stands for the package's: gives VALUES for COLORS, refuses the rest."""

    def __init__(self, num_threads):
        assert num_threads == 0

    def __call__(self, data):
        if data not in (COLORS, BOXES):
            raise RuntimeError("Generic Error.\nPlease build")
        info = types.SimpleNamespace(mode="RGB", width=4, height=2)
        return False, info, VALUES.tobytes(), b"", []


@pytest.fixture
def decoder(monkeypatch):
    monkeypatch.setitem(lazy.pillow_jxl.__dict__, "Decoder", Decoder)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        (COLORS, (2, 4)),
        (BOXES, (2, 4)),
        (bytes.fromhex("ff0a9840100908000100650f"), (20, 30)),
        (bytes.fromhex("ff0a58090e80a0b811080401"), (300, 8)),
        (bytes.fromhex("ff0a3a10e84f804808020100"), (520, 640)),
        (bytes.fromhex("ff0a0300880408000100c808"), (16, 8)),
    ],
)
def test_sizes(header, wanted):
    assert image_jxl.size(header) == wanted


def test_a_codestream_in_parts():
    head, tail = COLORS[:5], COLORS[5:]
    start = BOXES[: BOXES.index(b"\x00\x00\x006jxlc")]
    parts = [(index.to_bytes(4, "big") + part) for index, part in enumerate((head, tail))]
    boxes = b"".join((8 + len(p)).to_bytes(4, "big") + b"jxlp" + p for p in parts)
    assert image_jxl.size(start + boxes) == (2, 4)


@pytest.mark.usefixtures("decoder")
def test_pixels():
    for data in (COLORS, BOXES):
        for read in (tf.io.decode_jxl, tf.image.decode_jxl, tf.io.decode_image, tf.io.decode_png):
            np.testing.assert_array_equal(read(data), VALUES)
        np.testing.assert_array_equal(tf.io.decode_jxl(data, channels=3), VALUES)
    for channels in (1, 4):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"requested, {channels}, .* of 3"):
            tf.io.decode_jxl(COLORS, channels=channels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="only supports uint8"):
        tf.io.decode_image(COLORS, dtype=tf.float32)


@pytest.mark.usefixtures("decoder")
@pytest.mark.parametrize(
    "data", [b"", b"abc", COLORS[:2], COLORS[:5], COLORS[:-1], BOXES[:40], BOXES[:12], HUGE]
)
def test_broken_and_huge_files(data):
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_jxl(data)


def test_a_huge_size_is_refused_before_anything_is_decoded():
    assert image_jxl.size(HUGE) == (2**30, 2**30)
    with pytest.raises(BadImage, match="expected at most 67108864 pixels"):
        image_jxl.jxl(HUGE, 0)


def test_without_the_package(monkeypatch):
    monkeypatch.delitem(lazy.pillow_jxl.__dict__, "Decoder", raising=False)
    monkeypatch.setitem(sys.modules, "pillow_jxl", None)
    with pytest.raises(tf.errors.UnimplementedError, match="pip install pillow-jxl-plugin"):
        tf.io.decode_jxl(COLORS)
    png = tf.io.encode_png(VALUES)
    np.testing.assert_array_equal(tf.io.decode_jxl(png), VALUES)


def test_its_shape_is_known_before():
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(data):
        return tf.io.decode_jxl(data, channels=3)

    assert read.get_concrete_function().outputs[0].shape.as_list() == [None, None, 3]
