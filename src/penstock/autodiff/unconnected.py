"""What a gradient is where the result does not depend on the source."""

import enum
from typing import NoReturn


class UnconnectedGradients(enum.Enum):
    """NONE gives None for an unconnected source, ZERO gives zeros of its shape."""

    NONE = "none"
    ZERO = "zero"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {value!r}. Expected 'none' or 'zero'."
        )
