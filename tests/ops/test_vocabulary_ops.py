"""Vocabularies and matrices of checkpoints in other orders; figures are TensorFlow's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf

OLD, NEW = "a\nb\nc\nd\n", "c\nx\na\ny\nd\n"


@pytest.fixture
def vocabularies(tmp_path: Path) -> Any:
    """Makes files, and calls GenerateVocabRemapping with them."""

    def call(
        new: str = NEW, old: str = OLD, offset: int = 0, count: int = 5, size: int = -1
    ) -> Any:
        for name, text in (("new", new), ("old", old)):
            (tmp_path / name).write_text(text)
        return tf.raw_ops.GenerateVocabRemapping(
            new_vocab_file=str(tmp_path / "new"),
            old_vocab_file=str(tmp_path / "old"),
            new_vocab_offset=offset,
            num_new_vocab=count,
            old_vocab_size=size,
        )

    return call


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({}, [2, -1, 0, -1, 3]),
        ({"count": 3}, [2, -1, 0]),
        ({"offset": 1, "count": 4}, [-1, 0, -1, 3]),
        ({"size": 2}, [-1, -1, 0, -1, -1]),
        ({"count": 0}, []),
        ({"new": "c\nx", "count": 2}, [2, -1]),
        ({"old": "a\r\nb\r\n"}, [-1, -1, 0, -1, -1]),
    ],
)
def test_places_in_the_old_vocabulary(vocabularies: Any, given: Any, wanted: list[int]) -> None:
    found = vocabularies(**given)
    assert found.remapping.numpy().tolist() == wanted
    assert found.num_present.numpy() == sum(place >= 0 for place in wanted)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"count": 6}, tf.errors.InvalidArgumentError, "at least 6 lines, got 5"),
        ({"offset": 5, "count": 1}, tf.errors.InvalidArgumentError, "at least 6 lines, got 5"),
        ({"size": 9}, tf.errors.InvalidArgumentError, "expected 9 but got 4"),
        ({"old": "a\na\n"}, tf.errors.FailedPreconditionError, "'a' in lines 0 and 1"),
        ({"offset": -1}, tf.errors.InvalidArgumentError, "at least minimum 0"),
    ],
)
def test_wrong_vocabularies(vocabularies: Any, given: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        vocabularies(**given)


def test_missing_files(tmp_path: Path) -> None:
    call = tf.raw_ops.GenerateVocabRemapping
    here = {"new_vocab_offset": 0, "num_new_vocab": 1}
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        call(new_vocab_file=str(tmp_path / "nowhere"), old_vocab_file="x", **here)
    (tmp_path / "new").write_text("a\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="old vocab filename cannot be empty"):
        call(new_vocab_file=str(tmp_path / "new"), old_vocab_file="", **here)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: Any) -> str:
    """A matrix of 4 rows and 3 columns, in one piece and in two, a vector, and doubles."""
    prefix = str(tmp_path_factory.mktemp("old") / "model")
    matrix = tf.reshape(tf.range(12.0), [4, 3])
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=["w", "part", "part", "v", "d"],
        shape_and_slices=["", "4 3 0,2:-", "4 3 2,2:-", "", ""],
        tensors=[matrix, matrix[:2], matrix[2:], tf.range(4.0), tf.cast(matrix, tf.float64)],
    )
    return prefix


def load(
    path: str, rows: Any, columns: Any = (), values: Any = (), name: str = "w", **attrs: Any
) -> Any:
    return tf.raw_ops.LoadAndRemapMatrix(
        ckpt_path=path,
        old_tensor_name=name,
        row_remapping=np.array(rows, np.int64),
        col_remapping=np.array(columns, np.int64),
        initializing_values=np.array(values, np.float32),
        **{"num_rows": len(rows), "num_cols": len(columns) or 3, **attrs},
    )


@pytest.mark.parametrize("name", ["w", "part"])
@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (([0, 2],), [[0, 1, 2], [6, 7, 8]]),
        (([3, -1, 0], [0, 1, 2], [9, 8, 7]), [[9, 10, 11], [9, 8, 7], [0, 1, 2]]),
        (([0, 2], [2, -1], [5, 6]), [[2, 5], [8, 6]]),
        (([-1, -1], [0, 1], range(4)), [[0, 1], [2, 3]]),
        (([-1], (), [1, 2, 3]), [[1, 2, 3]]),
        (([], [0, 1]), np.zeros((0, 2))),
    ],
)
def test_rows_and_columns_in_other_places(
    checkpoint: str, name: str, given: Any, wanted: Any
) -> None:
    found = load(checkpoint, *given, name=name, max_rows_in_memory=1)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("given", "attrs", "error", "match"),
    [
        (([0], [2, -1]), {}, "InvalidArgument", "more missing values remain: expected 1"),
        (([0], [2, -1], [5, 6]), {}, "InvalidArgument", "only 1 elements were used"),
        (([4],), {}, "Internal", "less than 4, got 4"),
        (([0], [3]), {}, "InvalidArgument", "less than 3, got 3"),
        (([1, 1],), {}, "Unimplemented", "Old ID 1 is mapped to both new ID 0 and 1"),
        (([0], [2, 2]), {}, "Unimplemented", "Old ID 2"),
        (([0],), {"num_rows": 2}, "InvalidArgument", "num_rows: 2, got 1"),
        (([0], [0]), {"num_cols": 2}, "InvalidArgument", "num_cols: 2, got 1"),
        (([0],), {"num_cols": 2}, "InvalidArgument", "2nd dimension is 3"),
        (([0],), {"name": "v"}, "InvalidArgument", "invalid rank 1"),
        (([0],), {"name": "d"}, "InvalidArgument", "invalid type float64"),
        (([0],), {"name": "z"}, "NotFound", "Key z not found"),
    ],
)
def test_wrong_matrices(checkpoint: str, given: Any, attrs: Any, error: str, match: str) -> None:
    with pytest.raises(getattr(tf.errors, f"{error}Error"), match=match):
        load(checkpoint, *given, **attrs)


def test_shapes_in_graphs() -> None:
    with tf.Graph().as_default():
        assert load("x", [0, 1]).shape == (2, 3)
        assert load("x", [0, 1], [2]).shape == (2, 1)
        with pytest.raises(ValueError, match="num_rows: 7, got 2"):
            load("x", [0, 1], num_rows=7)
