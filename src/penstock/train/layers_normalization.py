"""`compat.v1.layers`: batch normalization, with fused kernels and virtual batches.

In training the moments are the batch's, and moving averages of them are updated by operations in
UPDATE_OPS; otherwise the averages are used.
"""

from typing import Any

from penstock.core.tensor import Tensor
from penstock.graph.behavior import control_dependencies
from penstock.ops.array_basics import reshape
from penstock.ops.array_basics import shape as shape_of
from penstock.ops.array_join import concat
from penstock.ops.composing import number
from penstock.ops.grouping import group
from penstock.ops.initializers_v1 import Ones, Zeros
from penstock.ops.math_arithmetic import add, multiply, subtract
from penstock.ops.math_cast import cast
from penstock.ops.math_elementwise import sqrt, square
from penstock.ops.math_reduce import reduce_mean
from penstock.ops.nn_activations import relu
from penstock.ops.nn_batch_norm import fused_batch_norm
from penstock.ops.nn_moments import batch_normalization, moments
from penstock.ops.smart_cond import smart_cond
from penstock.train.layer import Layer
from penstock.train.layer_functions import initializer as initializer_of
from penstock.train.layer_inputs import InputSpec, last_size
from penstock.train.layers_renorm import Renorm, moved
from penstock.types import dtypes as dt

_FUSED = {(4, 3): "NHWC", (4, 1): "NCHW", (5, 4): "NDHWC", (5, 1): "NCDHW"}


class BatchNormalization(Layer):
    """Brings inputs to mean 0 and variance 1 (Ioffe and Szegedy, arXiv:1502.03167).

    Args:
      axis: the axes that keep their own moments, usually the channels.
      momentum: how slowly the moving averages move.
      epsilon: added to the variance.
      center: whether there is an offset `beta`.
      scale: whether there is a factor `gamma`.
      beta_initializer, gamma_initializer: of the variables.
      moving_mean_initializer, moving_variance_initializer: of the averages.
      beta_regularizer, gamma_regularizer: functions of the variables whose values are losses.
      beta_constraint, gamma_constraint: functions that optimizers project the variables with.
      renorm: whether training corrects the moments of a batch by slow averages of them, so that
        it sees what inference computes (Ioffe, arXiv:1702.03275).
      renorm_clipping: bounds of the correction, numbers or tensors by name: "rmin" and "rmax" of
        its factor, "dmax" of the absolute value of its offset.
      renorm_momentum: how slowly the averages of `renorm` move.
      fused: False for no kernel that does it in one go; otherwise it is used where it can be: over
        the channels of rank 4 or 5, without `renorm`, `virtual_batch_size` and `adjustment`.
      trainable: whether optimizers update the variables.
      virtual_batch_size: the size of the parts of a batch that have moments of their own.
      adjustment: a function of the shape that gives a random factor and offset for training.
      name: the name of the variable scope.

    Raises:
      ValueError: `renorm_clipping` has other names.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros(),  # noqa: B008  # they hold nothing
        gamma_initializer: Any = Ones(),  # noqa: B008
        moving_mean_initializer: Any = Zeros(),  # noqa: B008
        moving_variance_initializer: Any = Ones(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.axis: Any = axis
        self.momentum, self.epsilon = momentum, epsilon
        self.center, self.scale = center, scale
        self.beta_initializer = initializer_of(beta_initializer)
        self.gamma_initializer = initializer_of(gamma_initializer)
        self.moving_mean_initializer = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer = initializer_of(moving_variance_initializer)
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.renorm, self.renorm_momentum = renorm, renorm_momentum
        self.renorm_clipping = renorm_clipping
        self._renorm = Renorm(renorm_clipping, renorm_momentum) if renorm else None
        special = renorm or virtual_batch_size is not None or adjustment is not None
        self.fused: bool | None = False if special else fused

    def get_config(self) -> dict[str, Any]:
        """The arguments that `from_config` makes an equal layer of, but for how it is computed."""
        left_out = ["fused", "adjustment"]
        if not self.renorm:
            left_out += ["renorm", "renorm_clipping", "renorm_momentum"]
        if self.virtual_batch_size is None:
            left_out.append("virtual_batch_size")
        return {k: v for k, v in super().get_config().items() if k not in left_out}

    def build(self, input_shape: Any) -> None:
        """Makes the variables."""
        rank = input_shape.rank
        if rank is None:
            raise ValueError(f"Input has undefined rank. Received: input_shape={input_shape}.")
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        self.axis = [axis + rank if axis < 0 else axis for axis in axes]
        if any(not 0 <= axis < rank for axis in self.axis) or len(set(self.axis)) != len(axes):
            raise ValueError(
                "Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with "
                f"inputs.rank={rank}). Received: axis={tuple(axes)}"
            )
        sizes = {a: last_size(input_shape, "The normalized axis", a) for a in self.axis}
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        fits = len(self.axis) == 1 and (rank, self.axis[0]) in _FUSED
        narrow = (self.dtype or dt.float32) in (dt.float16, dt.bfloat16, dt.float32)
        self.fused = fits and narrow and self.fused is not False
        self._make_variables(self._parameter_shape(rank, sizes))
        self.built = True

    def _parameter_shape(self, rank: int, sizes: dict[int, int]) -> list[int]:
        if len(sizes) == 1 and self.virtual_batch_size is None:
            return list(sizes.values())
        shape = [sizes.get(axis, 1) for axis in range(rank)]
        return shape if self.virtual_batch_size is None else [1, *shape]

    def _make_variables(self, shape: list[int]) -> None:
        kind = self.dtype or dt.float32
        kind = dt.float32 if kind in (dt.float16, dt.bfloat16) else kind
        self.gamma: Any = None
        self.beta: Any = None
        for name, wanted in (("gamma", self.scale), ("beta", self.center)):
            if wanted:
                made = self.add_weight(
                    name,
                    shape,
                    kind,
                    getattr(self, f"{name}_initializer"),
                    getattr(self, f"{name}_regularizer"),
                    constraint=getattr(self, f"{name}_constraint"),
                )
                setattr(self, name, made)

        def average(name: str, first: Any) -> Any:
            return self.add_weight(name, shape, kind, first, trainable=False)

        self.moving_mean = average("moving_mean", self.moving_mean_initializer)
        self.moving_variance = average("moving_variance", self.moving_variance_initializer)
        if self._renorm is not None:
            self._renorm.build(
                average, self.moving_mean_initializer, self.moving_variance_initializer
            )

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The normalized inputs.

        Args:
          inputs: floating tensor.
          training: Python bool, or bool[]; None counts as False.
        """
        training = False if training is None else training
        if self.fused:
            return self._call_fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._call_plain(inputs, training)
        # The parts have no meaning outside of training, where a batch may have any size.
        rows, count = (None, 1) if _never(training) else (self.virtual_batch_size, None)
        sizes = [-1 if size is None else size for size in (rows, count)]
        split = reshape(inputs, concat([sizes, shape_of(inputs)[1:]], 0))
        split.set_shape([rows, count, *inputs.shape.as_list()[1:]])
        return reshape(self._call_plain(split, training), shape_of(inputs))

    def _call_fused(self, inputs: Any, training: Any) -> Any:
        size = self.moving_mean.shape
        ones, zeros = Ones()(size, self.moving_mean.dtype), Zeros()(size, self.moving_mean.dtype)
        gamma = ones if self.gamma is None else self.gamma
        beta = zeros if self.beta is None else self.beta
        layout = _FUSED[inputs.shape.rank, self.axis[0]]

        def trained() -> Any:
            return fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=layout, is_training=True
            )

        def used() -> Any:
            return fused_batch_norm(
                inputs, gamma, beta, self.moving_mean, self.moving_variance, self.epsilon, layout,
                is_training=False,
            )  # fmt: skip

        if _never(training):
            return used()[0]
        outputs, mean, variance = smart_cond(training, trained, used)
        self._move(self.moving_mean, mean, self.momentum, training)
        self._move(self.moving_variance, variance, self.momentum, training)
        return outputs

    def _move(self, average: Any, value: Any, momentum: float, training: Any) -> None:
        """Moves an average to a value; not at all where it is not training."""
        self.add_update(moved(average, value, momentum, training))

    def _move_renormed(self, mean: Any, deviation: Any, training: Any) -> None:
        """Moves the averages; the variance is that of the moved standard deviation."""
        own: Any = self._renorm
        means = [moved(self.moving_mean, mean, self.momentum, training)]
        means.append(moved(own.mean, mean, own.momentum, training))
        self.add_update(group(*means))
        deviations = [moved(own.moving_stddev, deviation, self.momentum, training)]
        deviations.append(moved(own.stddev, deviation, own.momentum, training))
        with control_dependencies(deviations):
            squared = square(own.moving_stddev.read_value())
            variance = relu(subtract(squared, number(self.epsilon, squared.dtype)))
            kept = smart_cond(training, lambda: variance, lambda: _tensor(self.moving_variance))
            self.add_update(self.moving_variance.assign(kept, read_value=False))

    def _call_plain(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.rank
        shift = int(self.virtual_batch_size is not None)
        kept = [axis + shift for axis in self.axis]
        over = [axis for axis in range(rank) if axis not in kept and (shift == 0 or axis != 1)]
        keep = len(kept) > 1 or shift == 1
        wide = [rank_size if axis in kept else 1 for axis, rank_size in enumerate(inputs.shape)]

        def broadcast(value: Any) -> Any:
            needs = value is not None and not keep and kept != [rank - 1]
            return reshape(value, wide) if needs else value

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        narrow = inputs.dtype in (dt.float16, dt.bfloat16)
        x = cast(inputs, dt.float32) if narrow else inputs
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        if not _never(training):
            mean, variance = moments(x, over, keepdims=keep)
            scale, offset = self._adjusted(x, training, scale, offset)
            factor, bias = self._moved_to(mean, variance, training)
            if factor is not None:
                scale, offset = _composed(broadcast(factor), broadcast(bias), scale, offset)
            mean = smart_cond(training, lambda: mean, lambda: _like(self.moving_mean, mean))
            variance = smart_cond(
                training, lambda: variance, lambda: _like(self.moving_variance, variance)
            )
        outputs = batch_normalization(
            x, broadcast(_tensor(mean)), broadcast(_tensor(variance)), offset, scale, self.epsilon
        )
        return cast(outputs, inputs.dtype) if narrow else outputs

    def _moved_to(self, mean: Any, variance: Any, training: Any) -> tuple[Any, Any]:
        """Moves the averages to the batch's moments; gives the factor and offset of `renorm`."""
        if self.virtual_batch_size is not None:  # the mean over all parts
            mean, variance = reduce_mean(mean, 1, True), reduce_mean(variance, 1, True)
        if self._renorm is None:
            self._move(self.moving_mean, mean, self.momentum, training)
            self._move(self.moving_variance, variance, self.momentum, training)
            return None, None
        mean, variance = (cast(value, self.moving_mean.dtype) for value in (mean, variance))
        deviation = sqrt(add(variance, number(self.epsilon, variance.dtype)))
        correction = self._renorm.correction(mean, deviation, training, self.epsilon)
        self._move_renormed(mean, deviation, training)
        return correction

    def _adjusted(self, x: Any, training: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
        """Factor and offset after the random ones of `adjustment`, in training."""
        if self.adjustment is None:
            return scale, offset
        factor, bias = self.adjustment(shape_of(x))
        factor = smart_cond(training, lambda: factor, lambda: Ones()([], factor.dtype) + 0 * factor)
        bias = smart_cond(training, lambda: bias, lambda: 0 * bias)
        return _composed(factor, bias, scale, offset)


def _composed(factor: Any, bias: Any, scale: Any, offset: Any) -> tuple[Any, Any]:
    """`scale * (factor * x + bias) + offset` as one factor and offset."""
    if scale is not None:
        bias, factor = multiply(bias, scale), multiply(factor, scale)
    return factor, bias if offset is None else add(bias, offset)


def _tensor(value: Any) -> Any:
    return value if isinstance(value, Tensor) else value.read_value()


def _like(average: Any, value: Any) -> Any:
    return cast(_tensor(average), value.dtype)


def _never(training: Any) -> bool:
    """Whether it is known that it is not training."""
    return training is False or (isinstance(training, int) and training == 0)
