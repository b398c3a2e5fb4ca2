"""`SaveOptions`, `LoadOptions` and `VariablePolicy`."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.checkpoint.options import check_callback


class VariablePolicy(enum.Enum):
    """What a SavedModel says of where variables were.

    Attributes:
      NONE: nothing.
      SAVE_VARIABLE_DEVICES: the device of each variable.
      EXPAND_DISTRIBUTED_VARIABLES: as NONE: a variable spread over replicas is one variable.
    """

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"

    def _save_variable_devices(self) -> bool:
        return self is VariablePolicy.SAVE_VARIABLE_DEVICES

    @staticmethod
    def from_obj(obj: Any) -> "VariablePolicy":
        """A policy given as one, by its name, or as None.

        Raises:
          ValueError: there is no such policy.
        """
        if obj is None:
            return VariablePolicy.NONE
        if isinstance(obj, VariablePolicy):
            return obj
        for policy in VariablePolicy:
            if policy.value == str(obj).lower():
                return policy
        raise ValueError(f"invalid VariablePolicy value {obj!r}")


class SaveOptions:
    """How a SavedModel is written.

    Args:
      namespace_whitelist: accepted for compatibility: operations of all packages may be saved.
      save_debug_info: whether the lines that made the operations are written too, to the file
        `debug/saved_model_debug_info.pb`.
      function_aliases: names for functions, kept with the model.
      experimental_debug_stripper: whether Assert, CheckNumerics and Print operations are left out.
      experimental_io_device: a device of the task whose files these are: this process alone has
        any here.
      experimental_variable_policy: a VariablePolicy, or its name.
      experimental_custom_gradients: whether gradients given by `tf.custom_gradient` are saved, as
        functions.
      experimental_image_format: must be false: a model is one message.
      experimental_skip_saver: whether the operations that save and restore are left out of the
        graph of signatures.
      experimental_sharding_callback: a `tf.train.experimental.ShardingCallback`, which says which
        values go to which data file; one data file when None.
      extra_tags: tags besides "serve".

    Raises:
      ValueError: the sharding callback is none, the namespaces are no strings, or the image
        format is asked for.
      TypeError: `namespace_whitelist` is no list.
    """

    __slots__ = (
        "experimental_custom_gradients",
        "experimental_debug_stripper",
        "experimental_image_format",
        "experimental_io_device",
        "experimental_sharding_callback",
        "experimental_skip_saver",
        "experimental_variable_policy",
        "extra_tags",
        "function_aliases",
        "namespace_whitelist",
        "save_debug_info",
    )

    def __init__(
        self,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: Mapping[str, Any] | None = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Any = None,
    ) -> None:
        check_callback(experimental_sharding_callback)
        if experimental_image_format:
            raise ValueError(
                "experimental_image_format: expected False, a model that is one message, got "
                f"{experimental_image_format!r}, which TensorFlow has disabled too. Leave it out."
            )
        self.namespace_whitelist = _strings("namespace_whitelist", namespace_whitelist)
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = extra_tags


class LoadOptions:
    """How a SavedModel is loaded.

    Args:
      allow_partial_checkpoint: whether variables may be missing among the saved values.
      experimental_io_device: a device of the task whose files these are: this process alone has
        any here.
      experimental_skip_checkpoint: whether variables are left without values.
      experimental_variable_policy: a VariablePolicy, or its name.
      experimental_load_function_aliases: whether the object gets `function_aliases`, the functions
        by the names of `SaveOptions.function_aliases`.
    """

    __slots__ = (
        "allow_partial_checkpoint",
        "experimental_io_device",
        "experimental_load_function_aliases",
        "experimental_skip_checkpoint",
        "experimental_variable_policy",
    )

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_load_function_aliases = experimental_load_function_aliases


def _strings(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list | tuple | set):
        raise TypeError(f"{name}: expected a list of strings, got {value!r}. Pass ['...'].")
    if not all(isinstance(v, str) for v in value):
        raise ValueError(f"{name}: expected strings in the list, got {value!r}. Pass ['...'].")
    return list(value)
