"""The helpers of `tf.compat` for text, and what the build says of itself."""

import pathlib
from typing import Any

import numpy as np
import pytest

import penstock as tf


def test_text_and_bytes() -> None:
    for function in (tf.compat.as_text, tf.compat.as_str, tf.compat.as_str_any):
        assert function("gr\xfcn") == function("gr\xfcn".encode()) == "gr\xfcn"
        assert function(b"\xfc", "latin-1") == "\xfc"
    assert tf.compat.as_bytes("gr\xfcn") == b"gr\xc3\xbcn"
    assert tf.compat.as_bytes(bytearray(b"a")) == b"a"
    assert tf.compat.as_str_any(1) == "1"


@pytest.mark.parametrize("wrong", [1, None])
def test_what_is_no_text_is_refused(wrong: Any) -> None:
    for function in (tf.compat.as_text, tf.compat.as_str, tf.compat.as_bytes):
        with pytest.raises(TypeError, match=f"got {wrong}"):
            function(wrong)
    with pytest.raises(LookupError):
        tf.compat.as_text("a", "no such encoding")


def test_paths() -> None:
    assert tf.compat.path_to_str(pathlib.Path("/a/b")) == "/a/b"
    assert tf.compat.path_to_str(b"x") == b"x"


def test_kinds_of_numbers() -> None:
    assert isinstance(np.int8(1), tf.compat.integral_types)
    assert isinstance(np.float32(1), tf.compat.real_types)
    assert not isinstance(1j, tf.compat.real_types)
    assert isinstance(np.complex64(1), tf.compat.complex_types)


def test_the_build() -> None:
    graph = tf.Graph().as_graph_def()
    assert graph.versions.producer == tf.version.GRAPH_DEF_VERSION
    assert tf.version.VERSION == tf.__version__ == tf.compat.v1.VERSION
    assert tf.compat.v1.__version__ == tf.compat.v2.__version__ == tf.__version__
    assert tf.compat.v1.__git_version__ == tf.__git_version__ == tf.version.GIT_VERSION
    with pytest.raises(AttributeError):
        tf.compat.v1.__nothing__  # noqa: B018
    assert set(tf.sysconfig.get_build_info()) == {
        "is_cuda_build", "is_rocm_build", "is_tensorrt_build"
    }  # fmt: skip
