"""What variables are told when they are made: how they are synchronised, aggregated, sliced."""

import enum
from collections.abc import Sequence
from typing import Any

from penstock import proto


class VariableSynchronization(enum.Enum):
    """When the copies of a variable that belong to several replicas are brought together.

    AUTO leaves it to the strategy, NONE never, ON_WRITE with every update, ON_READ when the value
    is read.
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregationV2(enum.Enum):
    """How updates of several replicas become one: not at all, their sum, mean, or the first."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (VariableAggregationV2, VariableAggregation)):
            return bool(self.value == other.value)
        return bool(self.value == other) if isinstance(other, int) else NotImplemented


class VariableAggregation(enum.Enum):
    """The first generation's `VariableAggregationV2`."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796  (an alias)

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (VariableAggregationV2, VariableAggregation)):
            return bool(self.value == other.value)
        return bool(self.value == other) if isinstance(other, int) else NotImplemented


def settle_modes(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: str | None
) -> tuple[VariableSynchronization, Any, bool]:
    """Synchronization, aggregation and trainable with their defaults filled in.

    Raises:
      ValueError: one of them is no mode.
    """
    if aggregation is None:
        aggregation = VariableAggregationV2.NONE
    elif not isinstance(aggregation, (VariableAggregation, VariableAggregationV2)):
        aggregation = _mode(VariableAggregationV2, aggregation, "aggregation", name)
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        synchronization = _mode(VariableSynchronization, synchronization, "synchronization", name)
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable


def _mode(modes: Any, value: Any, what: str, name: str | None) -> Any:
    try:
        return modes(value)
    except ValueError:
        raise ValueError(
            f"Invalid variable {what} mode: {value} for variable: {name}. Pass one of "
            f"{', '.join(f'{modes.__name__}.{m.name}' for m in modes)}."
        ) from None


class SaveSliceInfo:
    """Which part of a whole a variable is, so that checkpoints save and restore it as that part.

    Args:
      full_name: the name of the whole.
      full_shape: the shape of the whole.
      var_offset: where the part begins, in each dimension.
      var_shape: the shape of the part.
      save_slice_info_def: a SaveSliceInfoDef message, in place of the others.
      import_scope: a name scope that is put before `full_name` of the message.
    """

    def __init__(
        self,
        full_name: str | None = None,
        full_shape: Sequence[int] | None = None,
        var_offset: Sequence[int] | None = None,
        var_shape: Sequence[int] | None = None,
        save_slice_info_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        message = save_slice_info_def
        if message is not None:
            scope = f"{import_scope}/" if import_scope else ""
            full_name, full_shape = f"{scope}{message.full_name}", list(message.full_shape)
            var_offset, var_shape = list(message.var_offset), list(message.var_shape)
        self.full_name = full_name
        self.full_shape = full_shape
        self.var_offset = var_offset
        self.var_shape = var_shape

    @property
    def spec(self) -> str:
        """The slice as checkpoints write it: the whole shape, then offset and length by axis."""
        whole = " ".join(str(n) for n in self.full_shape or ())
        parts = zip(self.var_offset or (), self.var_shape or (), strict=True)
        return f"{whole} " + ":".join(f"{o},{n}" for o, n in parts)

    @classmethod
    def from_spec(cls, spec: str) -> "SaveSliceInfo":
        """The slice that `spec` writes."""
        *whole, parts = spec.split(" ")
        pairs = [part.split(",") for part in parts.split(":")]
        return cls(
            full_shape=[int(n) for n in whole],
            var_offset=[int(o) for o, _ in pairs],
            var_shape=[int(n) for _, n in pairs],
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A SaveSliceInfoDef message; None when the name is outside of `export_scope`."""
        name = self.full_name or ""
        if export_scope and not name.startswith(export_scope):
            return None
        message = proto.variable_pb2.SaveSliceInfoDef()
        message.full_name = name.removeprefix(f"{export_scope}/") if export_scope else name
        message.full_shape.extend(self.full_shape or ())
        message.var_offset.extend(self.var_offset or ())
        message.var_shape.extend(self.var_shape or ())
        return message
