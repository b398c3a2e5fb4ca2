"""Names: which are valid, and which suffix a taken one gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.util.names import (
    UniqueNames,
    check_op_name,
    check_scope_name,
    is_valid_op_name,
    is_valid_scope_name,
)


@pytest.mark.parametrize("name", ["a", "A/b", "a_1", ".a", "1a", "a>b", "a-b", "a\\b", "a.b"])
def test_valid_names(name):
    assert is_valid_op_name(name)
    assert check_op_name(name) == name
    assert check_scope_name(name, root=True) == name


@pytest.mark.parametrize("name", ["", "a b", "/a", "_a", "-a", "é", "a:0", "a\n"])
def test_names_that_are_not_valid(name):
    assert not is_valid_op_name(name)
    with pytest.raises(ValueError, match="is not a valid node name"):
        check_op_name(name)
    with pytest.raises(ValueError, match="is not a valid root scope name"):
        check_scope_name(name, root=True)


def test_inner_scopes_may_start_with_an_underscore():
    assert is_valid_scope_name("_a")
    assert check_scope_name("_a") == "_a"
    with pytest.raises(ValueError, match="'a b' is not a valid scope name"):
        check_scope_name("a b")


def test_suffixes_are_tensorflows():
    names = UniqueNames()
    asked = ["a", "a", "A", "a_1", "a_1", "a", "b/c", "b/c", "a_1_1"]
    given_out = ["a", "a_1", "A_2", "a_1_1", "a_1_2", "a_3", "b/c", "b/c_1", "a_1_1_1"]
    assert [names.unique(name) for name in asked] == given_out
    assert names.unique("z", mark_as_used=False) == "z"
    assert names.unique("z", mark_as_used=False) == "z"
    assert names.unique("a", mark_as_used=False) == "a_4"
    assert names.unique("a") == "a_4"


@given(st.lists(st.sampled_from(["a", "A", "a_1", "a_1_1", "b", "a_2"]), max_size=30))
def test_no_name_is_given_out_twice(asked):
    names = UniqueNames()
    given_out = [names.unique(name).lower() for name in asked]
    assert len(set(given_out)) == len(given_out)
    assert all(names.is_taken(name) for name in given_out)


def test_marked_names_are_taken():
    names = UniqueNames()
    names.mark("X")
    assert names.is_taken("x")
    assert names.unique("x") == "x_1"


def test_a_copy_is_independent():
    names = UniqueNames()
    names.unique("a")
    other = names.copy()
    assert other.unique("a") == "a_1"
    assert names.unique("a") == "a_1"
