"""The doctor's checks of versions, on made-up requirements."""

import pytest

from penstock.cli.findings import Requirement, check_extras, check_requirements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jax<0.12,>=0.10", ("jax", "<0.12,>=0.10", None)),
        ('matplotlib>=3.9; extra == "demo"', ("matplotlib", ">=3.9", "demo")),
        ("ray[default] >=2 ; extra == 'cluster'", ("ray", ">=2", "cluster")),
        ("google-crc32c", ("google-crc32c", "", None)),
    ],
)
def test_parsing(text, expected):
    parsed = Requirement.parse(text)
    assert (parsed.name, parsed.bounds, parsed.extra) == expected


def test_parsing_refuses_what_has_no_name():
    with pytest.raises(ValueError, match="expected a requirement"):
        Requirement.parse("  ")


@pytest.mark.parametrize(
    ("bounds", "version", "holds"),
    [
        (">=0.10,<0.12", "0.10", True),
        (">=0.10,<0.12", "0.10.0", True),
        (">=0.10,<0.12", "0.9.9", False),
        (">=0.10,<0.12", "0.11.7", True),
        (">=0.10,<0.12", "0.12", False),
        (">=0.10,<0.12", "0.12.0rc1", False),
        (">=2.0", "2", True),
        ("!=2.1", "2.1.0", False),
        ("==2.1", "2.1.0", True),
        ("", "0.0.1", True),
    ],
)
def test_bounds(bounds, version, holds):
    assert Requirement("x", bounds, None).holds_for(version) is holds


def requirements(*texts):
    return [Requirement.parse(text) for text in texts]


def test_a_missing_and_an_old_package_are_problems_with_a_command():
    needed = requirements("a>=1", "b>=2,<3", "c", "d; extra == 'demo'")
    a, b, c = check_requirements(needed, {"a": "1.5", "b": "3.0"}.get)
    assert (a.value, a.problem, a.fix) == ("1.5", None, None)
    assert (b.value, b.problem) == ("3.0", "expected b>=2,<3, got 3.0")
    assert b.fix == "pip install 'b>=2,<3'"
    assert (c.value, c.problem) == ("missing", "c is not installed")


def test_a_missing_extra_names_its_command_and_is_no_problem():
    needed = requirements("a", "b; extra == 'demo'", "c>=2; extra == 'demo'", "t; extra == 'dev'")
    (finding,) = check_extras(needed, {"b": "1"}.get)
    assert finding.name == "demo"
    assert finding.value == "no c; to add it: pip install 'penstock[demo]'"
    assert finding.problem is None


def test_an_extra_out_of_bounds_is_a_problem():
    needed = requirements("b>=1; extra == 'demo'", "c>=2; extra == 'demo'")
    b, c = check_extras(needed, {"b": "1", "c": "1.9"}.get)
    assert (b.name, b.value, b.problem) == ("demo: b", "1", None)
    assert (c.name, c.problem) == ("demo: c", "expected c>=2, got 1.9")
