"""Operations on strings with the native library and without: the same results and refusals."""

import numpy as np
import pytest

import penstock as tf
from penstock.core import native_strings

ODD = [
    b"",
    b" ",
    b"a",
    b"\t a\x0b b\r\n",
    b"\xc3\xa9\xff",
    b"A,,B,",
    b",",
    b"ab" * 40,
    b"\x00z\x00",
]
LONG = [bytes(range(k % 251)) * (1 + k // 251) for k in range(0, 300, 7)] + [b"x" * 64, b"y" * 128]
TEXTS = np.array(ODD + LONG, object)
DECIMALS = [
    *(b"0", b"-0.0", b"+1.5", b" 12 ", b"1e3", b"-2.5E-3", b".5", b"5.", b"123456789.123456789"),
    *(b"16777217", b"16777216.9999999999", b"3.4028236e38", b"1e-46", b"9007199254740993"),
]  # among them what lies in the middle of two floats


def ngrams(x, **options):
    """Bigrams and more of rows of no string, one, two, three and many."""
    many = np.concatenate([x, x, x, [b"a", b"bc", b"", b"\x00"] * 20])
    splits = [0, 0, 1, 3, 6, 6, len(many)]
    given = {"left_pad": "", "right_pad": "", "pad_width": 0, "preserve_short_sequences": False}
    given.update(options)
    return tf.raw_ops.StringNGrams(
        data=many, data_splits=splits, separator="--", ngram_widths=[2, 1, 4], **given
    )


def segments(x):
    many = np.concatenate([x, [b"a", b"", b"b"] * 40])
    return tf.strings.unsorted_segment_join(many, np.arange(len(many)) * 7 % 50, 60, "-")


def lines(x):
    """Records without ends of lines and quotes, of fields that are empty or not."""
    texts = [t.translate(None, b'\n\r",') for t in x.numpy()] * 9
    records = [b"%s,%d,%s" % (t, i, b"" if i % 3 else b"%d.5" % i) for i, t in enumerate(texts)]
    return tf.io.decode_csv(records, [["none"], [0], [2.5]])


def valid(x):
    """The same bytes as Latin letters, with others that take two to four bytes."""
    return tf.constant([t.decode("latin-1") + "\u20ac\U0001f600" for t in x.numpy()], tf.string)


def characters(x):
    return tf.raw_ops.UnicodeDecodeWithOffsets(input=x, input_encoding="UTF-8")


def encoded(x, encoding):
    splits, points, _ = characters(valid(x))
    return tf.raw_ops.UnicodeEncode(
        input_values=points, input_splits=splits, output_encoding=encoding
    )


def scalars(x):
    """Summaries of numbers, with tags of ASCII and others, one of them merged with another."""
    tags = [b"", b"a", b"b" * 300]
    one = tf.raw_ops.ScalarSummary(tags=tags, values=[1.5, np.inf, -0.0])
    wide = tf.constant([0.1, 1e300, -2.0], tf.float64)
    other = tf.raw_ops.ScalarSummary(tags=[b"c", b"d", "\u00e9"], values=wide)
    return tf.stack([one, other, tf.raw_ops.MergeSummary(inputs=[one, other]), *x[:1]])


CALLS = {
    "ngrams": ngrams,
    "ngrams, padded": lambda x: ngrams(x, left_pad="LEFT", right_pad="R", pad_width=-1),
    "ngrams, padded by one": lambda x: ngrams(x, left_pad="LEFT", right_pad="R", pad_width=1),
    "ngrams, short rows too": lambda x: ngrams(
        x, preserve_short_sequences=True, left_pad="L", pad_width=3
    ),
    "segments": segments,
    "records": lambda x: tuple(lines(x)),
    "lengths": lambda x: tf.strings.length(x),
    "characters": lambda x: tf.strings.length(x, unit="UTF8_CHAR"),
    "lower": lambda x: tf.strings.lower(x),
    "upper": lambda x: tf.strings.upper(x),
    "strip": lambda x: tf.strings.strip(x),
    "farm": lambda x: tf.strings.to_hash_bucket_fast(x, 1 << 40),
    "sip": lambda x: tf.strings.to_hash_bucket_strong(x, 1 << 40, [-5, 7]),
    "murmur": lambda x: tf.strings.to_hash_bucket(x, 1 << 40),
    "part": lambda x: tf.strings.substr(tf.strings.join([x, "abcd"]), 2, 5),
    "join": lambda x: tf.strings.join([x, "middle", x], separator="-"),
    "split": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=b""),
    "split at": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=b","),
    "split at two": lambda x: tf.raw_ops.StringSplitV2(input=x, sep=b"ba"),
    "base 64": lambda x: tf.io.encode_base64(x),
    "base 64, padded": lambda x: tf.io.encode_base64(x, pad=True),
    "out of base 64": lambda x: tf.io.decode_base64(tf.io.encode_base64(x)),
    "out of padded": lambda x: tf.io.decode_base64(tf.io.encode_base64(x, pad=True)),
    "cut or padded": lambda x: tf.io.decode_raw(x, tf.int16, fixed_length=6),
    "turned": lambda x: tf.io.decode_raw(x, tf.int32, little_endian=False, fixed_length=12),
    "of one size": lambda x: tf.io.decode_raw(
        tf.strings.substr(tf.strings.join([x, "abcd"]), 0, 4), tf.int32
    ),
    "plain match": lambda x: tf.strings.regex_full_match(x, "ab"),
    "match at the beginning": lambda x: tf.strings.regex_full_match(x, "a.*"),
    "match at the end": lambda x: tf.strings.regex_full_match(x, ".*b"),
    "match anywhere": lambda x: tf.strings.regex_full_match(x, ".*b.*"),
    "buckets": lambda x: tf.strings.to_hash_bucket_fast(x, 7),
    "keyed buckets": lambda x: tf.strings.to_hash_bucket_strong(x, (1 << 63) - 1, [-5, 7]),
    "characters of UTF-8": lambda x: tuple(characters(valid(x))),
    "characters of bytes": lambda x: tuple(characters(x)),
    "UTF-16": lambda x: tf.strings.unicode_transcode(valid(x), "UTF-8", "UTF-16-BE"),
    "UTF-32 of bytes": lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-32-BE"),
    "UTF-8 of characters": lambda x: encoded(x, "UTF-8"),
    "UTF-16 of characters": lambda x: encoded(x, "UTF-16-BE"),
    "UTF-32 of characters": lambda x: encoded(x, "UTF-32-BE"),
    "scalars": scalars,
    "split, no empty": lambda x: tf.raw_ops.StringSplit(input=x, delimiter=b","),
}


def arrays(result):
    parts = result if isinstance(result, tuple) else [result]
    return [part.numpy() for part in parts]


def both(call, monkeypatch):
    """What a call gives without the library, and with it."""
    found = []
    for switch in "01":
        monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", switch)
        found.append(arrays(call()))
    return zip(*found, strict=True)


@pytest.fixture(autouse=True)
def needs_the_library():
    if native_strings.LIBRARY.state().library is None:
        pytest.skip("the library was not built")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-3], TEXTS[:0]], ids=["all", "strided", "none"])
def test_results_are_python_s(name, texts, monkeypatch):
    for slow, fast in both(lambda: CALLS[name](tf.constant(texts, tf.string)), monkeypatch):
        np.testing.assert_array_equal(slow, fast)
        assert slow.dtype == fast.dtype
        assert slow.shape == fast.shape


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
def test_numbers_are_python_s(dtype, monkeypatch):
    texts = DECIMALS if dtype[0] == "f" else [b"0", b"-7", b" +12 ", b"2147483647"]
    texts = [t for t in texts if dtype[0] != "u" or b"-" not in t]
    for slow, fast in both(lambda: tf.strings.to_number(texts, dtype), monkeypatch):
        np.testing.assert_array_equal(slow, fast)
        np.testing.assert_array_equal(np.signbit(slow), np.signbit(fast))


REALS = [
    *(0.0, -0.0, 0.5, 1.5, 2.5, 0.0000005, 0.0000015, -1e-9, 5e-324, 123456.789, 0.1, 1 / 3, 1e-5),
    *(2.0**39 - 2**-13, -(2.0**39), 0.125, 0.375, 1e11, np.inf, -np.inf, np.nan, -np.nan),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("precision", [-1, 0, 1, 2, 7, 12])
def test_decimals_are_python_s(dtype, precision, monkeypatch):
    random = np.random.default_rng(4).standard_normal(500) * 10.0 ** np.arange(-10, 10).repeat(25)
    for values in (REALS, random, [1e13, 2.0**40]):
        x = tf.cast(tf.constant(values, tf.float64), dtype)
        for slow, fast in both(lambda x=x: tf.strings.as_string(x, precision), monkeypatch):
            np.testing.assert_array_equal(slow, fast)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_whole_numbers_are_python_s(dtype, monkeypatch):
    limits = np.iinfo(dtype)
    x = np.array([0, 1, 10, 99, limits.min, limits.max], dtype)
    for slow, fast in both(lambda: tf.strings.as_string(x), monkeypatch):
        np.testing.assert_array_equal(slow, fast)


@pytest.mark.parametrize("text", [b"nan", b"-inf", b"0x1p3", b"1_0", b"", b"1e", b"--1", b"1 2"])
def test_other_texts_are_left_to_python(text, monkeypatch):
    def outcome():
        try:
            return tf.strings.to_number([b"1", text]).numpy().tobytes()
        except tf.errors.InvalidArgumentError as problem:
            return str(problem).splitlines()[0]

    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "1")
    assert native_strings.numbers(np.array([b"1", text], object), np.dtype("f4")) is None
    with_library = outcome()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    assert outcome() == with_library


@pytest.mark.parametrize(
    "text", [b"A", b"A===", b"====", b"QQ=", b"Q+Q=", b"QQ==QQ==", b"QR", b"Q Q="]
)
def test_what_is_not_base_64_is_left_to_python(text, monkeypatch):
    def outcome():
        try:
            return tf.io.decode_base64([b"QUI", text]).numpy().tolist()
        except tf.errors.InvalidArgumentError as problem:
            return str(problem).splitlines()[0]

    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "0")
    without = outcome()
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", "1")
    assert outcome() == without


def test_raw_numbers_of_strings_that_differ_in_size_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="element 1 has size 3 != 4"):
        tf.io.decode_raw([b"abcd", b"abc"], tf.int32)
    assert tf.io.decode_raw(b"ab", tf.uint8).numpy().tolist() == [97, 98]


def test_integers_out_of_range_are_refused():
    for text in ("2147483648", "-2147483649", "99999999999999999999"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            tf.strings.to_number(text, tf.int32)


def test_a_part_that_begins_behind_a_string_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"pos 3 out of range.*at index 1"):
        tf.strings.substr(["abcd", "ab"], 3, 1)


def test_what_is_no_string_is_no_crash():
    with pytest.raises(TypeError):
        native_strings.lengths(np.array([b"a", None], object), False)


def test_more_than_memory_holds_is_an_error_not_the_end_of_the_process():
    combine = native_strings.LIBRARY.function("combine")
    if combine is None:
        pytest.skip("this installation has no native library")
    texts, out = np.array([b"a"], object), np.empty(1, object)
    with pytest.raises(MemoryError):
        combine(texts, 1, np.zeros(1, np.int64), 1 << 60, b",", 1, out)


@pytest.mark.parametrize("given", [{"ngram_widths": [1 << 31]}, {"pad_width": -(1 << 31) - 1}])
def test_widths_of_ngrams_are_int32(given):
    options = {"ngram_widths": [2], "pad_width": -1, "left_pad": "", "right_pad": "", **given}
    ((name, number),) = ((k, np.ravel(v)[0]) for k, v in given.items())
    words = f"Attr {name} has value {number} out of range for an int32"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.raw_ops.StringNGrams(
            data=["a"] * 100, data_splits=[0, 100], separator="", preserve_short_sequences=False,
            **options,
        )  # fmt: skip


@pytest.mark.parametrize("native", [True, False])
def test_empty_strings_at_the_beginning_of_a_segment_leave_no_separator(native, monkeypatch):
    monkeypatch.setenv("PENSTOCK_NATIVE_KERNELS", str(int(native)))
    texts = [b"", b"", b"a", b"", b"b", b""] + [b""] * 100  # TensorFlow's: ",,b," after "a"
    ids = [0, 0, 0, 0, 0, 0] + [1] * 100
    found = tf.strings.unsorted_segment_join(texts, ids, 2, separator=",")
    assert found.numpy().tolist() == [b"a,,b,", b""]


def test_summaries_that_are_not_of_numbers_are_merged_in_python(monkeypatch):
    one = tf.raw_ops.ScalarSummary(tags="a", values=1.0)
    other = tf.raw_ops.HistogramSummary(tag="b", values=[1.0, 2.0])
    call = lambda: tf.stack([tf.raw_ops.MergeSummary(inputs=[one, other])])  # noqa: E731
    for slow, fast in both(call, monkeypatch):
        np.testing.assert_array_equal(slow, fast)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a"):
        tf.raw_ops.MergeSummary(inputs=[one, one])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.raw_ops.MergeSummary(inputs=[one, b"\x0a\xff"])


@pytest.mark.parametrize("point", [-1, 0xD800, 0xDFFF, 0x110000])
@pytest.mark.parametrize("policy", ["replace", "ignore"])
def test_code_points_of_no_character_are_left_to_python(point, policy, monkeypatch):
    def call():
        return tf.raw_ops.UnicodeEncode(
            input_values=[65, point, 66], input_splits=[0, 1, 1, 3], output_encoding="UTF-8",
            errors=policy,
        )  # fmt: skip

    for slow, fast in both(call, monkeypatch):
        np.testing.assert_array_equal(slow, fast)


@pytest.mark.parametrize("splits", [[1, 3], [0, 2], [0, 3, 2, 3], [0, 4, 3], [0, -1, 3]])
def test_wrong_splits_of_characters_are_refused(splits):
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_splits"):
        tf.raw_ops.UnicodeEncode(
            input_values=[65, 66, 67], input_splits=splits, output_encoding="UTF-8"
        )
