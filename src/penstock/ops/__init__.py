"""Operations by family.

`FAMILIES` lists the modules; `load_all` imports them, which registers their operations.
"""

import importlib

FAMILIES = (
    "array_basics",
    "math_arithmetic",
    "random_stateful",
    "random_stateless",
    "state_optimizers",
    "state_scatter",
    "state_slices",
    "state_variables",
)


def load_all() -> None:
    """Imports every family."""
    for family in FAMILIES:
        importlib.import_module(f"penstock.ops.{family}")
