"""`tf.config.optimizer`: the settings of what rewrites graphs.

The planner compiles what it can in connected regions, whatever is set here: that is what TensorFlow
calls auto-clustering. The setting is kept, so that programs that read it back find it.
"""

from collections.abc import Mapping
from typing import Any

_AUTOCLUSTERING = "autoclustering"
_settings = {"jit": "", "half": ""}


def set_jit(enabled: bool | str) -> None:
    """Says whether operations are compiled in clusters; see the module's text.

    Args:
      enabled: True or "autoclustering" for yes; anything else for no, as in TensorFlow.

    Example:
      >>> set_jit(True)
      >>> get_jit()
      'autoclustering'
      >>> set_jit(False)
    """
    _settings["jit"] = _AUTOCLUSTERING if enabled in (True, _AUTOCLUSTERING) else ""


def get_jit() -> str:
    """What `set_jit` was told: "autoclustering", or "" for no."""
    return _settings["jit"]


_SWITCHES = (
    "layout_optimizer",
    "constant_folding",
    "shape_optimization",
    "remapping",
    "arithmetic_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "debug_stripper",
    "disable_model_pruning",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "auto_mixed_precision_onednn_bfloat16",
    "use_plugin_optimizers",
    "disable_meta_optimizer",
)
_NUMBERS = ("min_graph_nodes",)
_HALVES = (
    ("auto_mixed_precision", "float16"),
    ("auto_mixed_precision_onednn_bfloat16", "bfloat16"),
)
_options: dict[str, bool | int] = {"disable_model_pruning": False, "disable_meta_optimizer": False}


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Keeps settings of TensorFlow's graph optimizer, for programs that read them back.

    `auto_mixed_precision` computes products and convolutions of graphs and functions in float16,
    `auto_mixed_precision_onednn_bfloat16` in bfloat16; the planner's lists say what else. The
    others change nothing here: the planner simplifies every graph in the one way that keeps its
    results, and XLA does the rest. Options that are left out keep their values.

    Args:
      options: values by name: booleans, and the integer `min_graph_nodes`. Names that nobody knows
        are passed over, as in TensorFlow.

    Raises:
      TypeError: `options` is no mapping, or a value is of another type.

    Example:
      >>> set_experimental_options({"constant_folding": True})
      >>> get_experimental_options()["constant_folding"]
      True
    """
    if not isinstance(options, Mapping):
        raise TypeError(
            f"set_experimental_options: expected a mapping of names to values, got {options!r}."
            " Pass a dictionary."
        )
    known = dict.fromkeys(_SWITCHES, bool) | dict.fromkeys(_NUMBERS, int)
    chosen = {name: value for name, value in options.items() if name in known}
    for name, value in chosen.items():
        if type(value) is not known[name]:
            raise TypeError(
                f"set_experimental_options: expected {name!r} to be of type {known[name].__name__},"
                f" got {value!r}. Pass such a value, or leave the option out."
            )
    _options.update(chosen)
    _settings["half"] = next((half for name, half in _HALVES if _options.get(name)), "")


def half_precision() -> str:
    """The name of the dtype that products are computed in: "" unless mixed precision is on."""
    return _settings["half"]


def get_experimental_options() -> dict[str, bool | int]:
    """The settings that `set_experimental_options` was told, by name."""
    return {name: _options[name] for name in (*_SWITCHES, *_NUMBERS) if name in _options}
