"""What functions and their traces say about themselves, and how arguments are bound to them."""

import collections
import copy
import functools
import pickle

import numpy as np
import pytest

import penstock as tf

Pair = collections.namedtuple("Pair", "a b")
X = tf.TensorSpec([None], tf.float32)


@tf.function
def _rich(p, d, *args, k=None, **kw):
    return p, d, args, k, kw


@tf.function
def _plain(x, y=2):
    return x * y


def _rich_trace():
    return _rich.get_concrete_function(
        Pair(tf.ones([2]), 3),
        {"z": tf.TensorSpec([], tf.int32), "y": None},
        "text",
        np.ones([3]),
        k=tf.SparseTensor([[0]], [1], [3]),
        extra=[tf.ones([])],
    )


def test_the_text_of_a_signature() -> None:
    assert _plain.get_concrete_function(X).pretty_printed_signature() == (
        "Input Parameters:\n"
        "  x (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(None,), dtype=tf.float32, name=None)\n"
        "  y (POSITIONAL_OR_KEYWORD): Literal[2]\n"
        "Output Type:\n"
        "  TensorSpec(shape=(None,), dtype=tf.float32, name=None)\n"
        "Captures:\n"
        "  None"
    )
    spec = "TensorSpec(shape=(None,), dtype=tf.float32, name=None)"
    assert _plain.get_concrete_function(X).pretty_printed_signature(verbose=False) == (
        f"(x: {spec}, y: Literal[2]) -> {spec}"
    )
    assert str(_plain.get_concrete_function(X)).startswith("ConcreteFunction Input Parameters:\n")
    assert f"<ConcreteFunction (x: {spec}" in repr(_plain.get_concrete_function(X))


def test_the_text_of_a_rich_signature() -> None:
    text = _rich_trace().pretty_printed_signature(verbose=False)
    start, _, result = text.partition(" -> ")
    assert start == (
        "(p: Pair[['a', TensorSpec(shape=(2,), dtype=tf.float32, name=None)], ['b', Literal[3]]],"
        " d: Dict[['z', TensorSpec(shape=(), dtype=tf.int32, name=None)], ['y', Literal[None]]],"
        " args_0: Literal['text'], args_1: TensorSpec(shape=(3,), dtype=tf.float64, name=None), /,"
        " *, k: SparseTensorSpec(TensorShape([3]), tf.int32),"
        " extra: List[TensorSpec(shape=(), dtype=tf.float32, name=None)])"
    )
    assert result.startswith("Tuple[Pair[['a', TensorSpec(")
    assert "['extra', List[TensorSpec(" in result


def test_captures_are_part_of_the_text() -> None:
    big = tf.ones([1000])
    function = tf.function(lambda x: x + big)
    text = function.get_concrete_function(X).pretty_printed_signature()
    assert f"Captures:\n  {id(big)}: TensorSpec(shape=(1000,), dtype=tf.float32, name=None)" in text
    assert text in function.pretty_printed_concrete_signatures()


def test_structured_signatures() -> None:
    concrete = _rich_trace()
    args, kwargs = concrete.structured_input_signature
    assert args[0].a.is_compatible_with(tf.ones([2]))
    assert args[0].b == 3
    assert args[1]["y"] is None
    assert args[2] == "text"
    assert kwargs["k"] == tf.SparseTensorSpec([3], tf.int32)
    assert type(concrete.structured_outputs[0]) is Pair
    assert concrete.output_dtypes[1] == {"z": tf.int32, "y": None}
    assert len(concrete.inputs) == 7
    assert len(concrete.function_type.flat_inputs) == 7
    assert concrete.function_type.parameters["p"].type_constraint.flatten()


def test_the_types_of_a_function() -> None:
    assert str(_rich.function_type) == "(p, d, *args, k=<captured_default_value>, **kw)"
    assert _rich.function_type.parameters["k"].optional
    assert _rich.function_spec.arg_names == ["p", "d"]
    assert _rich.function_spec.default_values == {"k": None}
    assert _rich.function_spec.fullargspec.varkw == "kw"
    assert _rich.function_spec.flat_input_signature == (None,)
    fixed = tf.function(_plain.python_function, input_signature=[X])
    assert fixed.function_spec.flat_input_signature == (X,)
    assert str(fixed.function_type) == (
        f"(x: {X}, y: Literal[2] = <captured_default_value>)".replace("'x'", "None")
    )


def test_public_classes() -> None:
    kinds = tf.types.experimental
    concrete = _plain.get_concrete_function(X)
    assert isinstance(_plain, kinds.GenericFunction)
    assert isinstance(_plain, kinds.PolymorphicFunction)
    assert isinstance(concrete, kinds.ConcreteFunction)
    assert isinstance(concrete.inference_fn, kinds.AtomicFunction)
    assert all(isinstance(f, kinds.Callable) for f in (_plain, concrete, concrete.inference_fn))
    assert isinstance(concrete.function_type, kinds.FunctionType)
    assert isinstance(X, kinds.TraceType)
    assert isinstance(X, kinds.SupportsTracingProtocol)
    assert isinstance(tf.constant(1), kinds.TensorLike)
    assert not isinstance(len, kinds.Callable)


def test_the_flat_function_behind() -> None:
    flat = _plain.get_concrete_function(X).inference_fn
    assert flat(tf.constant([2.0]))[0].numpy().tolist() == [4.0]
    assert flat.call_with_captures([tf.constant([3.0])], {}, []).numpy().tolist() == [6.0]


def test_the_body_as_a_message() -> None:
    message = _plain.get_concrete_function(X).function_def
    assert message.signature.name == _plain.get_concrete_function(X).name
    assert [a.name for a in message.signature.input_arg] == ["x"]
    assert "Mul" in [node.op for node in message.node_def]


# ---- calls of a trace ----------------------------------------------------------------------------


def test_a_trace_takes_the_structure_it_was_made_for() -> None:
    concrete = _rich.get_concrete_function({"u": X, "v": 3}, [X, X], k=7)
    a, b = tf.constant([1.0]), tf.constant([2.0])
    for result in (
        concrete({"u": a, "v": 3}, [a, b], k=7),
        concrete({"u": a, "v": 3}, [a, b]),
        concrete(p={"u": a, "v": 3}, d=[a, b]),
        concrete(a, a, b),
    ):
        assert result[0]["u"].numpy().tolist() == [1.0]
        assert [t.numpy()[0] for t in result[1]] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing a required argument: 'x'"),
        (([1.0], 3), {}, "Can not cast 3 to Literal"),
        (([1.0], 2, 4), {}, "too many positional arguments"),
        (([1.0],), {"z": 1}, "unexpected keyword argument 'z'"),
        (([1.0],), {"x": [1.0]}, "multiple values for argument 'x'"),
        (([[1.0]],), {}, "must be float32"),
    ],
)
def test_what_a_trace_refuses(args, kwargs, words) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        _plain.get_concrete_function(X)(*args, **kwargs)
    assert "for signature: (x: TensorSpec" in str(caught.value)
    assert "Fallback to flat signature also failed due to" in str(caught.value)


def test_composite_arguments_of_a_trace() -> None:
    double = tf.function(lambda s: tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape))
    concrete = double.get_concrete_function(tf.SparseTensorSpec([None], tf.float32))
    sparse = tf.SparseTensor([[1]], [2.0], [5])
    assert concrete(sparse).values.numpy().tolist() == [4.0]
    assert double(sparse).values.numpy().tolist() == [4.0]
    assert double.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError):
        concrete(tf.constant([1.0]))


# ---- calls of a function -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"z": 4}, "unexpected keyword argument 'z'"),
    ],
)
def test_arguments_that_do_not_fit(args, kwargs, words) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        _plain(*args, **kwargs)
    assert "Binding inputs to tf.function failed" in str(caught.value)
    assert "for signature: (x, y=2)" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "signature", "words"),
    [
        (lambda x: x, X, "must be either a tuple or a list"),
        (lambda x: x, [3], "possibly nested sequence of TensorSpec"),
        (lambda x: x, [X, X], "contains 1 extra type constraints"),
        (lambda x, y: x, [X], "missing type constraint for y"),
        (lambda x, *, y: x, [X], "keyword-only parameter `y` must have a default"),
    ],
)
def test_signatures_that_do_not_fit_the_function(function, signature, words) -> None:
    with pytest.raises(TypeError, match=words):
        tf.function(function, input_signature=signature)


def test_arguments_beside_an_input_signature() -> None:
    function = tf.function(lambda x, y=1000, *, k=4: x * y + k, input_signature=[X])
    assert function([1.0]).numpy().tolist() == [1004.0]
    assert function([1.0], int("1000"), k=4).numpy().tolist() == [1004.0]
    assert function(x=[1.0]).numpy().tolist() == [1004.0]
    with pytest.raises(TypeError, match=r"Can not cast 3 to Literal\[1000\]"):
        function([1.0], 3)
    with pytest.raises(TypeError, match=r"Can not cast 5 to Literal\[4\]"):
        function([1.0], k=5)
    rest = tf.function(lambda x, *more: more, input_signature=[X, X, X])
    assert [t.numpy()[0] for t in rest([0.0], [1.0], [2.0])] == [1.0, 2.0]
    with pytest.raises(TypeError):
        rest([0.0], [1.0])
    assert int(tf.function(lambda: 1, input_signature=())()) == 1


def test_attributes_are_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"`foo is not supported by tf\.function as an attribute"):
        tf.function(lambda x: x, experimental_attributes={"foo": 1})
    kept = tf.function(lambda x: x, experimental_attributes={"_noinline": True})
    assert kept(2.0).numpy() == 2.0


# ---- what is traced ------------------------------------------------------------------------------


class _Layer:
    calls = 0

    def __init__(self, scale):
        self.scale = scale

    @classmethod
    @tf.function
    def of_class(cls, x):
        return x + float(cls.calls)

    @staticmethod
    @tf.function
    def alone(x):
        return x + 1.0

    @property
    @tf.function
    def size(self):
        return tf.constant(self.scale)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def fixed(self, x):
        return x * self.scale

    @tf.function
    def __call__(self, x):
        return x * self.scale


def test_kinds_of_methods() -> None:
    layer, one = _Layer(3.0), tf.constant(1.0)
    assert float(_Layer.of_class(one)) == 1.0
    assert float(layer.of_class(one)) == 1.0
    assert float(layer.alone(one)) == 2.0
    assert float(layer.size) == 3.0
    assert float(layer.fixed(2)) == 6.0
    assert float(layer(one)) == 3.0
    assert float(_Layer.__call__(layer, one)) == 3.0
    assert str(layer.fixed.function_type) == (
        "(x: TensorSpec(shape=(), dtype=tf.float32, name=None))"
    )


def test_other_callables() -> None:
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)

        return wrapper

    class Adder:
        def __call__(self, x, y=1.0):
            return x + y

    partial = tf.function(functools.partial(lambda x, y, z=0.0: x - y + z, 5.0, z=1.0))
    assert float(partial(tf.constant(2.0))) == 4.0
    assert float(tf.function(Adder())(tf.constant(2.0))) == 3.0
    assert float(tf.function(logged(lambda x: x * 2.0))(tf.constant(2.0))) == 4.0
    nested = tf.function(tf.function(lambda x: x * 2.0))
    assert float(nested(tf.constant(2.0))) == 4.0


def test_copies_are_traced_anew() -> None:
    function = tf.function(lambda x: x + 1.0)
    function(1.0)
    for made in (copy.copy(function), copy.deepcopy(function)):
        assert made.experimental_get_tracing_count() == 0
        assert float(made(1.0)) == 2.0


def doubled(x):
    return x * 2.0


class Doubling:
    @tf.function
    def method(self, x):
        return doubled(x)


def test_pickles_are_traced_anew() -> None:
    function = tf.function(doubled, input_signature=[tf.TensorSpec([None])], jit_compile=True)
    function(tf.constant([1.0]))
    made = pickle.loads(pickle.dumps(function))
    assert made.experimental_get_tracing_count() == 0
    assert made.input_signature == function.input_signature
    assert made(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(tf.function(lambda x: x))
    with pytest.raises(TypeError, match="pickle the instance"):
        pickle.dumps(Doubling().method)


# ---- the tracing protocol ------------------------------------------------------------------------


class _Basket(tf.types.experimental.TraceType):
    def __init__(self, fruit, size):
        self.fruit, self.size = fruit, size

    def is_subtype_of(self, other):
        same = isinstance(other, _Basket) and self.fruit == other.fruit
        return same and other.size in (None, self.size)

    def most_specific_common_supertype(self, others):
        if not all(isinstance(o, _Basket) and o.fruit == self.fruit for o in others):
            return None
        return _Basket(self.fruit, None)

    def placeholder_value(self, placeholder_context):
        return _Fruits(self.fruit, self.size)

    def __eq__(self, other):
        return isinstance(other, _Basket) and vars(self) == vars(other)

    def __hash__(self):
        return hash((self.fruit, self.size))


class _Fruits:
    def __init__(self, fruit, size):
        self.fruit, self.size = fruit, size

    def __tf_tracing_type__(self, context):
        return _Basket(self.fruit, self.size)


def test_values_of_user_classes() -> None:
    seen = []

    @tf.function(reduce_retracing=True)
    def function(basket):
        seen.append((basket.fruit, basket.size))
        return tf.constant(basket.fruit)

    calls = [("fig", 1), ("fig", 1), ("fig", 2), ("fig", 3), ("pea", 3)]
    assert [function(_Fruits(*c)).numpy().decode() for c in calls] == [c[0] for c in calls]
    assert seen == [("fig", 1), ("fig", None), ("pea", 3)]


class _Box:
    def __init__(self, inside):
        self.inside = inside

    def __tf_tracing_type__(self, context):
        return _BoxType(tf.type_spec_from_value(self.inside))


class _BoxType(tf.types.experimental.TraceType):
    def __init__(self, spec):
        self.spec = spec

    def is_subtype_of(self, other):
        return isinstance(other, _BoxType) and self.spec.is_subtype_of(other.spec)

    def most_specific_common_supertype(self, others):
        return None

    def placeholder_value(self, placeholder_context):
        raise AssertionError("the tensors are given")

    def flatten(self):
        return [self.spec]

    def to_tensors(self, value):
        return [value.inside]

    def from_tensors(self, tensors):
        return _Box(next(tensors))

    def __eq__(self, other):
        return isinstance(other, _BoxType) and self.spec == other.spec

    def __hash__(self):
        return hash(self.spec)


def test_values_of_user_classes_with_tensors() -> None:
    function = tf.function(lambda box, x: box.inside * x)
    for value in (2.0, 3.0):
        assert float(function(_Box(tf.constant(value)), tf.constant(10.0))) == 10.0 * value
    assert function.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("parameter", "name"), [("_x", "arg__x"), ("__x", "arg___x"), ("\u00e9", "arg__"), ("x_", "x_")]
)
def test_parameters_whose_names_no_operation_may_have(parameter: str, name: str) -> None:
    function = tf.function(eval(f"lambda {parameter}: {parameter} + 1.0"))
    assert float(function(tf.constant(1.0))) == 2.0
    concrete = function.get_concrete_function(X)
    assert [t.op.name for t in concrete.inputs] == [name]
    assert [float(v) for v in concrete(tf.constant([1.0]))] == [2.0]


def _library(graph) -> list[str]:
    return [f.signature.name for f in graph.as_graph_def().library.function]


def test_a_trace_is_put_into_the_library_of_a_graph() -> None:
    square = tf.function(lambda x: x * x).get_concrete_function(tf.TensorSpec([], tf.float32))
    other = tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([], tf.float32))
    graph = tf.Graph()
    square.add_to_graph(graph)
    with graph.as_default():
        other.add_to_graph()
        assert _library(graph) == [square.name, other.name]
        node = tf.compat.v1.NodeDef(name="called", op="PartitionedCall", input=["x"])
        node.attr["f"].func.name = square.name
        node.attr["Tin"].list.type.append(tf.float32.as_datatype_enum)
        node.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)
        x = tf.constant(3.0)
        message = tf.compat.v1.GraphDef(node=[node])
        (y,) = tf.graph_util.import_graph_def(
            message, input_map={"x:0": x}, return_elements=["called:0"], name=""
        )
        with tf.compat.v1.Session() as session:
            assert session.run(y) == 9.0


def test_a_name_is_taken_once_unless_overwritten() -> None:
    def made(number):
        return tf.function(lambda x: x * number).get_concrete_function(tf.TensorSpec([]))

    first, second = made(2.0), made(3.0)
    second.body.name = first.body.name
    graph = tf.Graph()
    first.add_to_graph(graph)
    second.add_to_graph(graph)
    assert graph._functions[first.name] is first.body
    second.add_to_graph(graph, overwrite=True)
    assert graph._functions[first.name] is second.body


def test_the_passes_of_a_gradient_are_put_into_a_library() -> None:
    spec = tf.TensorSpec([], tf.float32)
    concrete = tf.function(lambda x: tf.sin(x * x)).get_concrete_function(spec)
    graph = tf.Graph()
    concrete.add_gradient_functions_to_graph(graph)
    names = _library(graph)
    assert names[0] == concrete.name
    assert any("forward" in name for name in names)
    assert any("backward" in name for name in names)
    number = tf.function(lambda x: x // 2).get_concrete_function(tf.TensorSpec([], tf.int32))
    graph = tf.Graph()
    number.add_gradient_functions_to_graph(graph)
    assert _library(graph) == [number.name]


def test_without_a_graph_there_is_nothing_to_add_to() -> None:
    concrete = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([]))
    concrete.add_to_graph()
    concrete.add_gradient_functions_to_graph()
    with pytest.raises(AttributeError, match="add_function"):
        concrete.add_to_graph(3)


def test_parts_of_a_named_tuple_are_named_by_its_fields() -> None:
    pair = collections.namedtuple("pair", "a b")
    spec = tf.TensorSpec([], tf.float32)
    concrete = tf.function(lambda p: p.a).get_concrete_function(pair(spec, [spec]))
    ((p,), _) = concrete.structured_input_signature
    assert [p.a.name, p.b[0].name] == ["p_a", "p_b_0"]
