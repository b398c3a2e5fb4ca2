"""`SyncReplicasOptimizer`: replicas whose gradients are added up before one update.

Each replica adds its gradients to an accumulator for every variable, and then takes a token from a
queue, which says the step that it may compute next. The chief takes the means when enough gradients
are there, updates the variables, and puts tokens for the new step into the queue; a queue runner of
it repeats that. Gradients of older steps are dropped by the accumulators. The queue runner's thread
waits for gradients when training ends, so a monitored session waits `stop_grace_period_secs` for it
before it is closed.
"""

from typing import Any

from penstock.config.logging import get_logger
from penstock.core.composite import IndexedSlices
from penstock.graph.behavior import control_dependencies, device, name_scope_v1
from penstock.ops.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from penstock.ops.array_fill import fill
from penstock.ops.array_identity import no_op
from penstock.ops.grouping import group
from penstock.ops.queue_runner import QueueRunner
from penstock.ops.queues import FIFOQueue
from penstock.ops.state_functions import assign
from penstock.ops.variables_v1 import (
    GraphKeys,
    VariableV1,
    global_variables,
    report_uninitialized_variables,
)
from penstock.runtime.client import BaseSession
from penstock.train.coordinator import Coordinator
from penstock.train.optimizer import GradsAndVars, Optimizer
from penstock.train.session_manager import missing_values
from penstock.train.session_run_hook import SessionRunHook


class SyncReplicasOptimizer(Optimizer):
    """An optimizer that updates variables with the mean of several replicas' gradients.

    Args:
      opt: the optimizer that updates the variables, and keeps the slots.
      replicas_to_aggregate: how many gradients an update needs.
      total_num_replicas: how many replicas there are: more than `replicas_to_aggregate` are backups
        for slow ones; fewer compute several gradients each. As many when None.
      variable_averages: an ExponentialMovingAverage that is applied after each update, or None.
      variables_to_average: its variables; the trainable ones when None.
      use_locking: accepted for compatibility: updates of one variable exclude each other.
      name: the name in a graph.

    Example:
      >>> import penstock as tf
      >>> v1 = tf.compat.v1
      >>> with tf.Graph().as_default():
      ...     v, step = v1.get_variable("v", initializer=1.0), v1.train.create_global_step()
      ...     optimizer = SyncReplicasOptimizer(v1.train.GradientDescentOptimizer(0.5), 1)
      ...     train = optimizer.minimize(v * v, global_step=step)
      ...     hook = optimizer.make_session_run_hook(is_chief=True, num_tokens=0)
      ...     made = v1.train.MonitoredTrainingSession(hooks=[hook], stop_grace_period_secs=0)
      ...     with made as session:
      ...         _ = session.run(train)  # ends when the update is done, which gives the token
      ...         float(session.run(v))
      0.0
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._local_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: Any = None
        self.local_step_init_op: Any = None
        self.chief_init_op: Any = None
        self.ready_for_local_init_op: Any = None
        get_logger().info(
            "%s: replicas_to_aggregate=%s; total_num_replicas=%s",
            name,
            replicas_to_aggregate,
            total,
        )

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Gradients of a loss, as the optimizer inside computes them."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(  # type: ignore[override]  # TensorFlow's has no further argument either
        self, grads_and_vars: GradsAndVars, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Adds gradients to the accumulators, and waits for the next step's token.

        Args:
          grads_and_vars: pairs as `compute_gradients` returns them.
          global_step: the variable that counts updates.
          name: accepted for compatibility.

        Returns:
          The operation of one replica's step; the update itself is the chief's queue runner's.

        Raises:
          ValueError: there are no variables, or no global step.
        """
        pairs = list(grads_and_vars or ())
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        self._make_local_step()
        with name_scope_v1(None, self._name):
            added, taken, accumulators = self._aggregated(pairs)
            with device(global_step.device), name_scope_v1(""):
                update = self._opt.apply_gradients(taken, global_step)
                train = self._synchronized(added, update)
            ready = [self.local_step_init_op]
            for accumulator, where in accumulators:
                with device(where):
                    ready.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*ready)
        self._gradients_applied = True
        return train

    def _make_local_step(self) -> None:
        """Makes the step that this replica computes, and says when it can be given a value."""
        with device(no_op().device):
            self._local_step = VariableV1(
                initial_value=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=self._global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(self._local_step, self._global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())

    def _aggregated(
        self, pairs: list[tuple[Any, Any]]
    ) -> tuple[list[Any], list[tuple[Any, Any]], list[tuple[Any, str]]]:
        """What adds gradients; their means with the variables; accumulators with devices."""
        added: list[Any] = []
        taken: list[tuple[Any, Any]] = []
        accumulators: list[tuple[Any, str]] = []
        for grad, variable in pairs:
            if grad is None:
                taken.append((None, variable))
                continue
            shared = f"{variable.name}/grad_accum"
            held: ConditionalAccumulator | SparseConditionalAccumulator
            with device(variable.device):
                if isinstance(grad, IndexedSlices):
                    held = SparseConditionalAccumulator(grad.dtype, shared_name=shared)
                    added.append(held.apply_indexed_slices_grad(grad, local_step=self._local_step))
                    mean = held.take_indexed_slices_grad(self._replicas_to_aggregate)
                else:
                    held = ConditionalAccumulator(grad.dtype, variable.shape, shared_name=shared)
                    added.append(held.apply_grad(grad, local_step=self._local_step))
                    mean = held.take_grad(self._replicas_to_aggregate)
            taken.append((mean, variable))
            accumulators.append((held, variable.device))
        return added, taken, accumulators

    def _synchronized(self, added: list[Any], update: Any) -> Any:
        """The step of a replica, which ends with a token; the chief's update gives tokens out."""
        step = self._global_step
        queue = self._sync_token_queue = FIFOQueue(
            -1, step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
        )
        with control_dependencies(added):
            train = assign(self._local_step, queue.dequeue())
        with control_dependencies([update]):
            done = queue.enqueue_many((fill([self._tokens_per_step], step),))
        if self._variable_averages is not None:
            with control_dependencies([done]), name_scope_v1(""):
                done = self._variable_averages.apply(self._variables_to_average)
        self._chief_queue_runner = QueueRunner(queue, [done])
        return train

    def get_chief_queue_runner(self) -> QueueRunner:
        """The queue runner that updates the variables; only the chief may start it.

        Raises:
          ValueError: `apply_gradients` was not called.
        """
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner  # type: ignore[no-any-return]

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The slot of a variable, as the optimizer inside has it."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Any]:
        """The variables of the optimizer inside."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the slots of the optimizer inside."""
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens: int = -1) -> Any:
        """What gives out the tokens of the first step.

        Args:
          num_tokens: how many; `replicas_to_aggregate` when -1.

        Raises:
          ValueError: `apply_gradients` was not called, or replicas that are fewer than the
            gradients of an update need more.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope_v1(""):
            tokens = fill([num_tokens], self._global_step)
            return self._sync_token_queue.enqueue_many((tokens,))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """The hook that a monitored session needs to train with this optimizer.

        Args:
          is_chief: whether this task updates the variables.
          num_tokens: the tokens of the first step; see `get_init_tokens_op`.
        """
        return _SyncReplicasOptimizerHook(self, is_chief, num_tokens)


class _SyncReplicasOptimizerHook(SessionRunHook):
    """Gives the local step a value, and starts the updates where the chief is."""

    def __init__(self, sync_optimizer: SyncReplicasOptimizer, is_chief: bool, tokens: int) -> None:
        self._sync_optimizer = sync_optimizer
        self._is_chief, self._num_tokens = is_chief, tokens
        self._init_op: Any = None
        self._tokens_op: Any = None
        self._runner: QueueRunner | None = None

    def begin(self) -> None:
        """Takes the operations of the optimizer."""
        made = self._sync_optimizer
        if not made._gradients_applied:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called before using the hook."
            )
        self._init_op = made.chief_init_op if self._is_chief else made.local_step_init_op
        if self._is_chief:
            self._runner = made.get_chief_queue_runner()
            self._tokens_op = made.get_init_tokens_op(self._num_tokens)

    def after_create_session(self, session: BaseSession, coord: Coordinator) -> None:
        """Runs them, and starts the chief's thread.

        Raises:
          RuntimeError: a variable has no value.
        """
        ready = self._sync_optimizer.ready_for_local_init_op
        problem = missing_values(
            ready, session, "Model is not ready for SyncReplicasOptimizer local init."
        )
        if problem is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. "
                f"Init op: {self._init_op.name}, error: {problem}"
            )
        session.run(self._init_op)
        if self._tokens_op is not None:
            session.run(self._tokens_op)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)
