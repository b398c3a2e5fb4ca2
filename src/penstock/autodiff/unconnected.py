"""What a gradient is where the result does not depend on the source."""

import enum


class UnconnectedGradients(enum.Enum):
    """NONE gives None for an unconnected source, ZERO gives zeros of its shape."""

    NONE = "none"
    ZERO = "zero"
