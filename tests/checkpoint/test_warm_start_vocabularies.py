"""`warm_start` between vocabularies: which rows move, and how the others begin."""

import numpy as np
import pytest

import penstock as tf

v1 = tf.compat.v1
OLD = np.arange(8, dtype=np.float32).reshape(4, 2)  # rows of a, b, c, d
WIDE = np.arange(12, dtype=np.float32).reshape(3, 4)
ZERO = [0.0, 0.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("warm")
    (made / "old").write_text("a\nb\nc\nd\n")
    (made / "new").write_text("d\nx\nb\ne\n")
    with tf.Graph().as_default(), v1.Session() as session:
        v1.get_variable("table", initializer=OLD)
        v1.get_variable("wide", initializer=WIDE)
        v1.get_variable("bias", initializer=OLD[:, 0])
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(made / "model"))
    return made


def info(folder, size=4, extra=0, **more):
    return v1.train.VocabInfo(str(folder / "new"), size, extra, str(folder / "old"), **more)


def started(folder, name, shape, given, partitioner=None, before=None):
    with tf.Graph().as_default(), v1.Session() as session:
        ones = v1.ones_initializer()
        made = v1.get_variable(name, shape=shape, initializer=ones, partitioner=partitioner)
        v1.train.warm_start(
            str(folder / "model"),
            var_name_to_vocab_info={name: given},
            var_name_to_prev_var_name=before,
        )
        session.run(v1.global_variables_initializer())
        return session.run(tf.convert_to_tensor(made)).tolist()


# The values are TensorFlow 2.21's.
@pytest.mark.parametrize(
    ("shape", "options", "want"),
    [
        ([5, 2], {"extra": 1}, [[6.0, 7.0], ZERO, [2.0, 3.0], ZERO, ZERO]),
        ([5, 2], {"extra": 1, "old_vocab_size": 2}, [ZERO, ZERO, [2.0, 3.0], ZERO, ZERO]),
        ([3, 2], {"size": 3}, [[6.0, 7.0], ZERO, [2.0, 3.0]]),
        ([4, 2], {"extra": 1}, [[6.0, 7.0], ZERO, [2.0, 3.0], ZERO]),
    ],
)
def test_rows_move(folder, shape, options, want):
    assert started(folder, "table", shape, info(folder, **options)) == want


@pytest.mark.parametrize("rows", [4, 6])
def test_rows_move_to_the_parts_of_a_variable(folder, rows):
    parts = v1.fixed_size_partitioner(2)
    found = started(folder, "table", [rows, 2], info(folder, extra=rows - 4), parts)
    assert found == [[6.0, 7.0], ZERO, [2.0, 3.0], *[ZERO] * (rows - 3)]


def test_columns_move(folder):
    found = started(folder, "wide", [3, 5], info(folder, extra=1, axis=1))
    assert found == [[row[3], 0.0, row[1], 0.0, 0.0] for row in WIDE.tolist()]
    halves = v1.fixed_size_partitioner(3)
    assert started(folder, "wide", [3, 5], info(folder, extra=1, axis=1), halves) == found


def test_new_entries_begin_as_the_initializer_says(folder):
    given = info(folder, extra=1, backup_initializer=v1.constant_initializer(9.0))
    found = started(folder, "table", [5, 2], given)
    assert found == [[6.0, 7.0], [9.0, 9.0], [2.0, 3.0], [9.0, 9.0], [9.0, 9.0]]


def test_under_another_name(folder):
    found = started(folder, "fresh", [4, 2], info(folder), before={"fresh": "table"})
    assert found == [[6.0, 7.0], ZERO, [2.0, 3.0], ZERO]


@pytest.mark.parametrize(
    ("name", "shape", "options", "error", "words"),
    [
        ("bias", [4], {}, tf.errors.InvalidArgumentError, "expected two matrices"),
        ("table", [4, 3], {}, tf.errors.InvalidArgumentError, r"as many columns, got \(4, 3\)"),
        ("wide", [2, 4], {"axis": 1}, tf.errors.InvalidArgumentError, "as many rows"),
        ("table", [6, 2], {"size": 5}, tf.errors.InvalidArgumentError, "expected 5 but got 4"),
        ("table", [4, 2], {"axis": 2}, ValueError, "expected axis 0 or 1 of VocabInfo, got 2"),
    ],
)
def test_what_does_not_fit(folder, name, shape, options, error, words):
    with pytest.raises(error, match=words):
        started(folder, name, shape, info(folder, **options))


def test_a_missing_vocabulary(folder):
    with pytest.raises(tf.errors.NotFoundError, match="missing"):
        started(folder, "table", [4, 2], info(folder)._replace(new_vocab=str(folder / "missing")))


@pytest.mark.parametrize("argument", ["var_name_to_vocab_info", "var_name_to_prev_var_name"])
def test_names_of_no_variable(folder, argument):
    given = info(folder) if argument.endswith("info") else "table"
    with tf.Graph().as_default():
        v1.get_variable("table", shape=[4, 2])
        with pytest.raises(ValueError, match=rf"{argument} that were not used: \['tabel'\]"):
            v1.train.warm_start(str(folder / "model"), **{argument: {"tabel": given}})
