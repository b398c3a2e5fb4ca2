"""Strings one by one: the values, and the classes of errors, are TensorFlow's."""

# ruff: noqa: RUF001  # letters of many scripts are the point

import numpy as np
import pytest

import penstock as tf
from penstock.ops import string_regex

s = tf.strings
BAD = tf.errors.InvalidArgumentError


def value(tensor):
    return tensor.numpy().tolist() if tensor.shape.rank else tensor.numpy()


# ---- case, spaces, length -----------------------------------------------------------------------


def test_case():
    assert value(s.lower("ÀB".encode())) == "Àb".encode()
    assert value(s.lower("ÀBİΣẞ".encode(), "utf-8")) == "àbi̇σß".encode()
    assert value(s.lower("ΑΣ ΣΑ".encode(), encoding="utf-8")) == "ας σα".encode()
    assert value(s.upper("ßıaéﬁ".encode(), "utf-8")) == "SSIAÉFI".encode()
    assert value(s.lower(b"A\xffB", encoding="utf-8")) == "a\ufffdb".encode()
    assert s.upper(tf.zeros([0, 2], tf.string)).shape == (0, 2)
    with pytest.raises(BAD, match=r"only utf-8 or '' .* received latin"):
        s.lower("A", encoding="latin")


def test_strip():
    assert value(s.strip([" \t\n\v\f\ra\x00 b \x1c", "\xa0x"])) == [b"a\x00 b \x1c", b"\xc2\xa0x"]


def test_length():
    assert value(s.length("aé")) == 3
    assert value(s.length("aé", "UTF8_CHAR")) == 2
    assert value(s.length(b"\x80\x80a\xff\xc3", "UTF8_CHAR")) == 3
    assert value(tf.compat.v1.strings.length("aé", unit="UTF8_CHAR")) == 2
    assert s.length(["a"]).dtype == tf.int32
    with pytest.raises((BAD, ValueError), match="unit"):
        s.length("a", "WORD")


def test_join():
    assert value(s.join(["a", ["b", "c"]], "-")) == [b"a-b", b"a-c"]
    assert value(s.join([])) == b""
    assert value(s.join(tf.constant(["b", "c"]))) == b"bc"
    assert value(s.join([[["a"]], "b", "c"])) == [[b"abc"]]
    with pytest.raises(BAD, match=r"do not match: \(3,\) vs. \(2,\)"):
        s.join([["a", "b", "c"], ["b", "c"]])


@pytest.mark.parametrize(
    ("text", "pos", "size", "unit", "wanted"),
    [
        (b"hello", -2, 2, "BYTE", b"lo"),
        (b"hello", 5, 1, "BYTE", b""),
        (b"hello", 0, -1, "BYTE", b"hello"),
        (b"hello", 0, -1, "UTF8_CHAR", b""),
        (b"hello", 1, 100, "UTF8_CHAR", b"ello"),
        (b"h\xc3\xa9llo", -5, 1, "BYTE", b"\xc3"),
        (b"h\xc3\xa9llo", -5, 1, "UTF8_CHAR", b"h"),
        (b"h\xc3\xa9llo", 1, 2, "UTF8_CHAR", b"\xc3\xa9l"),
        (b"a\xff\x80b", 1, 2, "UTF8_CHAR", b"\xff\x80b"),
    ],
)
def test_substr(text, pos, size, unit, wanted):
    assert value(s.substr(text, pos, size, unit=unit)) == wanted


def test_substr_broadcasts():
    words = [["ten", "eleven"], ["x1234", "y1234"]]
    assert value(s.substr(words, [0, 1], [1, 2])) == [[b"t", b"le"], [b"x", b"12"]]
    assert value(s.substr("abcdef", [0, 1, 2], [1, 2, 3])) == [b"a", b"bc", b"cde"]
    assert value(s.substr(["abc"], [[0], [1]], [[1], [1]])) == [[b"a"], [b"b"]]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((b"hello", 6, 1), BAD, "pos 6 out of range for string b'hello' at index 0"),
        ((["ab", "c"], -2, 1), BAD, "pos -2 .* index 1"),
        ((["ab", "cd"], [0, 1, 2], [1, 1, 1]), BAD, r"\(2,\) vs. \(3,\)"),
        ((["ab", "cd"], [0, 1], 1), BAD, "same shape"),
        (([[["a", "b"]]], [0, 0], [1, 1]), tf.errors.UnimplementedError, "3 dimensions"),
    ],
)
def test_substr_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        s.substr(*arguments)


def test_shapes_in_graphs():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.string, [None, 2])
        assert s.substr(x, [0, 1], [1, 1]).shape.as_list() == [None, 2]
        assert s.join([x, "a"]).shape.as_list() == [None, 2]
        assert tf.fingerprint(x).shape.as_list() == [None, 8]
        assert tf.raw_ops.RegexReplace(input=x, pattern="a", rewrite="b").shape.rank == 2
        with pytest.raises(ValueError, match="Pattern must be scalar"):
            tf.raw_ops.RegexFullMatch(input=x, pattern=["a"])
        joined = s.join([s.upper(x), "!"])
        with tf.compat.v1.Session() as session:
            got = session.run(joined, {x: [["a", "b"]]})
    assert got.tolist() == [[b"A!", b"B!"]]


# ---- regular expressions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("a*b", b"aab", True),
        (r"\pN+", "١2".encode(), True),
        (".", "é".encode(), True),
        (".", b"\xe9", False),
        ("[[:alpha:]]+", b"abc", True),
        (r"\Qa.b\E", b"a.b", True),
        ("a$", b"a\n", False),
        (r"\s", b"\v", False),
        ("", b"", True),
    ],
)
def test_full_match(pattern, text, wanted):
    assert value(s.regex_full_match(text, pattern)) == wanted
    assert value(tf.raw_ops.RegexFullMatch(input=[text], pattern=pattern)) == [wanted]


TEXTS = [
    *(b"", b"a", b"ab", b"bab", b"aab", b"a\nb", b"\nab", b"ab\n", b"\xffab", b"ab\xff", b"\x00ab"),
    *("éab".encode(), "abé".encode(), "é".encode(), b"AB", b"aabab" * 3, b"a.b", b"a\\b"),
]
PATTERNS = ["ab", "ab.*", ".*ab", ".*ab.*", "é", "é.*", ".*é", "a.b", "a.*b", ".*", ".*.*a", "a b"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_plain_patterns_are_found_as_by_re2(pattern, monkeypatch):
    def results():
        yield s.regex_full_match(TEXTS, pattern).numpy().tolist()
        for everywhere in (True, False):
            for rewrite in ("x", "", r"<\0\\\0>", r"\1", "é\\"):
                found = s.regex_replace(TEXTS, pattern, rewrite, replace_global=everywhere)
                yield found.numpy().tolist()

    found = list(results())
    monkeypatch.setattr(string_regex, "_is_plain", lambda pattern: False)
    assert found == list(results())


@pytest.mark.parametrize("pattern", ["(?=a)", r"\1", "(", "a{1001}", "a**", b"\xff"])
def test_malformed_patterns(pattern):
    with pytest.raises(BAD, match="Invalid pattern"):
        s.regex_full_match("a", pattern)
    with pytest.raises(BAD, match="Invalid pattern"):
        s.regex_replace("a", pattern, "")


@pytest.mark.parametrize(
    ("pattern", "rewrite", "text", "everywhere", "first"),
    [
        ("a*", "x", b"baac", b"xbxcx", b"xbaac"),
        ("(a)(b)", r"\2\1", b"abab", b"baba", b"baab"),
        ("a", r"\1", b"a", b"a", b"a"),
        ("a", r"\q", b"a", b"", b"a"),
        ("a", r"\\", b"a", b"\\", b"\\"),
        ("", "-", "é".encode(), "-é-".encode(), "-é".encode()),
        ("x*", "-", b"\xffab", b"-\xff-a-b-", b"-\xffab"),
        ("b*", "-", b"abbc", b"-a-c-", b"-abbc"),
        ("^a", "X", b"aaa", b"Xaa", b"Xaa"),
        (r"\b", "|", b"ab cd", b"|ab| |cd|", b"|ab cd"),
    ],
)
def test_replace(pattern, rewrite, text, everywhere, first):
    assert value(s.regex_replace(text, pattern, rewrite)) == everywhere
    assert value(s.regex_replace(text, pattern, rewrite, replace_global=False)) == first
    got = tf.raw_ops.RegexReplace(input=[text], pattern=pattern, rewrite=rewrite)
    assert value(got) == [everywhere]


def test_patterns_take_linear_time():
    text = b"a" * 5000 + b"b"
    assert not value(s.regex_full_match(text, "(a|aa)+(a|aa)+(a|aa)+"))


# ---- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "options", "wanted"),
    [
        (1.5, {}, b"1.500000"),
        (1.5, {"precision": 0}, b"2"),
        (1e10, {"shortest": True}, b"1e+10"),
        (1e-10, {"scientific": True, "precision": 3, "width": 15}, b"      1.000e-10"),
        (0.0, {"width": 12, "fill": "0"}, b"00000.000000"),
        (np.inf, {"width": 6, "fill": "0"}, b"   inf"),
        (np.nan, {"width": 6, "fill": "-"}, b"nan   "),
        (np.int8(-128), {"width": 6, "fill": "0"}, b"-00128"),
        (np.int8(7), {"width": 6, "fill": "+"}, b"    +7"),
        (np.uint8(7), {"width": 6, "fill": "+"}, b"     7"),
        (np.uint64(2**64 - 1), {}, b"18446744073709551615"),
        (True, {"width": 7}, b"true"),
        (1.5 - 2j, {"precision": 2}, b"(1.50,-2.00)"),
        ("é", {"width": 7, "fill": "0"}, "     é".encode()),
    ],
)
def test_as_string(number, options, wanted):
    assert value(tf.as_string(number, **options)) == wanted


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (1, {"precision": 2}),
        (1, {"scientific": True}),
        (True, {"shortest": True}),
        (1.0, {"scientific": True, "shortest": True}),
        (1, {"fill": "00"}),
        (1, {"fill": "x"}),
    ],
)
def test_as_string_refuses(number, options):
    with pytest.raises(BAD, match="AsString"):
        tf.as_string(number, **options)


@pytest.mark.parametrize(
    ("text", "dtype", "wanted"),
    [
        (" 1.5 ", tf.float32, 1.5),
        ("1e400", tf.float64, np.inf),
        ("0x1p3", tf.float32, 8.0),
        ("0x10", tf.float64, 16.0),
        ("-Infinity", tf.float32, -np.inf),
        ("3.4028236e38", tf.float32, np.inf),
        ("16777217.0000001", tf.float32, 16777218.0),  # above a midpoint that float64 rounds to
        (" +7 ", tf.int32, 7),
        ("007", tf.uint32, 7),
        ("-9223372036854775808", tf.int64, -(2**63)),
        ("18446744073709551615", tf.uint64, 2**64 - 1),
    ],
)
def test_to_number(text, dtype, wanted):
    got = s.to_number([text], dtype)
    assert got.dtype == dtype
    assert value(got) == [wanted]


def test_to_number_nan():
    assert np.isnan(s.to_number(["nan", "NaN", "nan(1)"]).numpy()).all()


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("", tf.float32),
        ("1_0", tf.float32),
        ("1e", tf.float64),
        ("1\0", tf.float32),
        ("1.5", tf.int32),
        ("1_0", tf.int64),
        ("- 7", tf.int32),
        ("2147483648", tf.int32),
        ("-1", tf.uint32),
        ("١", tf.int32),
    ],
)
def test_to_number_refuses(text, dtype):
    with pytest.raises(BAD, match="could not correctly convert"):
        s.to_number(["1", text], dtype)


# ---- hashes -------------------------------------------------------------------------------------

# buckets of 2**63 - 1 from TensorFlow 2.21: text, fast, legacy, strong under the key [1, 2]
HASHES = [
    (b"", 1936946117179621456, 105434511174508092, 443797209252341628),
    (b"a", 3694432073954588132, 2996632905371535868, 5158252350249958646),
    (b"abc", 2640714258260161385, 5658311696057142710, 5862226954915230110),
    (b"hello", 3786372426573024489, 5943547241907780938, 2957200328589801622),
    (b"12345678", 3430003927990384362, 421129128932463287, 6508726819379278012),
    (b"x" * 16, 3320895591121647644, 5872517971286675818, 2083976100733463556),
    (b"x" * 17 + b"abc", 3206945593243432535, 5915043050838521171, 6875498942786280034),
    (bytes(range(32)), 1917831512995979081, 235957890591632321, 1655490203013107339),
    (bytes(range(33)), 7527044130840859215, 5573693374195701004, 2402286793273316593),
    (bytes(range(64)), 8468179876952591436, 2192457456962414805, 7954548811732824100),
    (bytes(range(65)), 5089956174350597567, 2525959834624391444, 7821496221926536230),
    (bytes(range(200)), 525935771297148851, 8797224591143368235, 8730209426642355903),
    (bytes(range(256)) * 5, 6755163217769313498, 7469567715626244586, 1229277697055742785),
]


@pytest.mark.parametrize("copies", [1, 20])  # one at a time, and as arrays
def test_hashes(copies):
    texts = [text for text, *_ in HASHES] * copies
    fast, legacy, strong = ([row[i] for row in HASHES] * copies for i in (1, 2, 3))
    most = 2**63 - 1
    assert value(s.to_hash_bucket_fast(texts, most)) == fast
    assert value(s.to_hash_bucket(texts, most)) == legacy
    assert value(s.to_hash_bucket_strong(texts, most, [1, 2])) == strong
    assert value(tf.compat.v1.string_to_hash_bucket(texts, most)) == legacy


def test_buckets_refuse():
    with pytest.raises(BAD, match="Key must have 2 elements"):
        s.to_hash_bucket_strong("a", 10, [1])
    with pytest.raises((BAD, ValueError), match="num_buckets"):
        s.to_hash_bucket_fast("a", 0)
    with pytest.raises(ValueError, match="both 'string_tensor' and 'input'"):
        tf.compat.v1.string_to_hash_bucket(["a"], 5, input=["a"])


def test_fingerprint():
    assert value(tf.fingerprint([[1, 2], [3, 4]]))[0] == [76, 18, 253, 133, 168, 204, 240, 10]
    assert value(tf.fingerprint([["a", "b"], ["c", "d"]]))[1] == [
        52,
        252,
        224,
        38,
        64,
        226,
        155,
        60,
    ]
    assert value(tf.fingerprint([["a"], ["bb"]]))[0] == [227, 117, 223, 182, 101, 66, 69, 179]
    assert tf.fingerprint(tf.zeros([0, 3])).shape == (0, 8)
    with pytest.raises(BAD, match="at least"):
        tf.fingerprint("a")
    with pytest.raises(BAD, match="Unsupported fingerprint method: x"):
        tf.fingerprint(["a"], method="x")


def test_an_axis_known_late_that_does_not_exist():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        axis = v1.placeholder(tf.int32, None)
        joined = tf.raw_ops.ReduceJoin(inputs=[["a"]], reduction_indices=axis)
        with pytest.raises(tf.errors.OutOfRangeError, match="Invalid reduction dimension 2"):
            session.run(joined, {axis: [2]})
