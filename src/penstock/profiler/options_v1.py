"""`tf.compat.v1.profiler.ProfileOptionBuilder`: what a report of the first generation shows."""

import copy
from typing import Any

_COMMON: dict[str, Any] = {
    "max_depth": 10000,
    "min_bytes": 0,
    "min_micros": 0,
    "min_params": 0,
    "min_float_ops": 0,
    "min_occurrence": 0,
    "order_by": "name",
    "account_type_regexes": [".*"],
    "start_name_regexes": [".*"],
    "trim_name_regexes": [],
    "show_name_regexes": [".*"],
    "hide_name_regexes": [],
    "account_displayed_op_only": False,
    "select": ["micros"],
    "step": -1,
    "output": "stdout",
}


class ProfileOptionBuilder:
    """Builds the options of `tf.compat.v1.profiler.profile`; each method returns the builder.

    Args:
      options: options to begin with.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = copy.deepcopy(_COMMON | {"max_depth": 100} if options is None else options)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options for the number of parameters of trainable variables."""
        found = copy.deepcopy(_COMMON)
        wanted = {"account_type_regexes": ["_trainable_variables"], "select": ["params"]}
        return found | wanted | {"account_displayed_op_only": True}

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options for the number of floating-point operations."""
        wanted = {"min_float_ops": 1, "select": ["float_ops"], "order_by": "float_ops"}
        return copy.deepcopy(_COMMON) | wanted | {"account_displayed_op_only": True}

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Options for time and memory; operations with less than any of these are left out."""
        wanted = {
            "min_bytes": min_bytes,
            "min_peak_bytes": min_peak_bytes,
            "min_residual_bytes": min_residual_bytes,
            "min_output_bytes": min_output_bytes,
            "min_micros": min_micros,
            "min_accelerator_micros": min_accelerator_micros,
            "min_cpu_micros": min_cpu_micros,
            "order_by": "micros",
            "select": ["micros", "bytes"],
            "account_displayed_op_only": True,
        }
        return copy.deepcopy(_COMMON) | wanted

    def build(self) -> dict[str, Any]:
        """The options: a dictionary of their own."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> "ProfileOptionBuilder":
        self._options.update(changes)
        return self

    def with_max_depth(self, max_depth: int) -> "ProfileOptionBuilder":
        """How deep in the tree of scopes is shown."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> "ProfileOptionBuilder":
        """Shows only operations that take as much memory."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> "ProfileOptionBuilder":
        """Shows only operations that take as long."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_parameters(self, min_params: int) -> "ProfileOptionBuilder":
        """Shows only operations with as many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> "ProfileOptionBuilder":
        """Shows only types of operations of which there are as many."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> "ProfileOptionBuilder":
        """Shows only operations with as many floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: list[str]) -> "ProfileOptionBuilder":
        """Counts only operations of types that match."""
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: list[str] | None = None,
        show_name_regexes: list[str] | None = None,
        hide_name_regexes: list[str] | None = None,
        trim_name_regexes: list[str] | None = None,
    ) -> "ProfileOptionBuilder":
        """Which names are shown; None leaves a list as it is."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{k: list(v) for k, v in given.items() if v is not None})

    def account_displayed_op_only(self, is_true: bool) -> "ProfileOptionBuilder":
        """Whether totals are of what is shown alone."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> "ProfileOptionBuilder":
        """Prints nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> "ProfileOptionBuilder":
        """Prints the report."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> "ProfileOptionBuilder":
        """Writes the report to a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> "ProfileOptionBuilder":
        """Writes a Chrome trace to a file."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> "ProfileOptionBuilder":
        """Writes a profile for pprof to a file."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> "ProfileOptionBuilder":
        """The order of rows: name, micros, bytes, params, float_ops or occurrence."""
        return self._with(order_by=attribute)

    def select(self, attributes: list[str]) -> "ProfileOptionBuilder":
        """The columns that are shown."""
        return self._with(select=copy.copy(attributes))

    def with_step(self, step: int) -> "ProfileOptionBuilder":
        """The step that is shown; -1 for all."""
        return self._with(step=step)
