"""Image files: what is decoded is what was encoded, and no bytes crash a decoder."""

import io
import re
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock as tf
from penstock.ops import image_formats

RNG = np.random.default_rng(0)
Y, X = np.mgrid[0:23, 0:37]
SMOOTH = np.stack([X * 6, Y * 11, (X + Y) * 4], -1).astype(np.uint8)
COLORS = RNG.integers(0, 256, (9, 11, 4)).astype(np.uint8)


def saved(image, kind, **options):
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(
        buffer, kind, **options
    )
    return buffer.getvalue()


FRAMES = [Image.fromarray(np.roll(SMOOTH, 5 * i, 1)) for i in range(3)]
FILES = {
    "png": saved(COLORS[..., :3], "PNG"),
    "jpeg": saved(SMOOTH, "JPEG"),
    "gif": saved(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:]),
    "bmp": saved(COLORS[..., :3], "BMP"),
    "webp": saved(FRAMES[0], "WEBP", save_all=True, append_images=FRAMES[1:], lossless=True),
}


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_there_and_back(channels, dtype):
    image = RNG.integers(0, np.iinfo(dtype).max, (7, 5, channels)).astype(dtype)
    for compression in (-1, 0, 9):
        data = tf.io.encode_png(image, compression)
        back = tf.image.decode_png(data, dtype=tf.as_dtype(dtype))
        np.testing.assert_array_equal(back, image)
    batch = tf.io.encode_png(np.stack([image, image[::-1]]))
    assert batch.shape == (2,)
    np.testing.assert_array_equal(tf.io.decode_png(batch[1], dtype=tf.as_dtype(dtype)), image[::-1])


def test_bits_change_with_the_dtype():
    deep = RNG.integers(0, 1 << 16, (3, 4, 3)).astype(np.uint16)
    np.testing.assert_array_equal(tf.io.decode_png(tf.io.encode_png(deep)), deep >> 8)
    found = tf.io.decode_png(FILES["png"], dtype=tf.uint16)
    np.testing.assert_array_equal(found, COLORS[..., :3].astype(int) * 257)
    found = tf.io.decode_image(tf.io.encode_png(deep), dtype=tf.float32)
    np.testing.assert_allclose(found, deep / 65535, atol=1e-6)
    found = tf.io.decode_image(FILES["bmp"], dtype=tf.float32)
    np.testing.assert_allclose(found, COLORS[..., :3] / 255, atol=1e-6)
    found = tf.io.decode_image(FILES["bmp"], dtype=tf.uint16)
    np.testing.assert_array_equal(found, COLORS[..., :3].astype(int) * 256)


@pytest.mark.parametrize("interlaced", [False, True])
def test_deep_png_of_any_filter(interlaced):
    """16 bits a channel, each row with another filter, against the filters' definition."""
    deep = RNG.integers(0, 1 << 16, (11, 9, 3)).astype(np.uint16)
    steps = (*image_formats._ADAM7, image_formats._LAST_PASS) if interlaced else ((0, 1, 0, 1),)
    raw = b"".join(filtered(deep[y::dy, x::dx]) for y, dy, x, dx in steps)
    file = bytearray(image_formats.png_file(9, 11, 16, 2, zlib.compress(raw)))
    if interlaced:
        file[28] = 1
        file[29:33] = struct.pack(">I", zlib.crc32(bytes(file[12:29])))
    np.testing.assert_array_equal(tf.io.decode_png(bytes(file), dtype=tf.uint16), deep)


def filtered(deep):
    """Rows with filters 0 to 4 in turn, byte by byte."""
    if not deep.size:
        return b""
    rows = deep.astype(">u2").tobytes()
    width = len(rows) // len(deep)
    above, out = bytes(width), b""
    for number in range(len(deep)):
        row = rows[number * width : (number + 1) * width]
        out += bytes([number % 5])
        for i, value in enumerate(row):
            a, c = (row[i - 6], above[i - 6]) if i >= 6 else (0, 0)
            b = above[i]
            paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            guess = (0, a, b, (a + b) // 2, paeth)[number % 5]
            out += bytes([(value - guess) % 256])
        above = row
    return out


def test_channels_asked_for():
    image = COLORS.astype(int)
    file = saved(COLORS, "PNG")
    np.testing.assert_array_equal(tf.io.decode_png(file), image)
    np.testing.assert_array_equal(tf.io.decode_png(file, 3), image[..., :3])
    gray = (image[..., :3] @ [9797, 19234, 3737]) >> 15
    np.testing.assert_array_equal(tf.io.decode_png(file, 1)[..., 0], gray)
    plain = saved(COLORS[..., 0], "PNG")
    wide = tf.io.decode_png(plain, 4).numpy()
    np.testing.assert_array_equal(wide[..., :3], np.repeat(image[..., :1], 3, -1))
    assert (wide[..., 3] == 255).all()
    palette = Image.fromarray(SMOOTH).quantize(8)
    wanted = np.asarray(palette.convert("RGB"))
    np.testing.assert_array_equal(tf.io.decode_png(saved(palette, "PNG")), wanted)


def test_jpeg():
    data = tf.io.encode_jpeg(SMOOTH, quality=95)
    assert tf.io.is_jpeg(data).numpy()
    assert tf.io.is_jpeg([data.numpy(), FILES["png"], b""]).numpy().tolist() == [True, False, False]
    found = tf.io.decode_jpeg(data).numpy()
    assert found.shape == SMOOTH.shape
    assert np.abs(found.astype(int) - SMOOTH).mean() < 6
    assert tf.io.extract_jpeg_shape(data).numpy().tolist() == [23, 37, 3]
    assert tf.io.extract_jpeg_shape(data, tf.int64).dtype == tf.int64
    cut = tf.io.decode_and_crop_jpeg(data, [3, 5, 6, 4])
    np.testing.assert_array_equal(cut, found[3:9, 5:9])
    for ratio, size in ((2, (12, 19)), (4, (6, 10)), (8, (3, 5))):
        assert tf.io.decode_jpeg(data, ratio=ratio).shape == (*size, 3)
    gray = tf.io.decode_jpeg(data, channels=1).numpy()
    assert np.abs(gray[..., 0] - found @ [0.299, 0.587, 0.114]).max() < 3
    assert tf.io.decode_jpeg(tf.io.encode_jpeg(SMOOTH[..., :1]), channels=3).shape == (23, 37, 3)


def test_what_jpeg_files_hold():
    sizes = [len(tf.io.encode_jpeg(SMOOTH, quality=q).numpy()) for q in (0, 30, 60, 100)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    varied = tf.raw_ops.EncodeJpegVariableQuality(images=SMOOTH, quality=60)
    assert len(varied.numpy()) == sizes[2]
    data = tf.io.encode_jpeg(
        SMOOTH, progressive=True, optimize_size=True, xmp_metadata="<x:xmpmeta/>", x_density=90
    )
    read = Image.open(io.BytesIO(data.numpy()))
    assert read.info["progressive"]
    assert b"<x:xmpmeta/>" in data.numpy()
    assert read.info["dpi"][0] == 90
    full = tf.io.encode_jpeg(SMOOTH, chroma_downsampling=False)
    assert len(full.numpy()) > len(tf.io.encode_jpeg(SMOOTH).numpy())


def test_a_jpeg_that_ends_early():
    whole = saved(np.tile(SMOOTH, (4, 4, 1)), "JPEG")
    half = whole[: len(whole) * 3 // 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="ends early"):
        tf.io.decode_jpeg(half)
    found = tf.io.decode_jpeg(half, try_recover_truncated=True, acceptable_fraction=0.1)
    assert found.shape == (92, 148, 3)
    np.testing.assert_array_equal(found[:16], tf.io.decode_jpeg(whole)[:16])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.io.decode_and_crop_jpeg(half, [0, 0, 92, 148])


@pytest.mark.parametrize("downsampled", [False, True])
@pytest.mark.parametrize("share", [0.15, 0.3, 0.8])
@pytest.mark.parametrize("progressive", [False, True])
def test_windows_of_jpeg_files_that_end_early(progressive, share, downsampled):
    """What scans do not tell of a block is guessed from those around, two rows of them below."""
    image = np.random.default_rng(3).integers(0, 256, (200, 40, 3)).astype(np.uint8)
    data = tf.io.encode_jpeg(image, progressive=progressive, chroma_downsampling=downsampled)
    early = data.numpy()[: int(len(data.numpy()) * share)]
    whole = tf.io.decode_jpeg(early, try_recover_truncated=True)
    for height in (1, 7, 8, 15, 16, 17, 32, 33):
        window = [0, 0, height, 40]
        found = tf.raw_ops.DecodeAndCropJpeg(
            contents=early, crop_window=window, try_recover_truncated=True
        )
        np.testing.assert_array_equal(found, whole[:height])


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_windows_of_jpeg_files(channels, progressive, ratio):
    """Of which the rows below are not decoded: colors at their last row are those of the image."""
    image = np.tile(SMOOTH, (4, 2, 1))[..., :channels]
    data = tf.io.encode_jpeg(image, progressive=progressive)
    whole = tf.io.decode_jpeg(data, ratio=ratio).numpy()
    for y, x, height, width in [(0, 0, 1, 1), (3, 2, 8, 5), (7, 0, 9, 18), (20, 4, 3, 3)]:
        cut = tf.io.decode_and_crop_jpeg(data, [y, x, height, width], ratio=ratio)
        np.testing.assert_array_equal(cut, whole[y : y + height, x : x + width])
    early = data.numpy()[: len(data.numpy()) * 3 // 4]
    if not progressive:
        np.testing.assert_array_equal(
            tf.io.decode_and_crop_jpeg(early, [0, 0, 2, 2], ratio=ratio), whole[:2, :2]
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="leaves the image of"):
        tf.io.decode_and_crop_jpeg(data, [0, 0, len(whole) + 1, 1], ratio=ratio)


def test_images_without_pixels_are_in_no_summary():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"PNG file: .* got 0 by 3 pixels"):
        tf.raw_ops.ImageSummary(tag="a", tensor=np.zeros((2, 0, 3, 3), np.float32))


def test_frames():
    frames = np.stack([np.asarray(f) for f in FRAMES])
    np.testing.assert_array_equal(tf.io.decode_webp(FILES["webp"])[..., :3], frames)
    assert tf.io.decode_gif(FILES["gif"]).shape == (3, 23, 37, 3)
    assert tf.io.decode_gif(FILES["png"]).shape == (1, 9, 11, 3)
    for kind in ("gif", "webp"):
        every = tf.io.decode_image(FILES[kind])
        first = tf.io.decode_image(FILES[kind], expand_animations=False)
        np.testing.assert_array_equal(every[0], first)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Got 3 frames"):
        tf.io.decode_png(FILES["gif"])
    one = saved(FRAMES[0], "GIF")
    np.testing.assert_array_equal(tf.io.decode_png(one), tf.io.decode_gif(one)[0])


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
def test_bmp(mode):
    image = Image.fromarray(COLORS).convert(mode)
    wanted = np.asarray(image).reshape(9, 11, -1)
    file = saved(image, "BMP")
    np.testing.assert_array_equal(tf.io.decode_bmp(file), wanted)
    color = np.broadcast_to(wanted[..., :3], (9, 11, 3))
    np.testing.assert_array_equal(tf.io.decode_bmp(file, 3), color)
    flipped = bytearray(file)
    flipped[22:26] = struct.pack("<i", -9)
    np.testing.assert_array_equal(tf.io.decode_bmp(bytes(flipped)), wanted[::-1])


def test_inside_a_function():
    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def read(data):
        image = tf.io.decode_png(data, channels=3)
        assert image.shape.as_list() == [None, None, 3]
        frames = tf.io.decode_image(data, dtype=tf.float64)
        assert frames.shape.rank is None
        return image, frames

    image, floats = read(FILES["png"])
    np.testing.assert_array_equal(image, COLORS[..., :3])
    np.testing.assert_allclose(floats, COLORS[..., :3] / 255, atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.io.decode_png(b""),
        lambda: tf.io.decode_png(b"no image at all"),
        lambda: tf.io.decode_png([FILES["png"]]),
        lambda: tf.io.decode_png(FILES["png"], 2),
        lambda: tf.io.decode_png(FILES["png"][:-40]),
        lambda: tf.io.decode_png(FILES["bmp"]),
        lambda: tf.io.decode_bmp(FILES["png"]),
        lambda: tf.io.decode_bmp(FILES["bmp"], 1),
        lambda: tf.io.decode_bmp(FILES["bmp"][:-100]),
        lambda: tf.io.decode_jpeg(FILES["jpeg"], 4),
        lambda: tf.io.decode_jpeg(FILES["jpeg"], ratio=3),
        lambda: tf.io.decode_jpeg(FILES["jpeg"], dct_method="SLOW"),
        lambda: tf.io.decode_and_crop_jpeg(FILES["jpeg"], [0, 0, 24, 1]),
        lambda: tf.io.decode_and_crop_jpeg(FILES["jpeg"], [0, 0, 1]),
        lambda: tf.io.decode_and_crop_jpeg(FILES["png"], [0, 0, 1, 1]),
        lambda: tf.io.extract_jpeg_shape(FILES["png"]),
        lambda: tf.io.decode_webp(FILES["webp"], 1),
        lambda: tf.io.decode_image(FILES["webp"], dtype=tf.float32),
        lambda: tf.io.decode_image(FILES["gif"], 4),
        lambda: tf.io.encode_jpeg(np.zeros((2, 2, 4), np.uint8)),
        lambda: tf.io.encode_jpeg(np.zeros((2, 2, 1), np.uint8), format="rgb"),
        lambda: tf.io.encode_jpeg(np.zeros((0, 2, 3), np.uint8)),
        lambda: tf.io.encode_jpeg(SMOOTH, quality=101),
        lambda: tf.raw_ops.EncodeJpegVariableQuality(images=SMOOTH, quality=101),
    ],
)
def test_what_is_refused(call):
    with pytest.raises(tf.errors.InvalidArgumentError):
        call()


@pytest.mark.parametrize("size", [(1 << 30, 1 << 30), (40000, 40000), (0, 5)])
def test_sizes_are_refused_before_memory_is_taken(size):
    file = image_formats.png_file(*size, 8, 2, b"")
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        tf.io.decode_png(file)
    bomb = image_formats.png_file(*size, 16, 2, b"")
    with pytest.raises(tf.errors.InvalidArgumentError, match="size"):
        tf.io.decode_image(bomb)


def test_few_bytes_do_not_take_the_memory_of_a_large_image():
    """Deflate makes at most 1,032 bytes of one."""
    rows = zlib.compress(bytes(301 * 3000), 9)
    whole = image_formats.png_file(300, 3000, 8, 0, rows)
    assert len(rows) < 301 * 3000 / 900
    assert tf.io.decode_png(whole).shape == (3000, 300, 1)
    for bits in (8, 16):
        file = image_formats.png_file(9000, 9000, bits, 2, rows)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"of \[9000, 9000\]: it is cut off"
        ):
            tf.io.decode_png(file)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from([*FILES, "deep"]),
    changes=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=6),
    cut=st.integers(0, 1 << 16),
)
def test_broken_files_are_refused_or_read(kind, changes, cut):
    deep = FILES.get(kind) or image_formats.png_file(
        3, 2, 16, 2, b"x\x9cc`\x00\x02\x00\x00%\x00\x01"
    )
    data = bytearray(deep)
    for at, value in changes:
        data[at % len(data)] = value
    if cut % 3 == 0:
        del data[cut % len(data) :]
    for decode in (tf.io.decode_image, tf.io.decode_gif, tf.io.extract_jpeg_shape):
        try:
            decode(bytes(data))
        except tf.errors.InvalidArgumentError:
            continue


def png_by(data, plain):
    """A PNG file's pixels, or what is said of it: read here, or by Pillow alone."""
    with pytest.MonkeyPatch.context() as patch:
        if not plain:
            patch.setattr(image_formats, "_plain_png", lambda *_: None)
        try:
            return image_formats.png(data, 0, False)
        except image_formats.BadImage as problem:
            return re.sub(r"0x[0-9a-f]+", "", str(problem))  # where an object of Pillow's is


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", range(6))
def test_small_png_files_are_as_pillow_reads_them(lanes, kind):
    """Rows of every filter, 5 for one that is none."""
    rows = RNG.integers(0, 256, (7, 1 + 5 * lanes)).astype(np.uint8)
    rows[:, 0] = kind
    color = {1: 0, 2: 4, 3: 2, 4: 6}[lanes]
    data = image_formats.png_file(5, 7, 8, color, zlib.compress(rows.tobytes()))
    found, wanted = png_by(data, True), png_by(data, False)
    if kind == 5:
        assert found == wanted
    else:
        assert found.shape == (7, 5, lanes)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_large_png_files_are_as_pillow_reads_them(lanes):
    """Rows of all filters, whose pieces are several."""
    rows = RNG.integers(0, 256, (300, 1 + 400 * lanes)).astype(np.uint8)
    rows[:, 0] %= 5
    color, content = {1: 0, 2: 4, 3: 2, 4: 6}[lanes], zlib.compress(rows.tobytes())
    data = image_formats.png_file(400, 300, 8, color, content)
    np.testing.assert_array_equal(png_by(data, True), png_by(data, False))
    image = np.cumsum(RNG.integers(0, 200, (300, 400, lanes)), 0).astype(np.uint8)
    data = saved(image[..., 0] if lanes == 1 else image, "PNG")
    assert data.count(b"IDAT") > 1
    np.testing.assert_array_equal(png_by(data, True), image)
    np.testing.assert_array_equal(png_by(tf.io.encode_png(image).numpy(), True), image)


def test_rows_of_png_files_are_in_as_many_chunks_as_it_takes(monkeypatch):
    monkeypatch.setattr(image_formats, "_MOST_IN_CHUNK", 100)
    image = RNG.integers(0, 256, (20, 30, 3)).astype(np.uint8)
    data = tf.io.encode_png(image).numpy()
    assert data.count(b"IDAT") > 9
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), image)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_broken_png_files_are_as_pillow_finds_them(choices):
    rows = np.arange(4 * 13, dtype=np.uint8).reshape(4, 13) % 5
    data = bytearray(image_formats.png_file(4, 4, 8, 2, zlib.compress(rows.tobytes())))
    for _ in range(choices.draw(st.integers(0, 2))):
        data[choices.draw(st.integers(0, len(data) - 1))] = choices.draw(st.integers(0, 255))
    given_ = bytes(data[: choices.draw(st.integers(0, len(data)))])
    found, wanted = png_by(given_, True), png_by(given_, False)
    if isinstance(found, str):
        assert found == wanted
    else:
        np.testing.assert_array_equal(found, wanted)
