"""`tf.config.optimizer`: the settings of what rewrites graphs.

The planner compiles what it can in connected regions, whatever is set here: that is what TensorFlow
calls auto-clustering. The setting is kept, so that programs that read it back find it.
"""

_AUTOCLUSTERING = "autoclustering"
_settings = {"jit": ""}


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
