"""What a user sets for a session or a step, read out of ConfigProto and RunOptions once.

The messages may be ours or another library's with the same bytes (TensorFlow's). Messages are
imported only when one is given, so that sessions without settings do not load protobuf.
"""

from dataclasses import dataclass, field
from typing import Any

from penstock import errors, proto
from penstock.types import dtypes as dt
from penstock.types.device_spec import DeviceSpecV2
from penstock.types.dtypes import DType

NO_OPTIMIZATION = -1  # OptimizerOptions.L0
NO_TRACE = 0
ON = 1  # RewriterConfig.Toggle


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Settings of a session.

    Attributes:
      timeout_s: the time a step may take when its own options name none; None for any time.
      optimize: whether programs are simplified before they run.
      threads: bound on items of one step that run at the same time; 0 leaves it to the shared pool.
      kernel_threads: bound on threads within an operation, for the process, of which the first
        session decides; 0 leaves it to XLA.
      soft_placement: whether an operation may run on another device than it asks for.
      log_placement: whether each operation's device is logged when its plan is made.
      device_count: how many devices of a type to use at most; of CPUs, how many there are.
      pools: how many pools of threads a step may name; all are the one shared pool.
      half: the dtype of products in mixed precision; None leaves it to `tf.config.optimizer`.
      executor: the kind of executor, which is looked at when a step is planned.
      partition_graphs: whether a step may ask for its graph.
      metadata: name and version, for RunMetadata; no other open session has both.
      cost_model: in every so many steps of a plan, after so many, costs are told; 0 for never.
      isolated: whether a session with a server's target has resources of its own all the same.
    """

    timeout_s: float | None = None
    optimize: bool = True
    threads: int = 0
    kernel_threads: int = 0
    soft_placement: bool = True
    log_placement: bool = False
    device_count: dict[str, int] = field(default_factory=dict)
    pools: int = 1
    half: DType | None = None
    executor: str = ""
    partition_graphs: bool = True
    metadata: tuple[str, int] = ("", 0)
    cost_model: tuple[int, int] = (0, 0)
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Settings of one step.

    `report_tensor_allocations_upon_oom` has no effect: the allocators are XLA's and NumPy's, whose
    own errors say what they could not get.
    """

    timeout_s: float | None = None
    trace: bool = False
    partition_graphs: bool = False
    pool: int = 0


def as_message(kind: Any, value: Any) -> Any:
    """`value` as a message of our class `kind`.

    Itself, or made from the bytes of another library's message.
    """
    return value if isinstance(value, kind) else kind.FromString(value.SerializeToString())


def read_config(config: Any) -> SessionOptions:
    """The settings in a ConfigProto; None stands for an empty one.

    Raises:
      TypeError: `config` is no ConfigProto.
      NotFoundError: it leaves no CPU.
      InvalidArgumentError: a device filter is no device's name.
    """
    if config is None:
        return SessionOptions(soft_placement=False)
    if type(config).__name__ != "ConfigProto" or not hasattr(config, "SerializeToString"):
        raise TypeError(
            f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"'
        )
    message = as_message(proto.config_pb2.ConfigProto, config)
    _check_devices(message)
    return SessionOptions(
        timeout_s=message.operation_timeout_in_ms / 1000 or None,
        optimize=message.graph_options.optimizer_options.opt_level != NO_OPTIMIZATION,
        threads=_threads(message),
        kernel_threads=max(message.intra_op_parallelism_threads, 0),
        soft_placement=message.allow_soft_placement,
        log_placement=message.log_device_placement,
        device_count=dict(message.device_count),
        pools=max(len(message.session_inter_op_thread_pool), 1),
        half=_half(message.graph_options.rewrite_options),
        executor=message.experimental.executor_type,
        partition_graphs=not message.experimental.disable_output_partition_graphs,
        metadata=_metadata(message.experimental.session_metadata),
        cost_model=(
            max(message.graph_options.build_cost_model, 0),
            message.graph_options.build_cost_model_after,
        ),
        isolated=message.isolate_session_state,
    )


def _metadata(metadata: Any) -> tuple[str, int]:
    if metadata.version < 0:
        raise errors.InvalidArgumentError(
            None,
            None,
            "ConfigProto.experimental.session_metadata: Session version shouldn't be negative:"
            f" got {metadata.version}. Give a number from 0.",
        )
    return metadata.name, metadata.version


def _check_devices(message: Any) -> None:
    if message.device_count.get("CPU", 1) < 1:
        raise errors.NotFoundError(
            None,
            None,
            "ConfigProto.device_count: expected at least one CPU, got "
            f"{message.device_count['CPU']}. No device of type CPU could be found then; leave it "
            "out, or give a number from 1.",
        )
    for text in message.device_filters:
        try:
            DeviceSpecV2.from_string(text)
        except ValueError as problem:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"ConfigProto.device_filters: expected names such as '/job:ps', got {text!r}: "
                f"{problem}",
            ) from None


def _half(rewrites: Any) -> DType | None:
    """The dtype of products that a session's RewriterConfig asks for."""
    if rewrites.auto_mixed_precision == ON:
        return dt.float16
    return dt.bfloat16 if rewrites.auto_mixed_precision_onednn_bfloat16 == ON else None


def _threads(message: Any) -> int:
    """The bound on parallel items: that of the first pool, when the session describes pools."""
    if message.experimental.executor_type == "SINGLE_THREADED_EXECUTOR":
        return 1
    pools = message.session_inter_op_thread_pool
    count = pools[0].num_threads if pools else message.inter_op_parallelism_threads
    return max(int(count), 0)


def check_pool(index: int, count: int) -> None:
    """Refuses a pool of threads that the session does not have; -1 is the calling thread.

    Raises:
      InvalidArgumentError: there is no such pool.
    """
    if not -1 <= index < count:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"RunOptions.inter_op_thread_pool: expected a number from -1 to {count - 1}, got"
            f" {index}. Describe more pools in ConfigProto.session_inter_op_thread_pool.",
        )


def check_partition_graphs(chosen: "StepOptions", options: SessionOptions) -> None:
    """Refuses a step that asks for its graph in a session that gives none.

    Raises:
      InvalidArgumentError: it does.
    """
    if chosen.partition_graphs and not options.partition_graphs:
        raise errors.InvalidArgumentError(
            None,
            None,
            "RunOptions.output_partition_graphs() is not supported when"
            " disable_output_partition_graphs is true: got both. Leave one of them out.",
        )


def read_run_options(options: Any) -> StepOptions:
    """The settings in a RunOptions; None stands for an empty one.

    Raises:
      AttributeError: `options` is no message.
    """
    if options is None:
        return StepOptions()
    message = as_message(proto.config_pb2.RunOptions, options)
    return StepOptions(
        timeout_s=message.timeout_in_ms / 1000 or None,
        trace=message.trace_level != NO_TRACE,
        partition_graphs=message.output_partition_graphs,
        pool=message.inter_op_thread_pool,
    )
