"""`tf.data.Options`: how a dataset runs, and what of it stages ask for.

An object of options has a value for each option that was set. Options are merged in the order in
which `with_options` gave them, each option by itself: what was set last counts.
"""

import enum
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock import errors, proto

# Any: options are of several classes, and messages are made at first use.


class AutoShardPolicy(enum.IntEnum):
    """How the elements of a dataset are dealt out to workers.

    OFF leaves the dataset as it is; FILE deals out its files; DATA its elements; HINT puts the
    numbers of workers in the place of `tf.data.experimental.SHARD_HINT`; AUTO is FILE where there
    are files, else DATA.
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class AutotuneAlgorithm(enum.Enum):
    """Which algorithm tunes a dataset. Accepted for compatibility: stages tune themselves."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class ExternalStatePolicy(enum.Enum):
    """What is done when a state is saved that functions keep elsewhere, in variables, say.

    WARN logs a warning, IGNORE nothing, FAIL refuses to save.
    """

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Option:
    """One option: a property that knows the class of its values.

    Args:
      kind: of its values.
      default: what it is before it is set; a class of options makes one of these.
      alias: the option that this is another name of.
    """

    def __init__(self, kind: Any, default: Any = None, alias: str = "") -> None:
        self.kind = kind
        self.default = default
        self.alias = alias
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.alias or name

    def __get__(self, options: Any, owner: type) -> Any:
        return self if options is None else options._values.get(self.name, self.default)

    def __set__(self, options: Any, value: Any) -> None:
        if not options._mutable:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no"
                " effect. Use `tf.data.Dataset.with_options(options)` to set or update dataset"
                " options."
            )
        if not isinstance(value, self.kind):
            raise TypeError(
                f'Property "{self.name}" must be of type {self.kind}, got: {value!r} (type:'
                f" {type(value)})"
            )
        options._values[self.name] = value


class OptionsBase:
    """What all classes of options have: values that are checked, equality, merging."""

    _message: ClassVar[str] = ""  # the name of the message
    _fields: ClassVar[dict[str, str]] = {}  # options with another name in the message

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_mutable", True)
        for name, option in self._own_options().items():
            if issubclass(option.kind, OptionsBase):
                self._values[name] = option.kind()

    _values: dict[str, Any]
    _mutable: bool

    @classmethod
    def _own_options(cls) -> dict[str, _Option]:
        return {n: o for n, o in vars(cls).items() if isinstance(o, _Option) and not o.alias}

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(getattr(type(self), name, None), _Option):
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._to_proto() == other._to_proto()  # type: ignore[no-any-return]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self._values.items() if v != _unset(v))
        return f"{type(self).__name__}({shown})"

    def _freeze(self) -> None:
        object.__setattr__(self, "_mutable", False)
        for value in self._values.values():
            if isinstance(value, OptionsBase):
                value._freeze()

    def _merged(self, other: Any) -> Any:
        made = type(self)()
        for name in self._own_options():
            mine, its = self._values.get(name), other._values.get(name)
            if isinstance(mine, OptionsBase):
                made._values[name] = mine._merged(its)
            elif its is not None or mine is not None:
                made._values[name] = mine if its is None else its
        return made

    def _to_proto(self) -> Any:
        message = getattr(proto.dataset_options_pb2, self._message)()
        for name, value in self._values.items():
            field = self._fields.get(name, name)
            if isinstance(value, OptionsBase):
                getattr(message, field).CopyFrom(value._to_proto())
            elif isinstance(value, list):
                getattr(message, field).extend(value)
            else:
                setattr(message, field, value.value if isinstance(value, enum.Enum) else value)
        return message

    def _from_proto(self, message: Any) -> None:
        for name, option in self._own_options().items():
            field = self._fields.get(name, name)
            if issubclass(option.kind, OptionsBase):
                self._values[name]._from_proto(getattr(message, field))
            elif option.kind is list:
                if len(getattr(message, field)):
                    self._values[name] = list(getattr(message, field))
            elif _has(message, field):
                self._values[name] = option.kind(getattr(message, field))


def _unset(value: Any) -> Any:
    return type(value)() if isinstance(value, OptionsBase) else None


def _has(message: Any, field: str) -> bool:
    """Whether a field was set; one without presence, whether it is another than by default."""
    if message.DESCRIPTOR.fields_by_name[field].has_presence:
        return bool(message.HasField(field))
    return bool(getattr(message, field))


class AutotuneOptions(OptionsBase):
    """How stages that are left to us (`tf.data.AUTOTUNE`) are tuned.

    Attributes:
      enabled: bool, accepted for compatibility.
      cpu_budget: int, calls that may run at once in such a stage.
      ram_budget: int, bytes; accepted for compatibility.
      autotune_algorithm: AutotuneAlgorithm, accepted for compatibility.
      initial_parallelism: int, accepted for compatibility.
      min_parallelism: int, accepted for compatibility.
    """

    _message = "AutotuneOptions"
    enabled = _Option(bool)
    cpu_budget = _Option(int)
    ram_budget = _Option(int)
    autotune_algorithm = _Option(AutotuneAlgorithm)
    initial_parallelism = _Option(int)
    min_parallelism = _Option(int)


class DistributeOptions(OptionsBase):
    """How a dataset is dealt out to workers.

    Attributes:
      auto_shard_policy: AutoShardPolicy.
      num_devices: int.
    """

    _message = "DistributeOptions"
    auto_shard_policy = _Option(AutoShardPolicy, AutoShardPolicy.AUTO)
    num_devices = _Option(int)


class OptimizationOptions(OptionsBase):
    """Which rewrites are allowed: accepted for compatibility. All keep what a dataset gives.

    Attributes:
      apply_default_optimizations: bool.
      filter_fusion: bool.
      filter_parallelization: bool.
      inject_prefetch: bool.
      map_and_batch_fusion: bool.
      map_and_filter_fusion: bool.
      map_fusion: bool.
      map_parallelization: bool.
      noop_elimination: bool.
      parallel_batch: bool.
      seq_interleave_prefetch: bool.
      shuffle_and_repeat_fusion: bool.
    """

    _message = "OptimizationOptions"
    apply_default_optimizations = _Option(bool)
    filter_fusion = _Option(bool)
    filter_parallelization = _Option(bool)
    inject_prefetch = _Option(bool)
    map_and_batch_fusion = _Option(bool)
    map_and_filter_fusion = _Option(bool)
    map_fusion = _Option(bool)
    map_parallelization = _Option(bool)
    noop_elimination = _Option(bool)
    parallel_batch = _Option(bool)
    seq_interleave_prefetch = _Option(bool)
    shuffle_and_repeat_fusion = _Option(bool)


class ServiceOptions(OptionsBase):
    """Options of the data service: accepted for compatibility.

    Attributes:
      pinned: bool.
    """

    _message = "ServiceOptions"
    pinned = _Option(bool)


class ThreadingOptions(OptionsBase):
    """Which threads a dataset uses.

    Attributes:
      max_intra_op_parallelism: int; without effect: a function of elements has one thread.
      private_threadpool_size: int, threads of the iterator's own; 0 for the shared ones.
    """

    _message = "ThreadingOptions"
    max_intra_op_parallelism = _Option(int)
    private_threadpool_size = _Option(int)


class Options(OptionsBase):
    """How a dataset runs.

    Attributes:
      autotune: AutotuneOptions.
      dataset_name: str, a name for the dataset.
      deterministic: bool, whether elements come in the order of the input where stages do not say;
        True unless it is set.
      experimental_deterministic: another name of `deterministic`.
      experimental_distribute: DistributeOptions.
      experimental_external_state_policy: ExternalStatePolicy, WARN unless it is set.
      experimental_optimization: OptimizationOptions.
      experimental_service: ServiceOptions.
      experimental_slack: bool, accepted for compatibility.
      experimental_symbolic_checkpoint: bool, accepted for compatibility: states are always exact.
      experimental_threading: another name of `threading`.
      experimental_warm_start: bool, accepted for compatibility.
      framework_type: list of str, frameworks that made the dataset.
      threading: ThreadingOptions.

    Example:
      >>> import penstock as tf
      >>> options = tf.data.Options()
      >>> options.deterministic = False
      >>> options.threading.private_threadpool_size = 4
      >>> tf.data.Dataset.range(3).with_options(options).options().deterministic
      False
    """

    _message = "Options"
    _fields: ClassVar[dict[str, str]] = {
        "autotune": "autotune_options",
        "experimental_distribute": "distribute_options",
        "experimental_external_state_policy": "external_state_policy",
        "experimental_optimization": "optimization_options",
        "experimental_service": "service_options",
        "experimental_slack": "slack",
        "experimental_symbolic_checkpoint": "symbolic_checkpoint",
        "experimental_warm_start": "warm_start",
        "threading": "threading_options",
    }
    autotune = _Option(AutotuneOptions)
    dataset_name = _Option(str)
    deterministic = _Option(bool)
    experimental_deterministic = _Option(bool, alias="deterministic")
    experimental_distribute = _Option(DistributeOptions)
    experimental_external_state_policy = _Option(ExternalStatePolicy)
    experimental_optimization = _Option(OptimizationOptions)
    experimental_service = _Option(ServiceOptions)
    experimental_slack = _Option(bool)
    experimental_symbolic_checkpoint = _Option(bool)
    experimental_threading = _Option(ThreadingOptions, alias="threading")
    experimental_warm_start = _Option(bool)
    framework_type = _Option(list)
    threading = _Option(ThreadingOptions)

    def merge(self, options: "Options") -> "Options":
        """These options with those of another object, whose options count where they are set.

        Args:
          options: the others.

        Returns:
          New Options.

        Raises:
          TypeError: it is something else.
        """
        if not isinstance(options, Options):
            raise TypeError(
                f"Could not merge incompatible options of type {type(options)} and {type(self)}."
            )
        return self._merged(options)  # type: ignore[no-any-return]


def parsed(data: bytes) -> Options:
    """The options in a serialized message.

    Raises:
      InvalidArgumentError: it is none.
    """
    options = Options()
    try:
        options._from_proto(proto.dataset_options_pb2.Options.FromString(data))
    except Exception as problem:
        raise errors.InvalidArgumentError(
            None,
            None,
            "OptionsDataset: expected serialized_options that are an Options message, got"
            f" {len(data)} bytes that are not ({problem}).",
        ) from None
    return options


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What an iterator is run with.

    Attributes:
      threads: threads of its own; 0 for the shared ones.
      deterministic: whether elements come in the order of the input where a stage does not say.
      parallel: how many calls run at once where a stage leaves it to us; 0 for one a processor.
      external_state: what is done when a state is saved that functions keep elsewhere; None where
        it was not said.
    """

    threads: int = 0
    deterministic: bool = True
    parallel: int = 0
    external_state: ExternalStatePolicy | None = None


NO_OPTIONS = RunOptions()
SHARD_HINT = -1  # stands for the number of workers, and a worker's own, where the policy is HINT


def run_options(options: Options) -> RunOptions:
    """What of the options stages ask for."""
    return RunOptions(
        threads=max(options.threading.private_threadpool_size or 0, 0),
        deterministic=options.deterministic is not False,
        parallel=max(options.autotune.cpu_budget or 0, 0),
        external_state=options.experimental_external_state_policy,
    )
