"""How graphs name, place and order operations, asked of TensorFlow and of Penstock alike.

Each scenario takes the module and returns plain values. `tools/tf_facts_graphs.py` keeps what
TensorFlow answers in `tests/data/tf_graphs.json`.
"""


def attempt(function):
    """The result, or the class of the error."""
    try:
        return function()
    except Exception as error:
        return type(error).__name__


def noop(tf, name=None):
    return tf.raw_ops.NoOp(name=name)


def waits(op):
    return [control.name for control in getattr(op, "op", op).control_inputs]


def identity(tf, value, name=None):
    return tf.raw_ops.Identity(input=value, name=name)


def placeholder(tf, name):
    return tf.raw_ops.Placeholder(dtype=tf.float32, shape=[2], name=name)


def operation_names(tf):
    graph = tf.compat.v1.get_default_graph()
    found = []

    def add(name):
        found.append(attempt(lambda: noop(tf, name).name))

    for name in ("a", "a", "A", "a_1", "a", "a/", "b"):
        add(name)
    for scope, name in (("s", "a"), ("s", "a"), ("s/", "a"), ("t/u", "q"), ("t", "q"), ("b", "q")):
        with graph.name_scope(scope) as entered:
            found.append(entered)
            add(name)
            add(name)
            add("absolute/")
            with graph.name_scope(None) as root:
                found.append(root)
                add("root")
            with graph.name_scope("in") as inner:
                found.append(inner)
                add("x")
                with graph.name_scope(entered) as back:
                    found.append(back)
                    add("x")
    for name in ("t", "t/u", "f/g", "f", "s_1", "s_2"):
        add(name)
    return found


def unique_names(tf):
    graph = tf.compat.v1.get_default_graph()
    asked = [
        ("u", True), ("u", True), ("u", False), ("u", False), ("U", True), ("u_1", True),
        ("u", True), ("v/w", True), ("v", True), ("v/w", True), ("u/", True),
    ]  # fmt: skip
    found = [graph.unique_name(name, mark_as_used=mark) for name, mark in asked]
    with graph.name_scope("scope"):
        found += [graph.unique_name("q"), graph.unique_name("q"), graph.unique_name("q", False)]
        found.append(graph.get_name_scope())
    return found


def names_with_odd_characters(tf):
    graph = tf.compat.v1.get_default_graph()
    odd = "_a|a b|-a|/a|.a|\\a|a\\b|a>b|>a|a:b|a^|a-b|a.b|é".split("|")
    found = [attempt(lambda name=name: noop(tf, name).name) for name in odd]
    with graph.name_scope("in"):
        found += [attempt(lambda name=name: noop(tf, name).name) for name in odd]
    found.append(attempt(lambda: noop(tf, 3)))
    found.append(attempt(lambda: graph.name_scope(3).__enter__()))
    return found


def control_dependencies(tf):
    graph = tf.compat.v1.get_default_graph()
    a, b = noop(tf, "a"), noop(tf, "b")
    x, y = placeholder(tf, "x"), placeholder(tf, "y")
    found = []
    with graph.control_dependencies([a]):
        c = noop(tf, "c")
        d = identity(tf, x, "d")
        e = identity(tf, d)
        found += [waits(c), waits(d), waits(e)]
        with graph.control_dependencies([b]):
            f = identity(tf, d)
            g = identity(tf, f)
            h = tf.raw_ops.AddV2(x=f, y=x)
            found += [waits(noop(tf)), waits(f), waits(g), waits(h)]
            with graph.control_dependencies(None):
                found.append(waits(noop(tf)))
                with graph.control_dependencies([c]):
                    found.append(waits(noop(tf)))
            found.append(waits(noop(tf)))
        with graph.control_dependencies([a]):
            found += [waits(noop(tf)), waits(identity(tf, d))]
        with graph.control_dependencies([c]):
            found += [waits(noop(tf)), waits(identity(tf, d))]
    with graph.control_dependencies([x, x.op, d]):
        found += [waits(noop(tf)), waits(identity(tf, x)), waits(identity(tf, y))]
    with graph.control_dependencies(["a", "x:0"]):
        found.append(waits(noop(tf)))
    with graph.control_dependencies([]):
        found.append(waits(noop(tf)))
    found.append(attempt(lambda: graph.control_dependencies([3]).__enter__()))
    marked = "_has_manual_control_dependencies"
    found.append([op.name for op in graph.get_operations() if marked in op.node_def.attr])
    return found


def devices(tf):
    graph = tf.compat.v1.get_default_graph()
    found, seen = [], []

    def add():
        found.append(attempt(lambda: noop(tf).device))

    def note(answer):
        return lambda op: seen.append(op.device) or answer

    with graph.device("/job:worker"):
        add()
        with graph.device("/task:3/gpu:1"):
            add()
            with graph.device("/job:ps/cpu:0"):
                add()
            with graph.device(None):
                add()
                with graph.device("/cpu:0"):
                    add()
            with graph.device(""):
                add()
        for answer in ("/gpu:2", "", "/job:ps/device:GPU:7"):
            with graph.device(note(answer)):
                add()
                with graph.device("/cpu:5"):
                    add()
        with graph.device(note("/cpu:1")), graph.device(note("/task:9")):
            add()
        with graph.device(tf.DeviceSpec(job="x", device_type="GPU", device_index=2)):
            add()
        with graph.device(lambda op: None):
            found.append(attempt(lambda: noop(tf, "refused")) == "TypeError")

    def enter(name):
        with graph.device(name):
            return noop(tf).device

    found += [attempt(lambda: enter("bogus")), attempt(lambda: enter("/job:a/bogus:1"))]
    return [found, seen]


def colocation(tf):
    graph = tf.compat.v1.get_default_graph()
    found = []

    def add(name):
        op = noop(tf, name)
        found.append([op.name, op.device, [g.decode() for g in op.colocation_groups()]])
        return op

    a = add("a")
    with graph.device("/cpu:0"):
        b = add("b")
    with graph.colocate_with(b):
        c = add("c")
        with graph.colocate_with(a):
            add("d")
        with graph.colocate_with(a, ignore_existing=True):
            add("e")
        with graph.colocate_with(None, ignore_existing=True):
            add("f")
        with graph.device("/gpu:1"):
            add("g")
    with graph.device("/gpu:1"):
        for other in (a, b, c):
            with graph.colocate_with(other):
                add("h")
                with graph.device("/gpu:2"):
                    add("i")
    found.append(attempt(lambda: graph.colocate_with(None).__enter__()))
    return found


class Named:
    """An item of a collection."""

    def __init__(self, name):
        self.name = name


def collections(tf):
    graph = tf.compat.v1.get_default_graph()

    def get(*arguments):
        return [getattr(item, "name", item) for item in graph.get_collection(*arguments)]

    for item in (Named("abc"), Named("xabc"), 3):
        graph.add_to_collection("k", item)
    graph.add_to_collections(["k", "l", "k"], 4)
    graph.add_to_collections("mm", 5)
    found = [get("k"), get("k", "a"), get("k", ".*b"), get("l"), get("mm"), get("none")]
    graph.get_collection_ref("made")
    found.append(sorted(graph.get_all_collection_keys()))
    graph.get_collection("k").append(1)
    graph.get_collection_ref("k").append(2)
    found.append(get("k"))
    graph.clear_collection("k")
    graph.clear_collection("none")
    graph.add_to_collection(("a", 1), 4)
    found += [get("k"), sorted(graph.get_all_collection_keys()), len(graph.collections)]
    found.append(attempt(lambda: graph.add_to_collection([], 1)))
    found.append(attempt(lambda: graph.add_to_collections(3, 1)))
    graph.finalize()
    found.append(attempt(lambda: graph.add_to_collection("k", 1)))
    found.append(attempt(lambda: graph.clear_collection("k")))
    found.append(attempt(lambda: noop(tf)))
    return found


def elements(tf):
    graph = tf.compat.v1.get_default_graph()
    x = placeholder(tf, "x")
    found = []

    def name_of(function):
        return attempt(lambda: function().name)

    asked = ["x", "x:0", "x:1", "y", "y:0", "x:a", ":0", "", "^x", "x:0:0", 3, None, x, x.op]
    for value in asked:
        for tensor, operation in ((True, True), (True, False), (False, True), (False, False)):
            found.append(
                name_of(lambda v=value, t=tensor, o=operation: graph.as_graph_element(v, t, o))
            )
        found.append(name_of(lambda v=value: graph.get_operation_by_name(v)))
        found.append(name_of(lambda v=value: graph.get_tensor_by_name(v)))
    found.append(attempt(lambda: tf.Graph().as_graph_element(x)))
    found.append(attempt(lambda: tf.Graph().as_graph_element(x.op)))
    return found


def operators(tf):
    x, i = placeholder(tf, "x"), tf.raw_ops.Placeholder(dtype=tf.int32, shape=[], name="i")
    for _ in range(2):
        _ = x + 1.0, 1.0 + x, x - 1.0, 1.0 - x, x * 2.0, 2.0 * x, x / 2.0, 2.0 / x, x**2.0, -x
        _ = i // 2, i % 2, i / 2, x < 1.0, x >= 1.0, x * x
        _ = tf.reshape(x, [1, 2]) @ [[1.0], [2.0]]
        _ = tf.add(x, 1.0), tf.add(1.0, x), tf.multiply(x, 2.0), tf.add(x, 1.0, name="named")
    graph = tf.compat.v1.get_default_graph()
    return [op.name for op in graph.get_operations()]


def constants_made_of_operands(tf):
    x = placeholder(tf, "x")
    tf.raw_ops.AddV2(x=x, y=1.0)
    tf.raw_ops.AddV2(x=x, y=1.0, name="named")
    tf.raw_ops.ConcatV2(values=[x, [1.0, 2.0]], axis=0)
    tf.raw_ops.Pack(values=[x, [1.0, 2.0]])
    tf.concat([x, [1.0]], 0)
    tf.reshape(x, [1, 2])
    tf.reduce_sum(x, 0)
    tf.reduce_sum(x, [0], name="total")
    tf.gather(x, [0])
    tf.expand_dims(x, 0)
    tf.transpose(x, [0])
    tf.fill([2], 1.0)
    tf.maximum(x, 0.0)
    tf.equal(x, 1.0)
    with tf.compat.v1.name_scope("scope"):
        tf.reshape(x, [2, 1])
        tf.range(3)
    graph = tf.compat.v1.get_default_graph()
    return [op.name for op in graph.get_operations()]


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        operation_names,
        unique_names,
        names_with_odd_characters,
        control_dependencies,
        devices,
        colocation,
        collections,
        elements,
        operators,
        constants_made_of_operands,
    )
}
