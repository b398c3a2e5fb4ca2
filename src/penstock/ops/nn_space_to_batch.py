"""Operations on images with their places spread out: dilation by moving space into the batch."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.core.convert import convert_to_tensor
from penstock.core.execute import execute
from penstock.ops import array_getitem as _getitem  # noqa: F401  tensor[...]


def _space(
    dims: Any, rates: Sequence[int], spatial_dims: Any, data_format: str | None
) -> list[int]:
    """The axes that the rates belong to, checked."""
    first = 2 if data_format and data_format.startswith("NC") else 1
    axes = list(range(first, first + len(rates))) if spatial_dims is None else list(spatial_dims)
    if sorted(set(axes)) != axes or any(a < 1 for a in axes) or len(axes) != len(rates):
        raise ValueError(
            "`spatial_dims` must be a monotonically increasing sequence of positive integers, one "
            f"for each rate. Received: spatial_dims={spatial_dims}, dilation_rate={list(rates)}."
        )
    if dims is not None and axes and axes[-1] >= len(dims):
        raise ValueError(
            f"`input.shape.rank` must be at least {axes[-1] + 1}, got {len(dims)} for spatial_dims "
            f"{axes}."
        )
    return axes


def with_space_to_batch(
    input: Any, dilation_rate: Any, padding: str, op: Callable[..., Any],
    filter_shape: Any = None, spatial_dims: Any = None, data_format: str | None = None,
) -> Any:  # fmt: skip
    """Runs `op` on every rate-th place along each spatial axis, by moving space into the batch.

    Args:
      input: tensor [N, ...].
      dilation_rate: positive integers, one for each spatial axis.
      padding: "SAME" or "VALID": what the whole is like; `op` itself runs with "VALID" when any
        rate is above 1.
      op: `op(input, num_spatial_dims, padding)`, for example a convolution.
      filter_shape: integers, the sizes of the window along the spatial axes first; needed for
        "SAME".
      spatial_dims: the spatial axes, increasing, from 1; the first ones by default.
      data_format: a layout; "NC..." has its spatial axes from 2.

    Returns:
      What `op` makes, with space where it was.

    Raises:
      ValueError: an argument does not fit.
    """
    tensor = convert_to_tensor(input)
    rates = [int(rate) for rate in np.asarray(dilation_rate).reshape(-1)]
    if any(rate < 1 for rate in rates):
        raise ValueError(f"`dilation_rate` must be positive. Received: dilation_rate={rates}.")
    if padding not in ("SAME", "VALID"):
        raise ValueError(
            f"`padding` must be one of 'SAME' or 'VALID'. Received: padding={padding}."
        )
    axes = _space(tensor.dims, rates, spatial_dims, data_format)
    if all(rate == 1 for rate in rates):
        return op(tensor, len(rates), padding)
    pads = [[0, 0] for _ in rates]
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError(
                "`filter_shape` must be specified for `padding='SAME'`. Received: filter_shape="
                "None and padding=SAME."
            )
        for i, rate in enumerate(rates):
            extra = (int(filter_shape[i]) - 1) * rate
            pads[i] = [extra // 2, extra - extra // 2]
    wide = dict(zip(axes, rates, strict=True))
    last = axes[-1]
    block = [wide.get(axis, 1) for axis in range(1, last + 1)]
    base = dict(zip(axes, pads, strict=True))
    edges = [base.get(axis, [0, 0]) for axis in range(1, last + 1)]
    size = execute("Shape", (tensor,))[1 : last + 1]
    lengths = np.array([sum(edge) for edge in edges], np.int32)
    blocks = np.array(block, np.int32)
    over = execute("FloorMod", (execute("AddV2", (size, lengths)), blocks))
    more = execute("FloorMod", (execute("Sub", (blocks, over)), blocks))
    starts = np.array([edge[0] for edge in edges], np.int32)
    ends = execute("AddV2", (more, np.array([edge[1] for edge in edges], np.int32)))
    paddings = execute("Pack", ([starts, ends],), {"axis": 1})
    crops = execute("Pack", ([np.zeros(len(block), np.int32), more],), {"axis": 1})
    spread = execute("SpaceToBatchND", (tensor, blocks, paddings))
    made = op(spread, len(rates), "VALID")
    return execute("BatchToSpaceND", (made, blocks, crops))
