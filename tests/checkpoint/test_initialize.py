"""`init_from_checkpoint` and `warm_start`."""

import pytest

import penstock as tf

v1 = tf.compat.v1


@pytest.fixture
def path(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("old"):
            v1.get_variable("a", initializer=[1.0, 2.0])
            v1.get_variable("b", initializer=3.0)
        session.run(v1.global_variables_initializer())
        return v1.train.Saver().save(session, str(tmp_path / "m"))


@pytest.fixture
def variables():
    with tf.Graph().as_default():
        with v1.variable_scope("new"):
            a = v1.get_variable("a", initializer=[0.0, 0.0])
            b = v1.get_variable("b", initializer=0.0)
        c = v1.get_variable("c", initializer=[0.0, 0.0, 0.0])
        yield a, b, c


def values(variables):
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        return [session.run(v).tolist() for v in variables]


@pytest.mark.parametrize(
    ("mapping", "want"),
    [
        (lambda a, b: {"old/": "new/"}, [[1.0, 2.0], 3.0]),
        (lambda a, b: {"old/a": a, "old/b": "new/b"}, [[1.0, 2.0], 3.0]),
        (lambda a, b: [("old/b", b)], [[0.0, 0.0], 3.0]),
    ],
)
def test_mappings(path, variables, mapping, want):
    a, b, c = variables
    v1.train.init_from_checkpoint(path, mapping(a, b))
    assert values([a, b, c]) == [*want, [0.0, 0.0, 0.0]]


def test_parts_and_folders(tmp_path, path):
    with tf.Graph().as_default():
        parts = v1.get_variable(
            "p", [2], initializer=v1.zeros_initializer(), partitioner=v1.fixed_size_partitioner(2)
        )
        v1.train.init_from_checkpoint(tmp_path, {"old/a": parts})
        assert values(list(parts)) == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("mapping", "kind", "text"),
    [
        ({"old/a": "new/b"}, ValueError, r"new/b:0 \(\(\)\) doesn't match .* old/a \(\[2\]\)"),
        ({"old/zz": "new/a"}, ValueError, r"Tensor old/zz is not found in .*m checkpoint"),
        ({"old/a": "new/zz"}, ValueError, r"'scope/': 'other_scope/'.* one of \['c', 'new/a'"),
        ({"old": "new/"}, ValueError, "should map to scope only old"),
        ({"nope/": "new/"}, ValueError, r"Tensor nope/a \(a in nope/\) is not found"),
        ({"old/a": 3}, TypeError, r"for 'old/a', got 3"),
    ],
)
def test_refused(path, variables, mapping, kind, text):
    with pytest.raises(kind, match=text):
        v1.train.init_from_checkpoint(path, mapping)


def test_eagerly(path):
    v = tf.Variable([0.0, 0.0])
    v1.train.init_from_checkpoint(path, {"old/a": v})
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, [[1.0, 2.0], 3.0]),
        ({"vars_to_warm_start": ".*a"}, [[1.0, 2.0], 0.0]),
        ({"vars_to_warm_start": ["old/b"]}, [[0.0, 0.0], 3.0]),
        ({"vars_to_warm_start": None}, [[0.0, 0.0], 0.0]),
    ],
)
def test_warm_start(path, options, want):
    with tf.Graph().as_default():
        with v1.variable_scope("old"):
            a = v1.get_variable("a", initializer=[0.0, 0.0])
            b = v1.get_variable("b", initializer=0.0)
        v1.train.warm_start(path, **options)
        assert values([a, b]) == want


def test_warm_start_of_other_names(path, variables):
    a, b, _ = variables
    v1.train.warm_start(path, [a], var_name_to_prev_var_name={"new/a": "old/a"})
    assert values([a, b]) == [[1.0, 2.0], 0.0]
    with pytest.raises(ValueError, match=r"were not used: \['a'\]"):
        v1.train.warm_start(path, var_name_to_vocab_info={"a": 1})
