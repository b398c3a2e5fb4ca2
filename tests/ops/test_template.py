"""`compat.v1.make_template`, eagerly too, and the initializer of tables."""

import pytest

import penstock as tf
from penstock.core import context

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _scale(x, k=1.0):
    w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
    return x * w * k


def test_calls_share_their_variables():
    template = v1.make_template("scale", _scale, k=2.0)
    assert template.variable_scope is None
    assert template.variables == []
    first, second = template(tf.constant(1.0)), template(tf.constant(2.0))
    assert (first.op.name, second.op.name) == ("scale/mul_1", "scale_1/mul_1")
    assert [v.name for v in template.trainable_variables] == ["scale/w:0"]
    assert template.non_trainable_variables == template.local_variables == []
    assert (template.name, template.variable_scope_name) == ("scale", "scale/")
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run([first, second]) == [2.0, 4.0]
        assert session.run(template(1.0, k=5.0)) == 5.0


def test_names_of_scopes():
    for expected in ("scale", "scale_1"):
        template = v1.make_template("scale", _scale)
        template(1.0)
        assert template.variables[0].name == f"{expected}/w:0"
    assert v1.make_template("now", _scale, create_scope_now_=True).variable_scope.name == "now"
    v1.make_template("u", _scale, unique_name_="same")(1.0)
    with pytest.raises(ValueError, match="same/w already exists"):
        v1.make_template("u", _scale, unique_name_="same")(1.0)


def test_variables_that_a_later_call_makes_are_refused():
    def with_another_name(x):
        return x * v1.get_variable(f"w{next(names)}", [])

    def with_a_new_one(x):
        return x * tf.Variable(1.0, name="q")

    names = iter(range(9))
    template = v1.make_template("a", with_another_name)
    template(1.0)
    with pytest.raises(ValueError, match="a/w1 does not exist"):
        template(1.0)
    template = v1.make_template("b", with_a_new_one)
    template(1.0)
    with pytest.raises(ValueError, match=r"no new trainable variable .* got b"):
        template(1.0)


def test_refused_templates():
    with pytest.raises(ValueError, match="name cannot be None"):
        v1.make_template(None, _scale)
    with context.graph_scope(None), pytest.raises(ValueError, match="unique_name_ cannot be used"):
        v1.make_template("scale", _scale, unique_name_="u")


def test_eagerly_a_template_holds_its_variables():
    def outer(x):
        own = v1.get_variable("c", [], initializer=v1.zeros_initializer(), trainable=False)
        return inner(x) + own

    with context.graph_scope(None):
        inner = v1.make_template("scale", _scale)
        template = v1.make_template("outer", outer)
        assert template(2.0).numpy() == 2.0
        inner.variables[0].assign(3.0)
        assert template(2.0).numpy() == 6.0
        names = {v.name for v in template.variables}
        assert names == {"outer/c:0", "outer/scale/w:0"}
        assert [v.name for v in template.trainable_variables] == ["outer/scale/w:0"]
        assert [v.name for v in template.non_trainable_variables] == ["outer/c:0"]
        assert template.local_variables == []
        other = v1.make_template("outer", outer)
        assert other(2.0).numpy() == 6.0  # it shares the inner template, which keeps its variable
        assert {v.name for v in other.variables} == {"outer_1/c:0"}
        w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
        assert w is not v1.get_variable("w", [], initializer=v1.zeros_initializer())


def test_eagerly_a_later_call_makes_no_trainable_variable():
    names = iter(range(9))
    with context.graph_scope(None):
        template = v1.make_template("a", lambda x: x * v1.get_variable(f"w{next(names)}", []))
        template(1.0)
        with pytest.raises(ValueError, match=r"no new trainable variable .* got a/w1"):
            template(1.0)


def test_a_template_in_a_function_and_outside_of_it():
    with context.graph_scope(None):
        template = v1.make_template("scale", _scale, create_scope_now_=True)
        function = tf.function(template)
        assert function(tf.constant(2.0)).numpy() == 2.0
        template.variables[0].assign(4.0)
        assert function(tf.constant(2.0)).numpy() == template(2.0).numpy() == 8.0
        assert len(template.variables) == 1


def test_a_template_that_failed_leaves_no_store_behind():
    def fails(x):
        v1.get_variable("w", [])
        raise KeyError(x)

    with context.graph_scope(None):
        with pytest.raises(KeyError):
            v1.make_template("fails", fails)(1)
        made = [v1.get_variable("w", []) for _ in range(2)]
        assert made[0] is not made[1]


def test_without_tables_their_initializer_does_nothing():
    op = v1.tables_initializer()
    assert (op.name, op.type) == ("init_all_tables", "NoOp")
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, tf.constant(1).op)
    assert v1.initialize_all_tables("again").control_inputs
