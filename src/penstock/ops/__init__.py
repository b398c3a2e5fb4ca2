"""Operations by family.

`FAMILIES` lists the modules; `load_all` imports them, which registers their operations.
"""

import importlib

FAMILIES = (
    "array_basics",
    "math_arithmetic",
    "state_variables",
)


def load_all() -> None:
    """Imports every family."""
    for family in FAMILIES:
        importlib.import_module(f"penstock.ops.{family}")
