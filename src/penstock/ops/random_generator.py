"""`tf.random.Generator`: random numbers whose state is a variable.

The state of Philox is two words of a counter and one of a key. Drawing `n` numbers moves the
counter on by `256 n`, whatever the distribution; numbers come from the stateless operations.
"""

from typing import Any

import numpy as np

from penstock.core import determinism
from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.core.op_def import OpDef
from penstock.core.tensor import Tensor
from penstock.core.trackable import AutoTrackable
from penstock.graph.behavior import init_scope
from penstock.ops import random_stateless as stateless
from penstock.ops.composing import scope
from penstock.ops.math_arithmetic import add, multiply
from penstock.ops.math_cast import cast
from penstock.ops.math_reduce import reduce_prod
from penstock.ops.random_ops import shape_tensor
from penstock.ops.random_state_ops import (
    BINOMIAL,
    NON_DETERMINISTIC,
    PHILOX,
    READ_AND_SKIP,
    STATE_SIZES,
)
from penstock.ops.random_stateless_ops import algorithm_of
from penstock.ops.variables import Variable
from penstock.types import dtypes as dt
from penstock.types.dtypes import as_dtype

_WORD = (1 << 64) - 1


def create_rng_state(seed: Any, alg: Any) -> Any:
    """The state of a generator from a seed.

    Args:
      seed: an integer, or a tensor of them, of which the first fill the state from its end.
      alg: "philox", "threefry" or "auto_select", or a tf.random.Algorithm.

    Returns:
      int64[3] for Philox, int64[2] for ThreeFry.

    Raises:
      ValueError: there is no such algorithm.
    """
    return convert_to_tensor(_state_of_seed(seed, _number_of(alg)))


def _number_of(alg: Any) -> int:
    return int(algorithm_of(alg).value)


def _state_of_seed(seed: Any, alg: int) -> Any:
    size = STATE_SIZES[alg]
    if isinstance(seed, int):  # 64 bits in each word; its sign goes on into those that are left
        words = [seed >> 64 * i & _WORD for i in range(size)]
        return convert_to_tensor(np.array(words, np.uint64).astype(np.int64))
    tensor = cast(convert_to_tensor(_whole(seed)), dt.int64)
    words = execute("Reshape", (tensor, np.array([-1])))[:size]
    length = execute("Shape", (words,))[0] if words.dims[0] is None else words.dims[0]
    padded = execute("Pad", (words, execute("Pack", ([[size - length, 0]],))))
    return execute("Reshape", (padded, np.array([size])))


def _whole(seed: Any) -> Any:
    """Seeds that are no tensor as an array; of integers beyond 64 bits the lowest ones."""
    if isinstance(seed, Tensor):
        return seed
    found = np.asarray(seed)
    if found.dtype == object and all(isinstance(word, int) for word in found.flat):
        words = [word & _WORD for word in found.flat]
        return np.array(words, np.uint64).astype(np.int64).reshape(found.shape)
    return found


class Generator(AutoTrackable):
    """Random numbers from a state of its own.

    Make one with `from_seed`, `from_state`, `from_key_counter`, `from_non_deterministic_state`, or
    `split` of another. The state is a variable, so checkpoints save it and functions move it on.

    Args:
      copy_from: another generator, whose state and algorithm are copied.
      state: a state of the algorithm; a variable is used itself.
      alg: "philox", or a tf.random.Algorithm.

    Raises:
      ValueError: the state is not one of the algorithm.

    Example:
      >>> g = tf.random.Generator.from_seed(1234)
      >>> g.normal([3]).shape
      TensorShape([3])
    """

    def __init__(
        self, copy_from: "Generator | None" = None, state: Any = None, alg: Any = None
    ) -> None:
        if copy_from is not None:
            assert state is None, "copy_from excludes a state"
            assert alg is None, "copy_from excludes an algorithm"
            state, alg = copy_from.state.read_value(), copy_from.algorithm
        assert alg is not None, "a generator needs an algorithm"
        assert state is not None, "a generator needs a state"
        self._alg = _number_of(alg)
        self._given = alg if isinstance(alg, Tensor) else self._alg
        if isinstance(state, Variable):
            _check_shape(state, self._alg)
            self._state_var = state
            return
        value = cast(convert_to_tensor(_signed(state)), dt.int64)
        _check_shape(value, self._alg)
        self._state_var = Variable(value, dtype=dt.int64, name="StateVar", trainable=False)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> "Generator":
        """A generator of a state, int64[3] for Philox; `alg` as for the class."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> "Generator":
        """A generator of a seed.

        Args:
          seed: as `create_rng_state` takes it.
          alg: "philox" by default.
        """
        alg = PHILOX if alg is None else alg
        return cls(state=_state_of_seed(seed, _number_of(alg)), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> "Generator":
        """A generator of a state that the operating system draws.

        Raises:
          RuntimeError: operations must be deterministic.
        """
        if determinism.required():
            raise RuntimeError(
                '"from_non_deterministic_state" cannot be called when determinism is enabled. Use'
                " from_seed."
            )
        alg = PHILOX if alg is None else alg
        shape = np.array([STATE_SIZES[_number_of(alg)]], np.int64)
        return cls(state=execute(NON_DETERMINISTIC, (shape,)), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> "Generator":
        """A generator of a key and a counter.

        Args:
          key: an integer scalar.
          counter: int64[2] for Philox.
          alg: the algorithm.
        """
        return cls(state=_of_key_counter(key, counter), alg=alg)

    def reset(self, state: Any) -> None:
        """Sets the state; raises ValueError when it is not one of the algorithm."""
        value = cast(convert_to_tensor(_signed(state)), dt.int64)
        _check_shape(value, self._alg)
        self._state_var.assign(value)

    def reset_from_seed(self, seed: Any) -> None:
        """Sets the state to that of a seed."""
        self._state_var.assign(_state_of_seed(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Sets the state to a key and a counter.

        Args:
          key: an integer, the key of Philox.
          counter: a vector of two integers, where in its stream to go on.
        """
        self.reset(_of_key_counter(key, counter))

    @property
    def state(self) -> Variable:
        """The variable that holds the state."""
        return self._state_var

    @property
    def algorithm(self) -> Any:
        """The number of the algorithm, or the tensor that gave it: see `tf.random.Algorithm`."""
        return self._given

    @property
    def key(self) -> Any:
        """The key, an int64 scalar."""
        return self._state_var.read_value()[STATE_SIZES[self._alg] - 1]

    def skip(self, delta: Any) -> Any:
        """Moves on as if `delta` numbers had been drawn.

        Args:
          delta: an integer scalar.

        Returns:
          The state before, int64[3].
        """
        return self._skip(delta)

    def _skip(self, delta: Any) -> Any:
        count = cast(convert_to_tensor(delta), dt.uint64)
        return execute(READ_AND_SKIP, (self._state_var.handle, np.int32(self._alg), count))

    def _key_counter(self, shape: Tensor) -> tuple[Any, Any, Any]:
        before = self._skip(reduce_prod(cast(shape, dt.int64)))
        words = execute("Bitcast", (before,), {"type": dt.uint64})
        return words[2:3], words[:2], np.int32(self._alg)

    def _draw(self, op: OpDef, shape: Any, dtype: Any, *bounds: Any) -> Any:
        dims = shape_tensor(shape)
        parts = (dims, *self._key_counter(dims), *bounds)
        return execute(op, parts, None if bounds else {"dtype": as_dtype(dtype)})

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dt.float32,
        name: str | None = None,
    ) -> Any:
        """Normal numbers.

        Args:
          shape: int32 or int64 vector.
          mean: the mean.
          stddev: the deviation.
          dtype: a floating dtype.
          name: the name in a graph.

        Returns:
          A tensor of `dtype` and `shape`.
        """
        with scope(name, "stateful_normal"):
            return self._scaled(stateless.NORMAL_V2, shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dt.float32,
        name: str | None = None,
    ) -> Any:
        """Normal numbers less than two deviations from the mean; arguments as for `normal`."""
        with scope(name, "truncated_normal"):
            return self._scaled(stateless.TRUNCATED_V2, shape, mean, stddev, dtype)

    def _scaled(self, op: OpDef, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
        kind = dt.float32 if dtype is None else as_dtype(dtype)
        offset = convert_to_tensor(mean, kind, name="mean")
        spread = convert_to_tensor(stddev, kind, name="stddev")
        return add(multiply(self._draw(op, shape, kind), spread), offset)

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = dt.float32,
        name: str | None = None,
    ) -> Any:
        """Numbers evenly over [minval, maxval).

        Args:
          shape: int32 or int64 vector.
          minval: the lower bound; None, with `maxval` None too, asks for integers over the whole
            range of the dtype.
          maxval: the upper bound, not reached; 1 for floating dtypes by default.
          dtype: a floating or integer dtype.
          name: the name in a graph.

        Returns:
          A tensor of `dtype` and `shape`.

        Raises:
          ValueError: bounds and dtype do not go together.
        """
        kind = as_dtype(dtype)
        if kind.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {kind!r}, minval and maxval must be both `None` or both"
                f" non-`None`; got minval={minval} and maxval={maxval}."
            )
        with scope(name, "stateful_uniform"):
            if kind.is_integer and minval is None:
                return self._draw(stateless.FULL_INT_V2, shape, kind)
            low = convert_to_tensor(0 if minval is None else minval, kind, name="min")
            high = convert_to_tensor(1 if maxval is None else maxval, kind, name="max")
            if kind.is_integer:
                return self._draw(stateless.UNIFORM_INT_V2, shape, kind, low, high)
            drawn = self._draw(stateless.UNIFORM_V2, shape, kind)
            return add(multiply(drawn, high - low), low)

    def uniform_full_int(self, shape: Any, dtype: Any = dt.uint64, name: str | None = None) -> Any:
        """Integers evenly over all of a dtype.

        Args:
          shape: int32 or int64 vector.
          dtype: int32, uint32, int64 or uint64.
          name: the name in a graph.

        Returns:
          A tensor of `dtype` and `shape`.

        Raises:
          InvalidArgumentError: the dtype is another.
        """
        with scope(name, "stateful_uniform_full_int"):
            return self._draw(stateless.FULL_INT_V2, shape, dtype)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = dt.int32, name: str | None = None
    ) -> Any:
        """How often something of a probability happens in a number of trials.

        Args:
          shape: int32 or int64 vector; ends with the broadcast shape of `counts` and `probs`.
          counts: numbers of trials, a floating tensor.
          probs: probabilities, of the same dtype.
          dtype: the dtype of the result.
          name: the name in a graph.

        Returns:
          A tensor of `dtype` and `shape`.
        """
        with scope(name, "binomial"):
            counts = convert_to_tensor(counts, name="counts")
            probs = convert_to_tensor(probs, counts.dtype, name="probs")
            parts = (self._state_var.handle, np.int64(self._alg), shape_tensor(shape))
            attrs = {"dtype": as_dtype(dtype)}
            return execute(BINOMIAL, (*parts, counts, probs), attrs)

    def make_seeds(self, count: int = 1) -> Any:
        """Seeds for stateless operations, int64[2, count]; the second row is 0."""
        drawn = self.uniform_full_int([count], dt.int64)
        return execute("Pack", ([drawn, execute("ZerosLike", (drawn,))],))

    def split(self, count: int = 1) -> list["Generator"]:
        """`count` generators that differ from each other and from this one."""
        keys = self.uniform_full_int([count], dt.int64)
        zeros = np.zeros(2, np.int64)
        return [
            Generator(state=_of_key_counter(keys[i], zeros), alg=self._given) for i in range(count)
        ]


def _signed(state: Any) -> Any:
    if isinstance(state, Tensor):
        return state
    found = np.asarray(state)
    return found.astype(np.int64) if found.dtype == np.uint64 else found


def _of_key_counter(key: Any, counter: Any) -> Any:
    counter = cast(convert_to_tensor(_signed(counter)), dt.int64)
    if counter.shape.rank is not None and counter.shape.rank != 1:
        raise ValueError(f"Shape {counter.shape} must have rank 1: a counter is a vector.")
    key = cast(convert_to_tensor(_signed(key)), dt.int64)
    return execute("ConcatV2", ([counter, execute("Reshape", (key, np.array([1])))], np.int32(0)))


def _check_shape(state: Any, alg: int) -> None:
    wanted = [STATE_SIZES[alg]]
    if not state.shape.is_compatible_with(wanted):
        raise ValueError(
            f"Shapes {state.shape} and {wanted} are incompatible: a state of this algorithm is a"
            f" vector of {wanted[0]} words. Make it with tf.random.create_rng_state."
        )


class _Global:
    """The generator that functions without one of their own may share."""

    generator: Generator | None = None


def get_global_generator() -> Generator:
    """The generator of the process; at first one of a state that the operating system draws.

    Raises:
      RuntimeError: none was set, and operations must be deterministic.
    """
    if _Global.generator is None:
        if determinism.required():
            raise RuntimeError(
                '"get_global_generator" cannot be called if determinism is enabled, unless'
                ' "set_global_generator" has already been called. Please call'
                ' "set_global_generator" first.'
            )
        with init_scope():
            _Global.generator = Generator.from_non_deterministic_state()
    return _Global.generator


def set_global_generator(generator: Generator) -> None:
    """Replaces the generator of the process. Functions traced before keep the one they used."""
    _Global.generator = generator
