"""Strings joined, split, in n-grams and in other encodings: the values are TensorFlow's."""

import numpy as np
import pytest

import penstock as tf

s, v1, raw = tf.strings, tf.compat.v1, tf.raw_ops
BAD = tf.errors.InvalidArgumentError
M = [["a", "b"], ["c", "d"]]


def value(tensor):
    if isinstance(tensor, tf.RaggedTensor):
        return tensor.to_list()
    return tensor.numpy().tolist() if tensor.shape.rank else tensor.numpy()


# ---- joining ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("axis", "wanted", "kept"),
    [
        (0, [b"a.c", b"b.d"], [[b"a.c", b"b.d"]]),
        (-1, [b"a.b", b"c.d"], [[b"a.b"], [b"c.d"]]),
        ([0, 1], b"a.c.b.d", [[b"a.c.b.d"]]),
        ([1, 0], b"a.b.c.d", [[b"a.b.c.d"]]),
        (None, b"a.b.c.d", [[b"a.b.c.d"]]),
        ([], [[b"a", b"b"], [b"c", b"d"]], [[b"a", b"b"], [b"c", b"d"]]),
    ],
)
def test_reduce_join(axis, wanted, kept):
    assert value(s.reduce_join(M, axis, separator=".")) == wanted
    assert value(s.reduce_join(M, axis, keepdims=True, separator=".")) == kept
    assert value(v1.reduce_join(M, reduction_indices=axis, separator=".")) == wanted


def test_reduce_join_of_nothing():
    assert value(s.reduce_join(tf.zeros([0, 2], tf.string), 0)) == [b"", b""]
    assert value(s.reduce_join(tf.zeros([0, 2], tf.string), 1)) == []
    assert value(s.reduce_join("a")) == b"a"


def test_reduce_join_refuses():
    with pytest.raises(tf.errors.OutOfRangeError, match="Invalid reduction dimension 2"):
        s.reduce_join(M, 2)
    with pytest.raises(BAD, match="Duplicate"):
        s.reduce_join(M, [0, 0])
    with pytest.raises(ValueError, match="both"):
        v1.reduce_join(M, 1, reduction_indices=1)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="axis"):
        s.reduce_join(M, 2)


def test_reduce_join_of_unknown_rank():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.string)
        assert session.run(s.reduce_join(x), {x: M}) == b"abcd"


def test_unsorted_segment_join():
    letters = ["a", "b", "c"]
    assert value(s.unsorted_segment_join(letters, [0, 1, 0], 2, ":")) == [b"a:c", b"b"]
    assert value(s.unsorted_segment_join(letters, [0, 0, 0], 3)) == [b"abc", b"", b""]
    assert value(s.unsorted_segment_join(M, [[0, 1], [1, 0]], 2, ":")) == [b"a:d", b"b:c"]
    assert value(s.unsorted_segment_join(M, [1, 1], 2)) == [[b"", b""], [b"ac", b"bd"]]


@pytest.mark.parametrize(
    ("ids", "count", "error"),
    [
        ([0, -1], 2, BAD),
        ([0, 2], 2, BAD),
        ([0, 1, 1], 2, BAD),
        ([0, 1], -1, BAD),
        ([0, 1], [2], BAD),
        (0, 2, BAD),
        ([[0, 1]], 2, tf.errors.OutOfRangeError),
    ],
)
def test_unsorted_segment_join_refuses(ids, count, error):
    with pytest.raises(error, match="egment"):
        s.unsorted_segment_join(["a", "b"], ids, count)


# ---- splitting ----------------------------------------------------------------------------------

TEXTS = [b"a b  c", b"", b" x "]


@pytest.mark.parametrize(
    ("sep", "most", "wanted"),
    [
        (None, -1, [[b"a", b"b", b"c"], [], [b"x"]]),
        (None, 0, [[b"a b  c"], [b""], [b" x "]]),
        (None, 1, [[b"a", b"b  c"], [], [b"x", b""]]),
        (None, 2, [[b"a", b"b", b"c"], [], [b"x"]]),
        (" ", 1, [[b"a", b"b  c"], [b""], [b"", b"x "]]),
        (",", -1, [[b"a b  c"], [b""], [b" x "]]),
    ],
)
def test_split(sep, most, wanted):
    assert value(s.split(TEXTS, sep, most)) == wanted
    indices, values, shape = raw.StringSplitV2(input=TEXTS, sep=sep or "", maxsplit=most)
    assert value(values) == [part for row in wanted for part in row]
    assert value(shape) == [3, max(map(len, wanted))]
    assert value(indices) == [[i, j] for i, row in enumerate(wanted) for j in range(len(row))]


def test_split_of_any_rank():
    assert value(s.split("a,b", ",")) == [b"a", b"b"]
    assert value(s.split([["a b"], ["c"]])) == [[[b"a", b"b"]], [[b"c"]]]
    assert value(s.split(tf.ragged.constant([["a b", "c"], []]))) == [[[b"a", b"b"], [b"c"]], []]
    assert value(s.split(tf.zeros([0], tf.string))) == []
    assert value(s.bytes_split([b"h\xc3", b""])) == [[b"h", b"\xc3"], []]
    with tf.Graph().as_default():
        text = v1.placeholder(tf.string)
        parts = s.split(text).to_sparse()  # a vector, if nothing says otherwise
        with pytest.raises(ValueError, match="known rank"):
            s.bytes_split(text)
        with v1.Session() as session:
            found = session.run(parts, {text: ["a b", "c"]})
        assert found.values.tolist() == [b"a", b"b", b"c"]
        # How many rows there are is known.
        assert s.split(["a b", "c"]).shape == [2, None]
        assert s.bytes_split(["a b", "c"]).row_splits.shape == [3]


def test_split_of_characters():
    indices, values, _ = raw.StringSplit(input=["a b,,c", ""], delimiter=" ,")
    assert value(values) == [b"a", b"b", b"c"]
    assert value(indices) == [[0, 0], [0, 1], [0, 2]]
    kept = raw.StringSplit(input=["a b,,c", ""], delimiter=" ,", skip_empty=False)
    assert value(kept[1]) == [b"a", b"b", b"", b"c"]
    assert value(kept[2]) == [2, 4]


def test_old_splits():
    sparse = v1.string_split(["a,b", ",c"], ",")
    assert value(sparse.indices) == [[0, 0], [0, 1], [1, 0]]
    assert value(v1.string_split(["a b"], result_type="RaggedTensor")) == [[b"a", b"b"]]
    assert value(v1.strings.split([["a b"]]).dense_shape) == [1, 1, 2]
    assert value(v1.strings.split("a b", result_type="RaggedTensor")) == [[b"a", b"b"]]
    with pytest.raises(ValueError, match="result_type"):
        v1.string_split(["a"], result_type="x")
    with pytest.raises(ValueError, match="both 'delimiter' and 'sep'"):
        v1.string_split(["a"], ",", delimiter=",")
    with pytest.raises(BAD, match="must be a vector"):
        v1.string_split("a b")


# ---- n-grams ------------------------------------------------------------------------------------

WORDS = [["aa", "bb", "cc", "dd"], ["ee", "ff"]]


@pytest.mark.parametrize(
    ("width", "options", "wanted"),
    [
        (2, {}, [[b"aa bb", b"bb cc", b"cc dd"], [b"ee ff"]]),
        ([3, 4], {"separator": "|"}, [[b"aa|bb|cc", b"bb|cc|dd", b"aa|bb|cc|dd"], []]),
        (5, {"pad_values": ("L", "R"), "padding_width": 1},
         [[b"L aa bb cc dd", b"aa bb cc dd R"], []]),
        (3, {"pad_values": "X", "padding_width": 1},
         [[b"X aa bb", b"aa bb cc", b"bb cc dd", b"cc dd X"], [b"X ee ff", b"ee ff X"]]),
        (5, {"preserve_short_sequences": True}, [[b"aa bb cc dd"], [b"ee ff"]]),
    ],
)  # fmt: skip
def test_ngrams(width, options, wanted):
    assert value(s.ngrams(tf.ragged.constant(WORDS), width, **options)) == wanted


def test_ngrams_of_tensors():
    assert value(s.ngrams(["a", "b", "c"], 2)) == [b"a b", b"b c"]
    assert value(s.ngrams([["a", "b"], ["c", "d"]], 2)) == [[b"a b"], [b"c d"]]
    deep = s.ngrams(tf.ragged.constant([WORDS, WORDS]), 4)
    assert value(deep) == [[[b"aa bb cc dd"], []]] * 2


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        (WORDS[0], {"ngram_width": 0}, ValueError),
        ("a", {"ngram_width": 2}, ValueError),
        (WORDS[0], {"ngram_width": 2, "pad_values": 1}, TypeError),
        (WORDS[0], {"ngram_width": 2, "padding_width": 1}, ValueError),
        (WORDS[0], {"ngram_width": 2, "pad_values": "X", "padding_width": 0}, ValueError),
    ],
)
def test_ngrams_refuses(data, options, error):
    with pytest.raises(error):
        s.ngrams(data, **options)


@pytest.mark.parametrize("splits", [[0, 2, 5], [1, 2], [0, 3, 2, 4], [0, 2]])
def test_ngrams_refuses_row_splits(splits):
    with pytest.raises(BAD, match="split value"):
        raw.StringNGrams(
            data=WORDS[0], data_splits=np.array(splits), separator=" ", ngram_widths=[2],
            left_pad="", right_pad="", pad_width=0, preserve_short_sequences=False,
        )  # fmt: skip


# ---- characters ---------------------------------------------------------------------------------

MIXED = ["é\U0001f60a\x07".encode(), b"a\xffb\xe2\x82x\xf0\x9f"]


@pytest.mark.parametrize(
    ("errors", "controls", "points", "starts"),
    [
        ("replace", False, [[233, 128522, 7], [97, 63, 98, 63, 120, 63]],
         [[0, 2, 6], [0, 1, 2, 3, 5, 6]]),
        ("replace", True, [[233, 128522, 63], [97, 63, 98, 63, 120, 63]],
         [[0, 2, 6], [0, 1, 2, 3, 5, 6]]),
        ("ignore", False, [[233, 128522, 7], [97, 98, 120]], [[0, 2, 6], [0, 2, 5]]),
        ("ignore", True, [[233, 128522], [97, 98, 120]], [[0, 2], [0, 2, 5]]),
    ],
)  # fmt: skip
def test_unicode_decode(errors, controls, points, starts):
    options = {
        "errors": errors, "replacement_char": 63, "replace_control_characters": controls,
    }  # fmt: skip
    assert value(s.unicode_decode(MIXED, "UTF-8", **options)) == points
    decoded, offsets = s.unicode_decode_with_offsets(MIXED, "UTF-8", **options)
    assert value(decoded) == points
    assert value(offsets) == starts
    text = s.unicode_transcode(MIXED, "UTF-8", "UTF-32-BE", **options)
    assert value(text) == ["".join(map(chr, row)).encode("utf-32-be") for row in points]


@pytest.mark.parametrize(
    ("encoding", "data", "points", "starts"),
    [
        ("UTF-16-BE", b"\xd8=\xde\n\x00a\x00", [128522, 97, 65533], [0, 4, 6]),
        ("UTF-16-BE", b"\xd8=\x00a", [65533, 97], [0, 2]),
        ("UTF-16", b"\x00a\x00b", [97, 98], [0, 2]),
        ("UTF-32", b"\x00a\x00b", [65533], [0]),
        ("US-ASCII", b"\xe9a", [65533, 97], [0, 1]),
        ("ISO-8859-1", b"\xe9\x80", [233, 128], [0, 1]),
        ("SHIFT-JIS", b"\x83ea", [12486, 97], [0, 2]),
        ("GB18030", b"\x83ea", [20709, 97], [0, 2]),
        ("windows-1251", b"\xe9\x80", [1081, 1026], [0, 1]),
    ],
)
def test_encodings(encoding, data, points, starts):
    decoded, offsets = s.unicode_decode_with_offsets(data, encoding)
    assert value(decoded) == points
    assert value(offsets) == starts


def test_unicode_split():
    assert value(s.unicode_split(["aé", ""], "UTF-8")) == [[b"a", "é".encode()], []]
    assert value(s.unicode_split(b"\x00a\x00b", "UTF-16-BE")) == [b"\x00a", b"\x00b"]
    parts, offsets = s.unicode_split_with_offsets("éa", "UTF-8")
    assert value(parts) == ["é".encode(), b"a"]
    assert value(offsets) == [0, 2]


def test_unicode_encode():
    points = tf.ragged.constant([[72, 233], [0x1F60A, 0xD800]], dtype=tf.int32)
    assert value(s.unicode_encode(points, "UTF-8"))[1] == "\U0001f60a\ufffd".encode()
    assert value(s.unicode_encode(points, "UTF-16-BE", errors="ignore"))[0] == b"\x00H\x00\xe9"
    assert value(s.unicode_encode(points, "UTF-8", replacement_char=63))[1][-1:] == b"?"
    assert value(s.unicode_encode([[72, 105], [65, 66]], "UTF-8")) == [b"Hi", b"AB"]
    assert value(s.unicode_encode([72, 105], "UTF-8")) == b"Hi"
    with pytest.raises(BAD, match="surrogate"):
        s.unicode_encode(points, "UTF-8", errors="strict")


@pytest.mark.parametrize("splits", [[0, 2, 5], [0, 2, 1, 3], [1, 3], []])
def test_unicode_encode_refuses_row_splits(splits):
    with pytest.raises(BAD, match="splits"):
        raw.UnicodeEncode(
            input_values=[65, 66, 67],
            input_splits=np.array(splits, np.int64),
            output_encoding="UTF-8",
        )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"input_encoding": "bogus"}, "Could not create converter"),
        ({"input_encoding": "idna"}, "Could not create converter"),
        ({"input_encoding": "UTF-8", "errors": "strict"}, "Invalid formatting"),
        ({"input_encoding": "UTF-8", "replacement_char": 0x110000}, "codepoint range"),
        ({"input_encoding": "UTF-8", "errors": "x"}, "errors"),
    ],
)
def test_unicode_decode_refuses(options, text):
    with pytest.raises((BAD, ValueError), match=text):
        s.unicode_decode(MIXED, **options)


def test_unicode_script():
    points = [0, 65, 0x3B1, 0x4E00, 0x1F60A, -1, 0x110000, 0xD800, 0x10FFFF, 0x378]
    assert value(s.unicode_script(points)) == [0, 25, 14, 17, 0, -1, -1, 103, 103, 103]


# ---- in functions -------------------------------------------------------------------------------


def test_in_a_function():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def words(lines):
        return s.split(s.lower(lines)).to_tensor(""), s.unicode_split(lines, "UTF-8")

    dense, letters = words(["A b", "C"])
    assert value(dense) == [[b"a", b"b"], [b"c", b""]]
    assert value(letters) == [[b"A", b" ", b"b"], [b"C"]]


def test_characters_do_not_span_strings():
    decoded, offsets = s.unicode_decode_with_offsets([b"\xc3", b"\xa9", b"", b"ab"], "UTF-8")
    assert value(decoded) == [[65533], [65533], [], [97, 98]]
    assert value(offsets) == [[0], [0], [], [0, 1]]
    decoded, offsets = s.unicode_decode_with_offsets(["", "é", "", "aé", ""], "UTF-8")
    assert value(decoded) == [[], [233], [], [97, 233], []]
    assert value(offsets) == [[], [0], [], [0, 1], []]


def test_element_wise_functions_of_ragged_strings():
    words = tf.ragged.constant([["Ab"], ["c", "D"]])
    assert value(s.lower(words)) == [[b"ab"], [b"c", b"d"]]
    assert value(s.regex_full_match(words, "[A-Z].*")) == [[True], [False, True]]
    assert value(s.substr(words, 0, 1)) == [[b"A"], [b"c", b"D"]]
    assert value(tf.as_string(tf.ragged.constant([[1], [2, 3]]))) == [[b"1"], [b"2", b"3"]]


def test_joining_ragged_strings():
    words = tf.ragged.constant([["a", "b"], ["c"]])
    assert value(s.join([words, words, "!"], "-")) == [[b"a-a-!", b"b-b-!"], [b"c-c-!"]]
    assert value(s.reduce_join(words, 1, separator="-")) == [b"a-b", b"c"]
    assert value(s.reduce_join(words, 0, separator="-")) == [b"a-c", b"b"]
    assert value(s.reduce_join(words, -1, keepdims=True)) == [[b"ab"], [b"c"]]
    assert value(s.reduce_join(words)) == b"abc"
    deep = tf.ragged.constant([[["a", "b"], ["c"]], [["d"]]])
    assert value(s.reduce_join(deep, 2)) == [[b"ab", b"c"], [b"d"]]


@pytest.mark.parametrize(
    ("axis", "keepdims", "expected"),
    [
        (0, False, [[b"a-d", b"b"], [b"c"]]),
        (0, True, [[[b"a-d", b"b"], [b"c"]]]),
        (1, False, [[b"a-c", b"b"], [b"d"]]),
        (1, True, [[[b"a-c", b"b"]], [[b"d"]]]),
        ([0, 1], False, [b"a-c-d", b"b"]),
        ([2, 0], False, [b"a-b-d", b"c"]),
        ([2, 0], True, [[[b"a-b-d"], [b"c"]]]),
        ([1, 2], True, [[[b"a-b-c"]], [[b"d"]]]),
        ([-1, 0, 1], False, b"a-b-c-d"),
        ([], True, [[[b"a", b"b"], [b"c"]], [[b"d"]]]),
        (None, True, [[[b"a-b-c-d"]]]),
    ],
)
def test_ragged_strings_are_joined_along_any_axes(axis, keepdims, expected):
    deep = tf.ragged.constant([[["a", "b"], ["c"]], [["d"]]])
    assert value(s.reduce_join(deep, axis, keepdims, "-")) == expected


def test_axes_of_ragged_strings_that_are_refused():
    words = tf.ragged.constant([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match="axis=5 out of bounds"):
        s.reduce_join(words, 5)
    with pytest.raises(TypeError, match="axis must be an int"):
        s.reduce_join(words, tf.constant(1))


def test_numbers_in_place_of_strings_are_refused_by_the_operation():
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a string"):
        s.unicode_decode(tf.constant([1]), "UTF-8")
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a int32"):
        s.unicode_encode(tf.constant([1], tf.int64), "UTF-8")
    with pytest.raises(ValueError, match="rank must be at least 1"):
        s.unicode_encode("x", "UTF-8")


def test_widths_and_paddings_of_n_grams():
    assert value(s.ngrams(["a", "b"], np.int32(2), pad_values=["<", ">"])) == [
        b"< a",
        b"a b",
        b"b >",
    ]
    assert value(s.ngrams(["a", "b"], tf.constant(1))) == [b"a", b"b"]
    with pytest.raises(TypeError, match="pad_values"):
        s.ngrams(["a"], 1, pad_values=("<",))


def test_the_first_two_of_more_pads_of_ngrams_are_taken():
    assert value(s.ngrams(["a", "b"], 2, pad_values=["x", "y", "z"])) == [b"x a", b"a b", b"b y"]
    with pytest.raises(TypeError, match="pad_values"):
        s.ngrams(["a", "b"], 2, pad_values=["x"])


@pytest.mark.parametrize("points", [np.array([72]), np.array([72], np.uint8), []])
def test_code_points_are_int32(points):
    with pytest.raises(tf.errors.InvalidArgumentError):
        s.unicode_encode(points, "UTF-8")
    with tf.Graph().as_default(), pytest.raises(TypeError):
        s.unicode_encode(points, "UTF-8")


def test_splits_have_scopes_in_graphs():
    with tf.Graph().as_default():
        assert s.split(["a b"]).values.name == "StringSplit/StringSplitV2:1"
        assert s.split(["a b"], name="n").values.name == "n/StringSplitV2:1"
        assert v1.string_split(["a b"]).values.name == "StringSplit_1/StringSplit:1"
        ragged = s.split(tf.ragged.constant([["a b"]]), name="r")
        assert ragged.flat_values.name == "r/StringSplit/StringSplitV2:1"


def test_a_list_is_a_list_of_inputs():
    assert s.format("{} {}", [1, [2, 3]]).numpy() == b"1 [2 3]"
    with pytest.raises(ValueError, match="expects 1 tensors, but the inputs only has 2"):
        s.format("{}", [1, 2])


def test_strings_that_meet_are_joined():
    made = tf.scatter_nd([[1], [1], [0]], ["a", "b", "c"], [3])
    assert made.numpy().tolist() == [b"c", b"ab", b""]


def test_empty_strings_are_zero():
    assert tf.math.zero_fraction(["", "a", "b", ""]).numpy() == 0.5
