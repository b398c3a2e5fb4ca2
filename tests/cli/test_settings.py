"""The doctor's checks of the environment and of caches."""

import os

import pytest

from penstock.cli.settings import check_caches, check_environment


def problems(findings):
    return {each.name: each for each in findings if each.problem}


def test_an_empty_environment_is_fine():
    (summary,) = check_environment({"HOME": "/x"})
    assert summary.value.endswith("recognised, 0 set, 0 malformed")
    assert summary.problem is None


def test_set_variables_are_shown_and_long_values_shortened():
    summary, config, threads = check_environment(
        {
            "PENSTOCK_THREADS": "3",
            "PENSTOCK_XLA_OPTIONS": '{"cluster": {}, "x": "' + "y" * 100 + '"}',
        }
    )
    assert "2 set, 0 malformed" in summary.value
    assert (threads.name, threads.value, threads.problem) == ("PENSTOCK_THREADS", "3", None)
    assert len(config.value) == 60
    assert config.value.endswith("...")


def test_a_malformed_value_names_variable_and_value():
    found = problems(check_environment({"PENSTOCK_THREADS": "many"}))["PENSTOCK_THREADS"]
    assert "PENSTOCK_THREADS" in found.problem
    assert "'many'" in found.problem
    assert found.fix == "unset PENSTOCK_THREADS, or correct its value"


def test_a_misspelt_name_gets_a_suggestion():
    found = problems(check_environment({"PENSTOCK_TREADS": "2", "OTHER": "1"}))
    assert list(found) == ["PENSTOCK_TREADS"]
    assert (
        found["PENSTOCK_TREADS"].fix == "unset PENSTOCK_TREADS, or did you mean PENSTOCK_THREADS?"
    )


def test_an_unlike_name_gets_none():
    found = problems(check_environment({"PENSTOCK_QQQQ": "2"}))
    assert found["PENSTOCK_QQQQ"].fix == "unset PENSTOCK_QQQQ"


def disk(environ):
    return check_caches(environ)[0]


def test_a_cache_is_counted_against_its_bound(tmp_path):
    (tmp_path / "xla").mkdir()
    (tmp_path / "xla" / "a").write_bytes(b"x" * 1000)
    environ = {"PENSTOCK_CACHE_DIR": str(tmp_path), "PENSTOCK_COMPILATION_CACHE_SIZE": "1000"}
    finding = disk(environ)
    assert finding.value == f"{tmp_path / 'xla'}: 1 files, 1000 B of at most 1000 B"
    assert finding.problem is None
    (tmp_path / "xla" / "b").write_bytes(b"x")
    over = disk(environ)
    assert "holds 1001 B" in over.problem
    assert f"rm -r {tmp_path}" in over.fix


def test_a_cache_that_is_off_is_no_problem():
    finding = disk({"PENSTOCK_COMPILATION_CACHE": "0"})
    assert "switched off" in finding.value
    assert finding.problem is None


def test_a_cache_that_is_not_there_yet_is_no_problem(tmp_path):
    assert disk({"PENSTOCK_CACHE_DIR": str(tmp_path / "a" / "b")}).problem is None


def test_a_file_in_place_of_the_cache_is_a_problem(tmp_path):
    (tmp_path / "file").touch()
    finding = disk({"PENSTOCK_CACHE_DIR": str(tmp_path / "file")})
    assert "cannot be written" in finding.problem
    assert "PENSTOCK_CACHE_DIR" in finding.fix


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_without_permission_is_a_problem(tmp_path):
    tmp_path.chmod(0o500)
    assert "cannot be written" in disk({"PENSTOCK_CACHE_DIR": str(tmp_path)}).problem


def test_malformed_settings_show_the_defaults():
    plans = check_caches({"PENSTOCK_PLAN_CACHE": "x"})[1]
    assert "at most 256" in plans.value
    assert "at most 7 " in check_caches({"PENSTOCK_PLAN_CACHE": "7"})[1].value
