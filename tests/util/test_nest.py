"""Nested structures: round trips, classes of users, composite values, and differences."""

import collections
import dataclasses
import types as python_types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.util import nest, nest_paths
from penstock.util.nest_kinds import KINDS

Point = collections.namedtuple("Point", "x y")
leaves = st.none() | st.integers() | st.text(max_size=2)
structures = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda t: Point(*t))
        | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3).map(
            collections.OrderedDict
        )
    ),
    max_leaves=12,
)


class Field:
    def __init__(self, name):
        self.name = name


class Attrs:
    """What a class of `attrs` looks like."""

    __attrs_attrs__ = (Field("b"), Field("a"))

    def __init__(self, b, a):
        self.b, self.a = b, a


@dataclasses.dataclass
class Tagged:
    tag: str
    value: object

    def __tf_flatten__(self):
        return (self.tag,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata, components):
        return cls(metadata[0], components[0])


class Spec:
    """What a spec of a composite value looks like."""

    def __init__(self, size):
        self.size = size

    @property
    def _component_specs(self):
        return [f"spec{i}" for i in range(self.size)]

    def _to_components(self, value):
        return list(value.parts)

    def _from_components(self, components):
        return Composite(components)

    def most_specific_common_supertype(self, others):
        return self if all(o.size == self.size for o in others) else None


class Composite:
    def __init__(self, parts):
        self.parts = parts

    @property
    def _type_spec(self):
        return Spec(len(self.parts))


class Variable(Composite):
    __nest_leaf__ = True


@given(structures)
def test_packing_what_was_flattened_gives_the_structure(structure):
    packed = nest.pack_sequence_as(structure, nest.flatten(structure))
    assert packed == structure
    assert type(packed) is type(structure)
    nest.assert_same_structure(structure, packed)
    assert nest.map_structure(lambda x: x, structure) == structure


@given(structures)
def test_map_visits_the_leaves_in_order(structure):
    seen = []
    mapped = nest.map_structure(lambda x: seen.append(x) or len(seen), structure)
    assert seen == nest.flatten(structure)
    assert nest.flatten(mapped) == list(range(1, len(seen) + 1))


@given(structures)
def test_mapping_two_structures(structure):
    pairs = nest.map_structure(lambda a, b: (a, b), structure, structure)
    flat = nest_paths.flatten_up_to(structure, pairs)
    assert flat == [(x, x) for x in nest.flatten(structure)]


@given(structures)
def test_paths_lead_to_leaves(structure):
    paths = nest_paths.flatten_with_tuple_paths(structure)
    assert [leaf for _, leaf in paths] == nest.flatten(structure)
    assert len({path for path, _ in paths}) == len(paths)
    joined = nest_paths.flatten_with_joined_string_paths(structure, separator=".")
    assert [text for text, _ in joined] == [".".join(map(str, path)) for path, _ in paths]


def test_flat_lists_are_copied():
    items = [1, 2]
    assert nest.flatten(items) is not items
    mapped = nest.map_structure(lambda x: x, items)
    assert mapped is not items


def test_attrs_classes():
    assert nest.flatten(Attrs(1, [2])) == [1, 2]
    packed = nest.pack_sequence_as(Attrs(1, [2]), [3, 4])
    assert (packed.b, packed.a) == (3, [4])
    assert nest_paths.flatten_with_tuple_paths(Attrs(1, 2)) == [(("b",), 1), (("a",), 2)]


def test_dataclasses_say_what_their_children_are():
    value = Tagged("t", [1, 2])
    assert nest.flatten(value) == [1, 2]
    assert nest.pack_sequence_as(value, [3, 4]) == Tagged("t", [3, 4])
    assert nest.map_structure(lambda x: x + 1, value) == Tagged("t", [2, 3])


def test_mappings_keep_their_class_and_the_order_of_their_keys():
    counts = collections.defaultdict(int, {"b": 1, "a": 2})
    packed = nest.pack_sequence_as(counts, [3, 4])
    assert packed == {"a": 3, "b": 4}
    assert list(packed) == ["b", "a"]
    assert packed.default_factory is int
    proxy = python_types.MappingProxyType({"a": 1})
    assert nest.map_structure(lambda x: x + 1, proxy) == {"a": 2}
    assert nest.flatten({"b": 1, "a": 2}.items()) == ["b", 1, "a", 2]
    assert nest.pack_sequence_as({"a": 1}.values(), [3]) == [3]


def test_a_mapping_that_cannot_be_rebuilt_says_so():
    class Needs(dict):
        def __init__(self, a, b):
            super().__init__({a: b})

    with pytest.raises(TypeError, match="Error creating an object of type"):
        nest.map_structure(lambda x: x, Needs("a", 1))


def test_keys_that_cannot_be_sorted():
    with pytest.raises(TypeError, match="expected a mapping with keys that can be sorted"):
        nest.flatten({1: 1, "a": 2})


def test_composites_are_leaves_unless_expanded():
    value = Composite([1, 2])
    assert nest.flatten([value]) == [value]
    assert nest.flatten([value, 3], expand_composites=True) == [1, 2, 3]
    packed = nest.pack_sequence_as([value], [5, 6], expand_composites=True)
    assert packed[0].parts == [5, 6]
    doubled = nest.map_structure(lambda x: 2 * x, value, expand_composites=True)
    assert doubled.parts == [2, 4]
    assert nest.is_nested_or_composite(value)
    assert not nest.is_nested(value)
    leaf = Variable([1])
    assert nest.flatten(leaf, expand_composites=True) == [leaf]


def test_specs_expand_to_their_components():
    assert nest.flatten(Spec(2), expand_composites=True) == ["spec0", "spec1"]
    assert nest.pack_sequence_as(Spec(2), [1, 2], expand_composites=True).parts == [1, 2]


def test_composites_are_compared_by_their_specs():
    nest.assert_same_structure(Composite([1]), Composite([2]), expand_composites=True)
    nest.assert_same_structure(Composite([1]), Spec(1), expand_composites=True)
    for other in (Composite([1, 2]), 3):
        with pytest.raises(ValueError, match="don't have the same nested structure"):
            nest.assert_same_structure(Composite([1]), other, expand_composites=True)


@pytest.mark.parametrize(
    ("a", "b", "error", "message"),
    [
        ([1, [2]], [1, 2], ValueError, r"is a sequence, while .* is not \(at \[1\]\)"),
        ([1, 2], [1], ValueError, "same number of elements"),
        ([1], (1,), TypeError, "same sequence type"),
        ({"k": [1]}, {"k": (1,)}, TypeError, r"\(at \['k'\]\)"),
        ({"a": 1}, {"b": 1}, ValueError, "same set of keys"),
        (Point(1, 2), (1, 2), TypeError, "has type Point"),
    ],
)
def test_the_difference_is_named(a, b, error, message):
    with pytest.raises(error, match=message) as caught:
        nest.assert_same_structure(a, b)
    assert "Entire first structure" in str(caught.value)
    nest.assert_same_structure(a, a)
    if error is TypeError:
        nest.assert_same_structure(a, b, check_types=False)


def test_namedtuples_of_one_form_are_the_same():
    other = collections.namedtuple("Point", "x y")
    nest.assert_same_structure(Point(1, 2), other(3, 4))


def test_wrong_arguments():
    with pytest.raises(TypeError, match="func must be callable, got: 3"):
        nest.map_structure(3, [1])
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(len)
    with pytest.raises(ValueError, match="not: `other`"):
        nest.map_structure(len, [1], other=1)
    with pytest.raises(ValueError, match="Structure had 2 atoms, but flat_sequence had 3"):
        nest.pack_sequence_as([1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="Attempted to pack value"):
        nest.pack_sequence_as([1], "a")


def test_shallow_structures():
    assert nest_paths.flatten_up_to({"a": 0}, {"a": [1, 2]}) == [[1, 2]]
    assert nest_paths.map_structure_up_to([0, 0], len, [[1, 2], [3]]) == [2, 1]
    nest_paths.assert_shallow_structure([0], [[1, 2]])
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest_paths.flatten_up_to([0, [0]], [1, 2])
    with pytest.raises(ValueError, match=r"Input structure has length 1, while .* length 2"):
        nest_paths.flatten_up_to([0, 0], [1])
    with pytest.raises(ValueError, match="same keys"):
        nest_paths.flatten_up_to({"a": 0}, {"b": 1})
    with pytest.raises(TypeError, match="same sequence type"):
        nest_paths.flatten_up_to([0], (1,))
    assert nest_paths.flatten_up_to([0], (1,), check_types=False) == [1]
    with pytest.raises(ValueError, match="Cannot map over no sequences"):
        nest_paths.map_structure_up_to([0], len)


def test_map_with_paths():
    found = nest_paths.map_structure_with_paths(lambda path, x: (path, x), [1, {"a": 2}])
    assert found == [("0", 1), {"a": ("1/a", 2)}]


def test_a_class_is_looked_at_once():
    class Once(list):
        pass

    assert Once not in dict.keys(KINDS)
    assert nest.is_nested(Once())
    assert Once in dict.keys(KINDS)
