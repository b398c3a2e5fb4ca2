"""Public names of assertions, printing and Python functions."""


def _both(names: list[str]) -> dict[str, list[str]]:
    """Assertions that have another argument order in version 1."""
    table = {}
    for name in names:
        table[name] = [f"debugging.{name}"]
        table[f"{name}_v1"] = [f"compat.v1.{name}", f"compat.v1.debugging.{name}"]
    return table


_PAIRS = _both(
    "assert_none_equal assert_less_equal assert_greater_equal assert_negative assert_positive "
    "assert_non_negative "
    "assert_non_positive assert_near".split()
)
for _name in ("assert_equal", "assert_less", "assert_greater"):
    _PAIRS |= {_name: [_name, f"debugging.{_name}"]} | {
        f"{_name}_v1": _both([_name])[f"{_name}_v1"]
    }
_RANKS = _both(
    "assert_rank_at_least assert_rank_in assert_scalar assert_integer assert_type".split()
)
_RANKS |= {
    "assert_shapes": ["debugging.assert_shapes"],
    "assert_shapes_v1": ["compat.v1.debugging.assert_shapes"],
}
_RANKS |= {"assert_rank": ["assert_rank", "debugging.assert_rank"]} | {
    "assert_rank_v1": _both(["assert_rank"])["assert_rank_v1"]
}

EXPORTS = {
    "penstock.core.effect_recorder": {
        "record_effects": ["debugging.experimental.record_effects"],
    },
    "penstock.core.effect_replay": {
        "replay_effects": ["debugging.experimental.replay_effects"],
    },
    "penstock.core.effects": {"acting_as": ["debugging.experimental.acting_as"]},
    "penstock.core.tracebacks": {
        name: [f"debugging.{name}"]
        for name in (
            "disable_traceback_filtering",
            "enable_traceback_filtering",
            "is_traceback_filtering_enabled",
        )
    },
    "penstock.ops.array_identity": {
        "check_numerics": ["debugging.check_numerics", "compat.v1.check_numerics"]
    },
    "penstock.ops.debug_asserts": {
        **_PAIRS,
        "assert_all_finite": ["debugging.assert_all_finite"],
        "assert_that": ["Assert", "debugging.Assert"],
        "verify_tensor_all_finite": [
            "compat.v1.verify_tensor_all_finite",
            "compat.v1.debugging.assert_all_finite",
        ],
    },
    "penstock.ops.debug_dump": {
        name: [f"debugging.experimental.{name}"]
        for name in ("disable_dump_debug_info", "enable_dump_debug_info")
    },
    "penstock.ops.debug_numerics": {
        "add_check_numerics_ops": ["compat.v1.add_check_numerics_ops"],
        "disable_check_numerics": ["debugging.disable_check_numerics"],
        "enable_check_numerics": ["debugging.enable_check_numerics"],
    },
    "penstock.ops.debug_print": {"print_v1": ["compat.v1.Print"], "print_v2": ["print"]},
    "penstock.ops.debug_shapes": {
        **_RANKS,
        "assert_proper_iterable": [
            "debugging.assert_proper_iterable",
            "compat.v1.assert_proper_iterable",
        ],
        "assert_same_float_dtype": [
            "debugging.assert_same_float_dtype",
            "compat.v1.assert_same_float_dtype",
        ],
        "is_numeric_tensor": ["debugging.is_numeric_tensor", "compat.v1.is_numeric_tensor"],
    },
    "penstock.ops.py_functions": {
        "numpy_function": ["numpy_function"],
        "py_func": ["compat.v1.py_func"],
        "py_function": ["py_function"],
    },
    "penstock.runtime.races": {
        "get_race_checks": ["debugging.experimental.get_race_checks"],
        "set_race_checks": ["debugging.experimental.set_race_checks"],
    },
    "penstock.ops.text_format": {"string_format": ["strings.format"]},
}
